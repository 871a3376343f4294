"""What executors run: pure functions over blocks, wrapped for Spark's Arrow batches.

Spark pickles a task by the names of its function and of the values' classes, so executors need
dslog installed, or shipped with the job. A task that is tried again, or runs twice, writes under
another name; only files that a task which ended well reports are ever committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dslog.engine.blocks import Gathered, Split, chunks, cut
from dslog.engine.parts import dump_table, write_part
from dslog.engine.seams import fold_rows, split_seam

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
    for chunk in chunks(keys, split.chunk):
        blocks = list(cut(chunk, split))
        columns = [
            pa.array([block.part for block in blocks], pa.int32()),
            pa.array([block.kind for block in blocks], pa.int8()),
            pa.array([block.data for block in blocks], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_BLOCKS)


def compress_batches(batches: Batches, job: PieceJob) -> Batches:
    """Turn the blocks of a partition into its piece: a file, or rows for the driver, and a seam."""
    gathered: dict[int, Gathered] = {}
    for batch in batches:
        parts, kinds = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for part, kind, data in zip(parts, kinds, batch.column(2), strict=True):
            blocks = gathered.setdefault(part, Gathered(job.split))
            blocks.add(kind, data.as_buffer())
    for part in sorted(gathered):
        yield _piece(gathered.pop(part), part, job)


def _piece(gathered: Gathered, part: int, job: PieceJob) -> pa.RecordBatch:
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
