"""Joins: the rows of a result are told apart by the ids of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import same_columns
from dslog.capture.spark.base import Frame
from dslog.capture.spark.dropping import end_unless
from dslog.capture.spark.java import analysed, text_of
from dslog.capture.spark.nodes import Input
from dslog.capture.spark.rows import ENDED, Id, RowSet, Trail, fresh_column, is_hidden
from dslog.errors import CaptureError

_KINDS = {
    "inner": "inner",
    "cross": "cross",
    "full": "full",
    "outer": "full",
    "fullouter": "full",
    "left": "left",
    "leftouter": "left",
    "right": "right",
    "rightouter": "right",
    "semi": "semi",
    "leftsemi": "semi",
    "anti": "anti",
    "leftanti": "anti",
}
SMALL = 100_000
"""Rows of a table whose size Spark can't know, up to which it is sent to all executors."""


class JoiningSteps(Frame):
    """join and crossJoin."""

    def join(self, other: Frame, on: Any = None, how: str | None = None) -> Self:
        """Join with another tracked frame, on names of columns both have or on conditions."""
        if not isinstance(other, Frame):
            raise CaptureError(
                f"a tracked frame joins tracked frames, not {type(other).__name__}: "
                f"track the other one first, store.track(df, name)"
            )
        kind = _kind(how or "inner")
        names = _names(on)
        if kind in ("semi", "anti"):
            return self._match(other, on, kind)
        frame, trail = self.data
        if not trail.numbered and not (names and kind in ("inner", "left")):
            frame, trail = self.settle()
        right, joined = _other_side(other)
        how = kind if trail.numbered or kind == "left" else "left"
        result = frame.join(right, on, how)
        marks = not trail.numbered and kind == "inner"
        if marks:
            found = F.col(joined.column).isNotNull()
            result = result.withColumn(ENDED, end_unless(found, trail))
        then = trail.stepped(RowSet(), joined=joined, ends=marks)
        return self._joined(other, names, result, then, kind)

    def crossJoin(self, other: Frame) -> Self:  # noqa: N802
        """Join every row with every row."""
        return self.join(other, how="cross")

    def _match(self, other: Frame, on: Any, kind: str) -> Self:
        """Keep rows that have a match, or that have none; the other side gives no values."""
        frame, trail = self.settle()
        right = other.df
        result = frame.join(right, on, kind)
        read = Input(self.table, (("left", same_columns(len(self.columns))),))
        then = trail.stepped(RowSet())
        return self.follow(f"{kind}_join", result, then, self.columns, [read], {"on": _text(on)})

    def _joined(
        self, other: Frame, names: Sequence[str], result: DataFrame, trail: Trail, kind: str
    ) -> Self:
        columns = [name for name in result.columns if not is_hidden(name)]
        left, right = _sides(self.columns, other.columns, names)
        read = [
            Input(self.table, (("left", frozenset(left)),)),
            Input(other.table, (("right", frozenset(right)),)),
        ]
        args = {"how": kind, "on": list(names)} if names else {"how": kind}
        return self.follow("join", result, trail, columns, read, args)


def _kind(how: str) -> str:
    kind = _KINDS.get(how.lower().replace("_", ""))
    if kind is None:
        raise CaptureError(f"unknown kind of join {how!r}: use one of {', '.join(_KINDS)}")
    return kind


def _names(on: Any) -> list[str]:
    """Names of columns to join on; none if it is a condition."""
    some = [on] if isinstance(on, str) else list(on) if isinstance(on, list | tuple) else []
    return some if all(isinstance(name, str) for name in some) else []


def _text(on: Any) -> Any:
    names = _names(on)
    return names or (text_of(on) if isinstance(on, Column) else None)


def _other_side(other: Frame) -> tuple[DataFrame, Id]:
    """The other side of a join: numbered, with a hidden column that nothing else has."""
    frame, trail = other.settle()
    one = trail.ids[0]
    column = fresh_column()
    renamed = frame.withColumnRenamed(one.column, column)
    checkpointed = "LogicalRDD" in analysed(frame).toString()
    if checkpointed and one.numbering.total <= SMALL:
        renamed = F.broadcast(renamed)
    return renamed, Id(column, one.pending)


def _sides(
    left: Sequence[str], right: Sequence[str], names: Sequence[str]
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Which columns of each side the columns of a join come from.

    A column that was joined on by name comes first, once, from both sides: they are equal.
    """
    from_left: set[tuple[int, int]] = set()
    from_right: set[tuple[int, int]] = set()
    on_left = [_place(left, name) for name in names]
    on_right = [_place(right, name) for name in names]
    for place, (a, b) in enumerate(zip(on_left, on_right, strict=True)):
        from_left.add((place, a))
        from_right.add((place, b))
    place = len(names)
    for number in range(len(left)):
        if number not in on_left:
            from_left.add((place, number))
            place += 1
    for number in range(len(right)):
        if number not in on_right:
            from_right.add((place, number))
            place += 1
    return from_left, from_right


def _place(columns: Sequence[str], name: str) -> int:
    """Find a column by name, as Spark does: exactly, else whatever the case of its letters."""
    if name in columns:
        return columns.index(name)
    return [column.lower() for column in columns].index(name.lower())
