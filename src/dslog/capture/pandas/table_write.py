"""Writes into frames, and values that a program takes one by one.

A write makes a new version of a frame's array. Which cells it wrote, and what with, is seen by
doing it once more with numbers of cells in place of values; columns that it can't have touched are
left out. What shares the frame's memory, as a column that was taken before, has the new cells too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.numpy.array import TrackedArray
from dslog.capture.pandas.assigned_name import program_frame
from dslog.capture.pandas.code_run import CellCodes
from dslog.capture.pandas.pandas_call import (
    RULES,
    Given,
    PandasCall,
    Sources,
    from_all,
    label_positions,
)
from dslog.capture.pandas.row_part import ALL, SAME, Across, Part, Straight, cells, taken
from dslog.capture.pandas.table_state import (
    alive_tables,
    attach,
    columns_memory,
    data_width,
    label_names,
    record_version,
    settled_state,
    shape_of,
    state_of,
    untracked,
    words,
)
from dslog.capture.recorder import Node, StoreRecorder

_CELLS = ("loc", "iloc", "at", "iat")
_IN_PLACE = frozenset(
    words(
        """
    __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__
    __ixor__
    """
    )
)


def is_write(call: PandasCall) -> bool:
    """Whether a call changes the object that it is a method of."""
    if call.name in ("__setitem__", "__delitem__", "insert", "update", "pop"):
        return True
    if call.name in _IN_PLACE and call.kind in ("DataFrame", "Series"):
        return True
    return call.argument("inplace") is True and call.kind in ("DataFrame", "Series")


def prepare(call: PandasCall) -> None:
    """Look up what is needed of a call and will not be there afterwards."""
    if call.kind in ("loc", "iloc", "DataFrame", "Series") and call.name == "sample":
        call.before["random"] = np.random.get_state()  # noqa: NPY002 (pandas draws with it)
    if not is_write(call):
        return
    owner = call.owner
    if not isinstance(owner, (pd.DataFrame, pd.Series)):
        return
    state = settled_state(owner)
    call.before["memory"] = (
        {}
        if call.kind == "DataFrame" and call.name in ("__setitem__", "insert", "pop")
        else _shared(owner, call)
    )
    call.before["state"] = state
    old = owner.copy(deep=False)
    if call.name in _IN_PLACE or call.argument("inplace") is True or call.name == "update":
        old = owner.copy()
    call.before["old"] = old
    if state is not None:
        for at, one in enumerate(call.inputs):
            if one.value is owner:
                call.before["self"] = call.inputs[at] = Given(old, one.node, one.indexed)
    call.args = tuple(owner if arg is owner else arg for arg in call.args)
    key = call.args[1] if len(call.args) > 1 else None
    call.before["key"] = _plain_key(key, old)


def _plain_key(key: Any, old: Any) -> Any:
    if callable(key) and not isinstance(key, type):
        return key(old)
    if isinstance(key, tuple):
        return tuple(_plain_key(each, old) for each in key)
    return key


def _shared(owner: Any, call: PandasCall) -> dict[int, Any]:
    """Return the tracked objects that share memory with one that is written."""
    homes = {one.node.owner for one in call.inputs}
    mine = [memory for memory in columns_memory(owner) if memory is not None]
    found: dict[int, Any] = {}
    for home in homes:
        if not isinstance(home, StoreRecorder):
            continue
        for value in alive_tables(home):
            if value is not owner and any(
                np.may_share_memory(memory, other)
                for memory in columns_memory(value)
                if memory is not None
                for other in mine
            ):
                found[id(value)] = value
    return found


def record_write(call: PandasCall, home: StoreRecorder, args: dict[str, object]) -> None:
    """Record the new version of an object that a call changed."""
    owner = call.owner
    found: Sources | None = None
    try:
        if call.name in ("__setitem__", "insert"):
            found = _set_column(call) if call.kind == "DataFrame" else None
            found = found or _set_cells(call) or _written(call)
        elif call.name in ("__delitem__", "pop"):
            found = _kept_columns(call)
        else:
            found = _in_place(call)
    except Exception:  # noqa: BLE001 (a superset always works)
        found = None
    if found is None:
        found = from_all(call, owner)
    if call.name == "pop" and isinstance(call.result, pd.Series):
        _adopt_popped(call, home)
    base = call.inputs[0].node.base
    state = call.before.get("state")
    wanted: Any = f"{base}.{call.name.strip('_')}"
    if state is not None:
        base = state.node.base
        wanted = _version(state.node)
    shape = shape_of(owner, indexed=found.indexed)
    args = {**args, "columns": label_names(owner, indexed=found.indexed)}
    parts = [(one.node, some) for one, some in found.parts]
    node = record_version(
        home, call.name.strip("_"), args, parts, shape, wanted, base, exact=found.exact
    )
    attach(owner, node, home, indexed=found.indexed)
    for value in call.before.get("memory", {}).values():
        _share(owner, node, value, home)


def _version(node: Node) -> tuple[Node, int]:
    """Return the name of the next version of a node: of ``df`` come ``df.1``, ``df.2``."""
    wanted = node.wanted
    first, number = wanted if isinstance(wanted, tuple) else (node, 0)
    return first, number + 1


def _adopt_popped(call: PandasCall, home: StoreRecorder) -> None:
    one = call.before.get("self")
    key = call.args[1]
    if one is None or not one.value.columns.is_unique:
        return
    result = call.result
    parts: list[Part] = [
        Straight(SAME, _levels({(0, int(one.value.columns.get_loc(key)))}, one, 1))
    ]
    base = one.node.base
    args: dict[str, object] = {"columns": label_names(result, indexed=one.indexed)}
    shape = shape_of(result, indexed=one.indexed)
    node = record_version(home, "pop", args, [(one.node, parts)], shape, f"{base}.pop", base)
    attach(result, node, home, indexed=one.indexed)


def _levels(columns: set[tuple[int, int]], one: Given, width: int) -> frozenset[tuple[int, int]]:
    if one.indexed:
        wide = data_width(one.value)
        columns |= {(width + k, wide + k) for k in range(one.value.index.nlevels)}
    return frozenset(columns)


def _kept_columns(call: PandasCall) -> Sources | None:
    """Columns that stay are as they were."""
    one = call.before.get("self")
    owner = call.owner
    if one is None or not isinstance(owner, pd.DataFrame) or not one.value.columns.is_unique:
        return None
    places = one.value.columns.get_indexer(owner.columns)
    pairs = _levels({(c, int(p)) for c, p in enumerate(places)}, one, len(owner.columns))
    return Sources([(one, [Straight(SAME, pairs)])], one.indexed)


def _set_column(call: PandasCall) -> Sources | None:
    """``df["c"] = x``, and of several columns: whole columns are new, the others stay."""
    key, value = call.before["key"], call.args[2] if len(call.args) > 2 else None
    owner, old = call.owner, call.before["old"]
    if call.name == "insert":
        key, value = call.argument("column"), call.argument("value")
    listed = isinstance(key, list) and not any(isinstance(one, (bool, np.bool_)) for one in key)
    if isinstance(key, (pd.DataFrame, pd.Series, np.ndarray, slice, pd.Index)) or (
        isinstance(key, list) and not listed
    ):
        return None
    if len(owner) != len(old) or not owner.columns.is_unique:
        return None
    if not owner.index.equals(old.index):
        return None
    names = key if listed else [key]
    new = [owner.columns.get_loc(name) for name in names]
    if not all(isinstance(place, int) for place in new):
        return None
    one = call.before.get("self")
    found: list[tuple[Given, list[Part]]] = []
    indexed = one.indexed if one is not None else False
    if one is not None:
        places = old.columns.get_indexer(owner.columns)
        kept = {(c, int(p)) for c, p in enumerate(places) if p >= 0 and c not in new}
        found.append((one, [Straight(SAME, _levels(kept, one, len(owner.columns)))]))
    for other in call.inputs:
        if other is one:
            continue
        parts = _column_value(other, value, owner, new)
        if parts is None:
            return None
        found.append((other, parts))
    return Sources(found, indexed)


def _column_value(other: Given, value: Any, owner: Any, new: list[int]) -> list[Part] | None:
    """Return what a value that is assigned to columns gives to them."""
    if other.shape == ():
        if not np.isscalar(value) and not isinstance(value, (np.generic, np.ndarray)):
            return None
        return [Straight(ALL, frozenset((c, 0) for c in new))]
    if other.value is not value:
        return None
    if isinstance(value, pd.Series):
        columns = frozenset((c, 0) for c in new)
    elif isinstance(value, pd.DataFrame):
        if len(value.columns) != len(new):
            return None
        columns = frozenset(zip(new, range(len(new)), strict=True))
    else:
        width = value.shape[1] if value.ndim > 1 else 1
        if width not in (1, len(new)) or len(value) != len(owner):
            return None
        return [Straight(SAME, frozenset((c, min(k, width - 1)) for k, c in enumerate(new)))]
    if value.index is owner.index or value.index.equals(owner.index):
        return [Straight(SAME, columns)]
    positions = label_positions(owner.index, value.index)
    return None if positions is None else [Straight(taken(positions), columns)]


_NUMBER = -9  # stands for a tracked number that is written


def _set_cells(call: PandasCall) -> Sources | None:
    """``df.loc[rows, columns] = x``: the same keys, of positions instead of values."""
    owner, old, key, value = call.owner, call.before["old"], call.before["key"], call.args[2]
    one = call.before.get("self")
    others = [
        each
        for each in call.inputs
        if (each is not one and each.value is value) or each.shape == ()
    ]
    if (
        one is None
        or call.kind not in ("loc", "iloc")
        or len(others) > 1
        or owner.shape != old.shape
    ):
        return None
    if not owner.index.equals(old.index) or np.ndim(value) == 2:
        return None
    rows, columns = (
        (key, slice(None)) if not isinstance(key, tuple) else key if len(key) == 2 else (None, None)
    )
    if (
        rows is None
        or old.index.nlevels > 1
        or (isinstance(old, pd.Series) and isinstance(key, tuple))
    ):
        return None
    count = len(old)
    mask = np.zeros(count, bool)
    mask[
        np.asarray(getattr(pd.Series(np.arange(count), index=old.index), call.kind)[rows]).ravel()
    ] = True
    wide = data_width(old)
    new = {0}
    if isinstance(old, pd.DataFrame):
        labels = pd.Series(np.arange(wide), index=old.columns)
        new = set(np.asarray(getattr(labels, call.kind)[columns]).ravel().tolist())
    given: list[tuple[Given, list[Part]]] = []
    for other in others:
        at: Any = np.zeros(count, np.int64)
        if other.shape != ():
            if not isinstance(value, pd.Series) or call.kind != "loc" or not mask.any():
                return None
            positions = label_positions(old.index, value.index)
            if positions is None or not _several(rows):
                return None
            at = positions
        there = np.where(mask, at, -1)
        given.append((other, [Straight(taken(there), frozenset((c, 0) for c in new))]))
    if (
        not others
        and isinstance(value, (pd.Series, pd.DataFrame, dict))
        and any(each is not one and each.is_table and each.value is value for each in call.inputs)
    ):
        return None
    rest = _levels({(c, c) for c in range(wide) if c not in new}, one, wide)
    kept = np.where(mask, -1, np.arange(count))
    parts: list[Part] = [
        Straight(SAME, rest),
        Straight(taken(kept), frozenset((c, c) for c in new)),
    ]
    return Sources([(one, parts), *given], one.indexed)


def _several(rows: Any) -> bool:
    return isinstance(rows, (slice, list, np.ndarray, pd.Series, pd.Index))


def _written(call: PandasCall) -> Sources | None:
    """Read a write into cells off the same write of numbers of cells."""
    owner, old, one = call.owner, call.before["old"], call.before.get("self")
    key = call.before["key"]
    mine = one or Given(old, Node("", shape_of(old, indexed=False), "", call.inputs[0].node.owner))
    inputs = [mine, *(each for each in call.inputs if each is not one)]
    if owner.index.nlevels != old.index.nlevels:
        return None
    codes = CellCodes(inputs, 0)
    target, value = codes.made[0], call.args[2]
    has_numbers = any(each.shape == () for each in inputs)
    filler = _NUMBER if has_numbers else codes.replace(value)
    if filler is value:
        filler = -7 if np.ndim(value) == 0 and not isinstance(value, dict) else _blank(value)
    place = target if call.kind in ("DataFrame", "Series") else getattr(target, call.kind)
    place[key] = filler
    seen = codes.read(target)
    if seen is None or target.shape != owner.shape:
        return None
    which, at = seen
    wrote = (target.to_numpy() == _NUMBER).reshape(-1) if has_numbers else None
    indexed = mine.indexed
    shape = shape_of(owner, indexed=indexed)
    wide = data_width(owner)
    stride = shape[1] if len(shape) > 1 else 1
    parts: list[tuple[Given, list[Part]]] = []
    for each in inputs:
        if each.shape == ():
            if wrote is not None and wrote.any():
                some = np.flatnonzero(wrote)
                out = (some // wide) * stride + some % wide
                parts.append((each, [cells(out, np.zeros(len(out), np.int64), shape, ())]))
            continue
        number = next((k for k, known in enumerate(codes.inputs) if known is each), None)
        if number is None:
            return None
        here = np.flatnonzero(which == number)
        in_wide = (
            data_width(each.value)
            if each.is_table
            else (each.shape[1] if len(each.shape) > 1 else 1)
        )
        in_stride = each.shape[1] if len(each.shape) > 1 else 1
        out = (here // wide) * stride + here % wide
        in_ = (at[here] // in_wide) * in_stride + at[here] % in_wide
        mine_parts: list[Part] = []
        if len(here):
            mine_parts.append(cells(out, in_, shape, each.shape))
        if each is mine and indexed:
            levels = frozenset((wide + k, data_width(old) + k) for k in range(owner.index.nlevels))
            mine_parts.append(Straight(SAME, levels))
        if each is not mine or one is not None:
            parts.append((each, mine_parts))
    return Sources(parts, indexed)


def _blank(value: Any) -> Any:
    """Return something of a value's shape and labels that holds no cell."""
    if isinstance(value, pd.DataFrame):
        return pd.DataFrame(-1, index=value.index, columns=value.columns)
    if isinstance(value, pd.Series):
        return pd.Series(-1, index=value.index)
    if isinstance(value, dict):
        return dict.fromkeys(value, -1)
    return np.full(np.shape(value), -1)


def _in_place(call: PandasCall) -> Sources | None:
    """A method with ``inplace=True`` has the lineage of the one that gives a new object."""
    name = call.name
    if name in _IN_PLACE:
        name = "__" + name[3:]
    function = RULES.get(f"{call.kind}.{name}")
    one = call.before.get("self")
    if function is None or one is None:
        return None
    kwargs = {key: value for key, value in call.kwargs.items() if key != "inplace"}
    again = PandasCall(
        call.kind,
        name,
        call.func,
        call.args,
        kwargs,
        one.value,
        call.inputs,
        call.owner,
        call.before,
    )
    again.args = (one.value, *call.args[1:])
    return function(again)


def _share(owner: Any, node: Node, value: Any, home: StoreRecorder) -> None:
    """Let an object that shares memory with a written one have its new cells."""
    state = state_of(value)
    if state is None:
        return
    mine, others = columns_memory(owner), columns_memory(value)
    rows: list[tuple[Node, list[Part]]] = []
    kept = set(range(data_width(value)))
    new: list[Part] = []
    for c, memory in enumerate(others):
        for d, written in enumerate(mine):
            if memory is None or written is None or not np.may_share_memory(memory, written):
                continue
            places = _same_places(memory, written)
            if (places >= 0).any():
                new.append(Straight(taken(places), frozenset({(c, d)})))
                if (places >= 0).all():
                    kept.discard(c)
                else:
                    rest = np.where(places >= 0, -1, np.arange(len(places)))
                    rows.append((state.node, [Straight(taken(rest), frozenset({(c, c)}))]))
                    kept.discard(c)
                break
    if not new:
        return
    columns = {(c, c) for c in kept}
    if state.indexed:
        columns |= {(data_width(value) + k,) * 2 for k in range(value.index.nlevels)}
    rows.append((state.node, [Straight(SAME, frozenset(columns))] if columns else []))
    rows.append((node, new))
    base = state.node.base
    args: dict[str, object] = {"columns": label_names(value, indexed=state.indexed)}
    shape = shape_of(value, indexed=state.indexed)
    made = record_version(home, "view", args, rows, shape, _version(state.node), base)
    attach(value, made, home, indexed=state.indexed)


def _same_places(memory: Any, written: Any) -> Any:
    """Return for each cell of a column where it is in another that shares its memory."""
    start = memory.__array_interface__["data"][0] + np.arange(len(memory)) * memory.strides[0]
    first, step = written.__array_interface__["data"][0], written.strides[0] or 1
    places, rest = np.divmod(start - first, step)
    places[(rest != 0) | (places < 0) | (places >= len(written))] = -1
    return places


# values one by one


def iterate_cells(call: PandasCall, result: Any, home: StoreRecorder) -> Any:
    """Give tracked values as a program iterates."""
    one = call.source
    result = each_plainly(result)
    if one is None or not one.is_table:
        home.leak(call.name, [each.node for each in call.inputs])
        return result
    value = one.value
    wide = one.shape[1] if len(one.shape) > 1 else 1
    if call.name == "__iter__" or (call.name == "items" and isinstance(value, pd.Series)):
        return _cells_of(one, result, home, named=call.name == "items")
    if call.name == "items":
        return _columns_of(one, result, home)
    if call.name == "iterrows":
        return _rows_of(one, result, home)
    if call.name == "itertuples":
        return _tuples_of(
            one, result, home, wide, with_index=call.argument("index", True) is not False
        )
    home.leak(call.name, [one.node])
    return result


def each_plainly(items: Any) -> Iterator[Any]:
    """Give what pandas gives, without looking at how it does."""
    end = object()
    items = iter(items)
    while True:
        with untracked():
            item = next(items, end)
        if item is end:
            return
        yield item


def _number(value: Any, one: Given, position: int, home: StoreRecorder) -> Any:
    made = TrackedArray.scalar(value, (one.node, position), home)
    if made is value and value is not None and not home.closed:
        home.leak("iteration", [one.node])
    return made


def _cells_of(one: Given, result: Any, home: StoreRecorder, *, named: bool) -> Iterator[Any]:
    wide = one.shape[1] if len(one.shape) > 1 else 1
    for row, value in enumerate(result):
        if named:
            yield value[0], _number(value[1], one, row * wide, home)
        else:
            yield _number(value, one, row * wide, home)


def _columns_of(one: Given, result: Any, home: StoreRecorder) -> Iterator[Any]:
    for c, (label, column) in enumerate(result):
        if state_of(column) is None:
            pairs = _levels({(0, c)}, one, 1)
            adopt(column, "items", one, [Straight(SAME, pairs)], home, indexed=one.indexed)
        yield label, column


def _rows_of(one: Given, result: Any, home: StoreRecorder) -> Iterator[Any]:
    width = data_width(one.value)
    for r, (label, row) in enumerate(result):
        part = Across(frozenset((c, c) for c in range(width)), (r, r))
        adopt(row, "iterrows", one, [part], home, indexed=False)
        yield label, row


def _tuples_of(
    one: Given, result: Any, home: StoreRecorder, wide: int, *, with_index: bool
) -> Iterator[Any]:
    width = data_width(one.value)
    for r, row in enumerate(result):
        items = list(row)
        for c in range(width):
            items[c + with_index] = _number(items[c + with_index], one, r * wide + c, home)
        if with_index and one.indexed and one.value.index.nlevels == 1:
            items[0] = _number(items[0], one, r * wide + width, home)
        yield type(row)(*items) if hasattr(row, "_fields") else tuple(items)


def adopt(
    value: Any, op: str, one: Given, parts: list[Part], home: StoreRecorder, *, indexed: bool
) -> None:
    """Give something that a program iterates over its place."""
    base = one.node.base
    frame = program_frame(sys._getframe(1))  # noqa: SLF001
    wanted = f"{base}.{op}" + (f":{frame.f_lineno}" if frame else "")
    shape = shape_of(value, indexed=indexed)
    args: dict[str, object] = {"columns": label_names(value, indexed=indexed)}
    node = record_version(home, op, args, [(one.node, parts)], shape, wanted, base)
    attach(value, node, home, indexed=indexed)
