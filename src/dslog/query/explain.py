"""What a query did, step by step."""

from dataclasses import asdict, dataclass
from time import perf_counter

from dslog.cells.cellset import CellSet
from dslog.query.execute import Load, join_step
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


def explain_path(
    plan: Plan, cells: CellSet, load: Load, *, merge: bool = True, engine: str = "local"
) -> Explanation:
    """Run a plan and report each step."""
    started = perf_counter()
    exact = cells.exact
    boxes, current = cells.boxes, cells
    reports = []
    for step in plan.steps:
        begun = perf_counter()
        joined = join_step(step, boxes, load)
        exact = exact and step.exact
        current = CellSet.from_boxes(joined.shape, joined.boxes, exact=exact)
        boxes = current.boxes if merge else joined.boxes
        work = (joined.scanned, joined.matched, len(joined.boxes), len(boxes), current.count)
        reports.append(_report(step, engine, work, perf_counter() - begun, exact=exact))
    return Explanation(
        path=plan.path,
        steps=tuple(reports),
        boxes=current.num_boxes,
        cells=current.count,
        seconds=perf_counter() - started,
        exact=exact,
    )


def _report(
    step: Step, engine: str, work: tuple[int, int, int, int, int], seconds: float, *, exact: bool
) -> StepReport:
    scanned, matched, joined, merged, cells = work
    return StepReport(
        source=step.source,
        target=step.target,
        direction=step.direction,
        engine=engine,
        rows=step.num_rows,
        scanned=scanned,
        matched=matched,
        boxes_joined=joined,
        boxes_merged=merged,
        cells=cells,
        seconds=seconds,
        exact=exact,
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
