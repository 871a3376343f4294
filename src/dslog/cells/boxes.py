"""Lists of boxes: order, size and merging, and the same cells as a mask; the order of cells.

A list of boxes is an int64 array of shape (k, d, 2) with inclusive ``[lo, hi]`` per axis; d may be
0, where a box is the one cell of a 0-d array. Set algebra on such lists is in ``overlap``.
"""

from collections.abc import Sequence
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dslog.cells import kernels
from dslog.cells.cells_cost import CellsCost
from dslog.types import I64, Mask

Scalar = TypeVar("Scalar", bound=np.generic)
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
    whole = object if largest.bit_length() > INT64_BITS else np.int64
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
    kernels.paint_direct(_writable(boxes), strides(shape), mask)
    return mask.reshape(shape)


def _writable(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The array, copied if read-only or scattered: numba compiles anew for such arrays."""
    return np.require(array, requirements=["C", "W"])


def _paint_difference(boxes: I64, shape: tuple[int, ...]) -> Mask:
    wider = tuple(length + 1 for length in shape)
    difference = np.zeros(wider, np.int32)
    kernels.paint_corners(_writable(boxes), strides(wider), difference.reshape(-1))
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
