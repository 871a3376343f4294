"""``why`` and ``impact``: everything behind cells, and everything in front of them.

Also what all questions share: cells of the arrays that were reached, as text and as JSON values.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Self

import numpy as np

from dslog.cells.cellset import LABEL_NAMES, CellSet, Labelled, Labels, Leak
from dslog.cells.text import aligned, box_text, counted
from dslog.errors import NotFoundError, did_you_mean
from dslog.query.execute import reach
from dslog.query.graph import Walk
from dslog.query.plan import Direction
from dslog.questions.history import History
from dslog.questions.questions_cost import QuestionsCost
from dslog.store.catalog import Operation
from dslog.types import I64

_BOXES, _VALUES = 2, 4  # shown
_LONGEST = 72


class Outcome:
    """What a question found: text for people, and as values for programs what ``_told`` names."""

    __slots__ = ()
    _told: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {name: _json(getattr(self, name)) for name in self._told}


@dataclass(frozen=True, slots=True)
class Touched:
    """Cells of one array.

    ``made_by`` are the operations that made the array, none for a source; ``values`` are the values
    of the cells in C order, or of some when they are many, or None where they are not kept.
    ``origin`` is the file that a source was read of, where it is known.
    """

    array: str
    cells: CellSet
    made_by: tuple[str, ...] = ()
    values: tuple[object, ...] | None = field(default=None, compare=False)
    columns: tuple[str, ...] = ()
    origin: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.array}[{cells_text(self.cells, self.columns)}]"

    @classmethod
    def of(cls, array: str, cells: CellSet, history: History) -> Self:
        """Return cells with what is known of them."""
        most = QuestionsCost.current().values
        makers = history.makers(array)
        values = history.kept.at(array, first_cells(cells, most)) if cells else None
        columns = history.columns_of(array, cells.shape)
        kept = None if values is None else tuple(values)
        read = [] if makers else history.origins(array)
        origin = str(read[-1]) if read and read[-1].source.path else ""
        return cls(array, cells, tuple(map(str, makers)), kept, columns, origin)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "array": self.array,
            "count": self.cells.count,
            "boxes": self.cells.boxes.tolist(),
            **self.cells.labels.to_dict(),
            "made_by": list(self.made_by),
            "values": _json(self.values),
            **({"origin": self.origin} if self.origin else {}),
        }


@dataclass(frozen=True, slots=True)
class Reached(Outcome, Labelled):
    """Cells asked about and what they lead to, in order; ``answer["A"]`` are the cells of ``A``.

    ``labels`` are those of all lineage on the way, also of that which led to no cell, and of all
    leaks that may have taken values from or to arrays that no lineage leads to.
    """

    asked: Touched
    arrays: tuple[Touched, ...]
    labels: Labels

    def __getitem__(self, array: str) -> CellSet:
        for touched in self.arrays:
            if touched.array == array:
                return touched.cells
        names = [touched.array for touched in self.arrays]
        hint = did_you_mean(array, names)
        known = ", ".join(map(repr, names)) or "no array"
        raise NotFoundError(f"no cell of {array!r} is in this answer, which has {known}.{hint}")

    def __iter__(self) -> Iterator[Touched]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)


def first_cells(cells: CellSet, most: int) -> I64:
    """Return the indices of all cells, or of those in the first boxes, when there are more."""
    if cells.count <= most:
        return cells.indices()
    boxes = cells.boxes[:most]
    for axis in range(cells.ndim):  # no box needs to be longer
        boxes = boxes.copy()
        boxes[:, axis, 1] = np.minimum(boxes[:, axis, 1], boxes[:, axis, 0] + most - 1)
    found, total = [], 0
    for box in boxes:
        lengths = tuple((box[:, 1] - box[:, 0] + 1).tolist())
        few = np.arange(min(most - total, int(np.prod([float(n) for n in lengths]))))
        found.append(np.stack(np.unravel_index(few, lengths), axis=1) + box[:, 0])
        total += len(few)
        if total >= most:
            break
    return np.concatenate(found).astype(np.int64)


def cells_text(cells: CellSet, columns: Sequence[str] = ()) -> str:
    """Return cells as numpy indices; many boxes are counted instead."""
    few = cells.num_boxes <= _BOXES
    boxes = cells.boxes[: _BOXES if few else 1].tolist()
    text = "; ".join(box_text(box, cells.shape, columns) for box in boxes)
    return (text or "none") if few else f"{text}; ... {counted(cells.count, 'cell')}"


def values_text(values: Sequence[object] | None) -> str:
    """Return the first values in a line; nothing where they are not known."""
    if values is None:
        return ""
    shown = ", ".join(_value(value) for value in values[:_VALUES])
    return f"{shown}, ..." if len(values) > _VALUES else shown


def table_text(arrays: Sequence[Touched], labels: Labels) -> list[str]:
    """Return a line per array: its cells, their values, what made it; then what labels mean."""
    rows = [
        (
            f"  {touched.array}",
            " ".join([cells_text(touched.cells, touched.columns), *touched.cells.labels.notes]),
            values_text(touched.values),
            cut_text("; ".join(touched.made_by) or touched.origin or "given"),
        )
        for touched in arrays
    ]
    headings = ("  array", "cells", "values", "made by")
    keep = [0, 1, 2, 3] if any(row[2] for row in rows) else [0, 1, 3]
    lines = aligned([[line[k] for k in keep] for line in (headings, *rows)])
    return [*lines, *(f"  {mark} {note}" for mark, note in labels.notes.items())]


def cut_text(text: str) -> str:
    """Return a text that fits a line."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _value(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.generic):
        return str(value)
    return repr(value)


def _json(value: object) -> object:
    if isinstance(value, Outcome | Touched):
        return value.to_dict()
    if isinstance(value, Leak):
        return asdict(value)
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, Operation):
        return value.id
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    return value if isinstance(value, bool | int | float | str | None) else str(value)


@dataclass(frozen=True, slots=True)
class Why(Reached):
    """Where cells come from: the cells of every array that made them, the nearest first."""

    _told = ("asked", "arrays", "sources", *LABEL_NAMES)

    @property
    def sources(self) -> tuple[Touched, ...]:
        """The cells where it begins: of arrays that nothing in the store made."""
        return tuple(touched for touched in self.arrays if not touched.made_by)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {**Reached.to_dict(self), "sources": [touched.array for touched in self.sources]}

    def __str__(self) -> str:
        if not self.arrays:
            made = "; ".join(self.asked.made_by)
            reason = f"{made} read nothing for it" if made else "it was given"
            return "; ".join([f"why {self.asked}? No cell made it: {reason}", *_notes(self)])
        lines = table_text([self.asked, *self.arrays], self.labels)
        return "\n".join([f"why {self.asked}?", *lines])


@dataclass(frozen=True, slots=True)
class Impact(Reached):
    """What cells touched: the cells of every array made with them, the nearest first."""

    _told = ("asked", "arrays", "ends", *LABEL_NAMES)

    ends: tuple[str, ...]
    """The arrays touched of which nothing more was made."""

    def __str__(self) -> str:
        head = f"impact of {self.asked}: "
        if not self.arrays:
            return "; ".join([f"{head}none, no cell was made with it", *_notes(self)])
        total = sum(touched.cells.count for touched in self.arrays)
        arrays = counted(len(self.arrays), "array")
        lines = table_text(self.arrays, self.labels)
        return "\n".join([f"{head}{counted(total, 'cell')} of {arrays}", *lines])


def why(array: str, cells: CellSet, history: History) -> Why:
    """Follow cells backward to the sources."""
    walk = history.walk(array, Direction.BACKWARD)
    found = _follow(walk, cells, history, Direction.BACKWARD)
    return Why(Touched.of(array, cells, history), *found)


def impact(array: str, cells: CellSet, history: History) -> Impact:
    """Follow cells forward to everything they touched."""
    walk = history.walk(array, Direction.FORWARD)
    touched, labels = _follow(walk, cells, history, Direction.FORWARD)
    ends = tuple(one.array for one in touched if not walk.steps[one.array])
    return Impact(Touched.of(array, cells, history), touched, labels, ends)


def _notes(found: Reached) -> Iterable[str]:
    return found.labels.notes.values()


def _follow(
    walk: Walk, cells: CellSet, history: History, direction: Direction
) -> tuple[tuple[Touched, ...], Labels]:
    reached = reach(walk, cells, history.load)
    reached, labels = history.labelled(reached, walk.source, direction)
    again = reached.pop(walk.source) - cells  # of an array made of itself, by a cycle
    if again:
        reached[walk.source] = again
    arrays = tuple(Touched.of(name, found, history) for name, found in reached.items() if found)
    return arrays, labels
