"""Selection by keys: ``df[...]``, ``loc``, ``iloc``, ``at``, ``iat``, ``get``, ``to_numpy``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.pandas.pandas_call import (
    Given,
    PandasCall,
    Sources,
    level_pairs,
    rule,
)
from dslog.capture.pandas.row_part import SAME, Across, Part, Straight, taken
from dslog.capture.pandas.rules.row_rules import taken_or_same
from dslog.capture.pandas.table_state import data_width, default_index
from dslog.types import I64


@rule("DataFrame", "__getitem__ get filter_")
def _getitem(call: PandasCall) -> Sources | None:
    """Columns by their labels; rows by a mask or a slice."""
    one, owner, result = call.source, call.owner, call.result
    key = call.args[1] if len(call.args) > 1 else call.argument("key")
    if callable(key):
        key = key(owner)
    if one is None:
        return _no_source(call)
    if isinstance(key, pd.DataFrame):
        from dslog.capture.pandas.rules.cell_rules import aligned_cells

        return aligned_cells(call, given=[one], decided=[])
    mask = isinstance(
        key, (pd.Series, np.ndarray, list, pd.Index, pd.api.extensions.ExtensionArray)
    ) and (pd.api.types.is_bool_dtype(np.asarray(key)) if len(key) else False)
    if isinstance(key, slice) or mask:
        if default_index(owner.index):
            positions = np.asarray(result.index.to_numpy(), np.int64)
        else:
            numbers = pd.Series(np.arange(len(owner)), index=owner.index)
            positions = np.asarray(numbers[key].to_numpy(), np.int64)
        columns = frozenset((c, c) for c in range(data_width(result)))
        if one.indexed:
            columns |= level_pairs(result, owner)
        every = frozenset((c, 0) for c in range(one.shape[1] if len(one.shape) > 1 else 1))
        decided: list[tuple[Given, list[Part]]] = [
            (other, [Straight(taken(positions), every)])
            for other in call.inputs
            if isinstance(other.value, pd.Series) and other.value.index.equals(owner.index)
        ]
        rows = taken_or_same(positions, len(owner))
        return Sources([(one, [Straight(rows, columns)])], one.indexed, decided=decided)
    places = _column_places(owner, key)
    columns = frozenset((k, int(p)) for k, p in enumerate(places))
    if one.indexed:
        columns |= level_pairs(result, owner)
    return Sources([(one, [Straight(SAME, columns)])], one.indexed)


def _no_source(call: PandasCall) -> Sources | None:
    """What only chooses, and is not tracked, is no part of the lineage of what is chosen."""
    if isinstance(call.owner, (pd.DataFrame, pd.Series)):
        return Sources([], indexed=False)
    return None


def _column_places(owner: Any, key: Any) -> I64:
    numbers = pd.DataFrame([np.arange(len(owner.columns))], columns=owner.columns)
    return np.asarray(numbers[key]).reshape(-1).astype(np.int64)


@rule("loc iloc at iat", "__getitem__")
def _locate(call: PandasCall) -> Sources | None:
    """Rows and columns by labels or places: the same key, of positions instead of values."""
    one, owner, result = call.source, call.owner, call.result
    if one is None:
        return _no_source(call)
    key = call.args[1]
    if callable(key):
        key = key(owner)
    if isinstance(owner, pd.DataFrame):
        rows, columns = _keys(call, key, owner)
        places = _at(call.kind, columns, np.arange(len(owner.columns)), owner.columns)
    else:
        rows = key
        places = np.zeros((), np.int64)
    if (
        isinstance(rows, (pd.Series, np.ndarray, list))
        and len(rows) == len(owner)
        and (default_index(owner.index) and pd.api.types.is_bool_dtype(np.asarray(rows)))
        and isinstance(result, (pd.DataFrame, pd.Series))
        and places.ndim
    ):
        positions = np.asarray(result.index.to_numpy(), np.int64)
    else:
        positions = _at(call.kind, rows, np.arange(len(owner)), owner.index)
    return located(call, one, positions, places, result)


def located(
    call: PandasCall, one: Given, positions: Any, places: Any, result: Any
) -> Sources | None:
    """Return the lineage of rows and columns at positions, each several or a single one."""
    stride = one.shape[1] if len(one.shape) > 1 else 1
    is_frame = isinstance(one.value, pd.DataFrame)
    if positions.ndim == 0 and places.ndim == 0:
        call.before["cell"] = (one.node, int(positions) * stride + int(places))
        if isinstance(result, (pd.DataFrame, pd.Series)):
            return None
        return Sources([], indexed=False)
    if positions.ndim == 0:
        across = frozenset((k, int(c)) for k, c in enumerate(places))
        r = int(positions)
        return Sources([(one, [Across(across, (r, r))])], indexed=False)
    rows = taken_or_same(np.asarray(positions, np.int64), len(one.value))
    if places.ndim == 0:
        columns = frozenset({(0, int(places))})
    else:
        columns = frozenset((k, int(c)) for k, c in enumerate(places))
    if one.indexed:
        columns |= level_pairs(result, one.value)
    del is_frame
    return Sources([(one, [Straight(rows, columns)])], one.indexed)


def _keys(call: PandasCall, key: Any, owner: Any) -> tuple[Any, Any]:
    """Return the key of the rows and that of the columns."""
    if call.kind in ("at", "iat"):
        return key[0], key[1]
    if not isinstance(key, tuple):
        return key, slice(None)
    if owner.index.nlevels > 1 and call.kind == "loc":
        try:
            numbers = pd.Series(np.arange(len(owner)), index=owner.index)
            if len(key) != 2 or not isinstance(key[0], (tuple, slice, list)):
                numbers.loc[key]
                return key, slice(None)
        except (KeyError, TypeError, pd.errors.IndexingError):
            pass
    if len(key) == 1:
        return key[0], slice(None)
    return key[0], key[1]


def _at(kind: str, key: Any, numbers: Any, labels: pd.Index) -> Any:
    found = getattr(pd.Series(numbers, index=labels), kind)[key]
    return np.asarray(found)


@rule("Series", "__getitem__ get")
def _item(call: PandasCall) -> Sources | None:
    one, owner, result = call.source, call.owner, call.result
    key = call.args[1] if len(call.args) > 1 else call.argument("key")
    if one is None:
        return _no_source(call)
    if callable(key):
        key = key(owner)
    numbers = pd.Series(np.arange(len(owner)), index=owner.index)
    return located(call, one, np.asarray(numbers[key]), np.zeros((), np.int64), result)


@rule("DataFrame Series", "to_numpy values array __array__")
def _to_numpy(call: PandasCall) -> Sources | None:
    one, result = call.source, call.result
    if one is None:
        return None
    if isinstance(one.value, pd.DataFrame):
        return Sources(
            [(one, [Straight(SAME, frozenset((c, c) for c in range(data_width(one.value))))])]
        )
    return Sources([(one, [Straight(SAME, frozenset({(0, 0)}))])]) if result.ndim == 1 else None
