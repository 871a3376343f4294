"""Compress a relation on Spark: the driver sees counts and seams, never the relation.

1. Pack each pair into one number, checking it on the way (``frames``).
2. Look at a sample, to know about how many pairs there are and to cut their order into partitions
   of equal size, however skewed the relation is: a partition may end within an output cell.
3. Cut, sort and, where it pays, compress chunks as they come (``blocks``); send each partition its
   blocks; compress each partition with the kernels that run in process (``tasks``).
4. Join the seams. A result that is small comes to the driver and goes through the encoder once
   more. A large one is a product of small tables, by counts (``products``), or stays in the part
   files that executors wrote (``parts``).
"""

from __future__ import annotations

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

from dslog.compress.encoder import encode_table
from dslog.compress.provrc import provrc_ranges
from dslog.engine.blocks import Split
from dslog.engine.frames import explained, pack_frame
from dslog.engine.jobs import cancelled_on_error, cores
from dslog.engine.packing import Packing
from dslog.engine.parts import Part, Parts, header_of, load_table, read_part, write_part
from dslog.engine.products import Rows, product_of
from dslog.engine.progress import shown
from dslog.engine.seams import join_folds, join_seams
from dslog.engine.splitting import Options, partitions_for, plan_split
from dslog.engine.tasks import BLOCKS, PIECES, PieceJob, compress_batches, cut_batches
from dslog.errors import RelationError
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.relation.footers import check_footers, parquet_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Shape = tuple[int, ...]
_SAMPLE = 1 << 14  # pairs of the sample: partitions end up equal within a few percent
_ONE_IN = 1 << 10


@dataclass(frozen=True)
class _Pieces:
    """What the partitions gave: rows that came to the driver, seams joined, and files."""

    loose: list[Table]
    parts: list[Part]

    @property
    def rows(self) -> int:
        return sum(map(len, self.loose)) + sum(part.rows for part in self.parts)


def compress_frame(
    frame: DataFrame,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    root: Path,
    options: Options | None = None,
) -> Lineage | Parts:
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
) -> Lineage | Parts:
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
    one_in = 1 if options.partitions else _ONE_IN
    columns = ", ".join(keys.columns)
    hashed = keys.selectExpr("k0", f"xxhash64({columns}) as h")
    with shown(session, "sampling"):
        picked = hashed.where(f"h & {one_in - 1}L = 0").orderBy("h").limit(_SAMPLE).toArrow()
    rows = _estimate(picked.column("h").to_numpy(), one_in)
    wanted = options.partitions or partitions_for(rows, options.pairs, cores(session))
    sample = np.sort(picked.column("k0").to_numpy())
    split = plan_split(sample, rows, wanted, packing, options)
    return split, rows


def _estimate(hashes: np.ndarray[tuple[int], np.dtype[np.int64]], one_in: int) -> int:
    """About how many pairs there are, from the least hashes of one in so many of them."""
    if len(hashes) < _SAMPLE:
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
    files = [Part.from_json(text) for text in found.column("file").to_pylist() if text]
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


def _keep(pieces: _Pieces, packing: Packing, directory: Path) -> Parts:
    """Leave the part files where they are and write what came to the driver beside them."""
    shapes = packing.out_shape, packing.in_shape
    loose: dict[int, list[Table]] = {}
    for table in pieces.loose:
        loose.setdefault(table.levels, []).append(table)
    blobs: dict[int, list[Part]] = {}
    for part in pieces.parts:
        blobs.setdefault(part.levels, []).append(part)
    for levels, tables in loose.items():
        part = write_part(_in_order(concat(tables)), *shapes, directory)
        blobs.setdefault(levels, []).append(part)
    grouped = tuple(tuple(blobs[levels]) for levels in sorted(blobs))
    rows = sum(part.rows for parts in grouped for part in parts)
    return Parts(header_of(grouped, *shapes), rows, grouped)


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
