"""What executors run for a query: read rows or boxes, join them, merge what comes out.

Result boxes of a task: merged while they are few, painted as bits or spilled when many.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dslog.cells.boxes import coalesce
from dslog.cells.cellset import CellSet
from dslog.cells.linear import to_flat
from dslog.cells.overlap import normalise
from dslog.lineage.bitmap import apply_bitmap
from dslog.lineage.large_lineage import LargeLineage, Unit
from dslog.lineage.lineage import Lineage
from dslog.lineage.part_files import dump_table, load_table
from dslog.spark.kernels import set_bits
from dslog.spark.spark_cost import SparkCost
from dslog.types import I64, U8, Shape

CHUNK = 1 << 16  # bytes of a bitmap that travel together; empty ones stay at home


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """Where the results of a task go.

    A result over an array of ``shape`` is bits if ``dense``. Otherwise it is boxes: up to
    ``inline`` of them travel to the driver, more are written into ``directory``.
    """

    shape: Shape
    dense: bool
    inline: int
    directory: Path


@dataclass(frozen=True, slots=True)
class Result:
    """A piece of a result: boxes here or in a file, or a stretch of bits from byte ``start`` on."""

    boxes: int
    start: int
    file: str | None
    data: bytes


class Sink:
    """Takes boxes in and gives them back as few, merged results."""

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan
        self._held: list[I64] = []
        self._count = 0
        self._spilled: list[Result] = []
        cells = prod(plan.shape)
        self._bits: U8 | None = np.zeros(-(-cells // 8), np.uint8) if plan.dense else None

    @property
    def dense(self) -> bool:
        """Whether results are bits."""
        return self._bits is not None

    def add_mask(self, mask: npt.NDArray[np.bool_]) -> None:
        """Take in cells as a mask of the whole array; only for a dense sink."""
        assert self._bits is not None  # noqa: S101
        self._bits |= np.packbits(mask)

    def add(self, boxes: I64) -> None:
        """Take in boxes, which may overlap."""
        if self._bits is not None:
            flat = to_flat(boxes, self._plan.shape)
            set_bits(self._bits, flat[:, 0].copy(), flat[:, 1].copy())
            return
        self._held.append(boxes)
        self._count += len(boxes)
        if self._count > SparkCost.current().held_boxes:
            self._merge()
            if self._count > SparkCost.current().held_boxes // 2:
                self._spill()

    def results(self) -> Iterator[Result]:
        """Give everything back."""
        if self._bits is not None:
            yield from _stretches(self._bits)
            return
        self._merge()
        if self._count > self._plan.inline:
            self._spill()
        yield from self._spilled
        if self._count:
            yield Result(self._count, -1, None, self._held[0].tobytes())

    def _merge(self) -> None:
        if self._held:
            self._held = [np.ascontiguousarray(coalesce(np.concatenate(self._held)))]
            self._count = len(self._held[0])

    def _spill(self) -> None:
        name = write_boxes(self._held[0], self._plan.directory)
        self._spilled.append(Result(self._count, -1, name, b""))
        self._held, self._count = [], 0


def _stretches(bits: U8) -> Iterator[Result]:
    for start in range(0, len(bits), CHUNK):
        stretch = bits[start : start + CHUNK]
        if stretch.any():
            yield Result(0, start, None, stretch.tobytes())


def write_boxes(boxes: I64, directory: Path) -> str:
    """Write boxes into a fresh file and return its name."""
    name = f"{uuid4().hex}.npy"
    with (directory / name).open("xb") as file:
        np.save(file, boxes, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return name


def map_boxes(path: Path) -> I64:
    """Map a file of boxes into memory."""
    boxes: I64 = np.load(path, mmap_mode="r", allow_pickle=False)
    return boxes


Batches = Iterator[pa.RecordBatch]

RESULTS = (
    "scanned long, matched long, joined long, boxes long, start long, file string, data binary"
)
_RESULTS = pa.schema(
    [
        *((name, pa.int64()) for name in ("scanned", "matched", "joined", "boxes", "start")),
        ("file", pa.string()),
        ("data", pa.binary()),
    ]
)
BLOCKS = "part int, term int, data binary"
_BLOCKS = pa.schema([("part", pa.int32()), ("term", pa.int32()), ("data", pa.binary())])
BOXES = -1  # instead of the number of the term that rows are of


@dataclass(frozen=True)
class Asked:
    """Query cells on their way to the tasks: boxes, or bits where those are fewer bytes."""

    shape: Shape
    boxes: I64 | None
    bits: bytes | None

    @classmethod
    def of(cls, cells: CellSet) -> Asked:
        """Pack a set of cells."""
        if cells.is_bitmap:
            return cls(cells.shape, None, np.packbits(cells.mask()).tobytes())
        return cls(cells.shape, np.array(cells.boxes), None)

    @property
    def nbytes(self) -> int:
        """The bytes that travel."""
        return len(self.bits or b"") + (0 if self.boxes is None else self.boxes.nbytes)

    @cached_property
    def cells(self) -> CellSet:
        """The cells, unpacked once per task."""
        if self.boxes is not None:
            return CellSet.from_boxes(self.shape, self.boxes, disjoint=True)
        size = int(np.prod(self.shape, dtype=np.int64))
        bits = np.unpackbits(np.frombuffer(self.bits or b"", np.uint8), count=size)
        return CellSet.from_mask(bits.reshape(self.shape).astype(bool))


@dataclass(frozen=True, slots=True)
class BoxSlice:
    """Some of the boxes in a file."""

    path: Path
    start: int
    stop: int

    def read(self) -> I64:
        """Return the boxes."""
        return np.array(map_boxes(self.path)[self.start : self.stop])


class Work:
    """Joins, and keeps the results and what they took."""

    def __init__(self, plan: SinkPlan) -> None:
        self._sink = Sink(plan)
        self._scanned = self._matched = self._joined = 0

    def join(self, lineage: Lineage, cells: CellSet, *, backward: bool) -> None:
        """Join cells with lineage that is read, bit by bit where both sides are bits."""
        shapes = lineage.out_shape, lineage.in_shape
        asked, answered = shapes if backward else shapes[::-1]
        if cells.is_bitmap and self._sink.dense:
            along = backward == (lineage.orientation == "backward")
            mask = apply_bitmap(lineage.terms, asked, answered, cells.mask(), backward=along)
            if mask is not None:
                self._scanned += lineage.num_rows
                self._matched += lineage.num_rows
                self._sink.add_mask(mask)
                return
        self.join_boxes(lineage, cells.boxes, backward=backward)

    def join_boxes(self, lineage: Lineage, boxes: I64, *, backward: bool) -> None:
        """Join boxes with lineage that is read."""
        found = lineage.backward_boxes(boxes) if backward else lineage.forward_boxes(boxes)
        self._note(found.scanned, found.matched, found.boxes)

    def keep(self, boxes: I64) -> None:
        """Take boxes as they are."""
        self._note(0, 0, boxes)

    def _note(self, scanned: int, matched: int, boxes: I64) -> None:
        self._scanned += scanned
        self._matched += matched
        self._joined += len(boxes)
        self._sink.add(boxes)

    def batches(self) -> Batches:
        """Give the results, with the counts in the first record."""
        counts = self._scanned, self._matched, self._joined
        yield _record(counts, Result(0, -1, None, b""))
        for result in self._sink.results():
            yield _record((0, 0, 0), result)


def _record(counts: tuple[int, int, int], result: Result) -> pa.RecordBatch:
    values = (*counts, result.boxes, result.start, result.file, result.data)
    arrays = [pa.array([v], f.type) for v, f in zip(values, _RESULTS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_RESULTS)


def _numbers(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


# --- one side is small: it is sent to every task -------------------------------------------------


@dataclass(frozen=True)
class ScanJob:
    """Tasks read units of a large lineage; ``large`` names no parts, only shapes."""

    large: LargeLineage
    units: Sequence[Unit]
    asked: Asked
    backward: bool
    sink: SinkPlan
    most: int


def scan_batches(batches: Batches, job: ScanJob) -> Batches:
    """Join the units of these numbers with the query's cells."""
    work = Work(job.sink)
    for number in _numbers(batches):
        cells = job.asked.cells
        edges = _edges(cells)
        unit = job.units[number]
        for part in job.large.pruned(unit, edges, backward=job.backward, most=job.most):
            work.join(job.large.lineage_of([part]), cells, backward=job.backward)
    yield from work.batches()


def _edges(cells: CellSet) -> I64:
    """Boxes to rule out row groups by; bits are not worth listing for that."""
    return CellSet.full(cells.shape).boxes if cells.is_bitmap else cells.boxes


@dataclass(frozen=True)
class ShareJob:
    """Tasks read slices of boxes; the lineage comes along."""

    lineage: Lineage
    slices: Sequence[BoxSlice]
    backward: bool
    sink: SinkPlan


def share_batches(batches: Batches, job: ShareJob) -> Batches:
    """Join the boxes of these slices with the lineage."""
    work = Work(job.sink)
    for number in _numbers(batches):
        work.join_boxes(job.lineage, job.slices[number].read(), backward=job.backward)
    yield from work.batches()


def box_batches(batches: Batches, sink: SinkPlan) -> Batches:
    """Merge boxes that come as rows: a column for each end, lower before upper."""
    work = Work(sink)
    for batch in batches:
        ends = np.stack([column.to_numpy() for column in batch.columns], axis=1)
        work.keep(ends.reshape(len(ends), -1, 2))
    yield from work.batches()


# --- both sides are large: they meet in ranges of one axis ---------------------------------------


@dataclass(frozen=True)
class Ranges:
    """Ranges of one axis of an array, by the first index of all but the first."""

    axis: int
    bounds: I64

    @property
    def parts(self) -> int:
        """The number of ranges."""
        return len(self.bounds) + 1

    def spans(self, lo: I64, hi: I64) -> tuple[I64, I64]:
        """Return (item, range) for every range that each interval reaches into, by range."""
        first = np.searchsorted(self.bounds, lo, "right")
        copies = np.searchsorted(self.bounds, hi, "right") - first + 1
        item = np.repeat(np.arange(len(lo)), copies)
        part = first[item] + np.arange(len(item)) - np.repeat(np.cumsum(copies) - copies, copies)
        order = np.argsort(part, kind="stable")
        return item[order], part[order]

    def cut(self, boxes: I64) -> Iterator[tuple[int, I64]]:
        """Cut boxes at the bounds; give each range its pieces."""
        item, part = self.spans(boxes[:, self.axis, 0], boxes[:, self.axis, 1])
        pieces = boxes[item]
        edges = np.concatenate([[np.iinfo(np.int64).min], self.bounds, [np.iinfo(np.int64).max]])
        lo, hi = pieces[:, self.axis, 0], pieces[:, self.axis, 1]
        pieces[:, self.axis, 0] = np.maximum(lo, edges[part])
        pieces[:, self.axis, 1] = np.minimum(hi, edges[part + 1] - 1)
        for number, start, stop in _runs(part):
            yield number, pieces[start:stop]


def _runs(part: I64) -> Iterator[tuple[int, int, int]]:
    """Give each value of a sorted array with the stretch that holds it."""
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(part)], strict=True):
        yield int(part[start]), int(start), int(stop)


@dataclass(frozen=True)
class CutJob:
    """Tasks read units or slices of boxes and send each range what reaches into it.

    Numbers below ``len(units)`` are units, the others slices.
    """

    large: LargeLineage | None
    units: Sequence[Unit]
    slices: Sequence[BoxSlice]
    backward: bool
    ranges: Ranges


def cut_units(batches: Batches, job: CutJob) -> Batches:
    """Cut what these numbers stand for."""
    for number in _numbers(batches):
        if number < len(job.units):
            yield _blocks(_cut_unit(job, job.units[number]))
        else:
            boxes = job.slices[number - len(job.units)].read()
            pieces = job.ranges.cut(boxes)
            yield _blocks((part, BOXES, piece.tobytes()) for part, piece in pieces)


def _cut_unit(job: CutJob, unit: Unit) -> Iterator[tuple[int, int, bytes]]:
    assert job.large is not None  # noqa: S101 (there are units only if there is a lineage)
    large, ranges = job.large, job.ranges
    everything = CellSet.full(large.shapes(backward=job.backward)[0]).boxes
    most = SparkCost.current().cut_rows
    for some in large.pruned(unit, everything, backward=job.backward, most=most):
        table = large.table_of(some)
        ends = large.axis_bounds(unit.term, table, ranges.axis, backward=job.backward)
        if ends is None:  # each row reaches into every range
            data = dump_table(table, *large.table_shapes(unit.term))
            yield from ((number, unit.term, data) for number in range(ranges.parts))
            continue
        item, part = ranges.spans(*ends)
        for number, start, stop in _runs(part):
            rows = table.take(item[start:stop])
            yield number, unit.term, dump_table(rows, *large.table_shapes(unit.term))


def _blocks(blocks: Iterable[tuple[int, int, bytes]]) -> pa.RecordBatch:
    columns = zip(*blocks, strict=True)
    arrays = [pa.array(c, kind) for c, kind in zip(columns, _BLOCKS.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_BLOCKS)


@dataclass(frozen=True)
class MeetJob:
    """Tasks join the rows and boxes of one range; without ``large`` they only merge boxes."""

    large: LargeLineage | None
    asked_shape: Shape
    backward: bool
    sink: SinkPlan


def meet_batches(batches: Batches, job: MeetJob) -> Batches:
    """Join, or only merge, what came together in a range."""
    rows: list[tuple[int, bytes]] = []
    boxes: list[I64] = []
    for batch in batches:
        for term, data in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
            if term != BOXES:
                rows.append((term, data.as_py()))
            else:
                flat = np.frombuffer(data.as_buffer(), np.int64)
                boxes.append(flat.reshape(-1, len(job.asked_shape), 2))
    work = Work(job.sink)
    if boxes:
        merged = normalise(np.concatenate(boxes))
        if job.large is None:
            work.keep(merged)
        else:
            work.join_boxes(job.large.in_memory(), merged, backward=job.backward)
            for term, data in rows:
                sides = map(len, job.large.table_shapes(term))
                lineage = job.large.of_tables([(term, load_table(data, *sides))])
                work.join_boxes(lineage, merged, backward=job.backward)
    yield from work.batches()
