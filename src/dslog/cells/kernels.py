"""Tight loops over boxes and masks, compiled by numba. Nothing else lives here.

Boxes are int64 arrays of shape (k, d, 2) holding inclusive ``[lo, hi]`` per axis. Each kernel says
which order of its rows it relies on; none of them checks it.
"""

from typing import Any

import numpy as np

from dslog.kernel import kernel


@kernel
def merge_sorted(boxes: Any, axis: int) -> Any:
    """Merge touching or overlapping neighbours that agree on every axis but `axis`.

    Rows must be sorted by all other axes (lo and hi), then by lo on `axis`.
    """
    k, d, _ = boxes.shape
    out = np.empty_like(boxes)
    n = 0
    for row in range(k):
        same = n > 0 and boxes[row, axis, 0] <= out[n - 1, axis, 1] + 1
        if same:
            for j in range(d):
                if j != axis and (
                    boxes[row, j, 0] != out[n - 1, j, 0] or boxes[row, j, 1] != out[n - 1, j, 1]
                ):
                    same = False
                    break
        if same:
            out[n - 1, axis, 1] = max(out[n - 1, axis, 1], boxes[row, axis, 1])
        else:
            for j in range(d):
                out[n, j, 0] = boxes[row, j, 0]
                out[n, j, 1] = boxes[row, j, 1]
            n += 1
    return out[:n].copy()


@kernel
def check_boxes(boxes: Any, shape: Any) -> Any:
    """Whether some box is empty, and the first other one that leaves the shape (-1: none)."""
    empty = False
    for row in range(len(boxes)):
        hollow = False
        outside = False
        for j in range(boxes.shape[1]):
            hollow |= boxes[row, j, 1] < boxes[row, j, 0]
            outside |= boxes[row, j, 0] < 0 or boxes[row, j, 1] >= shape[j]
        empty |= hollow
        if outside and not hollow:
            return empty, row
    return empty, -1


@kernel
def paint_direct(boxes: Any, strides: Any, flat: Any) -> None:
    """Set every cell of every box in the flat C-order mask; d is at least 1, no box is empty."""
    k, d, _ = boxes.shape
    index = np.empty(d, np.int64)
    for row in range(k):
        offset = 0
        for j in range(d):
            index[j] = boxes[row, j, 0]
            offset += boxes[row, j, 0] * strides[j]
        length = boxes[row, d - 1, 1] - boxes[row, d - 1, 0] + 1
        axis = d - 1
        while axis >= 0:
            flat[offset : offset + length] = True
            axis = d - 2
            while axis >= 0:
                if index[axis] < boxes[row, axis, 1]:
                    index[axis] += 1
                    offset += strides[axis]
                    break
                offset -= (index[axis] - boxes[row, axis, 0]) * strides[axis]
                index[axis] = boxes[row, axis, 0]
                axis -= 1


@kernel
def paint_corners(boxes: Any, strides: Any, difference: Any) -> None:
    """Add each box's 2**d signed corners to a flat difference array one longer on every axis."""
    k, d, _ = boxes.shape
    for row in range(k):
        for corner in range(1 << d):
            offset = 0
            sign = 1
            for j in range(d):
                if (corner >> j) & 1:
                    offset += (boxes[row, j, 1] + 1) * strides[j]
                    sign = -sign
                else:
                    offset += boxes[row, j, 0] * strides[j]
            difference[offset] += sign


@kernel
def mask_runs(mask: Any) -> Any:
    """Runs of set cells in each row of a 2-d uint8 mask: (row, lo, hi), in C order.

    The inner loops have no branches: a position is always written, and kept only when the
    counter moves past it.
    """
    rows, columns = mask.shape
    one = np.uint8(1)
    total = 0
    for r in range(rows):
        before = np.uint8(0)
        for c in range(columns):
            total += int(mask[r, c] & (before ^ one))
            before = mask[r, c]
    row = np.empty(total + 1, np.int64)
    lo = np.empty(total + 1, np.int64)
    hi = np.empty(total + 1, np.int64)
    n = 0
    m = 0
    for r in range(rows):
        before = np.uint8(0)
        for c in range(columns):
            row[n] = r
            lo[n] = c
            n += int(mask[r, c] & (before ^ one))
            hi[m] = c - 1
            m += int(before & (mask[r, c] ^ one))
            before = mask[r, c]
        hi[m] = columns - 1
        m += int(before)
    return row[:total], lo[:total], hi[:total]


@kernel
def stack_slices(boxes: Any, axis: int) -> Any:
    """Merge boxes that repeat in neighbouring slices of `axis`.

    Rows are disjoint, sorted by their lower corner, and one cell thick on `axis` and on every axis
    before it. The result is again sorted by lower corner.
    """
    k = len(boxes)
    out = np.empty_like(boxes)
    owner = np.empty(k, np.int64)
    n = 0
    previous = 0
    start = 0
    while start < k:
        stop = start + 1
        while stop < k and _same_slice(boxes, start, stop, axis + 1):
            stop += 1
        p = start
        if (
            previous < start
            and _same_slice(boxes, previous, start, axis)
            and boxes[previous, axis, 0] + 1 == boxes[start, axis, 0]
        ):
            p = previous
        for row in range(start, stop):
            while p < start and _before(boxes, p, row, axis + 1):
                p += 1
            if p < start and _same_rest(boxes, p, row, axis + 1):
                owner[row] = owner[p]
                out[owner[row], axis, 1] = boxes[row, axis, 0]
            else:
                owner[row] = n
                out[n] = boxes[row]
                n += 1
        previous = start
        start = stop
    return out[:n].copy()


@kernel
def _same_slice(boxes: Any, first: int, second: int, axes: int) -> bool:
    for j in range(axes):
        if boxes[first, j, 0] != boxes[second, j, 0]:
            return False
    return True


@kernel
def _same_rest(boxes: Any, first: int, second: int, start: int) -> bool:
    for j in range(start, boxes.shape[1]):
        if boxes[first, j, 0] != boxes[second, j, 0] or boxes[first, j, 1] != boxes[second, j, 1]:
            return False
    return True


@kernel
def _before(boxes: Any, first: int, second: int, start: int) -> bool:
    for j in range(start, boxes.shape[1]):
        if boxes[first, j, 0] != boxes[second, j, 0]:
            return bool(boxes[first, j, 0] < boxes[second, j, 0])
    return False


@kernel
def _overlap(a: Any, i: int, b: Any, j: int) -> bool:
    for axis in range(a.shape[1]):
        if a[i, axis, 0] > b[j, axis, 1] or b[j, axis, 0] > a[i, axis, 1]:
            return False
    return True


@kernel
def overlapping_pairs(a: Any, b: Any, ranges: Any) -> Any:
    """All (i, j) with box a[i] overlapping box b[j] and j in ``ranges[i]``, as two index arrays."""
    total = 0
    for i in range(a.shape[0]):
        for j in range(ranges[i, 0], ranges[i, 1]):
            total += _overlap(a, i, b, j)
    left = np.empty(total, np.int64)
    right = np.empty(total, np.int64)
    n = 0
    for i in range(a.shape[0]):
        for j in range(ranges[i, 0], ranges[i, 1]):
            if _overlap(a, i, b, j):
                left[n] = i
                right[n] = j
                n += 1
    return left, right


@kernel
def overlap_components(boxes: Any, ends: Any) -> Any:
    """Label boxes so that boxes connected through overlaps share a label.

    Rows are sorted by lo on the swept axis; ``ends[i]`` is one past the last row that starts
    within box i. A label is the smallest row of its component.
    """
    k = boxes.shape[0]
    parent = np.arange(k)
    for i in range(k):
        for j in range(i + 1, ends[i]):
            if _overlap(boxes, i, boxes, j):
                one = _root(parent, i)
                two = _root(parent, j)
                parent[max(one, two)] = min(one, two)
    for i in range(k):
        parent[i] = _root(parent, i)
    return parent


@kernel
def _root(parent: Any, row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row
