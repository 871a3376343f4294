"""Rows that come from runs of rows: the frames of a window, compressed where the rows are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.table_product import RowMap
from dslog.compress.provrc import provrc_ranges
from dslog.lineage.large_lineage import PartTable
from dslog.lineage.part_files import PartFile, dump_table, load_table, write_part
from dslog.lineage.table import Table, concat
from dslog.store.files import Files
from dslog.types import I64

_ANY = (1 << 40,)  # the size of an axis for which files have int64 columns, whatever they hold
_PIECES = "data binary, note string"


def map_runs(runs: DataFrame, files: Files, collect_rows: int) -> RowMap:
    """Map rows to runs of rows: a frame of each row's number, and the first and last of its run."""
    few = FrameCost.current().small_rows
    found = runs.limit(few + 1).toArrow()
    if found.num_rows <= few:
        return RowMap(compress_runs(found))
    directory = files.root.absolute() / uuid4().hex
    directory.mkdir(parents=True)
    try:
        row = runs.columns[0]
        spread = runs.repartitionByRange(row).sortWithinPartitions(row)
        most = collect_rows // max(spread.rdd.getNumPartitions(), 1)
        pieces = spread.mapInArrow(RunJob(str(directory), most), _PIECES).toArrow()
        loose = [load_table(data.as_buffer(), 1, 1) for data in pieces.column(0) if data.is_valid]
        parts = [PartFile.from_json(note) for note in pieces.column(1).to_pylist() if note]
        if not parts:
            shutil.rmtree(directory)
            return RowMap(provrc_ranges(concat(loose)) if loose else Table.empty(1, 1))
        if loose:
            parts.append(write_part(concat(loose), _ANY, _ANY, directory))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return RowMap(PartTable(directory.parent, 1, 1, tuple(parts)))


@dataclass(frozen=True)
class RunJob:
    """Compresses batches of runs; a partition sends some rows, and leaves more in files."""

    directory: str
    most: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give a row for each batch: what it was compressed to, or the file of that."""
        sent = 0
        for batch in batches:
            if batch.num_rows:
                table = compress_runs(pa.Table.from_batches([batch]))
                sent += len(table)
                data = note = None
                if sent <= self.most:
                    data = dump_table(table, _ANY, _ANY)
                else:
                    note = write_part(table, _ANY, _ANY, Path(self.directory)).to_json()
                columns = [pa.array([data], pa.binary()), pa.array([note], pa.string())]
                yield pa.RecordBatch.from_arrays(columns, ["data", "note"])


def compress_runs(runs: pa.Table) -> Table:
    """Compress rows with one run each.

    >>> compress_runs(pa.table({"row": [1, 0], "first": [0, 0], "last": [1, 0]})).expand().tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    row, first, last = (np.asarray(column, np.int64) for column in runs.columns)
    order: I64 = np.argsort(row, kind="stable")
    row, first, last = row[order], first[order], last[order]
    return provrc_ranges(Table.of_boxes(row, row, first, last))
