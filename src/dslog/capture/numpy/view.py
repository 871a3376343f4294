"""Lineage of views, read off their memory: which cell of the parent each cell of a view is.

A view has an address and strides, and so has the array it looks at, whatever function made it. If
the parent's strides are nested, as those of slices and transposes of an ordinary array are, an
address says which cell it is in, axis by axis from the largest stride to the smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.affine import affine, linear
from dslog.algebra.positions import pairs_of_cells
from dslog.algebra.product import same_order
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape


def is_view(array: Array, parent: Array) -> bool:
    """Whether every cell of an array lies on cells of another.

    Bounds that overlap do not say so: the columns of a matrix lie between each other.
    """
    base = array.base
    if base is parent or (base is parent.base and _is_all_of(parent, base)):
        return base is not None
    return (
        array.base is not None
        and bool(np.may_share_memory(array, parent))
        and _lies_on(array, parent)
    )


def _is_all_of(array: Array, base: Any) -> bool:
    """Whether an array shows all of the memory of another."""
    return type(base) is np.ndarray and array.nbytes == base.nbytes and array.flags.forc


def _lies_on(array: Array, parent: Array) -> bool:
    if _lowest(array) < _lowest(parent) or _end(array) > _end(parent):
        return False
    if parent.flags.forc:
        return True
    if array.itemsize <= parent.itemsize and place(array, parent) is not None:
        return True
    unit = math.gcd(
        array.itemsize, parent.itemsize, _first(array) - _first(parent),
        *array.strides, *parent.strides,
    )  # fmt: skip
    return bool(np.isin(_addresses(array, unit), _addresses(parent, unit)).all())


def _addresses(array: Array, unit: int) -> I64:
    """The addresses of an array's cells, and of what is ``unit`` bytes further inside of them."""
    found = np.full((*array.shape, array.itemsize // unit), _first(array), np.int64)
    steps = zip(found.shape, (*array.strides, unit), strict=True)
    for axis, (size, stride) in enumerate(steps):
        ramp = np.arange(size, dtype=np.int64) * stride
        found += ramp.reshape([-1 if k == axis else 1 for k in range(found.ndim)])
    return found


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a view's cells are in its parent: cell b is the parent's cell ``start + step @ b``."""

    shape: Shape
    parent: Shape
    start: tuple[int, ...]
    step: I64  # (parent axes, view axes)

    def lineage(self) -> Lineage:
        """Return the lineage of the view from its parent."""
        return affine(self.shape, self.parent, self.start, self.step)


def place(view: Array, parent: Array) -> Placement | None:
    """Find a view in its parent; None when the way from one to the other is not affine."""
    axes = _nested(parent)
    if axes is None or not view.size:
        return None
    first = _first(view) - _lowest(parent)
    found = _cell(first, parent, axes)
    if found is None:
        return None
    start, inside = found
    step = np.zeros((parent.ndim, view.ndim), np.int64)
    if view.size == 1:
        return Placement(view.shape, parent.shape, start, step)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        if size > 1 and stride:
            next_cell = _cell(first + stride, parent, axes)
            if next_cell is None or next_cell[1] != inside:
                return None  # cells of the view are parts of the parent's
            step[:, axis] = np.subtract(next_cell[0], start)
    return (
        Placement(view.shape, parent.shape, start, step)
        if _inside(view, parent, start, step)
        else None
    )


def view_lineage(view: Array, parent: Array) -> Lineage | None:
    """Return the lineage of a view from its parent in O(1), or None when there is no formula."""
    if not view.size:
        return Lineage.empty(view.shape, parent.shape)
    placement = place(view, parent)
    if placement is not None:
        return placement.lineage()
    if not parent.flags.c_contiguous or any(stride % parent.itemsize for stride in view.strides):
        return None
    first = (_first(view) - _first(parent)) // parent.itemsize
    steps = [stride // parent.itemsize for stride in view.strides]
    if first == 0 and view.size == parent.size and view.flags.c_contiguous:
        return same_order(view.shape, parent.shape)
    return linear(view.shape, parent.shape, first, steps)


def lineage_of_view(view: Array, parent: Array) -> Lineage | None:
    """Return the lineage of a view from its parent, by formula or cell by cell.

    None when the parent's own cells overlap, so that an address does not tell the cell.
    """
    if view.itemsize <= parent.itemsize and (formula := view_lineage(view, parent)) is not None:
        return formula
    touched = touches(view, parent)
    if touched is None:
        return None
    pairs = pairs_of_cells(touched[0], view.shape, touched[1], parent.shape)
    return compress(pairs, view.shape, parent.shape)


def touches(view: Array, parent: Array) -> tuple[I64, I64] | None:
    """Return C-order positions of cells of a view, and of cells of its parent with the same bytes.

    Cells of a view may be larger than its parent's, after ``view(dtype)``.
    """
    step = parent.itemsize if view.itemsize % parent.itemsize == 0 else 1
    shifts = range(0, view.itemsize, step) if view.itemsize > parent.itemsize else range(1)
    found = [positions(view, parent, shift) for shift in shifts]
    known = [each.reshape(-1) for each in found if each is not None]
    if len(known) < len(found):
        return None
    cells = np.tile(np.arange(view.size, dtype=np.int64), len(known))
    return cells, np.concatenate(known)


def positions(view: Array, parent: Array, shift: int = 0) -> I64 | None:
    """Return the C-order position in the parent of each cell of a view, if that can be told.

    ``shift`` looks some bytes into each cell.
    """
    axes = _nested(parent)
    if axes is None:
        return None
    offsets = np.full(view.shape, _first(view) + shift - _lowest(parent), np.int64)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        ramp = np.arange(size, dtype=np.int64) * stride
        offsets += ramp.reshape([-1 if k == axis else 1 for k in range(view.ndim)])
    result = np.zeros(view.shape, np.int64)
    for axis in axes:
        stride, size = parent.strides[axis], parent.shape[axis]
        index = offsets // abs(stride)
        offsets -= index * abs(stride)
        weight = prod(parent.shape[axis + 1 :])
        result += (index if stride > 0 else size - 1 - index) * weight
    return result


def _inside(view: Array, parent: Array, start: tuple[int, ...], step: I64) -> bool:
    """Whether all cells are in the parent: the last step on an axis may have left it."""
    reach = step * (np.array(view.shape, np.int64) - 1)
    origin = np.array(start, np.int64)
    low = origin + np.minimum(reach, 0).sum(axis=1)
    high = origin + np.maximum(reach, 0).sum(axis=1)
    return not ((low < 0).any() or (high >= np.array(parent.shape, np.int64)).any())


def _first(array: Array) -> int:
    """The address of an array's first cell."""
    return int(array.__array_interface__["data"][0])


def _lowest(array: Array) -> int:
    """The lowest address of an array's cells."""
    address = _first(array)
    for size, stride in zip(array.shape, array.strides, strict=True):
        address += min(0, (size - 1) * stride)
    return address


def _end(array: Array) -> int:
    """The address behind an array's last byte."""
    address = _first(array) + array.itemsize
    for size, stride in zip(array.shape, array.strides, strict=True):
        address += max(0, (size - 1) * stride)
    return address


def _nested(array: Array) -> list[int] | None:
    """The axes from the largest stride to the smallest, if the cells of each lie apart."""
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    axes.sort(key=lambda axis: -abs(array.strides[axis]))
    span = array.itemsize
    for axis in reversed(axes):
        stride = abs(array.strides[axis])
        if stride < span:
            return None
        span += stride * (array.shape[axis] - 1)
    return axes


def _cell(offset: int, array: Array, axes: list[int]) -> tuple[tuple[int, ...], int] | None:
    """The cell at some bytes above the lowest address, and how far into the cell that is."""
    cell = [0] * array.ndim
    for axis in axes:
        stride, size = array.strides[axis], array.shape[axis]
        index, offset = divmod(offset, abs(stride))
        if not 0 <= index < size:
            return None
        cell[axis] = index if stride > 0 else size - 1 - index
    return (tuple(cell), offset) if 0 <= offset < array.itemsize else None


def can_be_root(array: Array) -> bool:
    """Whether each cell of an array has memory of its own."""
    return array.size == 0 or _nested(array) is not None
