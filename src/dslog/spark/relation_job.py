"""Compress a relation on Spark: the driver sees counts and seams, never the relation.

1. Pack each pair into one number, checking it on the way (``frames``).
2. Look at a sample, to know about how many pairs there are and to cut their order into partitions
   of equal size, however skewed the relation is: a partition may end within an output cell.
3. Cut, sort and, where it pays, compress chunks as they come (``blocks``); send each partition its
   blocks; compress each partition with the kernels that run in process (``tasks``).
4. Join the seams. A result that is small comes to the driver and goes through the encoder once
   more. A large one is a product of small tables, by counts (``products``), or stays in the part
   files that executors wrote (``parts``).

Where to cut a relation: partitions of equal size, by a sample, at places that can be mended.

Partitions should end where a row of the output array ends, because what is compressed within whole
rows is what one process would find. If rows are too long for that they end with an output cell, and
if one cell has too many pairs, anywhere.

Joining what partitions compressed apart.

A partition holds a range of the pairs' order. Only rows that reach its first or last output cells
can merge with rows of a neighbour: they are set apart as the *seam*, and the seams of all
partitions are compressed once more, together. The rest of a partition's rows stay where they are.

What executors run: pure functions over blocks, wrapped for Spark's Arrow batches.

Spark pickles a task by the names of its function and of the values' classes, so executors need
dslog installed, or shipped with the job. A task that is tried again, or runs twice, writes under
another name; only files that a task which ended well reports are ever committed.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.compress.encoder import Method, encode_table
from dslog.compress.provrc import fold, provrc_ranges
from dslog.errors import RelationError
from dslog.lineage.large_lineage import LargeLineage, PartFactor, PartTable
from dslog.lineage.lineage import Lineage
from dslog.lineage.part_files import PartFile, dump_table, load_table, read_part, write_part
from dslog.lineage.table import Table, concat
from dslog.relation.parquet import check_footers, parquet_files
from dslog.spark.job import cancelled_on_error, cores, shown
from dslog.spark.kernels import join_progressions
from dslog.spark.pair_blocks import Packing, PartBlocks, Split, chunk_keys, cut_keys
from dslog.spark.product_job import Rows, product_of
from dslog.spark.relation_frame import explained, pack_frame
from dslog.spark.spark_cost import SparkCost
from dslog.types import I64

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Options:
    """How a relation is compressed on Spark.

    ``collect_rows`` compressed rows may come to the driver; a partition should get ``pairs`` pairs
    unless ``partitions`` fixes their number; ``chunk`` and ``combine`` are those of ``Split``.
    """

    method: Method = "auto"
    collect_rows: int = 1_000_000
    partitions: int | None = None
    pairs: int = 1 << 21
    chunk: int = 1 << 20
    combine: int = 1 << 16


def partitions_for(rows: int, pairs: int, cores: int) -> int:
    """As many partitions as the pairs need, and enough for the cores when there is work for them.

    >>> partitions_for(10, 4_000_000, 8), partitions_for(10**9, 4_000_000, 8)
    (1, 250)
    """
    enough = min(cores, rows // (1 << 18))
    return min(max(math.ceil(rows / pairs), enough, 1), SparkCost.current().most_partitions)


def plan_split(sample: I64, rows: int, wanted: int, packing: Packing, options: Options) -> Split:
    """Cut the order of the pairs by a sorted sample of their first numbers."""
    bounds, unit = _bounds(sample, wanted, 1), 1
    for stride in _strides(packing):
        rounded = _bounds(sample, wanted, stride)
        units = int(sample[-1] // stride - sample[0] // stride) + 1 if len(sample) else 1
        largest = _largest(sample, rounded) * rows / max(len(sample), 1)
        even = largest <= max(
            SparkCost.current().uneven * rows / wanted, SparkCost.current().small_pairs
        )
        if even and rows <= max(
            units * options.chunk / SparkCost.current().chunk_units, SparkCost.current().small_pairs
        ):
            bounds, unit = rounded, stride
            break
    if options.partitions is None:
        bounds = np.unique(bounds)
    thorough = options.method == "provrc"
    found = tuple(bounds.tolist())
    return Split(packing, found, unit, thorough, options.combine, options.chunk)


def _strides(packing: Packing) -> list[int]:
    """Numbers in a row of the output array, in a row of each of its rows, ..., in a cell."""
    outputs = len([axis for axis in packing.groups[0] if axis < len(packing.out_shape)])
    return packing.strides(packing.groups[0])[:outputs]


def _bounds(sample: I64, wanted: int, unit: int) -> I64:
    at = np.arange(1, wanted) * len(sample) // wanted
    return sample[at] // unit * unit if len(sample) else sample


def _largest(sample: I64, bounds: I64) -> int:
    """Return how much of the sample the largest partition gets."""
    ends = np.concatenate([[0], np.searchsorted(sample, bounds), [len(sample)]])
    return int(np.diff(ends).max())


def split_seam(table: Table, split: Split, part: int, most: int) -> tuple[Table, Table]:
    """Return a plain table's inner rows and its seam, the rows that a neighbour could continue.

    With more than ``most`` rows at the border (the array's first axis is short and the others are
    long) only those at both ends of the order are taken: some merges are lost, memory is not.
    """
    if split.parts == 1 or len(table) == 0:
        return table, table.take(slice(0, 0))
    seam = np.ones(len(table), bool)
    if table.num_out:
        seam[:] = False
        lo, width = table.said_of(0)
        if part > 0:
            first = split.packing.first_output(split.bounds[part - 1])
            seam |= lo <= first + 1
        if part < split.parts - 1:
            last = split.packing.first_output(split.bounds[part])
            seam |= lo + width >= last - 1
    if np.count_nonzero(seam) > most:
        ends = np.flatnonzero(seam)
        seam[:] = False
        seam[ends[: SparkCost.current().end_rows]] = seam[ends[-SparkCost.current().end_rows :]] = (
            True
        )
    return table.take(~seam), table.take(seam)


def join_seams(seams: Sequence[Table]) -> Table:
    """Compress the seams of all partitions together."""
    return provrc_ranges(concat(list(seams)))


def fold_rows(table: Table) -> Table:
    """Fold a long table if that leaves a fraction of its rows, in order of the first output."""
    if len(table) < SparkCost.current().many_rows:
        return table
    folded = fold(table)
    if len(folded) * SparkCost.current().fold_gain > len(table):
        return table
    if folded.num_out == 0:
        return folded
    return folded.take(np.argsort(folded.bounds[0][:, 0], kind="stable"))


def join_folds(table: Table) -> Table:
    """Join rows, in order, whose progressions continue each other.

    Partitions cut a progression into folded pieces of any length with plain rows, the seams, in
    between; a row that lies where the one before would have gone on belongs to it.
    """
    if len(table) < 2 or table.levels == 0:
        return table
    ends = 2 * table.num_axes
    inner = [
        table.ref,
        table.count[1:],
        table.step[1:].reshape((table.levels - 1) * ends, len(table)),
    ]
    count, step = table.count[0].copy(), table.step[0].copy()
    head = np.empty(len(table), np.int64)
    k = join_progressions(table.matrix[:ends], np.concatenate(inner), count, step, head)
    joined = table.take(head[:k])
    joined.count[0], joined.step[0] = count[:k], step[:, :k]
    return joined


BLOCKS = "part int, kind tinyint, data binary"
_BLOCKS = pa.schema([("part", pa.int32()), ("kind", pa.int8()), ("data", pa.binary())])

PIECES = "file string, rows binary, seam binary"
_PIECES = pa.schema([("file", pa.string()), ("rows", pa.binary()), ("seam", pa.binary())])

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class PieceJob:
    """How each partition is compressed and where its rows go.

    At most ``inline`` rows travel to the driver, more are written into ``directory``; of its seam
    at most ``seam`` rows travel. ``folds`` says whether long tables may be folded.
    """

    split: Split
    directory: Path
    inline: int
    seam: int
    folds: bool


def cut_batches(batches: Batches, split: Split) -> Batches:
    """Turn batches of numbers into blocks for the partitions."""
    keys = (np.stack([c.to_numpy() for c in batch.columns], axis=1) for batch in batches)
    for chunk in chunk_keys(keys, split.chunk):
        blocks = list(cut_keys(chunk, split))
        columns = [
            pa.array([block.part for block in blocks], pa.int32()),
            pa.array([block.kind for block in blocks], pa.int8()),
            pa.array([block.data for block in blocks], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_BLOCKS)


def compress_batches(batches: Batches, job: PieceJob) -> Batches:
    """Turn the blocks of a partition into its piece: a file, or rows for the driver, and a seam."""
    gathered: dict[int, PartBlocks] = {}
    for batch in batches:
        parts, kinds = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for part, kind, data in zip(parts, kinds, batch.column(2), strict=True):
            blocks = gathered.setdefault(part, PartBlocks(job.split))
            blocks.add(kind, data.as_buffer())
    for part in sorted(gathered):
        yield _piece(gathered.pop(part), part, job)


def _piece(gathered: PartBlocks, part: int, job: PieceJob) -> pa.RecordBatch:
    packing = job.split.packing
    shapes = packing.out_shape, packing.in_shape
    inner, seam = split_seam(gathered.table(), job.split, part, job.seam)
    if job.folds:
        inner = fold_rows(inner)
    file = None
    if len(inner) > job.inline:
        file = write_part(inner, *shapes, job.directory).to_json()
        inner = inner.take(slice(0, 0))
    rows = [file], [dump_table(inner, *shapes)], [dump_table(seam, *shapes)]
    arrays = [pa.array(values, field.type) for values, field in zip(rows, _PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_PIECES)


@dataclass(frozen=True)
class _Pieces:
    """What the partitions gave: rows that came to the driver, seams joined, and files."""

    loose: list[Table]
    parts: list[PartFile]

    @property
    def rows(self) -> int:
        return sum(map(len, self.loose)) + sum(part.rows for part in self.parts)


def compress_frame(
    frame: DataFrame,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    root: Path,
    options: Options | None = None,
) -> Lineage | LargeLineage:
    """Compress a DataFrame with columns b0.. a0..; large results stay in files below ``root``.

    The files lie in a fresh directory of their own, which is gone again if anything fails, or if
    the result is small enough to be a Lineage in memory.
    """
    options = options or Options()
    packing = Packing(tuple(out_shape), tuple(in_shape))
    session = frame.sparkSession
    with _directory(root) as directory, cancelled_on_error(session), explained(packing):
        keys = pack_frame(frame, packing)
        split, rows = _plan(keys, packing, session, options)
        inline = max(options.collect_rows // split.parts, 64)
        folds = options.method in ("auto", "folds")
        job = PieceJob(split, directory, inline, inline, folds)
        with shown(session, "compressing", rows):
            pieces = _run(keys, job)
        if pieces.rows <= options.collect_rows:
            return _gather(pieces, packing, directory, options)
        return _factored(pieces, keys, packing, directory, options) or _keep(
            pieces, packing, directory
        )


def compress_path(
    path: str | Path,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    root: Path,
    session: Callable[[], SparkSession],
    options: Options | None = None,
) -> Lineage | LargeLineage:
    """Compress a relation in Parquet: a file, a directory, or any address the session can read.

    What is on this machine's disks is checked by the footers first: a relation that can't fit is
    refused before Spark starts.
    """
    text = str(path)
    if "://" not in text:
        text = str(Path(text).absolute())  # the session may run in another directory
        check_footers(text, out_shape, in_shape)
    frame = session().read.parquet(text)
    return compress_frame(frame, out_shape, in_shape, root, options)


def relation_rows(path: str | Path) -> int | None:
    """Return how many rows a relation in Parquet has by its footers, None if only Spark can tell.

    0 if it can't be read here: whoever reads it will say why.
    """
    if "://" in str(path):
        return None
    try:
        return sum(int(pq.read_metadata(file).num_rows) for file in parquet_files(Path(path)))
    except (OSError, pa.ArrowException, RelationError):
        return 0


def _plan(
    keys: DataFrame, packing: Packing, session: SparkSession, options: Options
) -> tuple[Split, int]:
    """Choose the partitions from a sample; return the split and about how many pairs there are."""
    one_in = 1 if options.partitions else SparkCost.current().sample_one_in
    columns = ", ".join(keys.columns)
    hashed = keys.selectExpr("k0", f"xxhash64({columns}) as h")
    with shown(session, "sampling"):
        picked = (
            hashed.where(f"h & {one_in - 1}L = 0")
            .orderBy("h")
            .limit(SparkCost.current().sample_pairs)
            .toArrow()
        )
    rows = _estimate(picked.column("h").to_numpy(), one_in)
    wanted = options.partitions or partitions_for(rows, options.pairs, cores(session))
    sample = np.sort(picked.column("k0").to_numpy())
    split = plan_split(sample, rows, wanted, packing, options)
    return split, rows


def _estimate(hashes: np.ndarray[tuple[int], np.dtype[np.int64]], one_in: int) -> int:
    """About how many pairs there are, from the least hashes of one in so many of them."""
    if len(hashes) < SparkCost.current().sample_pairs:
        return len(hashes) * one_in
    share = (float(hashes.max()) + 2.0**63) / 2.0**64
    return int(len(hashes) * one_in / share)


def _run(keys: DataFrame, job: PieceJob) -> _Pieces:
    blocks = keys.mapInArrow(partial(cut_batches, split=job.split), BLOCKS)
    pieces = blocks.repartitionById(job.split.parts, "part").mapInArrow(
        partial(compress_batches, job=job), PIECES
    )
    return _read_pieces(pieces.toArrow(), job.split.packing)


def _read_pieces(found: pa.Table, packing: Packing) -> _Pieces:
    l, m = len(packing.out_shape), len(packing.in_shape)
    inline = [load_table(data, l, m) for data in found.column("rows").to_pylist()]
    seams = [load_table(data, l, m) for data in found.column("seam").to_pylist()]
    loose = [*inline, join_seams(seams)] if seams else inline
    files = [PartFile.from_json(text) for text in found.column("file").to_pylist() if text]
    parts = sorted(files, key=lambda part: part.bounds)
    return _Pieces([table for table in loose if len(table)], parts)


def _factored(
    pieces: _Pieces, keys: DataFrame, packing: Packing, directory: Path, options: Options
) -> Lineage | None:
    """Return a large result as a small one, if it is a product of small tables."""
    if options.method not in ("auto", "factors"):
        return None
    shapes = packing.out_shape, packing.in_shape
    rows = Rows(directory.parent, pieces.parts, pieces.loose, *shapes)
    session = keys.sparkSession
    with shown(session, "looking for factors"):
        terms = product_of(rows, keys, options.collect_rows, session)
    if terms is None:
        return None
    shutil.rmtree(directory)
    return Lineage(*shapes, terms)


def _gather(pieces: _Pieces, packing: Packing, directory: Path, options: Options) -> Lineage:
    """Put a small result together on the driver and encode it there."""
    out_shape, in_shape = packing.out_shape, packing.in_shape
    root, l, m = directory.parent, len(out_shape), len(in_shape)
    tables = [read_part(root / part.name, l, m, part.levels) for part in pieces.parts]
    tables += pieces.loose
    shutil.rmtree(directory)
    if not tables:
        return Lineage.empty(out_shape, in_shape)
    if sum(map(_unfolded, tables)) > 4 * options.collect_rows:
        table = join_folds(_in_order(concat(tables)))
        return Lineage.of_table(out_shape, in_shape, table)
    table = provrc_ranges(concat(tables)) if len(tables) > 1 else tables[0]
    return Lineage(out_shape, in_shape, encode_table(table, out_shape, in_shape, options.method))


def _keep(pieces: _Pieces, packing: Packing, directory: Path) -> LargeLineage:
    """Leave the part files where they are and write what came to the driver beside them."""
    shapes = packing.out_shape, packing.in_shape
    loose: dict[int, list[Table]] = {}
    for table in pieces.loose:
        loose.setdefault(table.levels, []).append(table)
    blobs: dict[int, list[PartFile]] = {}
    for part in pieces.parts:
        blobs.setdefault(part.levels, []).append(part)
    for levels, tables in loose.items():
        part = write_part(_in_order(concat(tables)), *shapes, directory)
        blobs.setdefault(levels, []).append(part)
    axes = tuple(range(len(shapes[0]))), tuple(range(len(shapes[1])))
    filed = [
        PartTable(directory.parent, len(axes[0]), len(axes[1]), tuple(blobs[levels]))
        for levels in sorted(blobs)
    ]
    return LargeLineage(*shapes, tuple((PartFactor(*axes, table),) for table in filed))


def _in_order(table: Table) -> Table:
    if table.num_out == 0:
        return table
    return table.take(np.argsort(table.bounds[0][:, 0], kind="stable"))


def _unfolded(table: Table) -> float:
    return float(np.prod(table.count.astype(float), axis=1).sum())


@contextmanager
def _directory(root: Path) -> Iterator[Path]:
    """Make a fresh directory; it goes again unless files in it are what the block returns."""
    directory = root / uuid4().hex
    directory.mkdir(parents=True)
    try:
        yield directory
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
