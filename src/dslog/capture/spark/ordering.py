"""Put the rows of a DataFrame in the order of their positions, and number rows anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.spark.java import analysed, operators, physical
from dslog.capture.spark.numbering import SHIFT, Numbering
from dslog.capture.spark.rows import Id, Trail, fresh_column

_MOVED = re.compile(r"(?<!Broadcast)Exchange|BuildLeft|CartesianProduct|\bCoalesce \d")
"""What in a physical plan means that rows may not come in the order of their first id."""

_IN_PLACE = {
    "Project", "Filter", "LocalLimit", "SubqueryAlias", "Relation", "LocalRelation", "LogicalRDD",
}  # fmt: skip
"""Operators that leave rows where they are, whatever Spark makes of them."""

KEPT_ROWS = 1 << 20
"""Rows up to which keeping what a join gave takes less than doing it again."""


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
def kept(frame: DataFrame, trail: Trail) -> Iterator[tuple[DataFrame, bool]]:
    """Keep what a DataFrame gives while several jobs read it, if computing it again is work.

    Gives the DataFrame to read, and whether its rows are out of order. Joins with a small table
    leave rows where they are: if there are many, doing that again takes less than keeping what it
    gave. Rows are kept as they are: Spark's cache would encode them by column, which takes longer.
    """
    moved = moves_rows(frame, trail)
    again = not moved and trail.ids[0].numbering.total > KEPT_ROWS
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
