"""Boxes as intervals of C-order cell numbers, and back.

A whole array, a block of whole rows, or a reshape of either is one interval: that is what makes
reshape and ravel the identity on flat cell numbers.
"""

from math import prod

import numpy as np

from dslog.cells.merge import coalesce
from dslog.errors import ShapeError
from dslog.types import I64

_MOST_CELLS = 2**63 - 1


def to_flat(boxes: I64, shape: tuple[int, ...]) -> I64:
    """The merged, sorted C-order intervals (k', 2) of the boxes' cells.

    A box gives one interval for each index of the axes before its last incomplete axis.

    >>> to_flat(np.array([[[1, 2], [0, 9]], [[4, 5], [0, 3]]]), (6, 10)).tolist()
    [[10, 29], [40, 43], [50, 53]]
    """
    strides = _strides(shape)
    if not shape:
        return np.zeros((min(len(boxes), 1), 2), np.int64)
    whole = (boxes[:, :, 0] == 0) & (boxes[:, :, 1] == np.array(shape, np.int64) - 1)
    trailing = np.logical_and.accumulate(whole[:, ::-1], axis=1).sum(axis=1)
    pivots = np.maximum(len(shape) - 1 - trailing, 0)
    parts = [_flatten(boxes[pivots == p], strides, int(p)) for p in np.unique(pivots)]
    if not parts:
        return np.empty((0, 2), np.int64)
    return coalesce(np.concatenate(parts)[:, None, :])[:, 0, :]


def _flatten(boxes: I64, strides: I64, pivot: int) -> I64:
    """Intervals of boxes that are complete on every axis after `pivot`."""
    extents = boxes[:, :pivot, 1] - boxes[:, :pivot, 0] + 1
    copies = extents.prod(axis=1)
    row = np.repeat(np.arange(len(boxes)), copies)
    digit = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    start = np.zeros(len(row), np.int64)
    for axis in range(pivot - 1, -1, -1):
        digit, index = np.divmod(digit, extents[row, axis])
        start += (index + boxes[row, axis, 0]) * strides[axis]
    low = start + boxes[row, pivot, 0] * strides[pivot]
    high = start + (boxes[row, pivot, 1] + 1) * strides[pivot] - 1
    return np.stack([low, high], axis=1)


def _strides(shape: tuple[int, ...]) -> I64:
    if prod(shape) > _MOST_CELLS:
        msg = (
            f"Shape {shape} has more cells than an int64 can number, so its cells have no flat "
            "index. Work with boxes instead."
        )
        raise ShapeError(msg)
    return np.array([prod(shape[j + 1 :]) for j in range(len(shape))], np.int64)


def from_flat(intervals: I64, shape: tuple[int, ...]) -> I64:
    """Disjoint boxes of the cells whose C-order numbers lie in the (k, 2) intervals.

    One interval becomes at most 2d - 1 boxes: a partial head and tail on each axis but the first,
    and the complete rows between them.

    >>> from_flat(np.array([[8, 31]]), (6, 10)).tolist()
    [[[0, 0], [8, 9]], [[1, 2], [0, 9]], [[3, 3], [0, 1]]]
    """
    _strides(shape)
    if not shape or len(intervals) == 0:
        return np.empty((min(len(intervals), 1), len(shape), 2), np.int64)
    low, high = coalesce(intervals[:, None, :])[:, 0, :].T
    parts = []
    for axis in range(len(shape) - 1, 0, -1):
        length = shape[axis]
        (first, head), (last, tail) = np.divmod(low, length), np.divmod(high, length)
        inside = (first == last) & ((head > 0) | (tail < length - 1))
        starts = ~inside & (head > 0)
        stops = ~inside & (tail < length - 1)
        parts.append(_place(first[inside], head[inside], tail[inside], axis, shape))
        parts.append(_place(first[starts], head[starts], length - 1, axis, shape))
        parts.append(_place(last[stops], 0, tail[stops], axis, shape))
        low, high = first + starts, last - stops
        rest = ~inside & (low <= high)
        low, high = low[rest], high[rest]
    parts.append(_place(np.zeros(len(low), np.int64), low, high, 0, shape))
    return coalesce(np.concatenate(parts))


def _place(row: I64, low: I64 | int, high: I64 | int, axis: int, shape: tuple[int, ...]) -> I64:
    """Boxes at flat index `row` of the axes before `axis`, [low, high] on it, complete after it."""
    boxes = np.empty((len(row), len(shape), 2), np.int64)
    boxes[:, axis + 1 :, 0] = 0
    boxes[:, axis + 1 :, 1] = np.array(shape[axis + 1 :], np.int64) - 1
    boxes[:, axis, 0] = low
    boxes[:, axis, 1] = high
    for before in range(axis - 1, -1, -1):
        row, index = np.divmod(row, shape[before])
        boxes[:, before, :] = index[:, None]
    return boxes
