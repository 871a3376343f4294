"""Methods that put several tables together: merge, join, concat; and melt."""

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
from dslog.capture.pandas.row_part import Part, RowLink, Straight, taken
from dslog.capture.pandas.rules.cell_rules import rows_at
from dslog.capture.pandas.rules.row_rules import taken_or_same
from dslog.capture.pandas.table_state import data_width, default_index
from dslog.types import I64

_LEFT, _RIGHT = "_dslog_left", "_dslog_right"
_HOW = ("how", "on", "left_on", "right_on", "left_index", "right_index", "sort")


@rule("", "merge")
@rule("DataFrame", "merge")
def _merge(call: PandasCall) -> Sources | None:
    left = call.owner if call.kind else call.argument("left")
    right = call.argument("right")
    if isinstance(left, pd.Series):
        return None
    options = {name: call.argument(name) for name in _HOW if call.argument(name) is not None}
    suffixes = call.argument("suffixes", ("_x", "_y"))
    return _joined(call, left, right, options, suffixes)


@rule("DataFrame", "join")
def _join(call: PandasCall) -> Sources | None:
    left, right, on = call.owner, call.argument("other"), call.argument("on")
    if isinstance(right, (list, tuple)):
        return None
    options: dict[str, Any] = {"how": call.argument("how", "left"), "right_index": True}
    options |= {"left_index": True} if on is None else {"left_on": on}
    options["sort"] = call.argument("sort", False)
    suffixes = call.argument("lsuffix", ""), call.argument("rsuffix", "")
    return _joined(call, left, right, options, suffixes)


def _names(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _joined(
    call: PandasCall, left: Any, right: Any, options: dict[str, Any], suffixes: Any
) -> Sources | None:
    """Row numbers go through the same join of the keys alone."""
    result = call.result
    frame = right.to_frame() if isinstance(right, pd.Series) else right
    if not left.columns.is_unique or not frame.columns.is_unique:
        return None
    if left.columns.nlevels > 1 or frame.columns.nlevels > 1:
        return None
    on, left_on, right_on = (_names(options.get(k)) for k in ("on", "left_on", "right_on"))
    by_index = options.get("left_index"), options.get("right_index")
    if (
        not on
        and not left_on
        and not right_on
        and not any(by_index)
        and options.get("how") != "cross"
    ):
        on = [label for label in left.columns if label in frame.columns]
    if any(not isinstance(k, (str, int, tuple)) for k in (*on, *left_on, *right_on)):
        return None
    keys = [(on or left_on), (on or right_on)]
    numbered = []
    for table, some, row in zip((left, frame), keys, (_LEFT, _RIGHT), strict=True):
        columns = [k for k in some if k in table.columns]
        numbered.append(table[columns].assign(**{row: np.arange(len(table))}))
    merged = numbered[0].merge(numbered[1], **options, suffixes=("_x", "_y"))
    if len(merged) != len(result):
        return None
    rows: list[I64] = [
        merged[row].fillna(-1).to_numpy().astype(np.int64) for row in (_LEFT, _RIGHT)
    ]
    shared = set(on) | {k for k, other in zip(left_on, right_on, strict=False) if k == other}
    overlap = {label for label in left.columns if label in frame.columns} - shared
    sides = suffixes if suffixes is not None else (None, None)
    labels = [
        {_renamed(label, side, overlap): label for label in table.columns}
        for table, side in zip((left, frame), sides, strict=True)
    ]
    indexed = _index_of(call, left, right, by_index, result)
    if indexed is None:
        return None
    found: list[tuple[Given, list[Part]]] = []
    wide = data_width(result)
    if not result.columns.is_unique:
        return None
    for side, (table, given) in enumerate(((left, left), (frame, right))):
        one = call.input_of(given)
        if one is None:
            continue
        read = {
            (c, int(table.columns.get_loc(labels[side][label])))
            for c, label in enumerate(result.columns)
            if label in labels[side]
        }
        part_rows = taken_or_same(rows[side], len(table))
        parts: list[Part] = [Straight(part_rows, frozenset(read))]
        parts += _key_parts(
            result, table, one, side, keys, by_index, part_rows, wide, indexed=indexed
        )
        found.append((one, parts))
    return Sources(found, indexed)


def _renamed(label: Any, suffix: Any, overlap: set[Any]) -> Any:
    return f"{label}{suffix}" if label in overlap and suffix is not None else label


def _index_of(
    call: PandasCall, left: Any, right: Any, by_index: tuple[Any, Any], result: Any
) -> bool | None:
    """Return whether the index of a join carries data."""
    if not any(by_index):
        return False
    ones = [call.input_of(table) for table in (left, right)]
    carries = [one is not None and one.indexed for one in ones]
    if all(by_index):
        return any(carries)
    place = 1 if by_index[0] else 0
    if default_index(result.index) and not carries[place]:
        return False
    return any(carries)


def _key_parts(  # noqa: PLR0913 (what a join is made of)
    result: Any, table: Any, one: Given, side: int, keys: Any, by_index: Any, rows: RowLink,
    wide: int, *, indexed: bool,
) -> list[Part]:  # fmt: skip
    """Return what an index that was joined on gives to key columns and to the result's index."""
    parts: list[Part] = []
    other = keys[1 - side]
    if by_index[side] and other and one.indexed:
        pairs = {
            (int(result.columns.get_loc(key)), data_width(table) + k)
            for k, key in enumerate(other)
            if key in result.columns and k < table.index.nlevels
        }
        parts.append(Straight(rows, frozenset(pairs)))
    if indexed and one.indexed and (all(by_index) or by_index[1 - side]):
        levels = min(result.index.nlevels, table.index.nlevels)
        pairs = {(wide + k, data_width(table) + k) for k in range(levels)}
        parts.append(Straight(rows, frozenset(pairs)))
    return parts


@rule("", "concat")
def _concat(call: PandasCall) -> Sources | None:
    objs, result = call.argument("objs"), call.result
    if isinstance(objs, dict):
        given = call.argument("keys")
        objs = [objs[key] for key in (given if given is not None else objs)]
    objs = [one for one in objs if one is not None]
    if call.argument("axis", 0) in (1, "columns"):
        return _beside(call, objs)
    ignored = call.argument("ignore_index", False)
    keys = call.argument("keys") is not None or isinstance(call.argument("objs"), dict)
    if not all(isinstance(one, (pd.DataFrame, pd.Series)) for one in objs):
        return None
    indexed = not ignored and any(
        (one := call.input_of(table)) is not None and one.indexed for table in objs
    )
    indexed = indexed or (keys and not ignored)
    found: list[tuple[Given, list[Part]]] = []
    first = 0
    wide = data_width(result)
    for table in objs:
        one = call.input_of(table)
        if one is not None:
            rows = RowLink("same", first=first)
            if isinstance(result, pd.DataFrame) and isinstance(table, pd.Series):
                if len({each.name for each in objs if isinstance(each, pd.Series)}) != 1:
                    return None
                label = 0 if table.name is None else table.name
                columns = frozenset({(int(result.columns.get_loc(label)), 0)})
            else:
                pairs = (
                    column_pairs(result, table)
                    if isinstance(table, pd.DataFrame)
                    else frozenset({(0, 0)})
                )
                if pairs is None:
                    return None
                columns = pairs
            if indexed and one.indexed:
                extra = result.index.nlevels - table.index.nlevels
                columns |= {
                    (wide + extra + k, data_width(table) + k) for k in range(table.index.nlevels)
                }
            found.append((one, [Straight(rows, columns)]))
        first += len(table)
    return Sources(found, indexed) if first == len(result) else None


def _beside(call: PandasCall, objs: list[Any]) -> Sources | None:
    """Columns beside each other, rows by their labels."""
    result = call.result
    found: list[tuple[Given, list[Part]]] = []
    indexed = any((one := call.input_of(table)) is not None and one.indexed for table in objs)
    at = 0
    for table in objs:
        one, wide = call.input_of(table), data_width(table)
        if one is not None:
            rows = rows_at(result, table)
            if rows is None:
                return None
            parts: list[Part] = [Straight(rows, frozenset((at + c, c) for c in range(wide)))]
            if indexed and one.indexed:
                parts.append(Straight(rows, level_pairs(result, table)))
            found.append((one, parts))
        at += wide
    return Sources(found, indexed) if at == data_width(result) else None


@rule("", "melt")
@rule("DataFrame", "melt")
def _melt(call: PandasCall) -> Sources | None:
    """The values of one column after those of the other, beside what identifies their rows."""
    frame = call.owner if call.kind else call.argument("frame")
    one, result = call.input_of(frame), call.result
    if one is None or frame.columns.nlevels > 1 or not frame.columns.is_unique:
        return None
    if call.argument("ignore_index", True) is False:
        return None
    ids = _names(call.argument("id_vars"))
    values = call.argument("value_vars")
    values = [c for c in frame.columns if c not in ids] if values is None else _names(values)
    count = len(frame)
    if count * len(values) != len(result):
        return None
    parts: list[Part] = []
    if ids:
        repeated = taken(np.tile(np.arange(count), len(values)))
        places = frame.columns.get_indexer(ids)
        parts.append(Straight(repeated, frozenset((k, int(c)) for k, c in enumerate(places))))
    last = data_width(result) - 1
    for k, label in enumerate(values):
        pair = (last, int(frame.columns.get_loc(label)))
        parts.append(Straight(RowLink("same", first=k * count), frozenset({pair})))
    return Sources([(one, parts)], indexed=False)
