"""What a query did, step by step."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from time import perf_counter

import numpy as np

from dslog.cells.cellset import CellSet, Labelled, Labels
from dslog.cells.text import aligned, counted
from dslog.query.execute import (
    Boxes,
    Cells,
    Followed,
    HopBoxes,
    Load,
    follow_and_count,
    gather_cells,
    join_step,
    labelled,
    unite_cells,
)
from dslog.query.plan import Plan, Step


@dataclass(frozen=True, slots=True)
class StepReport(Labelled):
    """One step of a query.

    ``rows`` are the compressed rows the step's lineages hold, ``scanned`` those the interval index
    let through, ``matched`` those that hit a query box. ``boxes_joined`` came out of the join,
    ``boxes_merged`` went on to the next step.
    """

    source: str
    target: str
    direction: str
    engine: str
    rows: int
    scanned: int
    matched: int
    boxes_joined: int
    boxes_merged: int
    cells: int
    seconds: float
    labels: Labels


@dataclass(frozen=True, slots=True)
class Explanation(Labelled):
    """A query's path, what each step did, and how many cells it gave; ``str()`` is a table."""

    path: tuple[str, ...]
    steps: tuple[StepReport, ...]
    boxes: int
    cells: int
    seconds: float
    labels: Labels

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {**_plain(self), "path": list(self.path), "steps": list(map(_plain, self.steps))}

    def __str__(self) -> str:
        head = (
            f"{' -> '.join(self.path)}: {counted(self.cells, 'cell')} "
            f"in {counted(self.boxes, 'box', 'boxes')}, "
            f"{self.labels}, {_milliseconds(self.seconds)}"
        )
        return "\n".join([head, *aligned([_HEADINGS, *map(_line, self.steps)], words=_WORDS)])


_HEADINGS = (
    *("step", "direction", "engine"),
    *("rows", "scanned", "matched", "joined", "merged", "cells", "time", "exact"),
)
_WORDS = 3  # the first columns are words, the others numbers


def explain_path(plan: Plan, cells: Cells, load: Load, *, merge: bool = True) -> Explanation:
    """Run a plan and report each step."""
    started = perf_counter()
    boxes: Boxes | None = None  # those that go on, where they are not merged
    reports = []
    for step in plan.steps:
        begun = perf_counter()
        work: Sequence[Followed | HopBoxes]
        if merge:
            found = [follow_and_count(load(hop.edge), cells, hop.direction) for hop in step.hops]
            cells = labelled(reduce(unite_cells, (one.cells for one in found)), step)
            work = found
        else:
            here = gather_cells(cells)
            work = joined = join_step(
                step, here.shape, here.boxes if boxes is None else boxes, load
            )
            boxes = np.concatenate([one.boxes for one in joined])
            cells = CellSet.from_boxes(joined[0].shape, boxes).with_labels(here.labels)
            cells = labelled(cells, step)
        merged = cells.num_boxes if boxes is None else len(boxes)
        reports.append(_report(step, cells, merged, work, perf_counter() - begun))
    last = gather_cells(cells)
    seconds = perf_counter() - started
    return Explanation(plan.path, tuple(reports), last.num_boxes, last.count, seconds, last.labels)


def _plain(report: Explanation | StepReport) -> dict[str, object]:
    values = asdict(report)
    del values["labels"]
    return {**values, **report.labels.to_dict()}


def _report(
    step: Step, cells: Cells, boxes: int, work: Sequence[Followed | HopBoxes], seconds: float
) -> StepReport:
    return StepReport(
        source=step.source,
        target=step.target,
        direction=step.direction,
        engine=" + ".join(sorted({one.engine for one in work})),
        rows=step.num_rows,
        scanned=sum(one.scanned for one in work),
        matched=sum(one.matched for one in work),
        boxes_joined=sum(one.joined for one in work),
        boxes_merged=boxes,
        cells=cells.count,
        seconds=seconds,
        labels=cells.labels,
    )


def _line(step: StepReport) -> tuple[str, ...]:
    boxes = (step.boxes_joined, step.boxes_merged)
    numbers = (step.rows, step.scanned, step.matched, *boxes, step.cells)
    return (
        f"{step.source} -> {step.target}",
        step.direction,
        step.engine,
        *(f"{number:,}" for number in numbers),
        _milliseconds(step.seconds),
        "yes" if step.exact else "no",
    )


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"
