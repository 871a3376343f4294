"""``dropped``: the step where the lineage of a row ends.

An operation drops cells of an array when it takes cells of that array, but none of these: nothing
of its outputs was made with them. One that takes none at all (``zeros_like``) drops nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dslog.cells.cellset import CellSet
from dslog.query.execute import Load, follow, gather, reach
from dslog.query.plan import Direction, Edge
from dslog.questions.history import Call, History, KeptValues
from dslog.questions.reach import Touched, describe, table_text
from dslog.store.catalog import Operation


@dataclass(frozen=True, slots=True)
class Ending:
    """A step after which nothing comes of the cells that went into it.

    ``operation`` is None for lineage that was given without one.
    """

    operation: Operation | None
    text: str
    cells: Touched
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        number = "" if self.operation is None else f" (operation {self.operation.id})"
        return f"{self.text}{number} takes nothing of {self.cells} into {', '.join(self.outputs)}"

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "operation": None if self.operation is None else self.operation.id,
            "text": self.text,
            "cells": self.cells.to_dict(),
            "outputs": list(self.outputs),
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """Where the lineage of a row ends.

    ``endings`` are the steps that dropped what they got of it, in order; ``reached`` the arrays it
    got into; ``left`` those of them of which nothing more was made: what is left of the row.
    """

    asked: Touched
    endings: tuple[Ending, ...]
    reached: tuple[Touched, ...]
    left: tuple[str, ...]

    @property
    def operation(self) -> Operation | None:
        """The first operation that dropped it, if any."""
        return self.endings[0].operation if self.endings else None

    @property
    def exact(self) -> bool:
        """Whether no superset hides a step that dropped it."""
        return all(touched.cells.exact for touched in self.reached)

    def __bool__(self) -> bool:
        return bool(self.endings)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "asked": self.asked.to_dict(),
            "endings": [ending.to_dict() for ending in self.endings],
            "reached": [touched.to_dict() for touched in self.reached],
            "left": list(self.left),
            "exact": self.exact,
        }

    def __str__(self) -> str:
        if not self.endings and not self.reached:
            return f"{self.asked} was not used: no operation takes it"
        lines = [f"{self.asked} is dropped by" if self.endings else f"{self.asked} is not dropped"]
        lines += [f"  {ending}" for ending in self.endings]
        if self.reached:
            lines += ["it got into", *table_text(self.reached)]
        if self.left:
            lines.append(f"and is still in {', '.join(self.left)}")
        return "\n".join(lines)


def dropped(array: str, cells: CellSet, history: History, kept: KeptValues, load: Load) -> Dropped:
    """Follow cells forward and find the steps that nothing comes out of."""
    walk = history.walk(array, Direction.FORWARD)
    reached = {name: found for name, found in reach(walk, cells, load).items() if found}
    endings = [
        Ending(call.operation, str(call), describe(name, reached[name], history, kept), outputs)
        for call in history.calls
        for name in dict.fromkeys(call.inputs)
        if name in reached and (outputs := _outputs_without(call, name, reached, load))
    ]
    touched = tuple(
        describe(name, found, history, kept) for name, found in reached.items() if name != array
    )
    left = tuple(one.array for one in touched if not walk.steps[one.array])
    return Dropped(describe(array, cells, history, kept), tuple(endings), touched, left)


def _outputs_without(
    call: Call, name: str, reached: Mapping[str, CellSet], load: Load
) -> tuple[str, ...]:
    """The outputs of a call that takes cells of an array, if none were made with those reached."""
    edges = [edge for edge in call.edges if edge.in_ == name and edge.out != name]
    if any(_comes_out(edge, reached[name], load) for edge in edges):
        return ()
    taking = [edge for edge in edges if _comes_out(edge, CellSet.full(reached[name].shape), load)]
    return tuple(dict.fromkeys(edge.out for edge in taking))


def _comes_out(edge: Edge, cells: CellSet, load: Load) -> bool:
    return bool(gather(follow(load(edge), cells, Direction.FORWARD)))
