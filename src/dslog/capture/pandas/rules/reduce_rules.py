"""Reductions: numbers of whole columns, or of whole rows."""

from __future__ import annotations

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
from dslog.capture.pandas.row_part import ALL, SAME, Across, Part, Straight, into, taken
from dslog.capture.pandas.table_state import data_width

REDUCTIONS = """
 sum mean median min max prod product std var sem skew kurt kurtosis count nunique any all idxmin
 idxmax argmin argmax quantile first_valid_index last_valid_index mode describe agg aggregate
 autocorr is_unique
"""


@rule("DataFrame", REDUCTIONS)
def _frame(call: PandasCall) -> Sources | None:
    one, result, axis = call.source, call.result, call.argument("axis", 0)
    if one is None:
        return None
    by_name = call.name in ("agg", "aggregate")
    func = call.argument("func")
    if by_name and not _known(func):
        return None
    if not isinstance(result, (pd.DataFrame, pd.Series)):
        if axis is not None:
            return None
        return Sources([(one, [Across(frozenset((0, c) for c in range(data_width(one.value))))])])
    if axis in (1, "columns"):
        if not isinstance(result, pd.Series) or len(result) != len(one.value):
            return None
        columns = frozenset((0, c) for c in _numbers(call, one.value))
        if one.indexed:
            columns |= level_pairs(result, one.value)
        return Sources([(one, [Straight(SAME, columns)])], one.indexed)
    if isinstance(result, pd.DataFrame):
        pairs = column_pairs(result, one.value)
        if pairs is None or (call.name == "mode" and one.value.shape[0] == 0):
            return None
        return Sources([(one, [Straight(ALL, pairs)])], indexed=False)
    places = label_positions(result.index, one.value.columns)
    if places is None or (places < 0).any():
        return None
    return Sources([(one, [Across(frozenset((r, int(c)) for r, c in enumerate(places)))])])


def _known(func: Any) -> bool:
    """Whether a function, or each of several, makes one number of a column."""
    if isinstance(func, str):
        return func in REDUCTIONS.split()
    if isinstance(func, dict):
        return all(map(_known, func.values()))
    if isinstance(func, list):
        return all(map(_known, func))
    return False


def _numbers(call: PandasCall, frame: pd.DataFrame) -> list[int]:
    """Return the columns that a reduction of rows reads."""
    if call.argument("numeric_only"):
        kept = frame.columns.get_indexer(frame.select_dtypes(include=["number", "bool"]).columns)
        return [int(c) for c in kept]
    return list(range(len(frame.columns)))


@rule("Series", REDUCTIONS)
def _series(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    if one is None:
        return None
    if call.name in ("agg", "aggregate") and not _known(call.argument("func")):
        return None
    del result
    return Sources([(one, [Straight(ALL, frozenset({(0, 0)}))])], indexed=False)


@rule("DataFrame", "corr cov")
def _pairwise(call: PandasCall) -> Sources | None:
    """The cell of two columns reads both."""
    one, result = call.source, call.result
    if one is None:
        return None
    places = label_positions(result.columns, one.value.columns)
    if places is None or not result.index.equals(result.columns):
        return None
    wide = range(len(result.columns))
    rows = Across(frozenset((k, int(c)) for k, c in enumerate(places)), columns=tuple(wide))
    columns = Straight(ALL, frozenset((k, int(c)) for k, c in enumerate(places)))
    return Sources([(one, [rows, columns])], indexed=False)


@rule("Series", "corr cov")
def _pair(call: PandasCall) -> Sources | None:
    if any(not isinstance(one.value, pd.Series) for one in call.inputs):
        return None
    parts: list[tuple[Given, list[Part]]] = [
        (one, [Straight(ALL, frozenset({(0, 0)}))]) for one in call.inputs
    ]
    return Sources(parts)


@rule("Series DataFrame", "value_counts")
def _counts(call: PandasCall) -> Sources | None:
    """A count reads the cells of its value, a share reads all."""
    one, result, owner = call.source, call.result, call.owner
    if one is None or call.argument("bins") is not None:
        return None
    if isinstance(owner, pd.Series):
        groups = result.index.get_indexer(pd.Index(owner))
        columns = frozenset({(1, 0)})
        counted = frozenset({(0, 0)})
    else:
        subset = call.argument("subset")
        names = list(owner.columns if subset is None else subset)
        keys = owner[names]
        index = (
            pd.MultiIndex.from_frame(keys)
            if result.index.nlevels > 1
            else pd.Index(keys.iloc[:, 0])
        )
        groups = result.index.get_indexer(index)
        places = owner.columns.get_indexer(names)
        columns = frozenset((1 + k, int(c)) for k, c in enumerate(places))
        counted = frozenset((0, int(c)) for c in places)
    rows = into(np.asarray(groups, np.int64))
    if call.argument("normalize"):
        return Sources([(one, [Straight(rows, columns), Straight(ALL, counted)])], indexed=True)
    return Sources([(one, [Straight(rows, columns | counted)])], indexed=True)


@rule("Series", "unique")
def _unique(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    if one is None or not isinstance(result, np.ndarray):
        return None
    first = np.flatnonzero(~call.owner.duplicated().to_numpy())
    return (
        Sources([(one, [Straight(taken(first), frozenset({(0, 0)}))])])
        if len(first) == len(result)
        else None
    )


@rule("Series DataFrame", "duplicated rank")
def _compared(call: PandasCall) -> Sources | None:
    """Each cell is compared with all of its column."""
    one, result = call.source, call.result
    if one is None or call.argument("axis", 0) not in (0, "index"):
        return None
    if call.name == "duplicated" and isinstance(call.owner, pd.DataFrame):
        subset = call.argument("subset")
        names = list(call.owner.columns) if subset is None else subset
        names = (
            names
            if (isinstance(names, (list, tuple)) and subset is not None) or subset is None
            else [subset]
        )
        places = call.owner.columns.get_indexer(names)
        columns = frozenset((0, int(c)) for c in places)
    else:
        found = (
            column_pairs(result, one.value)
            if isinstance(result, pd.DataFrame)
            else frozenset({(0, 0)})
        )
        if found is None:
            return None
        columns = found
    parts: list[Part] = [Straight(ALL, columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


@rule("", "cut qcut")
def _binned(call: PandasCall) -> Sources | None:
    """A bin whose edges are given is of its value; edges that are found are of all values."""
    one, result = call.input_of(call.argument("x")), call.result
    if one is None or len(call.inputs) > 1 or not isinstance(result, pd.Series):
        return None
    edges = call.argument("bins")
    fixed = edges is not None and not isinstance(edges, (int, np.integer))
    columns: frozenset[tuple[int, int]] = frozenset({(0, 0)})
    parts: list[Part] = [Straight(SAME if fixed else ALL, columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed)


@rule("DataFrame", "apply")
def _applied(call: PandasCall) -> Sources | None:
    """A function of rows may read all of its row, one of columns all of its column: labelled."""
    one, result = call.source, call.result
    if one is None or not isinstance(result, (pd.DataFrame, pd.Series)):
        return None
    if call.argument("axis", 0) in (1, "columns"):
        if not result.index.equals(one.value.index):
            return None
        wide = range(data_width(one.value))
        columns = frozenset((c, d) for c in range(data_width(result)) for d in wide)
        if one.indexed:
            columns |= level_pairs(result, one.value)
        return Sources([(one, [Straight(SAME, columns)])], one.indexed, exact=False)
    if isinstance(result, pd.Series):
        places = label_positions(result.index, one.value.columns)
        if places is None or (places < 0).any():
            return None
        across = Across(frozenset((r, int(c)) for r, c in enumerate(places)))
        return Sources([(one, [across])], exact=_known(call.argument("func")))
    pairs = column_pairs(result, one.value)
    if pairs is None or not result.index.equals(one.value.index):
        return None
    parts: list[Part] = [Straight(ALL, pairs)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, one.value)))
    return Sources([(one, parts)], one.indexed, exact=False)
