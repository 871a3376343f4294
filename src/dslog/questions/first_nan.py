"""``first_nan``: the earliest cells that are NaN, or null, among those that made an array's NaNs.

From the NaN cells of the array lineage is followed backward, but only to cells that are NaN too. A
NaN cell that no NaN cell made is where the trouble begins: it came with the data, or its operation
made it out of good values. An array whose values nobody keeps is looked through: its cells may be
NaN, so they are followed, but nothing begins there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dslog.cells.cellset import LABEL_NAMES, CellSet, Labelled, Labels
from dslog.cells.text import counted
from dslog.errors import NotFoundError
from dslog.query.execute import Cells, Load, gather_cells, has_cycle, reach, run_step
from dslog.query.graph import Walk
from dslog.query.plan import Direction, Hop, Step
from dslog.questions.history import History, KeptValues
from dslog.questions.reach import Outcome, Touched, values_text


@dataclass(frozen=True, slots=True)
class NanOrigin(Outcome):
    """NaN cells that no NaN is known to have made.

    ``inputs`` are the cells they were made of, with their values, none for a source. ``hidden``
    names arrays between them and the nearest kept values: the NaN may have come in there already.
    """

    _told = ("operation", "inputs", "hidden")

    cells: Touched
    inputs: tuple[Touched, ...]
    hidden: tuple[str, ...]

    @property
    def array(self) -> str:
        """The array they are in."""
        return self.cells.array

    @property
    def operation(self) -> str | None:
        """The operation that brought them in; None when they came with the data."""
        return "; ".join(self.cells.made_by) or None

    def __str__(self) -> str:
        count = counted(self.cells.cells.count, "NaN")
        if self.operation is None:
            return f"{self.cells}: {count} that came with the data"
        made = "; ".join(
            f"{one} = {values_text(one.values)}" if one.values else str(one) for one in self.inputs
        )
        text = f"{self.cells}: {count} brought in by {self.operation}"
        text += f", made of {made}" if made else ""
        names = ", ".join(self.hidden)
        return f"{text}, or before it in {names} (values not kept)" if self.hidden else text

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        whole = Outcome.to_dict(self)
        return {"operation": whole.pop("operation"), **self.cells.to_dict(), **whole}


@dataclass(frozen=True, slots=True)
class FirstNan(Outcome, Labelled):
    """Where the NaNs of an array began: ``origins``, the earliest first; empty without NaN."""

    _told = ("asked", "origins", *LABEL_NAMES)

    asked: Touched
    origins: tuple[NanOrigin, ...]
    labels: Labels

    @property
    def first(self) -> NanOrigin | None:
        """The earliest."""
        return self.origins[0] if self.origins else None

    @property
    def array(self) -> str | None:
        """The array of the earliest."""
        return self.origins[0].array if self.origins else None

    @property
    def cells(self) -> CellSet | None:
        """The cells of the earliest."""
        return self.origins[0].cells.cells if self.origins else None

    @property
    def operation(self) -> str | None:
        """The operation of the earliest; None when it came with the data."""
        return self.origins[0].operation if self.origins else None

    def __bool__(self) -> bool:
        return bool(self.asked.cells)

    def __str__(self) -> str:
        if not self.asked.cells:
            return f"no cell of {self.asked.array} is NaN"
        lines = [f"{self.asked.array} has {counted(self.asked.cells.count, 'NaN')}, which began in"]
        lines += [f"  {origin}" for origin in self.origins]
        if self.labels.loose:
            lines.append("some lineage on the way is not exact: a later origin may be hidden")
        if self.predicted:
            lines.append("some lineage on the way is predicted: the origin may be another")
        if not self.complete:
            lines.append(f"values left tracking at {self.leaks[0].place}: they may be an origin")
        return "\n".join(lines)


def first_nan(array: str, history: History) -> FirstNan:
    """Follow the NaNs of an array back to where they began."""
    load, missing = history.load, _Missing(history.kept)
    start = missing.of(array)
    if start is None:
        raise NotFoundError(
            f"no values of {array!r} are known: track its inputs with keep_values=True, or hold on "
            f"to the tracked array itself; tables are kept by a store in a directory alone"
        )
    asked = Touched.of(array, start, history)
    walk = history.walk(array, Direction.BACKWARD)
    spoilt = reach(walk, start, load, missing.keep)
    explained = _explained(walk, spoilt, missing, load)
    begun = {
        name: cells - explained.get(name, CellSet.empty(cells.shape))
        for name, cells in reversed(spoilt.items())
        if missing.of(name) is not None
    }
    origins = tuple(
        _origin(name, cells, walk, missing, history)
        for name, cells in sorted(begun.items(), key=lambda item: history.place(item[0]))
        if cells
    )
    _, labels = history.labelled(spoilt, array, Direction.BACKWARD)
    return FirstNan(asked, origins, labels)


class _Missing:
    """The NaN cells of arrays, each looked up once; None where values are not known."""

    def __init__(self, kept: KeptValues) -> None:
        self._kept = kept
        self._found: dict[str, CellSet | None] = {}

    def of(self, array: str) -> CellSet | None:
        if array not in self._found:
            self._found[array] = self._kept.missing(array)
        return self._found[array]

    def keep(self, array: str, cells: Cells) -> Cells:
        found = self.of(array)
        return cells if found is None else gather_cells(cells) & found


def _explained(
    walk: Walk, spoilt: Mapping[str, CellSet], missing: _Missing, load: Load
) -> dict[str, CellSet]:
    """Return the cells that some cell known to be NaN made, perhaps through unknown arrays."""
    order = [name for members in reversed(walk.components) for name in members]
    cyclic = any(has_cycle(members, walk) for members in walk.components)
    explained: dict[str, CellSet] = {}
    changed = True
    while changed:
        changed = False
        for step in (step for name in order for step in walk.steps[name]):
            known = missing.of(step.target) is not None
            cause = spoilt[step.target] if known else explained.get(step.target)
            if not cause or not spoilt[step.source]:
                continue
            found = gather_cells(run_step(_turned(step), cause, load)) & spoilt[step.source]
            old = explained.get(step.source, CellSet.empty(found.shape))
            changed |= cyclic and bool(found - old)
            explained[step.source] = old | found
    return explained


def _turned(step: Step) -> Step:
    """The same lineage, from inputs to outputs."""
    hops = tuple(Hop(hop.edge, Direction.FORWARD) for hop in step.hops)
    return Step(step.target, step.source, hops)


def _origin(
    name: str, cells: CellSet, walk: Walk, missing: _Missing, history: History
) -> NanOrigin:
    steps = walk.steps[name]
    made_of = {one.target: gather_cells(run_step(one, cells, history.load)) for one in steps}
    inputs = tuple(Touched.of(of, found, history) for of, found in made_of.items() if found)
    hidden = tuple(one.array for one in inputs if missing.of(one.array) is None)
    return NanOrigin(Touched.of(name, cells, history), inputs, hidden)
