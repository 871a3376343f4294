"""Code runs: a method that only moves cells, run twice more on numbers of cells.

Each tracked argument is replaced by one of its shape and labels that holds numbers instead of
values, drawn anew for each of two runs. If both results say the same of where each cell comes from,
and the values there are those of the result, the method does nothing but move cells. A method that
looks at values (a sort, a maximum) moves other cells the second time, and one that computes gives
numbers of no cell: then nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.pandas.pandas_call import Given, PandasCall, Sources, level_pairs
from dslog.capture.pandas.row_part import SAME, Part, Straight, cells, row_pairs
from dslog.capture.pandas.table_state import data_width, default_index, shape_of
from dslog.types import I64

_FIRST = (1 << 41, (1 << 42) + 977)
_DEEP = 4


class CellCodes:
    """Numbers for the cells of the data of some inputs."""

    def __init__(self, inputs: Sequence[Given], seed: int, *, nulls: bool = False) -> None:
        self._nulls = nulls  # where a value is null there is no number
        self.inputs = [
            one
            for one in inputs
            if one.shape and isinstance(one.value, (pd.DataFrame, pd.Series, np.ndarray))
        ]
        self.sizes = [int(np.prod(_data_shape(one.value))) for one in self.inputs]
        self.first = _FIRST[seed] + np.cumsum([0, *self.sizes])
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._orders: list[tuple[I64, I64]] = []
        self.made = [self._make(k, one.value) for k, one in enumerate(self.inputs)]

    def _make(self, place: int, value: Any) -> Any:
        shape = _data_shape(value)
        rows, width = shape[0] if shape else 1, int(np.prod(shape[1:], dtype=np.int64))
        order = self._random.permutation(rows).astype(np.int64)
        back = np.empty(rows, np.int64)
        back[order] = np.arange(rows)
        self._orders.append((order, back))
        codes = (order[:, None] * width + np.arange(width)) + self.first[place]
        codes = codes.reshape(shape)
        if self._nulls:
            codes = np.where(pd.isna(value), np.nan, codes)
        if isinstance(value, pd.DataFrame):
            return pd.DataFrame(codes, index=value.index, columns=value.columns)
        if isinstance(value, pd.Series):
            return pd.Series(codes, index=value.index, name=value.name)
        return codes

    def replace(self, value: Any, depth: int = 0) -> Any:
        """Return an argument with numbers of cells in place of inputs."""
        for one, codes in zip(self.inputs, self.made, strict=True):
            if value is one.value:
                return codes
        if type(value) in (list, tuple) and depth < _DEEP:
            return type(value)([self.replace(item, depth + 1) for item in value])
        if type(value) is dict and depth < _DEEP:
            return {key: self.replace(item, depth + 1) for key, item in value.items()}
        return value

    def read(self, result: Any) -> tuple[I64, I64] | None:
        """Return for each cell of a result the input and the position it comes from, -1 if none."""
        if isinstance(result, (pd.DataFrame, pd.Series)):
            values = result.to_numpy(dtype=object) if _mixed(result) else result.to_numpy()
        else:
            values = np.asarray(result)
        if values.dtype.kind == "O":
            numbers = pd.to_numeric(pd.Series(values.reshape(-1), dtype=object), errors="coerce")
            values = numbers.to_numpy(dtype=np.float64, na_value=np.nan).reshape(values.shape)
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), -1, values)
            if (values != np.floor(values)).any():
                return None
        elif values.dtype.kind not in "iu":
            return None
        codes = values.astype(np.int64).reshape(-1)
        which = np.searchsorted(self.first, codes, side="right") - 1
        nothing = (codes < self.first[0]) | (codes >= self.first[-1])
        which[nothing] = -1
        at = np.full(len(codes), -1, np.int64)
        for place, (_, back) in enumerate(self._orders):
            here = which == place
            if here.any():
                shape = _data_shape(self.inputs[place].value)
                width = int(np.prod(shape[1:], dtype=np.int64))
                rows, columns = np.divmod(codes[here] - self.first[place], max(width, 1))
                at[here] = back[rows] * width + columns
        return which, at


def _data_shape(value: Any) -> tuple[int, ...]:
    return tuple(value.shape)


def _mixed(result: Any) -> bool:
    if isinstance(result, pd.Series):
        return not isinstance(result.dtype, np.dtype)
    return any(not isinstance(kind, np.dtype) for kind in result.dtypes)


def code_run(call: PandasCall) -> Sources | None:
    """Read the lineage of a call that only moves cells, None if it does more."""
    result = call.result
    if not isinstance(result, (pd.DataFrame, pd.Series)) or call.kind in (
        "group",
        "window",
        "resample",
    ):
        return None
    if call.kind in ("str", "dt", "cat") or any(not one.is_table for one in call.inputs):
        return None
    if call.has_functions:
        return None
    return _run(call, result, nulls=False) or _run(call, result, nulls=True)


def _run(call: PandasCall, result: Any, *, nulls: bool) -> Sources | None:
    first: tuple[I64, I64] | None = None
    for seed in (0, 1):
        codes = CellCodes(call.inputs, seed, nulls=nulls)
        again = call.func(
            *[codes.replace(arg) for arg in call.args],
            **{key: codes.replace(value) for key, value in call.kwargs.items()},
        )
        if type(again) is not type(result) or again.shape != result.shape:
            return None
        if not again.index.equals(result.index) or (
            isinstance(result, pd.DataFrame) and not again.columns.equals(result.columns)
        ):
            return None
        seen = codes.read(again)
        if seen is None:
            return None
        if first is not None and not all(
            np.array_equal(a, b) for a, b in zip(first, seen, strict=True)
        ):
            return None
        first = seen
        nothing = (seen[0] < 0).reshape(result.shape)
        if nothing.any() and not _constant(again, result, nothing, nulls=nulls):
            return None
    if first is None or not _agree(result, codes.inputs, *first):
        return None
    indexed, parts = _index_from(call, result, codes, *first)
    found: list[tuple[Given, list[Part]]] = []
    for place, one in enumerate(codes.inputs):
        mine: list[Part] = list(parts.get(id(one), []))
        mine += _moved(result, one, place, *first, indexed=indexed)
        found.append((one, mine))
    return Sources(found, indexed)


def _moved(
    result: Any, one: Given, place: int, which: I64, at: I64, *, indexed: bool
) -> list[Part]:
    here = np.flatnonzero(which == place)
    if not len(here):
        return []
    wide = data_width(result)
    shape = shape_of(result, indexed=indexed)
    in_shape = one.shape
    in_wide = data_width(one.value)
    out = (here // wide) * (shape[1] if len(shape) > 1 else 1) + here % wide
    stride = in_shape[1] if len(in_shape) > 1 else 1
    in_ = (at[here] // in_wide) * stride + at[here] % in_wide
    return [cells(out, in_, shape, in_shape)]


def _constant(again: Any, result: Any, nothing: Any, *, nulls: bool) -> bool:
    """Whether cells that are of no cell are the same whatever the values are."""
    filled, known = (each.to_numpy(dtype=object)[nothing] for each in (again, result))
    return _alike(filled, known) and not (nulls and pd.isna(known).any())


def _agree(result: Any, inputs: Sequence[Given], which: I64, at: I64) -> bool:
    """Whether the values at the positions are those of the result."""
    wide = data_width(result)
    for column in range(wide):
        mine = slice(column, None, wide)
        values = result.iloc[:, column] if isinstance(result, pd.DataFrame) else result
        values = values.to_numpy(dtype=object)
        for place, one in enumerate(inputs):
            in_wide = data_width(one.value)
            here = np.flatnonzero(which[mine] == place)
            if not len(here):
                continue
            cells = at[mine][here]
            for source in np.unique(cells % in_wide):
                some = cells % in_wide == source
                given = (
                    one.value.iloc[:, source] if isinstance(one.value, pd.DataFrame) else one.value
                )
                known = given.to_numpy(dtype=object)[cells[some] // in_wide]
                if not _alike(values[here[some]], known):
                    return False
    return True


def _alike(values: Any, known: Any) -> bool:
    same = np.asarray(values == known, bool)
    if same.all():
        return True
    return bool((pd.isna(values[~same]) & pd.isna(known[~same])).all())


def _index_from(
    call: PandasCall, result: Any, codes: CellCodes, which: I64, at: I64
) -> tuple[bool, dict[int, list[Part]]]:
    """Return whether a result's index carries data, and from where.

    A level is of the level of the same name, or in the same place, of the rows whose cells came.
    """
    tables = [one for one in call.inputs if one.is_table]
    for one in tables:
        if one.value.index is result.index or one.value.index.equals(result.index):
            levels = level_pairs(result, one.value) if one.indexed else frozenset()
            return one.indexed, {id(one): [Straight(SAME, levels)]} if levels else {}
    if default_index(result.index) or not any(one.indexed for one in tables):
        return False, {}
    wide = data_width(result)
    found: dict[int, list[Part]] = {}
    for place, one in enumerate(codes.inputs):
        if not one.indexed:
            continue
        here = np.flatnonzero(which == place)
        rows = np.unique(
            np.stack([here // wide, at[here] // data_width(one.value)], axis=1), axis=0
        )
        names = list(one.value.index.names)
        levels = frozenset(
            (wide + k, data_width(one.value) + source)
            for k, name in enumerate(result.index.names)
            if (source := _level(names, name, k)) is not None
        )
        found[id(one)] = [Straight(row_pairs(rows[:, 0], rows[:, 1]), levels)]
    return True, found


def _level(names: list[Any], name: Any, place: int) -> int | None:
    if place < len(names) and names[place] == name:
        return place
    return names.index(name) if name is not None and names.count(name) == 1 else None
