"""Query latency: hand-made and random workflows, over selectivities, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.baselines.arrays import ArrayEquality, FlatMask, MaskPerHop
from benchmarks.baselines.duck import DuckDb
from benchmarks.baselines.engine import Engine, LimitError, Mask, Prepared, Query
from benchmarks.baselines.formats import Parquet, ParquetGzip, ParquetZstd, RawCsv, TurboRc
from benchmarks.baselines.stores import Dslog
from benchmarks.evaluation.inputs import Inputs
from benchmarks.evaluation.parts import Shape, Workflow
from benchmarks.evaluation.random_numpy import random_workflow
from benchmarks.evaluation.scratch import Scratch
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.timing import Spread, timed
from benchmarks.evaluation.workflows import image, relational, resnet

Tick = Callable[[str], None]
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


def groups(sizes: Sizes, inputs: Inputs) -> list[Group]:
    """Return the groups of the experiment."""
    found = [
        Group("image", [lambda: image(sizes.frame, sizes.detector, inputs)]),
        Group("relational", [lambda: relational(sizes.table)]),
        Group("ResNet block", [lambda: resnet(sizes.frame)]),
    ]
    for length in (5, 10):
        makers = [partial(random_workflow, length, seed, sizes) for seed in range(sizes.workflows)]
        found.append(Group(f"numpy, {length} operations", makers))
    sorts = [
        partial(random_workflow, 5, 1000 + seed, sizes, "sort")
        for seed in range(max(1, sizes.workflows // 4))
    ]
    found.append(Group("numpy, sort first", sorts))
    return found


def query_table(
    sizes: Sizes, inputs: Inputs, scratch: Scratch, tick: Tick, only: Sequence[str] = ()
) -> Iterator[QueryRow]:
    """Measure every group; ``only`` names groups."""
    for group in groups(sizes, inputs):
        if not only or group.name in only:
            yield from measure_group(group, sizes, scratch, tick)


def few(sizes: Sizes, group: Group) -> tuple[str, ...]:
    """Return the engines that stand for their kind; over many workflows, not the slowest."""
    many = len(group.makers) >= _MANY and not sizes.every_engine
    return tuple(name for name in FEW if not (many and name == SLOWEST))


def measure_group(group: Group, sizes: Sizes, scratch: Scratch, tick: Tick) -> Iterator[QueryRow]:
    """Measure all engines on all workflows of a group."""
    engines = [e for e in ENGINES if sizes.every_engine or e.name in few(sizes, group)]
    tallies: dict[tuple[str, float, str], _Tally] = {}
    for number, make in enumerate(group.makers):
        tick(f"{group.name}: workflow {number + 1} of {len(group.makers)}")
        workflow = make()
        with scratch.folder() as folder:
            _Run(workflow, sizes, folder, tallies, number).measure(engines, tick)
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
    sizes: Sizes
    folder: Path
    tallies: dict[tuple[str, float, str], _Tally]
    seed: int

    def measure(self, engines: Sequence[Engine], tick: Tick) -> None:
        queries = {
            (direction, selectivity): self._queries(direction, selectivity)
            for direction in ("forward", "backward")
            for selectivity in self.sizes.selectivities
        }
        truth: dict[Query, Mask] = {}
        for engine in engines:
            tick(f"{self.workflow.name}: {engine.name}")
            prepared = engine.prepare(self.workflow, self.folder, self.sizes.limit)
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
        positions = self.sizes.positions if selectivity < 1 else 1
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
                warm, _ = timed(partial(prepared.warm, query), self.sizes.repeats)
                cold, answer = timed(partial(prepared.cold, query), self.sizes.repeats)
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
