"""How rows fall into groups, and the lineage of what is made of each group.

Groups are numbered by their first row. Two jobs read the rows, with the columns that are needed:
one gives the groups, in order; the other gives the lineage, which is the number of every row's
group. Of a small table both run at the same time, and hashes of keys tell groups apart. Else the
rows are kept, if computing them again is work, and the second job joins them with the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.frame import Data
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import column_at
from dslog.capture.spark.row_id import (
    HIDDEN,
    Id,
    RowSet,
    Trail,
    fresh_column,
    is_hidden,
    numbered,
    present,
)
from dslog.capture.spark.row_pass import has_hash, hash_of
from dslog.capture.spark.row_trace import (
    PartWriter,
    Tap,
    ids_of_groups,
    most_here,
    trace_groups,
    trace_rows,
)
from dslog.capture.spark.source import fix_order, kept_frame
from dslog.capture.table_product import RowMap

FIRST = f"{HIDDEN}first"
"""Holds the first id of a group's first row, which says about where the group belongs."""

RANK = f"{HIDDEN}rank"
"""Holds the rank of a group's first row, if rows have several ids."""

"""Groups up to which every executor gets the numbers of all of them."""

_beside = ThreadPoolExecutor(4, thread_name_prefix="dslog-trace")


@dataclass(frozen=True)
class Mark:
    """A link between rows and the group's row, besides the one of all rows with their group.

    ``column`` is computed per row and holds the output's column; ``flag`` is computed per row,
    beside the columns of its group, and says for which rows the link holds.
    """

    link: str
    column: Column | None = None
    flag: Column | None = None


@dataclass(frozen=True)
class Grouping:
    """Rows with their ids, those that ended too, and what groups them.

    Ranks need numbered sources. Unless ``ranked``, nobody waits for those: groups are not in order.
    """

    rows: DataFrame
    trail: Trail
    keys: Sequence[Column]
    part_writer: PartWriter
    marks: Sequence[Mark] = ()
    ranked: bool = False

    @property
    def present(self) -> DataFrame:
        """The rows that are there."""
        return present(self.rows, self.trail)

    @property
    def firsts(self) -> list[Column]:
        """The aggregates that order groups."""
        first = F.min(self.trail.ids[0].column).alias(FIRST)
        if not self.ranked or len(self.trail.ids) == 1:
            return [first]
        return [first, F.min(self.trail.rank).alias(RANK)]

    def with_first(self, groups: DataFrame) -> DataFrame:
        """Give groups, whose columns begin with the keys, what orders them."""
        if not self.keys:
            return groups.withColumn(FIRST, F.lit(0).cast("long"))
        found = self.present.groupBy(*self.keys).agg(*self.firsts)
        names = [fresh_column("key") for _ in self.keys]
        renamed = [column_at(found, place).alias(name) for place, name in enumerate(names)]
        same = F.lit(True)
        for place, name in enumerate(names):
            same = same & column_at(groups, place).eqNullSafe(F.col(name))
        order = found.columns[len(names) :]
        return groups.join(found.select(*renamed, *order), same).drop(*names)


Aggregate = Callable[[Grouping], DataFrame]
"""Makes groups; their columns begin with the keys, and those of ``Grouping.firsts`` are there."""


def number_groups(aggregate: Aggregate, grouping: Grouping, rows: RowSet) -> Callable[[], Data]:
    """Return what computes groups in order, and the lineage of ``rows``, which they are."""

    def compute() -> Data:
        fixed, one = compute_groups(aggregate, grouping, rows)
        hidden = [name for name in fixed.columns if is_hidden(name) and name != one.column]
        return fixed.drop(*hidden), numbered(rows, one)

    return compute


def compute_groups(aggregate: Aggregate, grouping: Grouping, rows: RowSet) -> tuple[DataFrame, Id]:
    """Compute groups in order, with all their columns, and fill in the lineage of ``rows``."""
    trail = grouping.trail
    grouping = replace(grouping, ranked=True)
    ids = _ids_if_small(grouping)
    if ids is not None:
        return _compute_beside(ids, aggregate, grouping, rows)
    with kept_frame(grouping.rows, trail) as (copy, moved):
        grouping = replace(grouping, rows=copy)
        fixed, one = fix_order(_sorted(aggregate(grouping), grouping))
        rows.count = one.numbering.total
        if grouping.keys:
            _link_by_keys(fixed, one, grouping, rows, moved=moved)
        else:
            trace_rows(copy, trail, grouping.part_writer, moved=moved)
            rows.maps["group"] = RowMap.gather(trail.rows.counted() or 0)
    return fixed, one


def _ids_if_small(grouping: Grouping) -> DataFrame | None:
    """The ids of rows with hashes of their keys, if rows are few and in order.

    None, too, if groups need more than the number of each row's group, or keys have no hash.
    """
    trail, part_writer = grouping.trail, grouping.part_writer
    few = trail.ids[0].numbering.total <= most_here(part_writer)
    if not few or not grouping.keys or grouping.marks:
        return None
    keys = grouping.rows.select(*grouping.keys).schema
    if not all(has_hash(field.dataType) for field in keys):
        return None
    return ids_of_groups(grouping.rows, trail, part_writer, hash_of(grouping.keys, trail))


def _compute_beside(
    ids: DataFrame, aggregate: Aggregate, grouping: Grouping, rows: RowSet
) -> tuple[DataFrame, Id]:
    """Compute groups while another thread has their lineage computed."""
    run = inheritable_thread_target(ids.sparkSession)(trace_groups)
    tracing = _beside.submit(run, ids, grouping.trail, grouping.part_writer)
    try:
        fixed, one = fix_order(_sorted(aggregate(grouping), grouping))
    finally:
        wait([tracing])
    found = tracing.result()
    rows.count = one.numbering.total
    if found is not None and found[0] == rows.count:
        rows.maps["group"] = found[1]
    else:
        _link_by_keys(fixed, one, grouping, rows, moved=False)
    return fixed, one


def _sorted(groups: DataFrame, grouping: Grouping) -> DataFrame:
    numbering = grouping.trail.ids[0].numbering
    if numbering.buckets > 1:  # groups of rows without a first id come last
        bucket = F.coalesce(numbering.bucket(F.col(FIRST)), F.lit(numbering.buckets))
        placed = groups.repartitionById(numbering.buckets + 1, bucket.cast("int"))
    else:
        placed = groups.coalesce(1)
    return placed.sortWithinPartitions(RANK if RANK in groups.columns else FIRST)


def _link_by_keys(
    fixed: DataFrame, one: Id, grouping: Grouping, rows: RowSet, *, moved: bool
) -> None:
    """Join rows with the numbers of their groups, and read off the links."""
    number = fresh_column()
    marks = {mark.link: fresh_column("mark") for mark in grouping.marks if mark.column is not None}
    joined = _with_numbers(fixed, one, number, grouping, marks)
    taps = [Tap(((number, one.numbering),))]
    for mark in grouping.marks:
        flag = None
        if mark.flag is not None:
            flag = fresh_column("flag")
            joined = joined.withColumn(flag, mark.flag.cast("long"))
        cell = ((marks[mark.link], None),) if mark.link in marks else ()
        taps.append(Tap(((number, one.numbering), *cell), flag))
    links = ["group", *(mark.link for mark in grouping.marks)]
    few = one.numbering.total <= FrameCost.current().broadcast_ids
    still = False if few else None  # else only the plan can tell
    maps = trace_rows(joined, grouping.trail, grouping.part_writer, taps, moved=moved or still)
    rows.maps |= dict(zip(links, maps, strict=True))


def _with_numbers(
    fixed: DataFrame, one: Id, number: str, grouping: Grouping, marks: Mapping[str, str]
) -> DataFrame:
    """Give rows, those that ended too, the number of their group and the columns of marks."""
    trail = grouping.trail
    keys = {fresh_column("key"): key for key in grouping.keys}
    computed = dict(keys)
    for mark in grouping.marks:
        if mark.column is not None:
            computed[marks[mark.link]] = mark.column
    if trail.ends:
        computed = {name: F.when(trail.alive, column) for name, column in computed.items()}
    rows = grouping.rows.select(*trail.columns, *(c.alias(name) for name, c in computed.items()))
    groups = {fresh_column("group"): column_at(fixed, place) for place in range(len(keys))}
    extra = [name for name in fixed.columns if is_hidden(name) and name != one.column]
    numbers = fixed.select(
        *(column.alias(name) for name, column in groups.items()),
        *extra,
        F.col(one.column).alias(number),
    )
    if one.numbering.total <= FrameCost.current().broadcast_ids:
        numbers = F.broadcast(numbers)
    same = F.lit(True)
    for key, group in zip(keys, groups, strict=True):
        same = same & F.col(key).eqNullSafe(F.col(group))
    return rows.join(numbers, same, "left")
