"""Steps that leave rows out: filter, dropna, sample, limit.

The first such step after rows were numbered really drops them. A later one only notes which step
ended a row: the pass over the ids needs to see rows that were there in between.
"""

from __future__ import annotations

import json
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, FloatType

from dslog.capture.products import same_columns
from dslog.capture.spark.base import Frame
from dslog.capture.spark.java import analysed, text_of
from dslog.capture.spark.nodes import Input
from dslog.capture.spark.ordering import keep_in_order, with_ids
from dslog.capture.spark.plans import parse
from dslog.capture.spark.rows import ENDED, RowSet, Trail, fresh_column
from dslog.errors import CaptureError


class DroppingSteps(Frame):
    """filter, dropna, sample, limit and the like."""

    def filter(self, condition: Column | str) -> Self:
        """Keep rows for which a condition holds."""
        column = F.expr(condition) if isinstance(condition, str) else condition
        return self._where("filter", column, {"condition": _text(condition)})

    def where(self, condition: Column | str) -> Self:
        """Keep rows for which a condition holds."""
        return self.filter(condition)

    def dropna(self, how: str = "any", thresh: int | None = None, subset: Any = None) -> Self:
        """Leave out rows with nulls or NaN: any, or all, or fewer than ``thresh`` other values."""
        if how not in ("any", "all"):
            raise CaptureError(f"how is 'any' or 'all', not {how!r}")
        names = self.columns if subset is None else [subset] if isinstance(subset, str) else subset
        types = {field.name: field.dataType for field in self.df.schema}
        there = [_is_value(name, types.get(name)).cast("int") for name in names]
        least = thresh if thresh is not None else len(there) if how == "any" else 1
        condition = sum(there, F.lit(0)) >= F.lit(min(least, len(there) + 1))
        if not there:
            condition = F.lit(True)
        args = {"how": how, "thresh": thresh, "subset": list(names)}
        return self._where("dropna", condition, args)

    def sample(
        self,
        withReplacement: Any = None,  # noqa: N803
        fraction: Any = None,
        seed: int | None = None,
    ) -> Self:
        """Keep a random part of the rows; the same seed gives the same rows."""
        frame, trail = self.settle()
        result = frame.sample(withReplacement, fraction, seed)
        rows = RowSet()
        repeats = withReplacement is True
        if repeats:
            column = fresh_column()
            result = with_ids(result, column)
            return self._keep("sample", result, trail.multiplied(rows, column), {})
        return self._keep("sample", result, trail.stepped(rows), {})

    def sampleBy(self, col: Any, fractions: dict[Any, float], seed: int | None = None) -> Self:  # noqa: N802
        """Keep a random part of the rows, by the value of a column."""
        frame, trail = self.settle()
        result = frame.sampleBy(col, fractions, seed)
        return self._keep("sampleBy", result, trail.stepped(RowSet()), {})

    def limit(self, num: int) -> Self:
        """Keep the first rows."""
        frame, trail = self.settle()
        one = trail.ids[0]
        result = frame.where(F.col(one.column) < one.numbering.id_of(num))
        return self._keep("limit", result, trail.stepped(RowSet()), {"num": num})

    def offset(self, num: int) -> Self:
        """Leave out the first rows."""
        frame, trail = self.settle()
        one = trail.ids[0]
        result = frame.where(F.col(one.column) >= one.numbering.id_of(num))
        return self._keep("offset", result, trail.stepped(RowSet()), {"num": num})

    # how it works

    def _where(self, op: str, condition: Column, args: dict[str, Any]) -> Self:
        frame, trail = self.data
        dropped = frame.where(condition)
        tame, steady = _nature(dropped)
        if not trail.numbered and not (tame and steady):
            frame, trail = self.settle()
            dropped = frame.where(condition)
        if trail.numbered:
            result = dropped if steady else keep_in_order(dropped, trail)
            return self._keep(op, result, trail.stepped(RowSet()), args)
        result = frame.withColumn(ENDED, end_unless(condition, trail))
        return self._keep(op, result, trail.stepped(RowSet(), ends=True), args)

    def _keep(self, op: str, frame: DataFrame, trail: Trail, args: dict[str, Any]) -> Self:
        """Make the frame of a step that leaves columns alone."""
        read = Input(self.table, (("left", same_columns(len(self.columns))),))
        return self.follow(op, frame, trail, self.columns, [read], args)


def end_unless(condition: Column, trail: Trail) -> Column:
    """What ends, in the next step of a trail, the rows for which a condition does not hold.

    The condition is not looked at for rows that ended before: it might fail for them.
    """
    number = len(trail.steps) + 1
    if not trail.ends:
        return F.when(condition, 0).otherwise(number)
    return F.when(F.expr(f"{ENDED} != 0"), F.col(ENDED)).when(condition, 0).otherwise(number)


def _nature(filtered: DataFrame) -> tuple[bool, bool]:
    """Whether a filter's condition is free of Python, and whether it is deterministic."""
    condition = analysed(filtered).condition()
    kinds = {e.kind for e in parse(json.loads(condition.toJSON())).walk()}
    tame = not any(kind.startswith("Python") or "Subquery" in kind for kind in kinds)
    return tame, bool(condition.deterministic())


def _is_value(name: str, kind: Any) -> Column:
    column = F.col("`" + name.replace("`", "``") + "`")
    if isinstance(kind, FloatType | DoubleType):
        return column.isNotNull() & ~F.isnan(column)
    return column.isNotNull()


def _text(condition: Column | str) -> str:
    return condition if isinstance(condition, str) else text_of(condition)
