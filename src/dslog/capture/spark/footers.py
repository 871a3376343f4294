"""Rows per partition of a DataFrame that reads Parquet files, without a job.

Spark says which bytes of which files each partition reads, and the footers how many rows each row
group has. A row group belongs to the partition that reads the byte in its middle.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from dslog.capture.spark.java import analysed, execution

MOST_FILES = 256
"""Files up to which the driver reads their footers; of more, Spark's tasks count the rows."""

_SLACK = 1 << 10
"""Bytes by which writers of Parquet may differ on where a row group begins."""

_WHOLE = re.compile(r"^((Project|SubqueryAlias|View) .*\n[ +-]*)*Relation .* parquet\s*$")
_LOCAL = re.compile(r"^file:/+")


@dataclass(frozen=True)
class Slice:
    """The bytes of a file that a partition reads."""

    part: int
    path: str
    begin: int
    length: int


def rows_by_footers(frame: DataFrame) -> tuple[int, ...] | None:
    """Return the rows of each partition; None unless all rows of a few local files are read."""
    if not _WHOLE.match(analysed(frame).toString()):
        return None
    partitions = execution(frame).toRdd().partitions()
    if len(partitions) > MOST_FILES:
        return None
    slices = list(_slices(partitions))
    files: dict[str, list[Slice]] = {}
    for one in slices:
        files.setdefault(one.path, []).append(one)
    if len(files) > MOST_FILES or not all(_LOCAL.match(path) for path in files):
        return None
    counts = [0] * len(partitions)
    try:
        for path, some in files.items():
            for part, rows in _shared_out(pq.read_metadata(_local(path)), some):
                counts[part] += rows
    except (OSError, pa.ArrowException, _UncertainError):
        return None
    return tuple(counts)


class _UncertainError(Exception):
    """The footers do not tell for sure which partition reads a row group."""


def _slices(partitions: Any) -> Iterator[Slice]:
    for part, partition in enumerate(partitions):
        for file in partition.files():
            yield Slice(part, file.filePath().urlEncoded(), file.start(), file.length())


def _local(path: str) -> str:
    return unquote(_LOCAL.sub("/", path))


def _shared_out(footer: pq.FileMetaData, slices: list[Slice]) -> Iterator[tuple[int, int]]:
    """Give the rows of each row group to the partition that reads its middle."""
    ordered = sorted(slices, key=lambda one: one.begin)
    begins = [one.begin for one in ordered]
    if len(set(begins)) < len(begins):  # a file that is read twice
        raise _UncertainError
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if len(ordered) == 1:
            yield ordered[0].part, group.num_rows
            continue
        columns = [group.column(place) for place in range(group.num_columns)]
        size = sum(column.total_compressed_size for column in columns)
        middle = _begin(columns[0]) + size // 2
        if any(abs(middle - begin) <= _SLACK for begin in begins):
            raise _UncertainError
        yield ordered[bisect_right(begins, middle) - 1].part, group.num_rows


def _begin(column: Any) -> int:
    first: int = column.data_page_offset
    dictionary = column.dictionary_page_offset
    return min(first, dictionary) if dictionary else first
