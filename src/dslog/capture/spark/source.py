"""Where tracking of a table begins: ids for the rows of a DataFrame.

Rows per partition of a DataFrame that reads Parquet files, without a job.

Spark says which bytes of which files each partition reads, and the footers how many rows each row
group has. A row group belongs to the partition that reads the byte in its middle.

Put the rows of a DataFrame in the order of their positions, and number rows anew.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import analysed, execution, is_bucketed, operators, physical
from dslog.capture.spark.row_id import SHIFT, Id, Numbering, Trail, fresh_column

"""Bytes by which writers of Parquet may differ on where a row group begins."""

_WHOLE = re.compile(r"^((Project|SubqueryAlias|View) .*\n[ +-]*)*Relation .* parquet\s*$")
_LOCAL = re.compile(r"^file:/+")


@dataclass(frozen=True)
class FileSlice:
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
    if len(partitions) > FrameCost.current().footers:
        return None
    slices = list(_slices(partitions))
    files: dict[str, list[FileSlice]] = {}
    for one in slices:
        files.setdefault(one.path, []).append(one)
    if len(files) > FrameCost.current().footers or not all(_LOCAL.match(path) for path in files):
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


def _slices(partitions: Any) -> Iterator[FileSlice]:
    for part, partition in enumerate(partitions):
        for file in partition.files():
            yield FileSlice(part, file.filePath().urlEncoded(), file.start(), file.length())


def _local(path: str) -> str:
    return unquote(_LOCAL.sub("/", path))


def _shared_out(footer: pq.FileMetaData, slices: list[FileSlice]) -> Iterator[tuple[int, int]]:
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
        if any(abs(middle - begin) <= FrameCost.current().footer_slack for begin in begins):
            raise _UncertainError
        yield ordered[bisect_right(begins, middle) - 1].part, group.num_rows


def _begin(column: Any) -> int:
    first: int = column.data_page_offset
    dictionary = column.dictionary_page_offset
    return min(first, dictionary) if dictionary else first


_MOVED = re.compile(r"(?<!Broadcast)Exchange|BuildLeft|CartesianProduct|\bCoalesce \d")
"""What in a physical plan means that rows may not come in the order of their first id."""

_IN_PLACE = {
    "Project", "Filter", "LocalLimit", "SubqueryAlias", "Relation", "LocalRelation", "LogicalRDD",
}  # fmt: skip
"""Operators that leave rows where they are, whatever Spark makes of them."""


def moves_rows(frame: DataFrame, trail: Trail) -> bool:
    """Whether Spark may hand out the rows of a DataFrame in another order than their first ids'."""
    if trail.mixed:
        return True
    if _IN_PLACE.issuperset(operators(frame)):
        return False
    return _MOVED.search(physical(frame)) is not None


def in_order(frame: DataFrame, trail: Trail, *, moved: bool | None = None) -> DataFrame:
    """Return the DataFrame with sorted partitions that follow each other."""
    moved = moves_rows(frame, trail) if moved is None else moved
    if moved:
        return spread_in_order(frame, trail)
    return frame if len(trail.ids) == 1 else frame.sortWithinPartitions(*trail.order)


def spread_in_order(frame: DataFrame, trail: Trail) -> DataFrame:
    """Send rows to partitions by their positions, and sort them there."""
    first = trail.ids[0].numbering
    bucket, buckets = first.bucket(F.col(trail.ids[0].column)), first.buckets
    if len(trail.ids) > 1:  # rows without a first id, of a right or full join, come last
        second = trail.ids[1].numbering
        bucket = F.coalesce(bucket, second.bucket(F.col(trail.ids[1].column)) + buckets)
        buckets += second.buckets
    placed = frame.repartitionById(buckets, bucket.cast("int"))
    return placed.sortWithinPartitions(*trail.order)


def with_ids(frame: DataFrame, column: str) -> DataFrame:
    """Number the rows of each partition of a DataFrame."""
    return frame.withColumn(column, F.monotonically_increasing_id())


def count_partitions(frame: DataFrame, column: str) -> Numbering:
    """Count the rows of each partition of a DataFrame with ids."""
    partition: Column = F.shiftright(F.col(column), SHIFT).cast("int").alias("part")
    found = frame.select(partition).groupBy("part").count().collect()
    counts = {row["part"]: row["count"] for row in found}
    return Numbering(tuple(counts.get(part, 0) for part in range(max(counts, default=-1) + 1)))


def keep_in_order(frame: DataFrame, trail: Trail) -> DataFrame:
    """Compute a DataFrame once and keep it, in the order of its rows."""
    return in_order(frame, trail).localCheckpoint()


@contextmanager
def kept_frame(frame: DataFrame, trail: Trail) -> Iterator[tuple[DataFrame, bool]]:
    """Keep what a DataFrame gives while several jobs read it, if computing it again is work.

    Gives the DataFrame to read, and whether its rows are out of order. Joins with a small table
    leave rows where they are: if there are many, doing that again takes less than keeping what it
    gave. Rows are kept as they are: Spark's cache would encode them by column, which takes longer.
    """
    moved = moves_rows(frame, trail)
    again = not moved and trail.ids[0].numbering.total > FrameCost.current().kept_rows
    if again or not any(step.other is not None for step in trail.steps):
        yield frame, moved
        return
    copy = frame.localCheckpoint(eager=False)
    try:
        yield copy, moved
    finally:
        analysed(copy).rdd().unpersist(False)


def fix_order(frame: DataFrame) -> tuple[DataFrame, Id]:
    """Keep a DataFrame as it is computed now, and number its rows in the order they have.

    A DataFrame computes its rows again whenever they are asked for, and not always in the same
    order; this one won't. Should Spark lose a part of it, jobs fail, rather than go on with rows
    in another order.
    """
    column = fresh_column()
    kept = with_ids(frame, column).localCheckpoint(eager=False)
    return kept, Id.of(column, _count_kept(kept, column))


def _count_kept(frame: DataFrame, column: str) -> Numbering:
    rows = analysed(frame).rdd()
    if rows.getNumPartitions() > 1:
        return count_partitions(frame, column)
    count = rows.count()
    return Numbering((count,) if count else ())


_STEADY = {"Project", "Filter", "SubqueryAlias", "View", "LocalRelation", "Range"}
_FILES = re.compile(r"^[ :+|-]*Relation .* (parquet|orc|csv|json|text|avro|xml)\s*$", re.MULTILINE)
_background = ThreadPoolExecutor(4, thread_name_prefix="dslog-count")


def identify(frame: DataFrame) -> tuple[DataFrame, Id]:
    """Give the rows of a steady DataFrame ids that stay the same however often it is computed."""
    column = fresh_column()
    named = with_ids(frame, column)
    return named, Id(column, _background.submit(_count, frame, named, column))


def _count(frame: DataFrame, named: DataFrame, column: str) -> Numbering:
    rows = rows_by_footers(frame)
    return count_partitions(named, column) if rows is None else Numbering(rows)


def is_steady(frame: DataFrame) -> bool:
    """Whether a DataFrame gives the same rows in the same order each time.

    So does one that reads files or local data and only filters rows and computes columns. What
    comes out of a shuffle, of a bucketed table, or of an expression that is random, does not.
    """
    plan = analysed(frame)
    relations = 0
    for operator in operators(frame):
        if operator == "Relation":
            relations += 1
        elif operator == "LogicalRDD":
            if execution(frame).toRdd().outputDeterministicLevel().toString() != "DETERMINATE":
                return False
        elif operator not in _STEADY:
            return False
    if relations != len(_FILES.findall(plan.toString())) or not plan.deterministic():
        return False
    return not (relations and is_bucketed(frame))
