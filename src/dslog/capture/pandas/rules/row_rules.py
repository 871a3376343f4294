"""Methods that keep some rows, or order them anew, and leave cells as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.pandas.pandas_call import (
    Given,
    PandasCall,
    Sources,
    column_pairs,
    level_pairs,
    rule,
)
from dslog.capture.pandas.row_part import SAME, Part, RowLink, Straight, taken
from dslog.capture.pandas.table_state import data_width, default_index
from dslog.types import I64


def kept_rows(call: PandasCall, *, anew: bool = False) -> I64 | None:
    """Return the row of the source that each row of the result is."""
    owner, result = call.owner, call.result
    ignored = call.argument("ignore_index") is True
    if not ignored and not anew:
        if default_index(owner.index) and result.index.dtype == np.int64:
            return np.asarray(result.index.to_numpy(), np.int64)
        if owner.index.is_unique and owner.index.nlevels == result.index.nlevels:
            return np.asarray(owner.index.get_indexer(result.index), np.int64)
    numbered = owner.set_axis(pd.RangeIndex(len(owner)), axis=0)
    state = None
    if "random" in call.before:
        state = np.random.get_state()  # noqa: NPY002
        np.random.set_state(call.before["random"])  # noqa: NPY002
    changes = {"ignore_index": False} if ignored else {}
    try:
        again = call.again(numbered, **changes)
    finally:
        if state is not None:
            np.random.set_state(state)  # noqa: NPY002
    return np.asarray(again.index.to_numpy(), np.int64) if len(again) == len(result) else None


def taken_or_same(positions: I64, count: int) -> RowLink:
    """Return rows that were taken, as they are if that is all of them in order."""
    if len(positions) == count and np.array_equal(positions, np.arange(count)):
        return SAME
    return taken(positions)


def moved_rows(
    call: PandasCall, positions: I64, *, columns: Any = None, renamed: bool = False
) -> Sources | None:
    """Rows that come from others, with all that is in their columns."""
    one = call.source
    if one is None:
        return Sources([], indexed=False)
    result = call.result
    indexed = one.indexed and call.argument("ignore_index") is not True
    pairs = columns if columns is not None else column_pairs(result, one.value)
    if renamed:
        pairs = frozenset((c, c) for c in range(data_width(result)))
    if pairs is None:
        return None
    if indexed:
        pairs |= level_pairs(result, one.value)
    parts: list[Part] = [Straight(taken_or_same(positions, len(one.value)), frozenset(pairs))]
    return Sources([(one, parts)], indexed)


@rule("DataFrame Series", "dropna drop_duplicates sort_values sample nlargest nsmallest query")
def _by_values(call: PandasCall) -> Sources | None:
    axis = call.argument("axis", 0)
    if axis in (1, "columns"):
        return _labels_only(call)
    unique = call.owner.index.is_unique
    positions = kept_rows(call, anew=not unique and call.name != "query")
    if positions is None or (not unique and call.name == "query"):
        return None
    return moved_rows(call, positions)


def _labels_only(call: PandasCall) -> Sources | None:
    """Columns were chosen or ordered."""
    return moved_rows(call, np.arange(len(call.owner), dtype=np.int64))


@rule("DataFrame Series", "head tail truncate sort_index take drop reindex filter xs")
def _by_labels(call: PandasCall) -> Sources | None:
    """Rows that are chosen by their labels or places: the same is done to a column of positions."""
    owner, result, one = call.owner, call.result, call.source
    if one is None or not isinstance(result, type(owner)):
        return None
    if isinstance(result, pd.DataFrame):
        columns = column_pairs(result, owner)
        if columns is None:
            return None
    else:
        columns = frozenset({(0, 0)})
    fills = call.name == "reindex" and any(
        call.argument(name) is not None for name in ("method", "fill_value", "limit", "tolerance")
    )
    if result.index is owner.index or (result.index.equals(owner.index) and owner.index.is_unique):
        positions = np.arange(len(owner), dtype=np.int64)
    elif owner.index.is_unique and result.index.nlevels == owner.index.nlevels and not fills:
        if call.argument("ignore_index") is True:
            return None
        positions = np.asarray(owner.index.get_indexer(result.index), np.int64)
    else:
        return None
    if fills:
        return None
    pairs: set[tuple[int, int]] = set(columns)
    parts: list[Part] = [Straight(taken_or_same(positions, len(owner)), frozenset(pairs))]
    indexed = one.indexed and call.argument("ignore_index") is not True
    if indexed:
        levels = level_pairs(result, owner)
        parts.append(Straight(taken_or_same(positions, len(owner)), levels))
    return Sources([(one, parts)], indexed)


@rule("DataFrame Series", "copy __copy__ __deepcopy__ infer_objects convert_dtypes to_frame")
@rule("DataFrame Series", "rename rename_axis add_prefix add_suffix set_axis select_dtypes")
@rule("DataFrame Series", "tz_localize tz_convert squeeze")
def _as_it_is(call: PandasCall) -> Sources | None:
    """The same cells, with other labels or types."""
    one, result = call.source, call.result
    if one is None or not isinstance(result, (pd.DataFrame, pd.Series)):
        return None
    if len(result) != len(one.value):
        return None
    rows_named = call.name in ("rename", "set_axis", "add_prefix", "add_suffix")
    width = data_width(result)
    if call.name == "select_dtypes":
        columns = column_pairs(result, one.value)
        if columns is None:
            return None
    elif width != data_width(one.value):
        return None
    else:
        columns = frozenset((c, c) for c in range(width))
    indexed = one.indexed
    if rows_named and indexed and not result.index.equals(one.value.index):
        return None
    if rows_named and not indexed and not result.index.equals(one.value.index):
        return Sources([(one, [Straight(SAME, columns)])], indexed=True)  # labels the program gave
    if indexed:
        columns |= level_pairs(result, one.value)
    return Sources([(one, [Straight(SAME, columns)])], indexed)


@rule("DataFrame Series", "reset_index")
def _reset_index(call: PandasCall) -> Sources | None:
    """Levels of the index become columns, or go."""
    one, result, owner = call.source, call.result, call.owner
    if one is None or not isinstance(result, (pd.DataFrame, pd.Series)):
        return None
    indexed = not default_index(result.index) or (
        call.argument("level") is not None
        and one.indexed
        and result.index.nlevels < owner.index.nlevels
    )
    wide, wide_in = data_width(result), data_width(owner)
    if call.argument("drop", False):
        columns = {(c, c) for c in range(wide)}
        if indexed and one.indexed:
            columns |= level_pairs(result, owner)
        return Sources([(one, [Straight(SAME, frozenset(columns))])], indexed and one.indexed)
    if (
        call.argument("level") is not None
        or (owner.columns.nlevels if isinstance(owner, pd.DataFrame) else 1) > 1
    ):
        return None
    levels = owner.index.nlevels
    columns = {(levels + c, c) for c in range(wide_in)}
    if one.indexed:
        columns |= {(k, wide_in + k) for k in range(levels)}
    return Sources([(one, [Straight(SAME, frozenset(columns))])], indexed=False)


@rule("DataFrame", "set_index")
def _set_index(call: PandasCall) -> Sources | None:
    """Columns become levels of the index."""
    one, result, owner = call.source, call.result, call.owner
    keys = call.argument("keys")
    keys = keys if isinstance(keys, list) else [keys]
    if not owner.columns.is_unique:
        return None
    wide = data_width(result)
    columns: set[tuple[int, int]] = set()
    if one is not None:
        places = owner.columns.get_indexer(result.columns)
        columns = {(c, int(p)) for c, p in enumerate(places)}
    append = call.argument("append", False)
    first = owner.index.nlevels if append else 0
    if append and one is not None and one.indexed:
        columns |= {(wide + k, data_width(owner) + k) for k in range(first)}
    others: list[tuple[Given, list[Part]]] = []
    at = wide + first
    for key in keys:
        if isinstance(key, (pd.Series, np.ndarray)):
            other = call.input_of(key)
            if other is not None:
                others.append((other, [Straight(SAME, frozenset({(at, 0)}))]))
            at += 1
        elif isinstance(key, (pd.Index, list)):
            at += getattr(key, "nlevels", 1)
        else:
            if one is not None:
                columns.add((at, int(owner.columns.get_loc(key))))
            at += 1
    found: list[tuple[Given, list[Part]]] = (
        [] if one is None else [(one, [Straight(SAME, frozenset(columns))])]
    )
    return Sources([*found, *others], indexed=True)


@rule("DataFrame Series", "shift")
def _shift(call: PandasCall) -> Sources | None:
    one, owner = call.source, call.owner
    periods, axis = call.argument("periods", 1), call.argument("axis", 0)
    if one is None or axis not in (0, "index") or not isinstance(periods, int):
        return None
    if call.argument("freq") is not None:
        return None
    wide = data_width(owner)
    count = len(owner)
    positions = np.arange(count) - periods
    positions[(positions < 0) | (positions >= count)] = -1
    columns = frozenset((c, c) for c in range(wide))
    parts: list[Part] = [Straight(taken(positions), columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(call.result, owner)))
    return Sources([(one, parts)], one.indexed)


@rule("DataFrame Series", "explode")
def _explode(call: PandasCall) -> Sources | None:
    numbered = call.owner.set_axis(pd.RangeIndex(len(call.owner)), axis=0)
    again = call.again(numbered, ignore_index=False)
    positions = np.asarray(again.index.to_numpy(), np.int64)
    return moved_rows(call, positions)
