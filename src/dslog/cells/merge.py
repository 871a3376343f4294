"""Ordering, measuring and merging boxes: what every other module of the folder builds on.

Boxes are int64 arrays of shape (k, d, 2), inclusive ``[lo, hi]`` per axis. With d = 0 a box is the
one cell of a 0-d array.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from dslog.cells import kernels
from dslog.types import I64

_INT64_BITS = 62


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
