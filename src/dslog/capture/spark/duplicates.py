"""distinct and dropDuplicates: groups of rows that are equal, of which the first is kept."""

from __future__ import annotations

from typing import Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.spark.base import Data, Frame
from dslog.capture.spark.columns import quoted
from dslog.capture.spark.grouping import FIRST, RANK, Grouping, Mark, number_groups
from dslog.capture.spark.nodes import Input, Origin
from dslog.capture.spark.rows import HIDDEN, LAST, RowSet
from dslog.errors import CaptureError

_REST = f"{HIDDEN}rest"
_WHICH = f"{HIDDEN}which"


class DuplicateSteps(Frame):
    """distinct and dropDuplicates."""

    def distinct(self) -> Self:
        """Keep one of each row: every cell comes from that cell of all rows that are equal."""
        return self._first_of_each("distinct", self.columns)

    def dropDuplicates(self, subset: Any = None) -> Self:  # noqa: N802
        """Keep the first row of those that agree in some columns.

        These columns come from all such rows, the others from the row that is kept.
        """
        names = self.columns if subset is None else [subset] if isinstance(subset, str) else subset
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            raise CaptureError(
                f"{self.name!r} has no column {unknown[0]!r}; it has {', '.join(self.columns)}"
            )
        return self._first_of_each("dropDuplicates", list(names))

    def drop_duplicates(self, subset: Any = None) -> Self:
        """Keep the first row of those that agree in some columns."""
        return self.dropDuplicates(subset)

    def _first_of_each(self, op: str, names: list[str]) -> Self:
        frame, trail = self.data
        columns = self.columns
        keys = [name for name in columns if name in names]
        rest = [name for name in columns if name not in names]
        which = F.struct(*(F.coalesce(one.column, F.lit(LAST)) for one in trail.ids))
        marks = [Mark("first", flag=which.eqNullSafe(F.col(_WHICH)))] if rest else []
        columns_of_keys = [F.col(quoted(name)) for name in keys]
        grouping = Grouping(frame, trail, columns_of_keys, self.tracker.outlet, marks)

        def aggregate(some: Grouping) -> DataFrame:
            groups = some.present.groupBy(*some.keys)
            if not rest:
                return groups.agg(*some.firsts)
            values = F.min_by(F.struct(*(quoted(name) for name in rest)), which)
            found = groups.agg(values.alias(_REST), F.min(which).alias(_WHICH), *some.firsts)
            fields = [F.col(_REST)[name].alias(name) for name in rest]
            order = [name for name in (FIRST, RANK) if name in found.columns]
            return found.select(*(quoted(name) for name in keys), *fields, _WHICH, *order)

        rows = RowSet()
        compute = number_groups(aggregate, grouping, rows)

        def in_place() -> Data:
            found, now = compute()
            return found.select(*(quoted(name) for name in columns), *now.columns), now

        same = [(place, place) for place in range(len(columns))]
        parts = [("group", frozenset(p for p in same if columns[p[0]] in names))]
        if rest:
            parts.append(("first", frozenset(p for p in same if columns[p[0]] not in names)))
        origin = Origin(op, {"subset": keys}, (Input(self.table, tuple(parts)),))

        def planned() -> DataFrame:
            return aggregate(grouping).select(*(quoted(name) for name in columns))

        return self._make(origin, columns, rows, in_place, planned)
