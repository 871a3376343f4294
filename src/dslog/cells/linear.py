"""Boxes as intervals of C-order cell numbers, and back.

A whole array, a block of whole rows, or a reshape of either is one interval: that is what makes
reshape and ravel the identity on flat cell numbers.
"""

from math import prod

import numpy as np

from dslog.cells.boxes import INT64_BITS, bounds, coalesce, count_up, lexicographic_order, strides
from dslog.errors import ShapeError
from dslog.types import I64, MOST_CELLS


def to_flat(boxes: I64, shape: tuple[int, ...]) -> I64:
    """The merged, sorted C-order intervals (k', 2) of the boxes' cells.

    >>> to_flat(np.array([[[1, 2], [0, 9]], [[4, 5], [0, 3]]]), (6, 10)).tolist()
    [[10, 29], [40, 43], [50, 53]]
    """
    _check(shape)
    if not shape:
        return np.zeros((min(len(boxes), 1), 2), np.int64)
    return coalesce(to_intervals(boxes, shape)[1][:, None, :])[:, 0, :]


def to_intervals(boxes: I64, shape: tuple[int, ...]) -> tuple[I64, I64]:
    """Return (source, intervals (p, 2)): the C-order intervals of each box, which box each is of.

    A box gives one interval for each index of the axes before its last incomplete axis.
    """
    if not shape:
        return np.arange(len(boxes)), np.zeros((len(boxes), 2), np.int64)
    whole = (boxes[:, :, 0] == 0) & (boxes[:, :, 1] == np.array(shape, np.int64) - 1)
    trailing = np.logical_and.accumulate(whole[:, ::-1], axis=1).sum(axis=1)
    pivots = np.maximum(len(shape) - 1 - trailing, 0)
    sources, parts = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)]
    for pivot in np.flatnonzero(np.bincount(pivots)).tolist():
        here = np.flatnonzero(pivots == pivot)
        row, intervals = _flatten(boxes[here], shape, pivot)
        sources.append(here[row])
        parts.append(intervals)
    return np.concatenate(sources), np.concatenate(parts)


def _flatten(boxes: I64, shape: tuple[int, ...], pivot: int) -> tuple[I64, I64]:
    """Intervals of boxes that are complete on every axis after `pivot`."""
    step = strides(shape)
    extents = boxes[:, :pivot, 1] - boxes[:, :pivot, 0] + 1
    row, digit = count_up(extents.prod(axis=1))
    start = np.zeros(len(row), np.int64)
    for axis in range(pivot - 1, -1, -1):
        digit, index = np.divmod(digit, extents[row, axis])
        start += (index + boxes[row, axis, 0]) * step[axis]
    low = start + boxes[row, pivot, 0] * step[pivot]
    high = start + (boxes[row, pivot, 1] + 1) * step[pivot] - 1
    return row, np.stack([low, high], axis=1)


def from_intervals(intervals: I64, shape: tuple[int, ...]) -> tuple[I64, I64]:
    """Return (source, boxes): the boxes of each C-order interval, which interval each is of.

    One interval becomes at most 2d - 1 boxes: a partial head and tail on each axis but the first,
    and the complete rows between them.
    """
    source = np.arange(len(intervals))
    if not shape:
        return source, np.zeros((len(intervals), 0, 2), np.int64)
    low, high = intervals.T
    sources, parts = [], []
    for axis in range(len(shape) - 1, 0, -1):
        length = shape[axis]
        (first, head), (last, tail) = np.divmod(low, length), np.divmod(high, length)
        inside = (first == last) & ((head > 0) | (tail < length - 1))
        starts = ~inside & (head > 0)
        stops = ~inside & (tail < length - 1)
        sources += [source[inside], source[starts], source[stops]]
        parts.append(_place(first[inside], head[inside], tail[inside], axis, shape))
        parts.append(_place(first[starts], head[starts], length - 1, axis, shape))
        parts.append(_place(last[stops], 0, tail[stops], axis, shape))
        low, high = first + starts, last - stops
        rest = ~inside & (low <= high)
        source, low, high = source[rest], low[rest], high[rest]
    sources.append(source)
    parts.append(_place(np.zeros(len(low), np.int64), low, high, 0, shape))
    return np.concatenate(sources), np.concatenate(parts)


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


def _check(shape: tuple[int, ...]) -> None:
    if prod(shape) > MOST_CELLS:
        msg = (
            f"Shape {shape} has more cells than an int64 can number, so its cells have no flat "
            "index. Work with boxes instead."
        )
        raise ShapeError(msg)


def list_cells(boxes: I64) -> I64:
    """The cells of disjoint boxes in C order, int64 (count, d).

    >>> list_cells(np.array([[[1, 1], [0, 1]], [[0, 1], [5, 5]]])).tolist()
    [[0, 5], [1, 0], [1, 1], [1, 5]]
    """
    d = boxes.shape[1]
    if len(boxes) == 0 or d == 0:
        return np.empty((len(boxes), d), np.int64)
    low, high = bounds(boxes).T
    extents = tuple((high - low + 1).tolist())
    if prod(extents).bit_length() > INT64_BITS:
        cells = _expand(boxes)
        return cells[lexicographic_order(list(cells.T))]
    # C order within the bounding box is C order within the array.
    numbers = _expand(to_flat(boxes - low[:, None], extents)[:, None, :])[:, 0]
    cells = np.empty((len(numbers), d), np.int64)
    for axis in range(d - 1, 0, -1):
        numbers, cells[:, axis] = np.divmod(numbers, extents[axis])
    cells[:, 0] = numbers
    cells += low
    return cells


def _expand(boxes: I64) -> I64:
    """The cells of each box in turn, box by box."""
    extents = boxes[:, :, 1] - boxes[:, :, 0] + 1
    row, digit = count_up(extents.prod(axis=1))
    cells = boxes[row, :, 0]
    for axis in range(boxes.shape[1] - 1, 0, -1):
        digit, index = np.divmod(digit, extents[row, axis])
        cells[:, axis] += index
    cells[:, 0] += digit
    return cells
