"""Run a plan: theta-join, project, merge, next step (paper section V).

The cells of each step are one :class:`CellSet`, merged by construction. With ``merge=False`` the
boxes a join gives are handed on as they are, overlaps and all, which is the paper's NoMerge: the
same cells in the end, often far more boxes on the way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Direction, Edge
from dslog.query.graph import Walk
from dslog.query.plan import Hop, Plan, Step

Load = Callable[[Edge], Lineage]
"""Gives the lineage an edge stands for."""

Boxes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepBoxes:
    """What the joins of one step gave: boxes that may overlap, and the work it took."""

    shape: tuple[int, ...]
    boxes: Boxes
    scanned: int
    matched: int


def run_path(plan: Plan, cells: CellSet, load: Load, *, merge: bool = True) -> CellSet:
    """Return the cells of the path's last array that ``cells`` of its first lead to."""
    exact = cells.exact and all(step.exact for step in plan.steps)
    if not plan.steps:
        return cells
    if merge:
        for step in plan.steps:
            cells = run_step(step, cells, load)
        return cells.with_exact(exact)
    boxes, shape = cells.boxes, cells.shape
    for step in plan.steps:
        joined = join_step(step, boxes, load)
        boxes, shape = joined.boxes, joined.shape
    return CellSet.from_boxes(shape, boxes, exact=exact)


def run_step(step: Step, cells: CellSet, load: Load) -> CellSet:
    """Follow every lineage of a step and unite what they give."""
    return reduce(or_, (_follow(hop, cells, load) for hop in step.hops))


def join_step(step: Step, boxes: Boxes, load: Load) -> StepBoxes:
    """Join boxes with every lineage of a step, without merging what comes out."""
    parts: list[Boxes] = []
    scanned = matched = 0
    shape: tuple[int, ...] = ()
    for hop in step.hops:
        lineage = load(hop.edge)
        back = hop.direction is Direction.BACKWARD
        joined = lineage.backward_boxes(boxes) if back else lineage.forward_boxes(boxes)
        shape = lineage.in_shape if back else lineage.out_shape
        parts.append(joined.boxes)
        scanned += joined.scanned
        matched += joined.matched
    return StepBoxes(shape, np.concatenate(parts), scanned, matched)


def run_walk(walk: Walk, cells: CellSet, load: Load) -> CellSet:
    """Return the cells of the walk's target that ``cells`` of its source lead to, on any path."""
    reached: dict[str, CellSet] = {walk.source: cells}
    for members in walk.components:
        inside = frozenset(members)
        if _has_cycle(members, walk):
            _saturate(walk, inside, reached, load)
        for step in _leaving(walk, inside):
            _add(reached, step.target, run_step(step, reached[step.source], load))
    return reached[walk.target].with_exact(cells.exact and walk.exact)


def _saturate(walk: Walk, inside: frozenset[str], reached: dict[str, CellSet], load: Load) -> None:
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
            new = run_step(step, cells, load)
            if step.target in reached:
                new -= reached[step.target]
                if not new:
                    continue
            _add(reached, step.target, new)
            _add(fresh, step.target, new)


def _leaving(walk: Walk, inside: frozenset[str]) -> Iterator[Step]:
    for name in inside:
        yield from (step for step in walk.steps[name] if step.target not in inside)


def _has_cycle(members: tuple[str, ...], walk: Walk) -> bool:
    return len(members) > 1 or any(step.target in members for step in walk.steps[members[0]])


def _add(cells: dict[str, CellSet], name: str, more: CellSet) -> None:
    cells[name] = cells[name] | more if name in cells else more


def _follow(hop: Hop, cells: CellSet, load: Load) -> CellSet:
    lineage = load(hop.edge)
    if hop.direction is Direction.BACKWARD:
        return lineage.backward(cells)
    return lineage.forward(cells)
