"""Every cell of some boxes, one row each, and the columns that tables of cells have."""

from math import prod

import numpy as np

from dslog.cells.flat import to_flat
from dslog.cells.merging import Ints, bounds, lexicographic_order

_FLAT_BITS = 62


def list_cells(boxes: Ints) -> Ints:
    """The cells of disjoint boxes in C order, int64 (count, d).

    >>> list_cells(np.array([[[1, 1], [0, 1]], [[0, 1], [5, 5]]])).tolist()
    [[0, 5], [1, 0], [1, 1], [1, 5]]
    """
    d = boxes.shape[1]
    if len(boxes) == 0 or d == 0:
        return np.empty((len(boxes), d), np.int64)
    low, high = bounds(boxes).T
    extents = tuple((high - low + 1).tolist())
    if prod(extents).bit_length() > _FLAT_BITS:
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


def _expand(boxes: Ints) -> Ints:
    """The cells of each box in turn, box by box."""
    extents = boxes[:, :, 1] - boxes[:, :, 0] + 1
    copies = extents.prod(axis=1)
    row = np.repeat(np.arange(len(boxes)), copies)
    digit = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    cells = boxes[row, :, 0]
    for axis in range(boxes.shape[1] - 1, 0, -1):
        digit, index = np.divmod(digit, extents[row, axis])
        cells[:, axis] += index
    cells[:, 0] += digit
    return cells


def cell_columns(cells: Ints) -> dict[str, Ints]:
    """Columns i0, i1, ... of a table with one row per cell."""
    return {f"i{axis}": np.ascontiguousarray(cells[:, axis]) for axis in range(cells.shape[1])}


def box_columns(boxes: Ints) -> dict[str, Ints]:
    """Columns lo0, hi0, lo1, hi1, ... of a table with one row per box."""
    return {
        f"{side}{axis}": np.ascontiguousarray(boxes[:, axis, number])
        for axis in range(boxes.shape[1])
        for number, side in enumerate(("lo", "hi"))
    }
