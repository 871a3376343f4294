"""Cells that a numpy index selects: integers, slices, ``...``, integer arrays and masks in a tuple.

The cells are those ``array[index]`` reads: axes left out count whole, slices clip, integers and
integer arrays broadcast together. A slice without a step stays an interval, so selecting from an
array of any size costs nothing per cell. Negative integers are refused (see ``selection``).
"""

import operator
from collections.abc import Sequence
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.cells.boxes import Ints
from dslog.cells.cellset import CellSet, bitmap_is_smaller
from dslog.cells.target import Target
from dslog.errors import SelectionError

# One axis of an index: the positions a slice takes, or indices that broadcast with other axes'.
Axis = range | Ints


def select_index(index: tuple[Any, ...], target: Target) -> CellSet:
    """The cells of ``array[index]``.

    >>> select_index(np.s_[::2, [1, 3]], Target((3, 5), "B")).indices().tolist()
    [[0, 1], [0, 3], [2, 1], [2, 3]]
    """
    items = [_read_item(item, target) for item in index]
    axes = _place(items, index, target)
    points = _broadcast(axes, target)
    sliced = [axis for axis in axes if isinstance(axis, range)]
    boxes = len(points) * prod(1 if abs(axis.step) == 1 else len(axis) for axis in sliced)
    if any(len(axis) == 0 for axis in sliced) or boxes == 0:
        return CellSet.empty(target.shape)
    if bitmap_is_smaller(boxes, target.shape):
        return _paint(axes, target)
    return CellSet.from_boxes(target.shape, _product(axes, points))


def _read_item(item: Any, target: Target) -> slice | EllipsisType | npt.NDArray[Any]:
    """One entry of the tuple: a slice of integers, ``...``, or an array of integers or booleans."""
    if item is Ellipsis:
        return item
    if isinstance(item, slice):
        return _read_slice(item, target)
    if item is None or isinstance(item, bool | np.bool_):
        target.refuse_value(item)
    values = np.asarray(item)
    if values.size == 0 and values.dtype.kind == "f":  # the type numpy gives to []
        values = values.astype(np.int64)
    if values.dtype.kind not in "biu":
        flat = values.reshape(-1).tolist()
        target.refuse_value(next((v for v in flat if not isinstance(v, int)), flat[0]))
    return values


def _read_slice(item: slice, target: Target) -> slice:
    for bound in (item.start, item.stop, item.step):
        if bound is None:
            continue
        try:
            operator.index(bound)
        except TypeError:
            target.refuse_value(bound)
    if item.step is not None and operator.index(item.step) == 0:
        raise SelectionError(f"{item} into {target} has step 0: leave the step out, or use 1.")
    return item


def _place(items: Sequence[Any], index: tuple[Any, ...], target: Target) -> list[Axis]:
    """One entry per axis of the array, each checked against the axis's length."""
    taken = sum(_width(item) for item in items)
    dots = sum(item is Ellipsis for item in items)
    if dots > 1:
        raise SelectionError(f"{index} into {target} has {dots} times '...': one fills all gaps.")
    if taken > target.ndim:
        target.refuse_count(index, taken)
    rest = [slice(None)] * (target.ndim - taken)
    at = next((n for n, item in enumerate(items) if item is Ellipsis), len(items))
    axes: list[Axis] = []
    for item in [*items[:at], *rest, *items[at + 1 :]]:
        axis = len(axes)
        if isinstance(item, slice):
            axes.append(range(*item.indices(target.shape[axis])))
        elif item.dtype == np.bool_:
            axes.extend(_read_mask(item, axis, target))
        else:
            axes.append(target.check_range(item, axis))
    return axes


def _width(item: Any) -> int:
    """How many axes an entry takes."""
    if item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _read_mask(mask: npt.NDArray[Any], axis: int, target: Target) -> tuple[Ints, ...]:
    wanted = target.shape[axis : axis + mask.ndim]
    if mask.shape != wanted:
        raise SelectionError(
            f"A mask of shape {mask.shape} stands where {target} has shape {wanted} "
            f"(axis {axis} on): make them equal."
        )
    return mask.nonzero()


def _broadcast(axes: Sequence[Axis], target: Target) -> Ints:
    """One row of indices per point that the integer axes name together, (n, integer axes)."""
    arrays = [axis for axis in axes if not isinstance(axis, range)]
    if not arrays:
        return np.empty((1, 0), np.int64)
    try:
        together = np.broadcast_arrays(*arrays)
    except ValueError as error:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise SelectionError(
            f"Integer arrays of shapes {shapes} in an index into {target} don't broadcast: give "
            "them one length, or use np.ix_ for all combinations."
        ) from error
    return np.stack([array.reshape(-1) for array in together], axis=1)


def _paint(axes: Sequence[Axis], target: Target) -> CellSet:
    """Let numpy itself select, where a mask takes less than the boxes."""
    mask = np.zeros(target.shape, np.bool_)
    mask[tuple(_as_slice(axis) if isinstance(axis, range) else axis for axis in axes)] = True
    return CellSet.from_mask(mask)


def _as_slice(axis: range) -> slice:
    first, last = min(axis[0], axis[-1]), max(axis[0], axis[-1])
    return slice(first, last + 1, abs(axis.step))


def _product(axes: Sequence[Axis], points: Ints) -> Ints:
    """Boxes of every point combined with every interval of each slice."""
    boxes = np.empty((len(points), len(axes), 2), np.int64)
    column = 0
    for number, axis in enumerate(axes):
        if isinstance(axis, range):
            intervals = _intervals(axis)
            copies = len(intervals)
            boxes = np.repeat(boxes, copies, axis=0)
            boxes[:, number] = np.tile(intervals, (len(boxes) // copies, 1))
            points = np.repeat(points, copies, axis=0)
        else:
            boxes[:, number] = points[:, column, None]
            column += 1
    return boxes


def _intervals(axis: range) -> Ints:
    first, last = min(axis[0], axis[-1]), max(axis[0], axis[-1])
    if abs(axis.step) == 1:
        return np.array([[first, last]], np.int64)
    positions = np.arange(first, last + 1, abs(axis.step), dtype=np.int64)
    return np.stack([positions, positions], axis=1)
