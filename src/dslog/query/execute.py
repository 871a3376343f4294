"""Run a plan: theta-join, project, merge, next step (paper section V).

The cells of each step are one :class:`CellSet` in this process, merged by construction, and most
lineage is loaded. An engine may keep either elsewhere: lineage too large to load is a
:class:`Follower`, cells too many to hold are :class:`Spread`. ``follow_lineage``, ``unite_cells``
and ``gather_cells`` are all that a query needs to know of that.

With ``merge=False`` the boxes a join gives are handed on as they are, overlaps and all, which is
the paper's NoMerge: the same cells in the end, often far more boxes on the way.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet, Labels
from dslog.errors import CorruptError
from dslog.lineage.lineage import Lineage
from dslog.query.graph import Walk
from dslog.query.plan import Direction, Edge, Plan, Step


class Spread(Protocol):
    """Cells of one array that an engine keeps, because this process should not."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""

    @property
    def labels(self) -> Labels:
        """What is said of the cells."""

    @property
    def num_boxes(self) -> int:
        """The number of boxes the cells are kept in."""

    @property
    def count(self) -> int:
        """The number of cells."""

    def with_labels(self, labels: Labels) -> Self:
        """The same cells under other labels."""

    def unite(self, other: "Cells") -> "Cells":
        """The cells in either."""

    def follow(self, lineage: Lineage, direction: Direction) -> "Followed":
        """Follow lineage that is loaded, without bringing the cells here."""

    def gather(self) -> CellSet:
        """Bring the cells here; an error says so when they are too many."""


Cells = CellSet | Spread


@dataclass(frozen=True, slots=True)
class Followed:
    """Where following one lineage led, and the work it took.

    ``scanned`` rows were looked at, ``matched`` met a query box, ``joined`` boxes came out before
    they were merged; ``engine`` is where it ran.
    """

    cells: Cells
    scanned: int
    matched: int
    joined: int
    engine: str


class Follower(Protocol):
    """Lineage that is not loaded and follows cells by itself."""

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""


Load = Callable[[Edge], Lineage | Follower]
"""Gives the lineage an edge stands for."""
Boxes = npt.NDArray[np.int64]
Keep = Callable[[str, Cells], Cells]
"""Chooses, of the cells that reach an array, those that go on."""


@dataclass(frozen=True, slots=True)
class HopBoxes:
    """Boxes that one lineage gave for others, unmerged, and the work it took; see ``Followed``."""

    shape: tuple[int, ...]
    boxes: Boxes
    scanned: int
    matched: int
    engine: str

    @property
    def joined(self) -> int:
        """The number of boxes."""
        return len(self.boxes)


def run_path(plan: Plan, cells: Cells, load: Load, *, merge: bool = True) -> CellSet:
    """Return the cells of the path's last array that ``cells`` of its first lead to."""
    if not merge and plan.steps:
        return _run_unmerged(plan, gather_cells(cells), load)
    for step in plan.steps:
        cells = run_step(step, cells, load)
    return gather_cells(cells)


def _run_unmerged(plan: Plan, cells: CellSet, load: Load) -> CellSet:
    boxes, shape = cells.boxes, cells.shape
    for step in plan.steps:
        joined = join_step(step, shape, boxes, load)
        boxes, shape = np.concatenate([one.boxes for one in joined]), joined[0].shape
    labels = cells.labels.joined(*(step.labels for step in plan.steps))
    return CellSet.from_boxes(shape, boxes).with_labels(labels)


def run_step(step: Step, cells: Cells, load: Load) -> Cells:
    """Follow every lineage of a step and unite what they give, under the labels of all.

    What comes through a superset is one, also when it is empty; so for the other labels.
    """
    found: list[Cells] = []
    for hop in step.hops:
        with pair_named(hop.edge.out, hop.edge.in_):
            found.append(follow_lineage(load(hop.edge), cells, hop.direction))
    if not found:
        raise CorruptError(
            f"lineage to {step.target!r} is missing from the catalog, whose index of it says that "
            f"there is some; 'dslog verify' says more, 'dslog repair' keeps what is sound"
        )
    return labelled(reduce(unite_cells, found), step)


def labelled(cells: Cells, step: Step) -> Cells:
    """Return cells that came through a step with its labels."""
    return cells.with_labels(cells.labels.joined(step.labels))


def join_step(step: Step, shape: tuple[int, ...], boxes: Boxes, load: Load) -> list[HopBoxes]:
    """Join boxes with every lineage of a step, without merging what comes out."""
    found = []
    for hop in step.hops:
        lineage = load(hop.edge)
        if isinstance(lineage, Lineage):
            found.append(_join(lineage, boxes, hop.direction))
        else:  # an engine of its own merges what it finds
            one = lineage.follow(CellSet.from_boxes(shape, boxes), hop.direction)
            cells = gather_cells(one.cells)
            found.append(HopBoxes(cells.shape, cells.boxes, one.scanned, one.matched, one.engine))
    return found


def _join(lineage: Lineage, boxes: Boxes, direction: Direction) -> HopBoxes:
    back = direction is Direction.BACKWARD
    found = lineage.backward_boxes(boxes) if back else lineage.forward_boxes(boxes)
    shape = lineage.in_shape if back else lineage.out_shape
    return HopBoxes(shape, found.boxes, found.scanned, found.matched, "local")


def run_walk(walk: Walk, target: str, cells: Cells, load: Load) -> CellSet:
    """Return the cells of ``target`` that ``cells`` of the walk's source lead to, on any path."""
    found = gather_cells(_reach(walk, cells, load, _all)[target])
    return found.with_labels(found.labels.joined(walk.labels))


def reach(walk: Walk, cells: Cells, load: Load, keep: Keep | None = None) -> dict[str, CellSet]:
    """Return the cells of every array of the walk that ``cells`` of its source lead to.

    ``keep`` chooses which of the cells that reach an array go on; by default all. Arrays come in
    the order of the walk.
    """
    found = _reach(walk, cells, load, keep or _all)
    names = [name for members in walk.components for name in members]
    return {name: gather_cells(found[name]) for name in names}


def _all(_: str, cells: Cells) -> Cells:
    return cells


def _reach(walk: Walk, cells: Cells, load: Load, keep: Keep) -> dict[str, Cells]:
    reached: dict[str, Cells] = {walk.source: keep(walk.source, cells)}
    for members in walk.components:
        inside = frozenset(members)
        if has_cycle(members, walk):
            _saturate(walk, inside, reached, load, keep)
        for step in _leaving(walk, inside):
            found = keep(step.target, run_step(step, reached[step.source], load))
            _add(reached, step.target, found)
    return reached


def _saturate(
    walk: Walk, inside: frozenset[str], reached: dict[str, Cells], load: Load, keep: Keep
) -> None:
    """Go round a cycle until no step gives a new cell; only new cells go round again.

    An array's first cells are handed on even when there are none, so that every array of the
    cycle is reached in the end.
    """
    fresh = {name: reached[name] for name in inside if name in reached}
    while fresh:
        name, cells = fresh.popitem()
        for step in walk.steps[name]:
            if step.target not in inside:
                continue
            new = gather_cells(keep(step.target, run_step(step, cells, load)))
            if step.target in reached:
                new -= gather_cells(reached[step.target])
                if not new:
                    continue
            _add(reached, step.target, new)
            _add(fresh, step.target, new)


def _leaving(walk: Walk, inside: frozenset[str]) -> Iterator[Step]:
    for name in inside:
        yield from (step for step in walk.steps[name] if step.target not in inside)


def has_cycle(members: tuple[str, ...], walk: Walk) -> bool:
    """Whether some array of a component leads back to itself."""
    return len(members) > 1 or any(step.target in members for step in walk.steps[members[0]])


def _add(cells: dict[str, Cells], name: str, more: Cells) -> None:
    cells[name] = unite_cells(cells[name], more) if name in cells else more


def follow_lineage(lineage: Lineage | Follower, cells: Cells, direction: Direction) -> Cells:
    """Return where the cells lead."""
    if not isinstance(lineage, Lineage):
        return lineage.follow(cells, direction).cells
    if not isinstance(cells, CellSet):
        return cells.follow(lineage, direction).cells
    if direction is Direction.BACKWARD:
        return lineage.backward(cells)
    return lineage.forward(cells)


def follow_and_count(lineage: Lineage | Follower, cells: Cells, direction: Direction) -> Followed:
    """Return where the cells lead, with the work it took."""
    if not isinstance(lineage, Lineage):
        return lineage.follow(cells, direction)
    if not isinstance(cells, CellSet):
        return cells.follow(lineage, direction)
    found = _join(lineage, cells.boxes, direction)
    labels = cells.labels.joined(lineage.labels)
    merged = CellSet.from_boxes(found.shape, found.boxes).with_labels(labels)
    return Followed(merged, found.scanned, found.matched, found.joined, found.engine)


def unite_cells(a: Cells, b: Cells) -> Cells:
    """Return the cells in either."""
    if isinstance(a, CellSet):
        return a | b if isinstance(b, CellSet) else b.unite(a)
    return a.unite(b)


def gather_cells(cells: Cells) -> CellSet:
    """Return the cells as a set in this process."""
    return cells if isinstance(cells, CellSet) else cells.gather()


@contextmanager
def pair_named(one: object, other: object) -> Iterator[None]:
    """Name the arrays whose lineage is damaged, unless the error does already."""
    try:
        yield
    except CorruptError as error:
        if error.is_placed:
            raise
        placed = CorruptError(f"lineage between {one!r} and {other!r}: {error}")
        placed.is_placed = True
        raise placed from error
