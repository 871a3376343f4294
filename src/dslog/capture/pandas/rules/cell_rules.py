"""Methods that make each cell from the cells at its place, after alignment by labels."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.pandas.pandas_call import (
    Given,
    PandasCall,
    Sources,
    column_pairs,
    label_positions,
    level_pairs,
    rule,
)
from dslog.capture.pandas.row_part import (
    ALL,
    SAME,
    Crossed,
    Part,
    RowLink,
    Straight,
    row_spans,
    taken,
)
from dslog.capture.pandas.rules.row_rules import taken_or_same
from dslog.capture.pandas.table_state import data_width, words
from dslog.types import I64

_ALONE = """
 abs round astype isna isnull notna notnull __neg__ __pos__ __abs__ __invert__ __round__ between
 isin
"""
_TOGETHER = """
 __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__
 __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__
 __eq__ __ne__ __lt__ __le__ __gt__ __ge__ add radd sub rsub subtract mul rmul multiply div rdiv
 divide truediv rtruediv floordiv rfloordiv mod rmod pow rpow eq ne lt le gt ge combine_first
 fillna clip replace where mask __array_ufunc__ combine divmod rdivmod __divmod__ __rdivmod__
"""


def rows_at(out: Any, in_: Any) -> RowLink | None:
    """Return the rows of an input with the labels of an output's, None if that is not clear."""
    if out.index is in_.index or (len(out) == len(in_) and out.index.equals(in_.index)):
        return SAME
    positions = label_positions(out.index, in_.index)
    if positions is not None:
        return taken_or_same(positions, len(in_))
    return None


def aligned_cells(
    call: PandasCall,
    *,
    given: Sequence[Given] | None = None,
    decided: Sequence[Given] = (),
) -> Sources | None:
    """Each cell from the cells of all inputs that have its labels."""
    result = call.result
    found: list[tuple[Given, list[Part]]] = []
    indexed = any(one.indexed for one in call.inputs if one.is_table)
    deciding: list[tuple[Given, list[Part]]] = []
    for one in call.inputs:
        if given is not None and all(one is not each for each in (*given, *decided)):
            continue
        parts = _aligned_part(call, result, one, indexed=indexed)
        if parts is None:
            return None
        (deciding if any(one is each for each in decided) else found).append((one, parts))
    return Sources(found, indexed, decided=deciding)


def _aligned_part(call: PandasCall, result: Any, one: Given, *, indexed: bool) -> list[Part] | None:
    wide = data_width(result)
    if one.shape == ():
        return [Straight(ALL, frozenset((c, 0) for c in range(wide)))]
    value = one.value
    if isinstance(value, np.ndarray):
        return _array_part(result, one)
    if isinstance(value, pd.Index):
        return None
    if isinstance(value, pd.Series) and isinstance(result, pd.DataFrame) and not _down(call, one):
        places = label_positions(result.columns, value.index)
        if places is None or one.indexed:
            return None
        return [Crossed(frozenset((c, int(p)) for c, p in enumerate(places) if p >= 0))]
    rows = rows_at(result, value)
    if rows is None:
        rows = _joined_rows(call, result, one)
    columns = (
        column_pairs(result, value)
        if isinstance(value, pd.DataFrame)
        else frozenset((c, 0) for c in range(wide))
    )
    if rows is None or columns is None:
        return None
    parts: list[Part] = [Straight(rows, columns)]
    if indexed and one.indexed:
        parts.append(Straight(rows, level_pairs(result, value)))
    return parts


def _down(call: PandasCall, one: Given) -> bool:
    """Whether a series goes along the rows of a frame."""
    if one.value is call.owner:
        return call.name == "to_frame"
    axis = call.argument("axis")
    if call.name in ("fillna", "replace", "clip"):
        return call.name == "clip" and axis in (0, "index")
    if call.name in ("where", "mask"):
        return axis in (0, "index") or one.value is call.argument("cond")
    return axis in (0, "index")


def _array_part(result: Any, one: Given) -> list[Part] | None:
    value = one.value
    if value.ndim == 2 and value.shape == np.shape(result):
        return [Straight(SAME, frozenset((c, c) for c in range(value.shape[1])))]
    if value.ndim != 1:
        return None
    if isinstance(result, pd.Series):
        return [Straight(SAME, frozenset({(0, 0)}))] if len(value) == len(result) else None
    if len(value) == len(result.columns):
        return [Crossed(frozenset((c, c) for c in range(len(value))))]
    return None


def _joined_rows(call: PandasCall, result: Any, one: Given) -> RowLink | None:
    """Return the rows of one of two inputs whose labels repeat, as pandas joins them."""
    tables = [each for each in call.inputs if each.is_table]
    if len(tables) != 2:
        return None
    left, right = (each.value for each in tables)
    index, at_left, at_right = left.index.join(right.index, how="outer", return_indexers=True)
    if not index.equals(result.index):
        return None
    positions = at_left if one is tables[0] else at_right
    if positions is None:
        return SAME if len(index) == len(one.value) else None
    return taken(np.asarray(positions, np.int64))


@rule("DataFrame Series", _ALONE + _TOGETHER)
def _elementwise(call: PandasCall) -> Sources | None:
    if not isinstance(call.result, (pd.DataFrame, pd.Series)):
        return None
    if call.name in ("fillna", "replace") and (call.argument("method") is not None):
        return None
    name = call.name
    if name in ("where", "mask"):
        return _chosen(call, call.input_of(call.argument("cond")))
    if name in ("fillna", "combine_first"):
        return _filled(call)
    if name == "isin":
        return (
            aligned_cells(call, given=[one for one in call.inputs if one.value is call.owner])
            if len(call.inputs) == 1
            else None
        )
    return aligned_cells(call)


@rule("", "isna isnull notna notnull to_numeric to_datetime to_timedelta")
def _function(call: PandasCall) -> Sources | None:
    tables = [one for one in call.inputs if one.is_table]
    if not isinstance(call.result, (pd.DataFrame, pd.Series)) or len(tables) != 1:
        return None
    if isinstance(call.result, pd.Series) and isinstance(tables[0].value, pd.DataFrame):
        one = tables[0]
        pairs = frozenset((0, c) for c in range(data_width(one.value)))
        return Sources([(one, [Straight(SAME, pairs)])], indexed=False)
    return aligned_cells(call)


def _chosen(call: PandasCall, cond: Given | None) -> Sources | None:
    """Cells of one of two inputs, as a mask says: each reads the one that it is."""
    result, given = call.result, call.argument("cond")
    if callable(given):
        given = given(call.owner)
    mask = np.asarray(given)
    if isinstance(given, pd.Series) and isinstance(result, pd.DataFrame):
        return None
    if mask.dtype != bool or mask.shape != result.shape:
        return None
    if isinstance(given, (pd.DataFrame, pd.Series)) and not given.index.equals(result.index):
        return None
    if isinstance(given, pd.DataFrame) and not given.columns.equals(result.columns):
        return None
    whole = aligned_cells(
        call,
        given=[one for one in call.inputs if one is not cond],
        decided=[] if cond is None else [cond],
    )
    if whole is None:
        return None
    mask = mask.reshape(len(result), -1) == (call.name == "where")
    places = np.arange(len(result))
    found: list[tuple[Given, list[Part]]] = []
    other = call.argument("other")
    for one, parts in whole.parts:
        chosen = mask if one is call.source else ~mask
        if one.value is not call.owner and one.value is not other and one.shape != ():
            return None
        apart: list[Part] = []
        for part in parts:
            if not isinstance(part, Straight) or part.rows.kind not in ("same", "all"):
                return None
            for c in {pair[0] for pair in part.columns}:
                pairs = frozenset(pair for pair in part.columns if pair[0] == c)
                if c >= mask.shape[1]:
                    apart.append(Straight(part.rows, pairs))
                    continue
                at = np.where(chosen[:, c], 0 if part.rows.kind == "all" else places, -1)
                apart.append(Straight(taken(at), pairs))
        found.append((one, apart))
    return Sources(found, whole.indexed, decided=whole.decided)


def _filled(call: PandasCall) -> Sources | None:
    """Cells that were null come from what they were filled with."""
    one, result = call.source, call.result
    whole = aligned_cells(call)
    if whole is None or one is None or len(call.inputs) == 1 or len(result) != len(one.value):
        return whole
    found = []
    for other, parts in whole.parts:
        if other is one:
            found.append((other, parts))
            continue
        apart: list[Part] = []
        for part in parts:
            if not isinstance(part, Straight) or part.rows.kind == "all":
                apart.append(part)
                continue
            for pair in part.columns:
                if pair[0] >= data_width(result):
                    apart.append(Straight(part.rows, frozenset({pair})))
                    continue
                column = (
                    one.value.iloc[:, pair[0]] if isinstance(one.value, pd.DataFrame) else one.value
                )
                from_ = np.arange(len(result)) if part.rows.lo is None else part.rows.lo
                at = np.where(column.isna().to_numpy(), from_, -1)
                apart.append(Straight(taken(at), frozenset({pair})))
        found.append((other, apart))
    return Sources(found, whole.indexed)


_TEXTS = """
 len lower upper title capitalize swapcase casefold strip lstrip rstrip contains startswith
 endswith match fullmatch replace slice get count find rfind pad zfill center ljust rjust isalpha
 isdigit isnumeric isalnum isupper islower isspace istitle isdecimal repeat split rsplit extract
 join normalize encode decode index rindex slice_replace translate wrap removeprefix removesuffix
 findall partition rpartition get_dummies __getitem__
"""


@rule("str", _TEXTS)
def _text(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    if one is None or not isinstance(result, (pd.DataFrame, pd.Series)) or len(call.inputs) > 1:
        return None
    if len(result) != len(one.value):
        return None
    columns = frozenset((c, 0) for c in range(data_width(result)))
    if one.indexed:
        columns |= level_pairs(result, one.value)
    return Sources([(one, [Straight(SAME, columns)])], one.indexed)


def _every(call: PandasCall) -> Sources | None:
    return _text(call)


for _name in words(
    """
    year month day hour minute second microsecond nanosecond date time timetz week weekday
    dayofweek day_of_week dayofyear day_of_year quarter is_month_start is_month_end
    is_quarter_start is_quarter_end is_year_start is_year_end is_leap_year daysinmonth
    days_in_month floor ceil round strftime normalize tz_localize tz_convert to_period
    to_timestamp total_seconds days seconds microseconds nanoseconds components isocalendar
    month_name day_name as_unit qyear start_time end_time to_pydatetime to_pytimedelta
    """
):
    rule("dt", _name)(_every)
for _name in words(
    """
    codes rename_categories reorder_categories add_categories remove_categories
    remove_unused_categories set_categories as_ordered as_unordered
    """
):
    rule("cat", _name)(_every)


# cells from the cells before them in their column


@rule("DataFrame Series", "cumsum cumprod cummax cummin")
def _running(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    axis = call.argument("axis", 0)
    if one is None or axis not in (0, None, "index"):
        return None
    columns = column_pairs(result, one.value)
    if columns is None:
        return None
    count = len(result)
    rows = row_spans(np.zeros(count, np.int64), np.arange(count, dtype=np.int64))
    parts: list[Part] = [Straight(rows, columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


@rule("DataFrame Series", "diff pct_change")
def _difference(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    periods, axis = call.argument("periods", 1), call.argument("axis", 0)
    if one is None or axis not in (0, "index") or not isinstance(periods, int):
        return None
    if call.name == "pct_change" and (
        any(call.argument(name) is not None for name in ("freq", "limit")) or _has_null(one.value)
    ):
        return None
    count, wide = len(result), data_width(result)
    there = np.arange(count)
    before = there - periods
    before[(before < 0) | (before >= count)] = -1
    there = np.where(before >= 0, there, -1)
    columns = frozenset((c, c) for c in range(wide))
    parts: list[Part] = [Straight(taken(before), columns), Straight(taken(there), columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


def _has_null(value: Any) -> bool:
    return bool(np.asarray(pd.isna(value)).any())


@rule("DataFrame Series", "ffill bfill pad backfill")
def _carried(call: PandasCall) -> Sources | None:
    """Null cells come from the nearest cell before or behind that is none."""
    one, result = call.source, call.result
    if one is None or call.argument("axis") not in (None, 0, "index"):
        return None
    parts: list[Part] = []
    count = len(result)
    for c in range(data_width(result)):
        column = one.value.iloc[:, c] if isinstance(one.value, pd.DataFrame) else one.value
        numbers = pd.Series(np.arange(count, dtype=np.float64)).where(column.notna().to_numpy())
        options = {
            key: call.argument(key)
            for key in ("limit", "limit_area")
            if call.argument(key) is not None
        }
        numbers = getattr(numbers, "bfill" if call.name in ("bfill", "backfill") else "ffill")(
            **options
        )
        positions = numbers.fillna(-1).to_numpy().astype(np.int64)
        own = np.flatnonzero(positions < 0)
        positions[own] = own
        parts.append(Straight(taken_or_same(positions, count), frozenset({(c, c)})))
        if (positions != np.arange(count)).any():
            parts.append(Straight(SAME, frozenset({(c, c)})))  # whether it is null
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


@rule("Series", "interpolate")
def _interpolated(call: PandasCall) -> Sources | None:
    """Null cells come from the nearest cells on both sides that are none."""
    one, result = call.source, call.result
    if one is None or call.argument("method", "linear") != "linear" or call.argument("limit"):
        return None
    if any(call.argument(name) is not None for name in ("limit_direction", "limit_area")):
        return None
    count = len(result)
    numbers = pd.Series(np.arange(count, dtype=np.float64)).where(call.owner.notna().to_numpy())
    before, behind = (
        each.fillna(-1).to_numpy().astype(np.int64) for each in (numbers.ffill(), numbers.bfill())
    )
    behind[before < 0] = -1
    cell: frozenset[tuple[int, int]] = frozenset({(0, 0)})
    parts: list[Part] = [
        Straight(SAME, cell),
        *(Straight(taken(p), cell) for p in (before, behind)),
    ]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


@rule("Series", "map")
def _mapped(call: PandasCall) -> Sources | None:
    """A function, a dict or a series gives each value another."""
    given = call.argument("arg")
    if given is None and len(call.args) > 1:
        given = call.args[1]
    other = call.input_of(given)
    if other is None:
        return aligned_cells(call) if len(call.inputs) == 1 else None
    if not isinstance(other.value, pd.Series) or not other.value.index.is_unique:
        return None
    one = call.source
    positions: I64 = np.asarray(other.value.index.get_indexer(pd.Index(call.owner)), np.int64)
    looked: list[Part] = [Straight(taken(positions), frozenset({(0, 0)}))]
    found: list[tuple[Given, list[Part]]] = [(other, looked)]
    indexed = False
    if one is not None:
        indexed = one.indexed
        columns: frozenset[tuple[int, int]] = frozenset({(0, 0)})
        if indexed:
            columns |= level_pairs(call.result, one.value)
        found.append((one, [Straight(SAME, columns)]))
    return Sources(found, indexed)


@rule("DataFrame", "map applymap")
def _each(call: PandasCall) -> Sources | None:
    return aligned_cells(call) if len(call.inputs) == 1 else None


@rule("DataFrame", "assign")
def _assign(call: PandasCall) -> Sources | None:
    """New columns from series of the same rows; functions are given the frame."""
    one, result, owner = call.source, call.result, call.owner
    if one is None or not result.columns.is_unique or not owner.columns.is_unique:
        return None
    places = owner.columns.get_indexer(result.columns)
    kept = {
        (c, int(p)) for c, p in enumerate(places) if p >= 0 and result.columns[c] not in call.kwargs
    }
    found: list[tuple[Given, list[Part]]] = []
    for name, value in call.kwargs.items():
        place = int(result.columns.get_loc(name))
        if callable(value):
            return None
        other = call.input_of(value)
        if other is None:
            if not np.isscalar(value):
                continue
            others = [each for each in call.inputs if each.shape == ()]
            if others:
                return None
            continue
        rows: RowLink | None = ALL if other.shape == () else SAME
        if isinstance(value, pd.Series):
            rows = rows_at(result, value)
        if rows is None:
            return None
        found.append((other, [Straight(rows, frozenset({(place, 0)}))]))
    columns = frozenset(kept)
    if one.indexed:
        columns |= level_pairs(result, owner)
    return Sources([(one, [Straight(SAME, columns)]), *found], one.indexed)


@rule("", "get_dummies")
def _dummies(call: PandasCall) -> Sources | None:
    data = call.argument("data")
    one = call.input_of(data)
    if one is None:
        return None
    result = call.result
    if isinstance(data, pd.Series):
        columns = frozenset((c, 0) for c in range(data_width(result)))
    else:
        if not data.columns.is_unique:
            return None
        pairs: set[tuple[int, int]] = set()
        chosen = call.argument("columns")
        kinds = data.select_dtypes(include=["object", "string", "category"]).columns
        encoded = list(kinds if chosen is None else chosen)
        rest = [label for label in data.columns if label not in encoded]
        pairs |= {(c, int(data.columns.get_loc(label))) for c, label in enumerate(rest)}
        at = len(rest)
        for label in encoded:
            kwargs = {k: v for k, v in call.kwargs.items() if k in ("dummy_na", "drop_first")}
            wide = pd.get_dummies(data[label], **kwargs).shape[1]
            pairs |= {(at + k, int(data.columns.get_loc(label))) for k in range(wide)}
            at += wide
        if at != data_width(result):
            return None
        columns = frozenset(pairs)
    if one.indexed:
        columns |= level_pairs(result, one.value)
    return Sources([(one, [Straight(SAME, columns)])], one.indexed)


@rule("", "DataFrame Series")
def _constructed(call: PandasCall) -> Sources | None:
    """A frame or a series of tracked values."""
    result = call.result
    data = call.argument("data")
    if isinstance(data, dict) and isinstance(result, pd.DataFrame):
        return _of_columns(call, data)
    one = call.input_of(data)
    if one is None or len(call.inputs) != 1:
        return None
    value = one.value
    if isinstance(value, np.ndarray):
        if value.ndim == 0 or len(value) != len(result):
            return None
        wide = value.shape[1] if value.ndim > 1 else 1
        if wide != data_width(result):
            return None
        return Sources(
            [(one, [Straight(SAME, frozenset((c, c) for c in range(wide)))])], indexed=False
        )
    if isinstance(value, (pd.DataFrame, pd.Series)):
        rows = rows_at(result, value)
        columns = (
            column_pairs(result, value) if isinstance(value, pd.DataFrame) else frozenset({(0, 0)})
        )
        if rows is None or columns is None:
            return None
        if one.indexed:
            columns |= level_pairs(result, value)
        return Sources([(one, [Straight(rows, columns)])], one.indexed)
    return None


def _of_columns(call: PandasCall, data: dict[Any, Any]) -> Sources | None:
    result = call.result
    if not result.columns.is_unique:
        return None
    found: list[tuple[Given, list[Part]]] = []
    indexed = any(one.indexed for one in call.inputs)
    seen: set[int] = set()
    for label, value in data.items():
        if label not in result.columns:
            continue
        place = int(result.columns.get_loc(label))
        one = call.input_of(value)
        if one is None:
            if isinstance(value, (list, tuple)):
                return None
            continue
        seen.add(id(one))
        if one.shape == ():
            return None
        rows: RowLink | None = SAME
        if isinstance(value, pd.Series):
            rows = rows_at(result, value)
        elif not isinstance(value, np.ndarray) or value.ndim != 1:
            return None
        if rows is None:
            return None
        parts: list[Part] = [Straight(rows, frozenset({(place, 0)}))]
        if indexed and one.indexed:
            parts.append(Straight(rows, level_pairs(result, value)))
        found.append((one, parts))
    if any(id(one) not in seen for one in call.inputs):
        return None
    return Sources(found, indexed)


@rule("DataFrame", "eval")
def _evaluated(call: PandasCall) -> Sources | None:
    """``df.eval("c = a + b")``: each cell reads those of the columns that are named, in its row."""
    one, result, expression = call.source, call.result, call.argument("expr")
    if one is None or not isinstance(expression, str) or set(expression) & set("(@`\n["):
        return None
    if not isinstance(result, (pd.DataFrame, pd.Series)) or not one.value.columns.is_unique:
        return None
    target, _, formula = expression.rpartition(" = ")
    names = {each.id for each in ast.walk(ast.parse(formula)) if isinstance(each, ast.Name)}
    read = [c for c, label in enumerate(one.value.columns) if label in names]
    if len(read) != len(names) or not result.index.equals(one.value.index):
        return None
    columns: frozenset[tuple[int, int]] = frozenset()
    new = 0
    if isinstance(result, pd.DataFrame):
        new = int(result.columns.get_loc(target.strip()))
        places = one.value.columns.get_indexer(result.columns)
        columns = frozenset((c, int(p)) for c, p in enumerate(places) if p >= 0 and c != new)
    columns |= frozenset((new, c) for c in read)
    if one.indexed:
        columns |= level_pairs(result, one.value)
    return Sources([(one, [Straight(SAME, columns)])], one.indexed)
