"""Steps whose expressions do more than read their own row: explode, Python, chance, windows."""

from __future__ import annotations

from typing import Self

from dslog.capture.spark.columns import ColumnSteps, ExtraStep, columns_read
from dslog.capture.spark.nodes import Input
from dslog.capture.spark.ordering import keep_in_order, with_ids
from dslog.capture.spark.plans import Reading
from dslog.capture.spark.rows import RowSet, fresh_column
from dslog.capture.spark.windows import windowed


class ExpressionSteps(ColumnSteps):
    """Does what expressions ask for beyond plain computing."""

    def finish(self, op: str, step: ExtraStep, reading: Reading) -> Self:
        """Do a step; rows are numbered where its expressions need that."""
        if reading.expressions:
            return self._follow_windows(op, step, reading)
        if reading.generates:
            return self._explode(op, step, reading)
        result = super().finish(op, step, reading)
        if not reading.deterministic:
            frame, trail = result.data
            result._data = keep_in_order(frame, trail), trail  # noqa: SLF001
        return result

    def _explode(self, op: str, step: ExtraStep, reading: Reading) -> Self:
        """Do a step that makes several rows of one, or none: its elements keep their order."""
        frame, trail = self.data
        column = fresh_column()
        result = with_ids(step(frame, {}), column)
        names, pairs = columns_read(frame, reading)
        read = Input(self.table, (("left", pairs),), exact=reading.complete)
        return self.follow(op, result, trail.multiplied(RowSet(), column), names, [read], {})

    def _follow_windows(self, op: str, step: ExtraStep, reading: Reading) -> Self:
        result, inputs, names = windowed(self, step, reading)
        return self.follow(op, result, self.data[1], names, inputs, {})
