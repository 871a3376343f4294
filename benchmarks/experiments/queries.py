"""Query latency: hand-made and random workflows, over selectivities, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.baselines.arrays import ArrayEquality, FlatMask, MaskPerHop
from benchmarks.baselines.duck import DuckDb
from benchmarks.baselines.engine import Dslog, Engine, LimitError, Prepared, Query
from benchmarks.baselines.formats import Parquet, ParquetGzip, ParquetZstd, RawCsv, TurboRc
from benchmarks.clock import Spread, timed
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.size import Size
from benchmarks.units import share
from benchmarks.workloads.part import Workflow
from benchmarks.workloads.workflows import image, random_workflow, relational, resnet
from dslog.types import Mask, Shape

Which = Literal["cold", "warm"]
ENGINES: tuple[Engine, ...] = (
    MaskPerHop(),  # the first one's answers are what the others must equal
    FlatMask(),
    ArrayEquality(),
    DuckDb(RawCsv(), dedup=False),
    DuckDb(Parquet(), dedup=False),
    DuckDb(ParquetGzip(), dedup=False),
    DuckDb(ParquetZstd(), dedup=False),
    DuckDb(TurboRc(), dedup=False),
    DuckDb(Parquet(), dedup=True),
    DuckDb(ParquetZstd(), dedup=True),
    Dslog("DSLog"),
    Dslog("DSLog-NoMerge", merge=False),
    Dslog("DSLog, ProvRC alone", method="provrc"),
)
FEW = ("Array, mask per hop", "Array, mask per hop, flat int32", "Array, ==", "Parquet, DuckDB",
    "Parquet-zstd-delta, DuckDB distinct", "DSLog", "DSLog-NoMerge")  # fmt: skip
SLOWEST = "Array, =="  # compares every pair with every cell
OURS = "DSLog"
_MANY = 10  # workflows
_WHOLE = 64  # an axis of at most so many cells is taken whole by a query of more than one cell


@dataclass(frozen=True, slots=True)
class QueryRow:
    """One engine on one point: a group of workflows, a direction, a selectivity.

    Seconds are over workflows and random positions. ``failed`` counts queries that hit the limit,
    ``wrong`` those whose answer differs from the reference.
    """

    group: str
    direction: str
    selectivity: float
    engine: str
    ours: bool
    cold: Spread | None
    warm: Spread | None
    failed: int
    wrong: int

    @classmethod
    def read(cls, **row: Any) -> QueryRow:
        """Make a row of what JSON keeps."""
        spreads = {key: Spread(**row[key]) if row[key] else None for key in ("cold", "warm")}
        return cls(**{**row, **spreads})

    def spread(self, which: Which) -> Spread | None:
        """The seconds of queries that all finished, cold or warm."""
        return None if self.failed else self.cold if which == "cold" else self.warm


@dataclass(slots=True)
class _Tally:
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    failed: int = 0
    wrong: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Workflows whose timings are summarised together, made one by one."""

    name: str
    makers: Sequence[Callable[[], Workflow]]


def groups(size: Size, shared: Path | None = None) -> list[Group]:
    """Return the groups of the experiment."""
    found = [
        Group("image", [lambda: image(size.frame, size.detector, shared)]),
        Group("relational", [lambda: relational(size.table)]),
        Group("ResNet block", [lambda: resnet(size.frame)]),
    ]
    for length in (5, 10):
        makers = [partial(random_workflow, length, seed, size) for seed in range(size.workflows)]
        found.append(Group(f"numpy, {length} operations", makers))
    sorts = [
        partial(random_workflow, 5, 1000 + seed, size, "sort")
        for seed in range(max(1, size.workflows // 4))
    ]
    found.append(Group("numpy, sort first", sorts))
    return found


def query_table(setting: Setting) -> Iterator[QueryRow]:
    """Measure every group."""
    for group in groups(setting.size, setting.shared):
        yield from measure_group(group, setting)


def few(size: Size, group: Group) -> tuple[str, ...]:
    """Return the engines that stand for their kind; over many workflows, not the slowest."""
    many = len(group.makers) >= _MANY and not size.every_engine
    return tuple(name for name in FEW if not (many and name == SLOWEST))


def measure_group(group: Group, setting: Setting) -> Iterator[QueryRow]:
    """Measure all engines on all workflows of a group."""
    size = setting.size
    engines = [e for e in ENGINES if size.every_engine or e.name in few(size, group)]
    tallies: dict[tuple[str, float, str], _Tally] = {}
    for number, make in enumerate(group.makers):
        setting.tick(f"{group.name}: workflow {number + 1} of {len(group.makers)}")
        workflow = make()
        with setting.folder() as folder:
            _Run(workflow, size, folder, tallies, number).measure(engines, setting.tick)
        for step in workflow.steps:
            step.forget()
    ours = {engine.name: engine.ours for engine in engines}
    for (direction, selectivity, engine), tally in tallies.items():
        yield QueryRow(
            group=group.name,
            direction=direction,
            selectivity=selectivity,
            engine=engine,
            ours=ours[engine],
            cold=Spread.of(tally.cold) if tally.cold else None,
            warm=Spread.of(tally.warm) if tally.warm else None,
            failed=tally.failed,
            wrong=tally.wrong,
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """One workflow under all engines."""

    workflow: Workflow
    size: Size
    folder: Path
    tallies: dict[tuple[str, float, str], _Tally]
    seed: int

    def measure(self, engines: Sequence[Engine], tick: Callable[[str], None]) -> None:
        queries = {
            (direction, selectivity): self._queries(direction, selectivity)
            for direction in ("forward", "backward")
            for selectivity in self.size.selectivities
        }
        truth: dict[Query, Mask] = {}
        for engine in engines:
            tick(f"{self.workflow.name}: {engine.name}")
            prepared = engine.prepare(self.workflow, self.folder, self.size.limit)
            try:
                for (direction, selectivity), some in queries.items():
                    self._point(engine.name, prepared, direction, selectivity, some, truth)
            finally:
                prepared.close()

    def _queries(self, direction: str, selectivity: float) -> list[Query]:
        backward = direction == "backward"
        shapes = self.workflow.shapes
        shape = shapes[-1] if backward else shapes[0]
        rng = np.random.default_rng([self.seed, int(selectivity * 1e6), int(backward)])
        positions = self.size.positions if selectivity < 1 else 1
        return [random_box(shape, selectivity, rng, backward=backward) for _ in range(positions)]

    def _point(
        self,
        engine: str,
        prepared: Prepared,
        direction: str,
        selectivity: float,
        queries: list[Query],
        truth: dict[Query, Mask],
    ) -> None:
        tally = self.tallies.setdefault((direction, selectivity, engine), _Tally())
        if self._gave_up(engine, direction, selectivity):
            tally.failed += len(queries)
            return
        shapes = self.workflow.shapes
        for query in queries:
            try:
                prepared.warm(query)  # loads what stays in memory
                warm, _ = timed(partial(prepared.warm, query), self.size.repeats)
                cold, answer = timed(partial(prepared.cold, query), self.size.repeats)
            except LimitError:
                tally.failed += 1
                continue
            mask = prepared.mask(answer, shapes[0] if query.backward else shapes[-1])
            expected = truth.setdefault(query, mask)
            tally.wrong += not np.array_equal(mask, expected)
            tally.cold.append(cold)
            tally.warm.append(warm)

    def _gave_up(self, engine: str, direction: str, selectivity: float) -> bool:
        """Whether this engine failed on fewer cells of the same workflow, the only one."""
        return self.seed == 0 and any(
            tally.failed
            for (way, cells, name), tally in self.tallies.items()
            if name == engine and way == direction and cells < selectivity
        )


def random_box(
    shape: Shape, selectivity: float, rng: np.random.Generator, *, backward: bool
) -> Query:
    """A box with about that share of an array's cells, anywhere in it; 0 means one cell."""
    if selectivity <= 0:
        extent = [1] * len(shape)
    else:
        long = [size for size in shape if size > _WHOLE] or list(shape)
        side = selectivity ** (1 / len(long))
        extent = [
            size if size not in long else min(size, max(1, round(size * side))) for size in shape
        ]
    low = [int(rng.integers(0, size - e + 1)) for size, e in zip(shape, extent, strict=True)]
    high = [at + e - 1 for at, e in zip(low, extent, strict=True)]
    return Query(tuple(low), tuple(high), backward)


def points(rows: Iterable[QueryRow]) -> list[list[QueryRow]]:
    """Gather rows by group, direction and selectivity, in order of appearance."""
    found: dict[tuple[str, str, float], list[QueryRow]] = {}
    for row in rows:
        found.setdefault((row.group, row.direction, row.selectivity), []).append(row)
    return list(found.values())


def query_ratios(rows: Sequence[QueryRow], which: Which) -> list[Ratio]:
    """Mean seconds of every point against the fastest baseline that finished all its queries."""
    return [ratio for point in points(rows) if (ratio := query_ratio(point, which)) is not None]


def query_ratio(point: Sequence[QueryRow], which: Which) -> Ratio | None:
    """The ratio of one point, if both we and a baseline finished."""
    times = {
        row.engine: spread.mean
        for row in point
        if (spread := row.spread(which)) is not None and (not row.ours or row.engine == OURS)
    }
    mine = times.pop(OURS, None)
    if mine is None or not times:
        return None
    best = min(times, key=lambda engine: times[engine])
    first = point[0]
    name = f"query {which} {first.group}, {first.direction}, {share(first.selectivity)}"
    return Ratio(name, "seconds", mine, times[best], best)


def query_targets(rows: Sequence[QueryRow]) -> Iterator[Target]:
    """Faster than every baseline, and right."""
    kinds: Mapping[Which, str] = {"cold": "files read", "warm": "in memory"}
    for which, meaning in kinds.items():
        yield from Target.of_ratios(
            f"query latency, {meaning}",
            "up to 1500x faster, slower on the most selective image queries",
            "faster than the best baseline at every point",
            query_ratios(rows, which),
        )
    if rows:
        yield Target(
            "forward and backward exactness",
            "superset on shared references",
            "exact",
            f"{sum(r.cold.runs for r in rows if r.cold)} answers compared",
            tuple(f"{r.group}, {r.direction}, {r.engine}: {r.wrong}" for r in rows if r.wrong),
        )


EXPERIMENTS = (
    Experiment(
        "queries",
        "Query latency",
        "Cold: lineage is read from files (the system may have them in memory). Warm: whatever an "
        "engine would keep is in memory. Points are means over workflows and random positions of "
        "the query, bars reach from the fastest to the slowest. An engine that did not finish in "
        "time or memory has no point.",
        query_table,
        QueryRow.read,
        lambda rows: [*query_ratios(rows, "cold"), *query_ratios(rows, "warm")],
        query_targets,
    ),
)
