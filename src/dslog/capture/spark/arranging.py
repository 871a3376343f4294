"""Steps that put rows in another order, or one table behind another."""

from __future__ import annotations

from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import Pairs, RowMap, same_columns
from dslog.capture.spark.base import Frame
from dslog.capture.spark.java import text_of
from dslog.capture.spark.nodes import Input
from dslog.capture.spark.numbering import SHIFT
from dslog.capture.spark.ordering import fix_order
from dslog.capture.spark.rows import Id, RowSet, fresh_column, numbered, visible_places
from dslog.capture.spark.tracing import map_rows
from dslog.errors import CaptureError


class ArrangingSteps(Frame):
    """orderBy, union and the like."""

    def orderBy(self, *cols: Any, **kwargs: Any) -> Self:  # noqa: N802
        """Sort; rows that compare equal keep their order."""
        frame, trail = self.settle()
        ordered = frame.orderBy(*_orders(cols, kwargs), trail.ids[0].column)
        fixed, one = fix_order(ordered)
        rows = RowSet(one.numbering.total)
        now = numbered(rows, one)
        rows.maps["order"] = map_rows(fixed, now, trail.ids[0], self.tracker.outlet)
        read = Input(self.table, (("order", same_columns(len(self.columns))),))
        result = fixed.drop(trail.ids[0].column)
        args = {"by": [c if isinstance(c, str) else text_of(c) for c in _flat(cols)]}
        return self.follow("orderBy", result, now, self.columns, [read], args)

    def sort(self, *cols: Any, **kwargs: Any) -> Self:
        """Sort; rows that compare equal keep their order."""
        return self.orderBy(*cols, **kwargs)

    def union(self, other: Frame) -> Self:
        """Put the rows of another tracked frame behind these; columns go by place."""
        _check(other)
        if len(other.columns) != len(self.columns):
            raise CaptureError(
                f"{self.name!r} has {len(self.columns)} columns and {other.name!r} "
                f"{len(other.columns)}: a union goes by place, so both need as many"
            )
        upper, lower, one = self._stack(other)
        result = upper.union(lower)
        same = same_columns(len(self.columns))
        return self._stacked("union", other, result, one, self.columns, (same, same))

    def unionAll(self, other: Frame) -> Self:  # noqa: N802
        """Put the rows of another tracked frame behind these; columns go by place."""
        return self.union(other)

    def unionByName(self, other: Frame, allowMissingColumns: bool = False) -> Self:  # noqa: FBT002, N802, N803
        """Put the rows of another tracked frame behind these; columns go by name."""
        _check(other)
        upper, lower, one = self._stack(other)
        result = upper.unionByName(lower, allowMissingColumns)
        columns = [result.columns[place] for place in visible_places(result)]
        ways = tuple(_by_name(columns, side.columns) for side in (self, other))
        return self._stacked("unionByName", other, result, one, columns, (ways[0], ways[1]))

    def _stack(self, other: Frame) -> tuple[DataFrame, DataFrame, Id]:
        """Give the rows of both frames ids of one numbering, these first."""
        above, above_trail = self.settle()
        below, below_trail = other.settle()
        first, second = above_trail.ids[0], below_trail.ids[0]
        column = fresh_column()
        behind = len(first.numbering.counts) << SHIFT
        upper = above.withColumn(column, F.col(first.column)).drop(first.column)
        lower = below.withColumn(column, F.col(second.column) + F.lit(behind)).drop(second.column)
        return upper, lower, Id.of(column, first.numbering.followed_by(second.numbering))

    def _stacked(
        self,
        op: str,
        other: Frame,
        result: DataFrame,
        one: Id,
        columns: list[str],
        ways: tuple[Pairs, Pairs],
    ) -> Self:
        above = self.settle()[1].ids[0].numbering.total
        below = other.settle()[1].ids[0].numbering.total
        rows = RowSet(above + below)
        rows.maps["upper"] = RowMap.run(above)
        rows.maps["lower"] = RowMap.run(below, above, 0)
        read = [
            Input(self.table, (("upper", ways[0]),)),
            Input(other.table, (("lower", ways[1]),)),
        ]
        return self.follow(op, result, numbered(rows, one), columns, read, {})


def _check(other: Any) -> None:
    if not isinstance(other, Frame):
        raise CaptureError(
            f"a tracked frame is united with tracked frames, not {type(other).__name__}: "
            f"track the other one first, store.track(df, name)"
        )


def _flat(cols: Any) -> list[Any]:
    return list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list) else list(cols)


def _orders(cols: Any, kwargs: dict[str, Any]) -> list[Column]:
    """What PySpark's orderBy takes, as columns: names, columns, and ``ascending``."""
    unknown = set(kwargs) - {"ascending"}
    if unknown:
        raise CaptureError(f"orderBy does not know {min(unknown)!r}: it takes ascending=")
    items = [F.col(c) if isinstance(c, str) else c for c in _flat(cols)]
    ascending = kwargs.get("ascending", True)
    ways = ascending if isinstance(ascending, list) else [ascending] * len(items)
    if len(ways) != len(items):
        raise CaptureError(f"ascending has {len(ways)} entries for {len(items)} columns")
    return [item if way else item.desc() for item, way in zip(items, ways, strict=True)]


def _by_name(columns: list[str], side: list[str]) -> Pairs:
    return frozenset(
        (place, side.index(name)) for place, name in enumerate(columns) if name in side
    )
