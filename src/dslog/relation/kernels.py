"""Tight loops over raw relations."""

from __future__ import annotations

import numpy as np
from numba import njit

from dslog.types import I64


@njit(cache=True)
def out_of_range(array: I64, sizes: I64) -> int:
    """Return the flat position of the first index outside ``[0, size)``, or -1."""
    n, c = array.shape
    for r in range(n):
        bad = False
        for k in range(c):
            bad |= (array[r, k] < 0) | (array[r, k] >= sizes[k])
        if bad:
            for k in range(c):
                if array[r, k] < 0 or array[r, k] >= sizes[k]:
                    return r * c + k
    return -1


@njit(cache=True)
def linear_keys(array: I64, strides: I64) -> I64:
    """Return the C-order linear index of each row."""
    n, c = array.shape
    keys = np.empty(n, np.int64)
    for r in range(n):
        key = 0
        for k in range(c):
            key += array[r, k] * strides[k]
        keys[r] = key
    return keys


@njit(cache=True)
def distinct_rows(keys: I64, strides: I64) -> I64:
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
