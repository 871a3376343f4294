"""What a query did, step by step."""

from dataclasses import asdict, dataclass
from functools import reduce
from time import perf_counter

from dslog.cells.cellset import CellSet
from dslog.query.execute import Boxes, join_step
from dslog.query.follower import Cells, Load, gather, trace, unite
from dslog.query.plan import Plan, Step


@dataclass(frozen=True, slots=True)
class StepReport:
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
    exact: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """A query's path, what each step did, and how many cells it gave; ``str()`` is a table."""

    path: tuple[str, ...]
    steps: tuple[StepReport, ...]
    boxes: int
    cells: int
    seconds: float
    exact: bool

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {**asdict(self), "path": list(self.path), "steps": [asdict(s) for s in self.steps]}

    def __str__(self) -> str:
        head = (
            f"{' -> '.join(self.path)}: {_count(self.cells, 'cell')} "
            f"in {_count(self.boxes, 'box', 'boxes')}, "
            f"{'exact' if self.exact else 'superset'}, {_milliseconds(self.seconds)}"
        )
        return "\n".join([head, *_table([_HEADINGS, *(_line(step) for step in self.steps)])])


_HEADINGS = (
    "step",
    "direction",
    "engine",
    "rows",
    "scanned",
    "matched",
    "joined",
    "merged",
    "cells",
    "time",
    "exact",
)
_LEFT = 3  # the first columns are words, the others numbers


def explain_path(plan: Plan, cells: Cells, load: Load, *, merge: bool = True) -> Explanation:
    """Run a plan and report each step."""
    started = perf_counter()
    current = _Reached(cells, cells.num_boxes, None)
    reports = []
    for step in plan.steps:
        begun = perf_counter()
        current, work = (_merged if merge else _unmerged)(step, current, load)
        reports.append(_report(step, current, work, perf_counter() - begun))
    found = gather(current.cells)
    return Explanation(
        path=plan.path,
        steps=tuple(reports),
        boxes=found.num_boxes,
        cells=found.count,
        seconds=perf_counter() - started,
        exact=found.exact,
    )


@dataclass(frozen=True, slots=True)
class _Reached:
    """Cells on the way, the boxes that go on, and these boxes themselves if not merged."""

    cells: Cells
    num_boxes: int
    boxes: Boxes | None


@dataclass(frozen=True, slots=True)
class _Work:
    engines: frozenset[str]
    scanned: int
    matched: int
    joined: int


def _merged(step: Step, reached: _Reached, load: Load) -> tuple[_Reached, _Work]:
    found = [trace(load(hop.edge), reached.cells, hop.direction) for hop in step.hops]
    cells = reduce(unite, (one.cells for one in found))
    work = _Work(
        frozenset(one.engine for one in found),
        sum(one.scanned for one in found),
        sum(one.matched for one in found),
        sum(one.joined for one in found),
    )
    return _Reached(cells, cells.num_boxes, None), work


def _unmerged(step: Step, reached: _Reached, load: Load) -> tuple[_Reached, _Work]:
    cells = gather(reached.cells)
    boxes = cells.boxes if reached.boxes is None else reached.boxes
    found = join_step(step, cells.shape, boxes, load)
    work = _Work(found.engines, found.scanned, found.matched, len(found.boxes))
    exact = cells.exact and step.exact
    merged = CellSet.from_boxes(found.shape, found.boxes, exact=exact)
    return _Reached(merged, len(found.boxes), found.boxes), work


def _report(step: Step, reached: _Reached, work: _Work, seconds: float) -> StepReport:
    return StepReport(
        source=step.source,
        target=step.target,
        direction=step.direction,
        engine=" + ".join(sorted(work.engines)),
        rows=step.num_rows,
        scanned=work.scanned,
        matched=work.matched,
        boxes_joined=work.joined,
        boxes_merged=reached.num_boxes,
        cells=reached.cells.count,
        seconds=seconds,
        exact=reached.cells.exact,
    )


def _line(step: StepReport) -> tuple[str, ...]:
    numbers = (
        step.rows,
        step.scanned,
        step.matched,
        step.boxes_joined,
        step.boxes_merged,
        step.cells,
    )
    return (
        f"{step.source} -> {step.target}",
        step.direction,
        step.engine,
        *(f"{number:,}" for number in numbers),
        _milliseconds(step.seconds),
        "yes" if step.exact else "no",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    return [
        "  ".join(
            text.ljust(width) if at < _LEFT else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"
