"""The order of cells: C order's strides, and rows of numbers in lexicographic order."""

from collections.abc import Sequence
from math import prod

import numpy as np

from dslog.types import I64

INT64_BITS = 62  # numbers of so many bits add up without overflowing


def strides(shape: Sequence[int]) -> I64:
    """What one step along each axis adds to a cell's C-order number.

    >>> strides((2, 3, 4)).tolist()
    [12, 4, 1]
    """
    return np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)


def lexicographic_order(columns: Sequence[I64]) -> I64:
    """Row order by the first column, then the second, and so on; equal rows come in any order.

    Columns whose ranges fit one int64 together are packed into a single key: sorting one key is
    several times faster than ``np.lexsort``.
    """
    if len(columns) == 1:
        return np.argsort(columns[0])
    spans = []
    for column in columns:
        low = int(column.min())
        spans.append((low, int(column.max()) - low + 1))
    if prod(span for _, span in spans).bit_length() > INT64_BITS:
        return np.lexsort(tuple(reversed(columns)))
    key = np.zeros(len(columns[0]), np.int64)
    for column, (low, span) in zip(columns, spans, strict=True):
        if span > 1:
            key *= span
            key += column
            key -= low
    return np.argsort(key)


def count_up(copies: I64) -> tuple[I64, I64]:
    """Each row's number as often as ``copies`` says, and which of these copies it is.

    >>> [numbers.tolist() for numbers in count_up(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    row = np.repeat(np.arange(len(copies)), copies)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
