"""Follow lineage on Spark: the joins of ``lineage.join``, carried by tasks.

Whichever side is small is sent to every task: the query's boxes when the lineage is large, the
lineage when the boxes are many. When both are large, rows and boxes are cut into ranges of the
array they have in common and meet there. Results come to the driver while they are few, else they
are merged range by range and stay in scratch files.

Where a step of a query runs, and how; pure, nothing is read or started.

A Spark job costs a tenth of a second before it does anything, so what one process reads in that
time stays in it. What counts is not how long a Lineage is but how many of its rows are left once
the query's bounds have ruled out files and row groups.

Lineage that follows cells by itself: large ones here or on Spark, small ones on Spark.

Query cells that come as a Spark DataFrame: checked and merged on the executors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dslog.cells.boxes import bounds
from dslog.cells.cellset import PLAIN, CellSet, Labels
from dslog.cells.selection import select
from dslog.config import Config
from dslog.errors import EngineError, SelectionError
from dslog.lineage.large_lineage import LargeLineage, Unit
from dslog.lineage.lineage import Lineage
from dslog.query.execute import Cells, Followed, follow_and_count, unite_cells
from dslog.query.plan import Direction
from dslog.spark.job import cancelled_on_error, cores, job_failures, shown
from dslog.spark.join_task import (
    BLOCKS,
    RESULTS,
    Asked,
    CutJob,
    MeetJob,
    Ranges,
    ScanJob,
    ShareJob,
    SinkPlan,
    box_batches,
    cut_units,
    map_boxes,
    meet_batches,
    scan_batches,
    share_batches,
)
from dslog.spark.spark_cost import SparkCost
from dslog.spark.spread_cells import BoxFile, Scratch, SpreadCells
from dslog.types import I64, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class How(StrEnum):
    """The ways to follow a lineage."""

    LOCAL = "local"
    """In this process."""
    SCAN = "scan"
    """Tasks read the lineage's files; the query's boxes are sent to all of them."""
    SHARE = "share"
    """Tasks share the query's boxes; the lineage, which is small, is sent to all of them."""
    EXCHANGE = "exchange"
    """Rows and boxes, both many, meet in ranges of the array they have in common."""


def plan_step(engine: str, rows: int, *, loaded: bool, asked: int | None, config: Config) -> How:
    """Choose how to follow a lineage.

    ``rows`` have to be read for it; ``loaded`` says whether they are in memory already. ``asked``
    is the size of the query in bytes, None when its cells are spread over executors.

    >>> plan_step("auto", 1000, loaded=False, asked=16, config=Config()).value
    'local'
    >>> plan_step("auto", 10**8, loaded=False, asked=16, config=Config()).value
    'scan'
    """
    if asked is not None:
        few = loaded or rows <= config.spark_rows
        if engine == "local" or (engine == "auto" and few):
            return How.LOCAL
    if loaded:
        return How.SHARE
    most = SparkCost.current().broadcast_bytes
    return How.SCAN if asked is not None and asked <= most else How.EXCHANGE


@dataclass(frozen=True)
class _Outcome:
    """What all tasks of a join gave."""

    scanned: int
    matched: int
    joined: int
    boxes: list[I64]
    files: list[BoxFile]
    bits: npt.NDArray[np.uint8] | None


@dataclass(frozen=True)
class SparkJoins:
    """Joins on one session; ``root`` is a directory that driver and executors see."""

    session: Callable[[], SparkSession]
    root: Path
    config: Config

    def scan(
        self, large: LargeLineage, units: Sequence[Unit], cells: CellSet, direction: Direction
    ) -> Followed:
        """Have tasks read the units of a large lineage and join them with a few boxes."""
        back = direction is Direction.BACKWARD
        _, shape = large.shapes(backward=back)
        plan = self._sink(shape, sum(unit.rows for unit in units), len(units))
        scratch = Scratch(self.root)
        job = ScanJob(
            large.without_parts(),
            tuple(units),
            Asked.of(cells),
            back,
            plan(scratch.path),
            SparkCost.current().unit_rows,
        )
        outcome = self._map(len(units), partial(scan_batches, job=job), scratch, shape)
        return self._followed(outcome, shape, cells.labels.joined(large.labels))

    def share(self, lineage: Lineage, cells: Cells, direction: Direction) -> Followed:
        """Have tasks share the boxes and join them with a lineage that all of them get."""
        spread = self.spread(cells) if isinstance(cells, CellSet) else cells
        assert isinstance(spread, SpreadCells)  # noqa: S101 (a query has one engine)
        back = direction is Direction.BACKWARD
        shape = lineage.in_shape if back else lineage.out_shape
        slices = spread.slices()
        plan = self._sink(shape, spread.num_boxes, len(slices))
        scratch = Scratch(self.root)
        job = ShareJob(lineage, slices, back, plan(scratch.path))
        outcome = self._map(len(slices), partial(share_batches, job=job), scratch, shape)
        return self._followed(outcome, shape, spread.labels.joined(lineage.labels))

    def exchange(
        self, large: LargeLineage, units: Sequence[Unit], cells: Cells, direction: Direction
    ) -> Followed:
        """Cut the rows and the boxes, both many, into ranges and join them there."""
        spread = self.spread(cells) if isinstance(cells, CellSet) else cells
        assert isinstance(spread, SpreadCells)  # noqa: S101 (a query has one engine)
        back = direction is Direction.BACKWARD
        asked, shape = large.shapes(backward=back)
        units = [unit for unit in units if unit.path is not None]
        rows = sum(unit.rows for unit in units)
        parts = math.ceil(max(rows, spread.num_boxes) / SparkCost.current().range_boxes)
        ranges = _even_ranges(asked, max(parts, cores(self.session())))
        plan = self._sink(shape, rows, ranges.parts)
        terms = large.without_parts()
        slices = spread.slices()
        scratch = Scratch(self.root)
        cut = CutJob(terms, tuple(units), slices, back, ranges)
        meet = MeetJob(terms, asked, back, plan(scratch.path))
        number = len(units) + len(slices)
        outcome = self._shuffle(number, cut, meet, scratch, shape)
        return self._followed(outcome, shape, spread.labels.joined(large.labels))

    def spread(self, cells: CellSet) -> SpreadCells:
        """Write cells to a file that tasks read."""
        scratch = Scratch(self.root)
        file = BoxFile.write(np.array(cells.boxes), scratch)
        return SpreadCells(cells.shape, (file,), self, cells.labels, disjoint=True)

    def boxes_of(self, frame: DataFrame, shape: Shape) -> Cells:
        """Read boxes from a frame with a column for each end, lower before upper."""
        scratch = Scratch(self.root)
        sink = self._sink(shape, prod(shape), cores(self.session()))(scratch.path)
        results = frame.mapInArrow(partial(box_batches, sink=sink), RESULTS)
        outcome = self._collect(results, scratch, shape)
        return self._cells(outcome, shape, PLAIN, merged=False)

    def merge(self, cells: SpreadCells) -> Cells:
        """Merge boxes range by range; they come to the driver if few are left."""
        ranges = _sampled_ranges(
            cells, math.ceil(cells.num_boxes / SparkCost.current().range_boxes)
        )
        slices = cells.slices()
        inline = self.config.collect_rows // ranges.parts
        scratch = Scratch(self.root)
        cut = CutJob(None, (), slices, True, ranges)
        sink = SinkPlan(cells.shape, False, inline, scratch.path)
        meet = MeetJob(None, cells.shape, True, sink)
        outcome = self._shuffle(len(slices), cut, meet, scratch, cells.shape)
        return self._cells(outcome, cells.shape, cells.labels, merged=True)

    def _followed(self, outcome: _Outcome, shape: Shape, labels: Labels) -> Followed:
        cells = self._cells(outcome, shape, labels, merged=False)
        return Followed(cells, outcome.scanned, outcome.matched, outcome.joined, "spark")

    def _cells(self, outcome: _Outcome, shape: Shape, labels: Labels, *, merged: bool) -> Cells:
        if outcome.bits is not None:
            bits = np.unpackbits(outcome.bits, count=prod(shape))
            return CellSet.from_mask(bits.reshape(shape).astype(bool)).with_labels(labels)
        total = sum(map(len, outcome.boxes)) + sum(file.boxes for file in outcome.files)
        if total <= self.config.collect_rows:
            some = [np.zeros((0, len(shape), 2), np.int64), *outcome.boxes]
            some += [np.array(map_boxes(file.path)) for file in outcome.files]
            return CellSet.from_boxes(shape, np.concatenate(some)).with_labels(labels)
        files = list(outcome.files)
        if outcome.boxes:
            files.append(BoxFile.write(np.concatenate(outcome.boxes), Scratch(self.root)))
        spread = SpreadCells(shape, tuple(files), self, labels, disjoint=merged)
        return spread if merged else self.merge(spread)

    def _sink(self, shape: Shape, most: int, tasks: int) -> Callable[[Path], SinkPlan]:
        """Choose between bits and boxes for up to ``most`` result boxes over an array."""
        cells = prod(shape)
        workers = min(tasks, cores(self.session()))
        fits = (
            cells <= SparkCost.current().bits_cells
            and workers * cells // 8 <= SparkCost.current().bits_bytes
        )
        dense = fits and (
            cells <= SparkCost.current().few_cells or most * 16 * len(shape) > cells // 8
        )
        inline = self.config.collect_rows // max(workers, 1)
        return lambda directory: SinkPlan(shape, dense, inline, directory)

    def _map(
        self, number: int, task: Callable[..., object], scratch: Scratch, shape: Shape
    ) -> _Outcome:
        """Run a task over numbered pieces of work, shared among as many tasks as there are cores.

        More tasks than cores would even out slow ones, but every task merges what it found, and
        fewer results are worth more.
        """
        session = self.session()
        tasks = max(min(number, cores(session)), 1)
        frame = session.range(0, number, 1, tasks).mapInArrow(task, RESULTS)  # type: ignore[arg-type]
        return self._collect(frame, scratch, shape)

    def _shuffle(
        self, number: int, cut: CutJob, meet: MeetJob, scratch: Scratch, shape: Shape
    ) -> _Outcome:
        session = self.session()
        work = session.range(0, number, 1, max(min(number, 4 * cores(session)), 1))
        blocks = work.mapInArrow(partial(cut_units, job=cut), BLOCKS)
        results = blocks.repartitionById(cut.ranges.parts, "part").mapInArrow(
            partial(meet_batches, job=meet), RESULTS
        )
        return self._collect(results, scratch, shape)

    def _collect(self, frame: DataFrame, scratch: Scratch, shape: Shape) -> _Outcome:
        session = self.session()
        with cancelled_on_error(session), job_failures(), shown(session, "joining"):
            return _outcome(frame.toArrow(), scratch, shape)


def _outcome(found: pa.Table, scratch: Scratch, shape: Shape) -> _Outcome:
    scanned, matched, joined = (
        sum(found.column(name).to_pylist()) for name in ("scanned", "matched", "joined")
    )
    bits: npt.NDArray[np.uint8] | None = None
    boxes: list[I64] = []
    files: list[BoxFile] = []
    columns = (found.column(name).to_pylist() for name in ("boxes", "start", "file", "data"))
    for number, start, file, data in zip(*columns, strict=True):
        if start >= 0:
            if bits is None:
                bits = np.zeros(-(-prod(shape) // 8), np.uint8)
            bits[start : start + len(data)] |= np.frombuffer(data, np.uint8)
        elif file:
            files.append(BoxFile(scratch, file, number))
        elif number:
            boxes.append(np.frombuffer(data, np.int64).reshape(number, len(shape), 2))
    return _Outcome(scanned, matched, joined, boxes, files, bits)


def _even_ranges(shape: Shape, parts: int) -> Ranges:
    axis = int(np.argmax(shape))
    bounds = np.unique(np.arange(1, parts) * shape[axis] // parts)
    return Ranges(axis, bounds[bounds > 0].astype(np.int64))


def _sampled_ranges(cells: SpreadCells, parts: int) -> Ranges:
    """Cut the longest axis where a sample of the boxes says that equal parts end."""
    axis = int(np.argmax(cells.shape))
    samples = []
    for file in cells.files:
        boxes = map_boxes(file.path)
        samples.append(boxes[:: max(len(boxes) // 4096, 1), axis, 0])
    sample = np.sort(np.concatenate(samples))
    at = np.arange(1, parts) * len(sample) // parts
    return Ranges(axis, np.unique(sample[at]).astype(np.int64))


@dataclass(frozen=True)
class SharedLineage:
    """A Lineage in memory whose steps run on Spark, because the caller wants that."""

    lineage: Lineage
    joins: SparkJoins

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""
        return self.joins.share(self.lineage, cells, direction)


@dataclass(frozen=True)
class LargeFollower:
    """A Lineage in part files. Each step reads what its bounds let through, here or on Spark.

    ``load`` reads all of it into memory, for steps that want most of a Lineage that fits.
    """

    large: LargeLineage
    engine: str
    joins: SparkJoins
    load: Callable[[], Lineage]

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""
        back = direction is Direction.BACKWARD
        if not isinstance(cells, CellSet):
            return self.joins.exchange(self.large, self.large.units(), cells, direction)
        if not cells:
            _, shape = self.large.shapes(backward=back)
            labels = cells.labels.joined(self.large.labels)
            return Followed(CellSet.empty(shape).with_labels(labels), 0, 0, 0, "local")
        units = self._units(cells, backward=back)
        rows = sum(unit.rows for unit in units)
        asked = Asked.of(cells).nbytes
        how = plan_step(self.engine, rows, loaded=False, asked=asked, config=self.joins.config)
        if how is How.LOCAL:
            return self._follow_here(units, rows, cells, direction)
        if how is How.SCAN:
            return self.joins.scan(self.large, units, cells, direction)
        return self.joins.exchange(self.large, units, cells, direction)

    def _units(self, cells: CellSet, *, backward: bool) -> list[Unit]:
        boxes = cells.boxes
        if len(boxes) > SparkCost.current().ruling_boxes:
            boxes = bounds(boxes)[None]
        met = self.large.units_met(boxes, backward=backward)
        if len(met) > SparkCost.current().footers:
            return met
        most = SparkCost.current().unit_rows
        return [
            unit
            for file in met
            for unit in self.large.pruned(file, boxes, backward=backward, most=most)
        ]

    def _follow_here(
        self, units: list[Unit], rows: int, cells: CellSet, direction: Direction
    ) -> Followed:
        limit = self.joins.config.spark_rows
        if self.large.num_rows <= limit and rows * 4 > self.large.num_rows:
            return follow_and_count(self.load(), cells, direction)
        found: Cells | None = None
        scanned = matched = joined = 0
        for some in _batches(units, limit):
            step = follow_and_count(self.large.lineage_of(some), cells, direction)
            found = step.cells if found is None else unite_cells(found, step.cells)
            scanned, matched = scanned + step.scanned, matched + step.matched
            joined += step.joined
        if found is None:
            _, shape = self.large.shapes(backward=direction is Direction.BACKWARD)
            labels = cells.labels.joined(self.large.labels)
            found = CellSet.empty(shape).with_labels(labels)
        return Followed(found, scanned, matched, joined, "local")


def _batches(units: list[Unit], most: int) -> Iterator[list[Unit]]:
    """Gather units into lists of ``most`` rows or so."""
    held: list[Unit] = []
    for unit in units:
        held.append(unit)
        if sum(one.rows for one in held) >= most:
            yield held
            held = []
    if held:
        yield held


_MARK = "dslog-bad-cell"
_BAD = re.compile(_MARK + r"(\[[^\]]*\])")


def read_cells(frame: DataFrame, shape: tuple[int, ...], name: str, joins: SparkJoins) -> Cells:
    """Return the cells that a frame names: one per row, or one box of them per row.

    Columns are ``i0, i1, ..`` (as ``CellSet.to_spark`` gives them), or ``b0, ..`` or ``a0, ..`` (as
    a relation has them), or ``lo0, hi0, ..`` for boxes. Other columns are left alone.
    """
    session = frame.sparkSession
    joins = replace(joins, session=lambda: session)
    low, high = _columns(frame, len(shape), name)
    if not shape:
        return CellSet.full(()) if frame.limit(1).count() else CellSet.empty(())
    inside = " and ".join(
        f"{lo} >= 0 and {lo} <= {hi} and {hi} < {size}L"
        for lo, hi, size in zip(low, high, shape, strict=True)
    )
    row = ", ".join(f"cast({column} as string)" for column in [*low, *high])
    message = f"concat('{_MARK}', to_json(array({row})))"
    ends = [column for pair in zip(low, high, strict=True) for column in pair]
    refused = f"cast(raise_error({message}) as bigint)"
    first = f"case when {inside} then cast({ends[0]} as bigint) else {refused} end as c0"
    others = [f"cast({column} as bigint) as c{k}" for k, column in enumerate(ends[1:], start=1)]
    with _explained(shape, name):
        return joins.boxes_of(frame.selectExpr(first, *others), shape)


def _columns(frame: DataFrame, ndim: int, name: str) -> tuple[list[str], list[str]]:
    """Find the columns with the lower and the upper ends; the same ones for single cells."""
    from pyspark.sql.types import IntegralType

    kinds = {field.name: field.dataType for field in frame.schema.fields}
    for low, high in (("i", "i"), ("b", "b"), ("a", "a"), ("lo", "hi")):
        lows, highs = ([f"{letter}{axis}" for axis in range(ndim)] for letter in (low, high))
        if all(column in kinds for column in [*lows, *highs]):
            for column in [*lows, *highs]:
                if not isinstance(kinds[column], IntegralType):
                    raise SelectionError(
                        f"column {column} of the cells of {name!r} has type "
                        f"{kinds[column].simpleString()}, but must be an integer"
                    )
            return lows, highs
    wanted = ", ".join(f"i{axis}" for axis in range(ndim))
    raise SelectionError(
        f"a DataFrame of cells of {name!r}, which has {ndim} axes, needs the columns {wanted} "
        f"(or b0, ..; a0, ..; lo0, hi0, ..), but it has {list(kinds)}"
    )


@contextmanager
def _explained(shape: tuple[int, ...], name: str) -> Iterator[None]:
    """Turn what Spark raises for a bad cell into the SelectionError that names it."""
    try:
        yield
    except EngineError as error:
        found = _BAD.search(str(error.__cause__))
        if found is None:
            raise
        ends = json.loads(found[1])
        if any(end is None for end in ends):
            raise SelectionError(f"the cells of {name!r} have nulls: drop those rows") from None
        low, high = (tuple(map(int, some)) for some in (ends[: len(shape)], ends[len(shape) :]))
        select([low, high], shape, name)
        raise SelectionError(
            f"a box of {name!r} goes from {low} to {high}: its upper end lies before its lower end"
        ) from None
