"""Lists of boxes: order, size and merging, and the same cells as a mask or as C-order numbers.

A list of boxes is an int64 array of shape (k, d, 2) with inclusive ``[lo, hi]`` per axis; d may be
0, where a box is the one cell of a 0-d array. Set algebra on such lists is in ``overlap``.

The cells of boxes in one array can also be a boolean mask of its shape (``paint``), or intervals of
C-order cell numbers (``to_flat``). A whole array, a block of whole rows, or a reshape of either is
one interval: that is what makes reshape and ravel the identity on flat cell numbers.
"""

from collections.abc import Sequence
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dslog.cells import kernels
from dslog.cells.cells_cost import CellsCost
from dslog.errors import ShapeError
from dslog.types import I64, Mask

Scalar = TypeVar("Scalar", bound=np.generic)

_INT64_BITS = 62
_MOST_CELLS = 2**63 - 1


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
    if prod(span for _, span in spans).bit_length() > _INT64_BITS:
        return np.lexsort(tuple(reversed(columns)))
    key = np.zeros(len(columns[0]), np.int64)
    for column, (low, span) in zip(columns, spans, strict=True):
        if span > 1:
            key *= span
            key += column - low
    return np.argsort(key)


def sort_boxes(boxes: I64) -> I64:
    """Sort by lower corner, axis 0 first."""
    if len(boxes) < 2 or boxes.shape[1] == 0:
        return boxes
    return boxes[lexicographic_order([boxes[:, j, 0] for j in range(boxes.shape[1])])]


# The next three go column by column: numpy is many times slower at reducing short rows.


def drop_empty(boxes: I64) -> I64:
    """Leave out boxes with hi < lo on some axis."""
    keep = np.ones(len(boxes), np.bool_)
    for axis in range(boxes.shape[1]):
        keep &= boxes[:, axis, 0] <= boxes[:, axis, 1]
    return boxes if keep.all() else boxes[keep]


def volume(boxes: I64) -> int:
    """Total number of cells, each box counted on its own; exact however large.

    >>> volume(np.array([[[0, 9], [0, 2]], [[5, 5], [0, 0]]]))
    31
    """
    if len(boxes) == 0:
        return 0
    extents = [boxes[:, axis, 1] - boxes[:, axis, 0] + 1 for axis in range(boxes.shape[1])]
    largest = prod(int(extent.max()) for extent in extents) * len(boxes)
    whole = object if largest.bit_length() > _INT64_BITS else np.int64
    cells = np.ones(len(boxes), whole)
    for extent in extents:
        cells *= extent.astype(whole, copy=False)
    return int(cells.sum())


def bounds(boxes: I64) -> I64:
    """The (d, 2) box around at least one box."""
    around = [(boxes[:, j, 0].min(), boxes[:, j, 1].max()) for j in range(boxes.shape[1])]
    return np.array(around, np.int64).reshape(-1, 2)


def coalesce(boxes: I64) -> I64:
    """Merge boxes that are equal on all axes but one, and touch or overlap there.

    Exact for any boxes; repeated axis by axis until nothing merges. Boxes that overlap on several
    axes at once stay apart (see ``normalise``). The result is sorted by lower corner.

    >>> coalesce(np.array([[[0, 0], [0, 1]], [[1, 1], [0, 1]], [[3, 3], [0, 1]]])).tolist()
    [[[0, 1], [0, 1]], [[3, 3], [0, 1]]]
    """
    d = boxes.shape[1]
    if d == 0:
        return boxes[:1]
    quiet, axis = 0, d - 1
    while quiet < d and len(boxes) > 1:
        merged = merge_axis(boxes, axis)
        quiet = quiet + 1 if len(merged) == len(boxes) else 1
        boxes = merged
        axis = (axis - 1) % d
    return sort_boxes(boxes)


def merge_axis(boxes: I64, axis: int) -> I64:
    """Merge boxes that are equal on all axes but `axis`, and touch or overlap there."""
    others = [j for j in range(boxes.shape[1]) if j != axis]
    columns = [boxes[:, j, side] for j in others for side in (0, 1)]
    order = lexicographic_order([*columns, boxes[:, axis, 0]])
    return merge_neighbours(boxes[order], axis)


def merge_neighbours(boxes: I64, axis: int) -> I64:
    """Merge boxes that follow each other in the list, as ``merge_axis`` does."""
    merged: I64 = kernels.merge_sorted(np.ascontiguousarray(boxes), axis)
    return merged


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
    if prod(extents).bit_length() > _INT64_BITS:
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


def count_up(copies: I64) -> tuple[I64, I64]:
    """Each row's number as often as ``copies`` says, and which of these copies it is.

    >>> [numbers.tolist() for numbers in count_up(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    row = np.repeat(np.arange(len(copies)), copies)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)


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


def paint(boxes: I64, shape: tuple[int, ...]) -> Mask:
    """A mask of `shape`, true on the cells of any box. The boxes may overlap.

    >>> paint(np.array([[[0, 1], [1, 1]]]), (2, 3)).astype(int).tolist()
    [[0, 1, 0], [0, 1, 0]]
    """
    cells = prod(shape)
    if not shape:
        return np.full((), len(boxes) > 0)
    cost = CellsCost.current()
    few_axes = len(shape) <= cost.difference_axes
    if len(boxes) and few_axes and volume(boxes) > cost.direct_paint * cells:
        return _paint_difference(boxes, shape)
    mask = np.zeros(cells, np.bool_)
    kernels.paint_direct(_writable(boxes), _strides(shape), mask)
    return mask.reshape(shape)


def _writable(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The array, copied if read-only or scattered: numba compiles anew for such arrays."""
    return np.require(array, requirements=["C", "W"])


def _strides(shape: tuple[int, ...]) -> I64:
    return np.array([prod(shape[j + 1 :]) for j in range(len(shape))], np.int64)


def _paint_difference(boxes: I64, shape: tuple[int, ...]) -> Mask:
    wider = tuple(length + 1 for length in shape)
    difference = np.zeros(wider, np.int32)
    kernels.paint_corners(_writable(boxes), _strides(wider), difference.reshape(-1))
    for axis in range(len(shape)):
        np.cumsum(difference, axis=axis, out=difference)
    return difference[tuple(slice(length) for length in shape)] > 0


def unpaint(mask: Mask) -> I64:
    """Disjoint boxes of the set cells: runs along one axis, stacked along the others.

    The runs follow the last axis, or another one that has far fewer of them: columns of different
    heights stay columns instead of being sliced into pieces of rows.

    >>> unpaint(np.array([[True, True, False], [True, True, True]])).tolist()
    [[[0, 0], [0, 1]], [[1, 1], [0, 2]]]
    """
    d = mask.ndim
    if d == 0:
        return np.empty((int(mask), 0, 2), np.int64)
    if mask.size == 0:
        return np.empty((0, d, 2), np.int64)
    along = _run_axis(mask)
    if along == d - 1:
        return _unpaint_rows(mask)
    turned = _unpaint_rows(np.moveaxis(mask, along, -1))
    return sort_boxes(np.insert(turned[:, :-1], along, turned[:, -1], axis=1))


def _run_axis(mask: Mask) -> int:
    """The axis for the runs: the last, unless another one has far fewer."""
    last = mask.ndim - 1
    joined = [
        np.count_nonzero(np.logical_and(sides[1:], sides[:-1]))
        for sides in (np.moveaxis(mask, axis, 0) for axis in range(mask.ndim))
    ]
    runs = np.count_nonzero(mask) - np.array(joined)
    best = int(runs.argmin())
    return best if CellsCost.current().fewer_runs * runs[best] < runs[last] else last


def _unpaint_rows(mask: Mask) -> I64:
    d = mask.ndim
    rows = _writable(mask).view(np.uint8).reshape(-1, mask.shape[-1])
    row, low, high = kernels.mask_runs(rows)
    boxes = np.empty((len(row), d, 2), np.int64)
    boxes[:, -1, 0] = low
    boxes[:, -1, 1] = high
    for axis in range(d - 2, 0, -1):
        row, index = np.divmod(row, mask.shape[axis])
        boxes[:, axis, :] = index[:, None]
    if d > 1:
        boxes[:, 0, :] = row[:, None]
    for axis in range(d - 2, -1, -1):
        boxes = kernels.stack_slices(boxes, axis)
    return boxes


def to_flat(boxes: I64, shape: tuple[int, ...]) -> I64:
    """The merged, sorted C-order intervals (k', 2) of the boxes' cells.

    A box gives one interval for each index of the axes before its last incomplete axis.

    >>> to_flat(np.array([[[1, 2], [0, 9]], [[4, 5], [0, 3]]]), (6, 10)).tolist()
    [[10, 29], [40, 43], [50, 53]]
    """
    _check_numbered(shape)
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
    row, digit = count_up(extents.prod(axis=1))
    start = np.zeros(len(row), np.int64)
    for axis in range(pivot - 1, -1, -1):
        digit, index = np.divmod(digit, extents[row, axis])
        start += (index + boxes[row, axis, 0]) * strides[axis]
    low = start + boxes[row, pivot, 0] * strides[pivot]
    high = start + (boxes[row, pivot, 1] + 1) * strides[pivot] - 1
    return np.stack([low, high], axis=1)


def _check_numbered(shape: tuple[int, ...]) -> None:
    if prod(shape) > _MOST_CELLS:
        raise ShapeError(
            f"Shape {shape} has more cells than an int64 can number, so its cells have no flat "
            "index. Work with boxes instead."
        )


def from_flat(intervals: I64, shape: tuple[int, ...]) -> I64:
    """Disjoint boxes of the cells whose C-order numbers lie in the (k, 2) intervals.

    One interval becomes at most 2d - 1 boxes: a partial head and tail on each axis but the first,
    and the complete rows between them.

    >>> from_flat(np.array([[8, 31]]), (6, 10)).tolist()
    [[[0, 0], [8, 9]], [[1, 2], [0, 9]], [[3, 3], [0, 1]]]
    """
    _check_numbered(shape)
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
