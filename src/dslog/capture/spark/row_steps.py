"""Steps that leave rows out: filter, dropna, sample, limit.

The first such step after rows were numbered really drops them. A later one only notes which step
ended a row: the pass over the ids needs to see rows that were there in between.

Joins: the rows of a result are told apart by the ids of both sides.

Steps that put rows in another order, or one table behind another.

distinct and dropDuplicates: groups of rows that are equal, of which the first is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from dslog.capture.spark.column_steps import quoted
from dslog.capture.spark.frame import Data, Frame
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import analysed, parse_expression, text_of
from dslog.capture.spark.row_groups import FIRST, RANK, Grouping, Mark, number_groups
from dslog.capture.spark.row_id import (
    ENDED,
    HIDDEN,
    LAST,
    SHIFT,
    Id,
    RowSet,
    Trail,
    fresh_column,
    is_hidden,
    numbered,
    visible_places,
)
from dslog.capture.spark.row_trace import map_rows
from dslog.capture.spark.source import fix_order, keep_in_order, with_ids
from dslog.capture.spark.table_node import Input, Origin
from dslog.capture.table_product import Pairs, RowMap, same_columns
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
    kinds = {e.kind for e in parse_expression(json.loads(condition.toJSON())).walk()}
    tame = not any(kind.startswith("Python") or "Subquery" in kind for kind in kinds)
    return tame, bool(condition.deterministic())


def _is_value(name: str, kind: Any) -> Column:
    column = F.col("`" + name.replace("`", "``") + "`")
    if isinstance(kind, FloatType | DoubleType):
        return column.isNotNull() & ~F.isnan(column)
    return column.isNotNull()


def _text(condition: Column | str) -> str:
    return condition if isinstance(condition, str) else text_of(condition)


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
        return self.follow(
            f"{kind}_join", result, then, self.columns, [read], {"on": _key_text(on)}
        )

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


def _key_text(on: Any) -> Any:
    names = _names(on)
    return names or (text_of(on) if isinstance(on, Column) else None)


def _other_side(other: Frame) -> tuple[DataFrame, Id]:
    """The other side of a join: numbered, with a hidden column that nothing else has."""
    frame, trail = other.settle()
    one = trail.ids[0]
    column = fresh_column()
    renamed = frame.withColumnRenamed(one.column, column)
    checkpointed = "LogicalRDD" in analysed(frame).toString()
    if checkpointed and one.numbering.total <= FrameCost.current().small_side:
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


class ArrangingSteps(Frame):
    """orderBy, union and the like."""

    def orderBy(self, *cols: Any, **kwargs: Any) -> Self:  # noqa: N802
        """Sort; rows that compare equal keep their order."""
        frame, trail = self.settle()
        ordered = frame.orderBy(*_orders(cols, kwargs), trail.ids[0].column)
        fixed, one = fix_order(ordered)
        rows = RowSet(one.numbering.total)
        now = numbered(rows, one)
        rows.maps["order"] = map_rows(fixed, now, trail.ids[0], self.tracker.part_writer)
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
        grouping = Grouping(frame, trail, columns_of_keys, self.tracker.part_writer, marks)

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
