"""Run a plan: theta-join, project, merge, next step (paper section V).

The cells of each step are one :class:`CellSet`, merged by construction, unless an engine keeps
them (:mod:`dslog.query.follower`). With ``merge=False`` the boxes a join gives are handed on as
they are, overlaps and all, which is the paper's NoMerge: the same cells in the end, often far more
boxes on the way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Direction
from dslog.query.follower import Cells, Load, follow, gather, trace, unite
from dslog.query.graph import Walk
from dslog.query.plan import Plan, Step

Boxes = npt.NDArray[np.int64]
Keep = Callable[[str, Cells], Cells]
"""Chooses, of the cells that reach an array, those that go on."""


@dataclass(frozen=True, slots=True)
class StepBoxes:
    """What the joins of one step gave: boxes that may overlap, and the work it took."""

    shape: tuple[int, ...]
    boxes: Boxes
    scanned: int
    matched: int
    engines: frozenset[str]


def run_path(plan: Plan, cells: Cells, load: Load, *, merge: bool = True) -> CellSet:
    """Return the cells of the path's last array that ``cells`` of its first lead to."""
    exact = all(step.exact for step in plan.steps)
    if not merge and plan.steps:
        return _run_unmerged(plan, gather(cells), load, exact=exact)
    for step in plan.steps:
        cells = run_step(step, cells, load)
    found = gather(cells)
    return found.with_exact(found.exact and exact)


def _run_unmerged(plan: Plan, cells: CellSet, load: Load, *, exact: bool) -> CellSet:
    boxes, shape = cells.boxes, cells.shape
    for step in plan.steps:
        joined = join_step(step, shape, boxes, load)
        boxes, shape = joined.boxes, joined.shape
    return CellSet.from_boxes(shape, boxes, exact=cells.exact and exact)


def run_step(step: Step, cells: Cells, load: Load) -> Cells:
    """Follow every lineage of a step and unite what they give."""
    found = [follow(load(hop.edge), cells, hop.direction) for hop in step.hops]
    return reduce(unite, found)


def join_step(step: Step, shape: tuple[int, ...], boxes: Boxes, load: Load) -> StepBoxes:
    """Join boxes with every lineage of a step, without merging what comes out."""
    parts: list[Boxes] = []
    scanned = matched = 0
    engines = set()
    target: tuple[int, ...] = ()
    for hop in step.hops:
        lineage = load(hop.edge)
        back = hop.direction is Direction.BACKWARD
        if isinstance(lineage, Lineage):
            joined = lineage.backward_boxes(boxes) if back else lineage.forward_boxes(boxes)
            target = lineage.in_shape if back else lineage.out_shape
            parts.append(joined.boxes)
            scanned, matched = scanned + joined.scanned, matched + joined.matched
            engines.add("local")
        else:  # an engine of its own merges what it finds
            found = trace(lineage, CellSet.from_boxes(shape, boxes), hop.direction)
            target = found.cells.shape
            parts.append(gather(found.cells).boxes)
            scanned, matched = scanned + found.scanned, matched + found.matched
            engines.add(found.engine)
    return StepBoxes(target, np.concatenate(parts), scanned, matched, frozenset(engines))


def run_walk(walk: Walk, target: str, cells: Cells, load: Load) -> CellSet:
    """Return the cells of ``target`` that ``cells`` of the walk's source lead to, on any path."""
    found = gather(_reach(walk, cells, load, _all)[target])
    return found.with_exact(found.exact and walk.exact)


def reach(walk: Walk, cells: Cells, load: Load, keep: Keep | None = None) -> dict[str, CellSet]:
    """Return the cells of every array of the walk that ``cells`` of its source lead to.

    ``keep`` chooses which of the cells that reach an array go on; by default all. Arrays come in
    the order of the walk.
    """
    found = _reach(walk, cells, load, keep or _all)
    names = [name for members in walk.components for name in members]
    return {name: gather(found[name]) for name in names}


def _all(_: str, cells: Cells) -> Cells:
    return cells


def _reach(walk: Walk, cells: Cells, load: Load, keep: Keep) -> dict[str, Cells]:
    reached: dict[str, Cells] = {walk.source: keep(walk.source, cells)}
    for members in walk.components:
        inside = frozenset(members)
        if has_cycle(members, walk):
            _saturate(walk, inside, reached, load, keep)
        for step in _leaving(walk, inside):
            found = keep(step.target, _labelled(step, reached[step.source], load))
            _add(reached, step.target, found)
    return reached


def _labelled(step: Step, cells: Cells, load: Load) -> Cells:
    """Follow a step; what comes through a superset is one, also when it is empty."""
    found = run_step(step, cells, load)
    return found.with_exact(found.exact and step.exact)


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
            new = gather(keep(step.target, _labelled(step, cells, load)))
            if step.target in reached:
                new -= gather(reached[step.target])
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
    cells[name] = unite(cells[name], more) if name in cells else more
