"""Raw lineage: int64 columns ``b0..`` (output axes) then ``a0..`` (input axes), a set of pairs.

Input is read and checked once, here; the kernels behind rely on int64, in range, right columns.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from dslog.cells.boxes import strides
from dslog.errors import RelationError
from dslog.kernel import kernel
from dslog.types import I64, Shape

_KEY_LIMIT = 1 << 62


def as_shape(sizes: Iterable[Any]) -> Shape:
    """Return a shape in Python's integers: those of numpy overflow, and JSON has none of them.

    >>> as_shape([np.int64(3), 2])
    (3, 2)
    """
    return tuple([operator.index(size) for size in sizes])


def column_names(num_out: int, num_in: int) -> list[str]:
    """Return the names of a relation's columns.

    >>> column_names(1, 2)
    ['b0', 'a0', 'a1']
    """
    return [f"b{j}" for j in range(num_out)] + [f"a{i}" for i in range(num_in)]


def schema(num_out: int, num_in: int) -> pa.Schema:
    """Return the Arrow schema that files and Spark share."""
    return pa.schema([(name, pa.int64()) for name in column_names(num_out, num_in)])


def read(source: Any, out_shape: Sequence[int], in_shape: Sequence[int]) -> I64:
    """Read an integer array (n, l + m) or an Arrow table into a checked int64 relation."""
    names = column_names(len(out_shape), len(in_shape))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    array = (
        _from_arrow(source, names) if isinstance(source, pa.Table) else _from_array(source, names)
    )
    check_range(array, tuple(out_shape), tuple(in_shape))
    return array


def check_range(array: I64, out_shape: Sequence[int], in_shape: Sequence[int]) -> None:
    """Raise a RelationError for the first index that lies outside its axis."""
    sizes = np.array([*out_shape, *in_shape], np.int64)
    bad = _out_of_range(array, sizes)
    if bad < 0:
        return
    row, column = divmod(int(bad), len(sizes))
    name = column_names(len(out_shape), len(in_shape))[column]
    value, size = int(array[row, column]), int(sizes[column])
    which = "output" if column < len(out_shape) else "input"
    msg = (
        f"row {row} of the relation has {name} = {value}, but that {which} axis has {size} cells: "
        f"indices are 0-based, from 0 to {size - 1}"
    )
    raise RelationError(msg)


def _from_array(source: Any, names: Sequence[str]) -> I64:
    try:
        array = np.asarray(source)
    except ValueError as error:
        msg = f"cannot read the relation as an array: {error}"
        raise RelationError(msg) from error
    if array.size == 0 and array.ndim in (1, 2):
        array = np.zeros((array.shape[0] if array.ndim == 2 else 0, len(names)), np.int64)
    if array.ndim != 2 or array.shape[1] != len(names):
        msg = (
            f"the relation has shape {array.shape}, but (n, {len(names)}) is needed: one column "
            f"for each of {', '.join(names) or 'no axes'}"
        )
        raise RelationError(msg)
    if array.dtype.kind not in "iu":
        detail = ""
        if array.dtype.kind == "f" and np.isnan(array).any():
            detail = f" (row {int(np.argwhere(np.isnan(array))[0][0])} holds NaN)"
        msg = f"the relation has type {array.dtype}{detail}, but indices must be integers"
        raise RelationError(msg)
    return np.ascontiguousarray(array, dtype=np.int64)


def _from_arrow(source: pa.Table, names: Sequence[str]) -> I64:
    if sorted(source.column_names) != sorted(names):
        msg = f"the relation has columns {source.column_names}, but {list(names)} are needed"
        raise RelationError(msg)
    array = np.empty((source.num_rows, len(names)), np.int64)
    for k, name in enumerate(names):
        column = source.column(name)
        if not pa.types.is_integer(column.type):
            msg = f"column {name} of the relation has type {column.type}, but must be an integer"
            raise RelationError(msg)
        if column.null_count:
            msg = f"column {name} of the relation has {column.null_count} nulls: drop those rows"
            raise RelationError(msg)
        array[:, k] = column.to_numpy()
    return array


def linear_strides(shape: Sequence[int]) -> I64 | None:
    """Return C-order strides of a shape, or None when its cells outnumber an int64."""
    if prod(max(s, 1) for s in shape) >= _KEY_LIMIT:
        return None
    return strides(shape)


def sort_unique(array: I64, shape: Sequence[int]) -> I64:
    """Sort the rows of a relation lexicographically and drop repeats."""
    if array.shape[1] == 0:
        return array[:1]
    steps = linear_strides(shape)
    if steps is None:
        return np.unique(array, axis=0)
    keys = _linear_keys(array, steps)
    keys.sort()
    return _distinct_rows(keys, np.maximum(steps, 1))


@kernel
def _out_of_range(array: I64, sizes: I64) -> int:
    """Return the flat position of the first index outside ``[0, size)``, or -1."""
    n, c = array.shape
    for r in range(n):
        bad = False
        for k in range(c):
            bad |= (array[r, k] < 0) | (array[r, k] >= sizes[k])
        if bad:
            for k in range(c):
                if array[r, k] < 0 or array[r, k] >= sizes[k]:
                    return int(r * c + k)
    return -1


@kernel
def _linear_keys(array: I64, strides: I64) -> I64:
    """Return the C-order linear index of each row."""
    n, c = array.shape
    keys = np.empty(n, np.int64)
    for r in range(n):
        key = 0
        for k in range(c):
            key += array[r, k] * strides[k]
        keys[r] = key
    return keys


@kernel
def _distinct_rows(keys: I64, strides: I64) -> I64:
    """Return the rows of sorted linear indices, each once."""
    n, c = len(keys), len(strides)
    rows = np.empty((n, c), np.int64)
    count = 0
    for r in range(n):
        if r > 0 and keys[r] == keys[r - 1]:
            continue
        rest = keys[r]
        for k in range(c):
            rows[count, k] = rest // strides[k]
            rest -= rows[count, k] * strides[k]
        count += 1
    return rows[:count]
