"""Follow lineage on Spark: the joins of ``lineage.join``, carried by tasks.

Whichever side is small is sent to every task: the query's boxes when the lineage is large, the
lineage when the boxes are many. When both are large, rows and boxes are cut into ranges of the
array they have in common and meet there. Results come to the driver while they are few, else they
are merged range by range and stay in scratch files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dslog.cells.cellset import CellSet
from dslog.engine.jobs import cancelled_on_error, cores, job_failures
from dslog.engine.join_tasks import (
    BLOCKS,
    RESULTS,
    Asked,
    CutJob,
    MeetJob,
    Ranges,
    ScanJob,
    ShareJob,
    box_batches,
    cut_batches,
    meet_batches,
    scan_batches,
    share_batches,
)
from dslog.engine.large import LargeLineage, Unit
from dslog.engine.plan import Limits
from dslog.engine.progress import shown
from dslog.engine.sink import SinkPlan, read_boxes
from dslog.engine.spread import BoxFile, Scratch, SpreadCells
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Direction
from dslog.query.follow import Cells, Followed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

I64 = npt.NDArray[np.int64]
Shape = tuple[int, ...]

UNIT_ROWS = 1 << 20
_BITS = 256 << 20  # bytes of bitmaps that all tasks together may send to the driver
_MOST_BITS = 1 << 28  # cells of an array whose results may be bits
_FEW_CELLS = 1 << 19
_RANGE_BOXES = 1 << 19


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
    limits: Limits

    def scan(
        self, large: LargeLineage, units: Sequence[Unit], cells: CellSet, direction: Direction
    ) -> Followed:
        """Have tasks read the units of a large lineage and join them with a few boxes."""
        back = direction is Direction.BACKWARD
        shape = large.in_shape if back else large.out_shape
        plan = self._sink(shape, sum(unit.rows for unit in units), len(units))
        shapes = replace(large, parts=())
        scratch = Scratch(self.root)
        job = ScanJob(shapes, tuple(units), Asked.of(cells), back, plan(scratch.path), UNIT_ROWS)
        outcome = self._map(len(units), partial(scan_batches, job=job), scratch, shape)
        return self._followed(outcome, shape, exact=cells.exact and large.exact)

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
        return self._followed(outcome, shape, exact=spread.exact and lineage.exact)

    def exchange(
        self, large: LargeLineage, units: Sequence[Unit], cells: Cells, direction: Direction
    ) -> Followed:
        """Cut the rows and the boxes, both many, into ranges and join them there."""
        spread = self.spread(cells) if isinstance(cells, CellSet) else cells
        assert isinstance(spread, SpreadCells)  # noqa: S101 (a query has one engine)
        back = direction is Direction.BACKWARD
        asked, shape = (
            (large.out_shape, large.in_shape) if back else (large.in_shape, large.out_shape)
        )
        rows = sum(unit.rows for unit in units)
        parts = math.ceil(max(rows, spread.num_boxes) / _RANGE_BOXES)
        ranges = _even_ranges(asked, max(parts, cores(self.session())))
        plan = self._sink(shape, rows, ranges.parts)
        shapes = replace(large, parts=())
        slices = spread.slices()
        scratch = Scratch(self.root)
        cut = CutJob(shapes, tuple(units), slices, back, ranges)
        meet = MeetJob(shapes, asked, back, plan(scratch.path))
        number = len(units) + len(slices)
        outcome = self._shuffle(number, cut, meet, scratch, shape)
        return self._followed(outcome, shape, exact=spread.exact and large.exact)

    def spread(self, cells: CellSet) -> SpreadCells:
        """Write cells to a file that tasks read."""
        scratch = Scratch(self.root)
        file = BoxFile.write(np.array(cells.boxes), scratch)
        return SpreadCells(cells.shape, (file,), self, exact=cells.exact, disjoint=True)

    def boxes_of(self, frame: DataFrame, shape: Shape) -> Cells:
        """Read boxes from a frame with a column for each end, lower before upper."""
        scratch = Scratch(self.root)
        sink = self._sink(shape, math.prod(shape), cores(self.session()))(scratch.path)
        results = frame.mapInArrow(partial(box_batches, sink=sink), RESULTS)
        outcome = self._collect(results, scratch, shape)
        return self._cells(outcome, shape, exact=True, merged=False)

    def merge(self, cells: SpreadCells) -> Cells:
        """Merge boxes range by range; they come to the driver if few are left."""
        ranges = _sampled_ranges(cells, math.ceil(cells.num_boxes / _RANGE_BOXES))
        slices = cells.slices()
        inline = self.limits.collect_rows // ranges.parts
        scratch = Scratch(self.root)
        cut = CutJob(None, (), slices, True, ranges)
        sink = SinkPlan(cells.shape, False, inline, scratch.path)
        meet = MeetJob(None, cells.shape, True, sink)
        outcome = self._shuffle(len(slices), cut, meet, scratch, cells.shape)
        return self._cells(outcome, cells.shape, exact=cells.exact, merged=True)

    def _followed(self, outcome: _Outcome, shape: Shape, *, exact: bool) -> Followed:
        cells = self._cells(outcome, shape, exact=exact, merged=False)
        return Followed(cells, outcome.scanned, outcome.matched, outcome.joined, "spark")

    def _cells(self, outcome: _Outcome, shape: Shape, *, exact: bool, merged: bool) -> Cells:
        if outcome.bits is not None:
            bits = np.unpackbits(outcome.bits, count=math.prod(shape))
            return CellSet.from_mask(bits.reshape(shape).astype(bool), exact=exact)
        total = sum(map(len, outcome.boxes)) + sum(file.boxes for file in outcome.files)
        if total <= self.limits.collect_rows:
            some = [np.zeros((0, len(shape), 2), np.int64), *outcome.boxes]
            some += [np.array(read_boxes(file.path)) for file in outcome.files]
            return CellSet.from_boxes(shape, np.concatenate(some), exact=exact)
        files = list(outcome.files)
        if outcome.boxes:
            files.append(BoxFile.write(np.concatenate(outcome.boxes), Scratch(self.root)))
        spread = SpreadCells(shape, tuple(files), self, exact=exact, disjoint=merged)
        return spread if merged else self.merge(spread)

    def _sink(self, shape: Shape, most: int, tasks: int) -> Callable[[Path], SinkPlan]:
        """Choose between bits and boxes for up to ``most`` result boxes over an array."""
        cells = math.prod(shape)
        workers = min(tasks, cores(self.session()))
        fits = cells <= _MOST_BITS and workers * cells // 8 <= _BITS
        dense = fits and (cells <= _FEW_CELLS or most * 16 * len(shape) > cells // 8)
        inline = self.limits.collect_rows // max(workers, 1)
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
        blocks = work.mapInArrow(partial(cut_batches, job=cut), BLOCKS)
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
                bits = np.zeros(-(-math.prod(shape) // 8), np.uint8)
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
        boxes = read_boxes(file.path)
        samples.append(boxes[:: max(len(boxes) // 4096, 1), axis, 0])
    sample = np.sort(np.concatenate(samples))
    at = np.arange(1, parts) * len(sample) // parts
    return Ranges(axis, np.unique(sample[at]).astype(np.int64))
