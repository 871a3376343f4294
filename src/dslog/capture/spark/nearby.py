"""A pass over the ids of a small table in this process, which takes less than starting workers.

At most as many rows come here as compressed lineage might have: Spark leaves the rest of a
partition out, and executors do the pass if one was cut.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import RowMap
from dslog.capture.spark.assembly import Gathered, wanted
from dslog.capture.spark.coding import number
from dslog.capture.spark.java import first_of_each_partition
from dslog.capture.spark.outlet import Outlet
from dslog.capture.spark.spine import (
    Batches,
    Block,
    Pass,
    SpineSpec,
    columns_of,
    compress_function,
    sort_rows,
)
from dslog.lineage.table import Table

SMALL_ROWS = 1 << 16
"""Rows of a table whose ids may come to the driver, half a megabyte each: a fixed amount."""


class Nearby(Pass):
    """A pass over all rows at once, which keeps what it finds."""

    def __init__(self, spec: SpineSpec) -> None:
        super().__init__(spec, 0)
        self.tables: dict[int, Table] = {}

    def piece(self, relation: int, table: Table) -> Batches:
        """Keep the one piece of a relation."""
        self.tables[relation] = table
        return iter(())


def most_here(outlet: Outlet) -> int:
    """Rows of a table up to which the pass over its ids is done by the driver."""
    return min(outlet.rows, SMALL_ROWS)


def few_of(frame: DataFrame, spec: SpineSpec, most: int) -> DataFrame:
    """Leave out rows of partitions that have more than their share of ``most``; say which it is."""
    placed = frame.select("*", F.spark_partition_id())
    return first_of_each_partition(placed, _share(spec, most) + 1)


def gather_nearby(
    few: DataFrame, spec: SpineSpec, most: int, *, grouped: bool = False
) -> Gathered | None:
    """Do the pass over what ``few_of`` left of a frame of ids.

    ``grouped`` says that a last column is the same for rows of a group. Returns None if rows were
    left out.
    """
    rows = few.toArrow()
    block = columns_of(rows.combine_chunks().to_batches()[0]) if rows.num_rows else []
    here = Nearby(spec)
    if block:
        if np.bincount(block.pop()).max() > _share(spec, most):
            return None
        block = sort_rows(block, len(spec.numberings))
        for _ in here.block(block):
            pass
    empty = {place: Table.empty(1, width) for place, width in wanted(spec).items()}
    maps = {
        place: RowMap(here.tables.get(place, table), spec.is_tap(place))
        for place, table in empty.items()
    }
    return Gathered(tuple(here.done), maps, _groups(block, spec) if grouped else None)


def _share(spec: SpineSpec, most: int) -> int:
    return most // max(len(spec.numberings[0].counts), 1)


def _groups(block: Block, spec: SpineSpec) -> tuple[int, RowMap]:
    """Number the groups, and map the rows that are there to them."""
    if not block:
        return 0, RowMap(Table.empty(1, 1), forward=True)
    ended = block[len(spec.numberings)] if spec.ends else np.zeros(1, np.int64)
    count, numbers = number(block[-1][np.broadcast_to(ended == 0, len(block[-1]))])
    table = compress_function(np.arange(len(numbers)), [numbers])
    return count, RowMap(table, forward=True)
