"""What expressions of a plan read: columns, fields of structs, subqueries of one value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dslog.capture.spark.catalyst import Catalyst, expr_id, items, kind_of, references
from dslog.capture.spark.plan_rows import NONE, Cells, Fields, PlanRows


class ColumnReads:
    """Reads expressions; ``subqueries`` are the cells that those read that were followed."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self.subqueries: dict[int, Cells] = {}

    def read(self, rows: PlanRows, expressions: Iterable[Any]) -> Cells:
        """Return the cells that expressions read, subqueries included."""
        found: Cells = NONE
        for expression in expressions:
            found |= self._named_in(rows, expression)
            if self.subqueries:
                for one in self._catalyst.subqueries_in(expression):
                    found |= self.subqueries.get(expr_id(one), NONE)
        return found

    def _named_in(self, rows: PlanRows, expression: Any) -> Cells:
        """Return the cells of columns that an expression names, or of fields of these."""
        kind, names = kind_of(expression) if rows.fields else "", references(expression)
        if kind == "AttributeReference" or not {*names} & {*rows.fields}:
            return rows.read(names)
        if kind == "GetStructField":
            fields = self.fields(rows, expression.child())
            if fields is not None:
                return fields[int(expression.ordinal())][0]
        return NONE.union(*(self._named_in(rows, e) for e in items(expression.children())))

    def fields(self, rows: PlanRows, expression: Any) -> Fields | None:
        """Return what the fields of a struct read, if the plan makes it."""
        kind = kind_of(expression)
        if kind == "Alias":
            return self.fields(rows, expression.child())
        if kind == "AttributeReference":
            return rows.fields.get(expr_id(expression))
        if kind == "GetStructField":
            fields = self.fields(rows, expression.child())
            return None if fields is None else fields[int(expression.ordinal())][1]
        if kind != "CreateNamedStruct":
            return None
        values = items(expression.valExprs())
        return tuple((self.read(rows, [v]), self.fields(rows, v)) for v in values)
