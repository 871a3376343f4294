"""From boxes to a boolean mask and back."""

from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dslog.cells import kernels
from dslog.cells.merge import sort_boxes, volume
from dslog.types import I64, Mask

Scalar = TypeVar("Scalar", bound=np.generic)

# A difference array costs a few passes over all cells, direct painting one write per cell of each
# box: overlapping boxes make the second one dearer.
_DIRECT_FACTOR = 4
# The difference array is one longer on every axis, which on many short axes is far too much.
_DIFFERENCE_AXES = 4


def paint(boxes: I64, shape: tuple[int, ...]) -> Mask:
    """A mask of `shape`, true on the cells of any box. The boxes may overlap.

    >>> paint(np.array([[[0, 1], [1, 1]]]), (2, 3)).astype(int).tolist()
    [[0, 1, 0], [0, 1, 0]]
    """
    cells = prod(shape)
    if not shape:
        return np.full((), len(boxes) > 0)
    if len(boxes) and len(shape) <= _DIFFERENCE_AXES and volume(boxes) > _DIRECT_FACTOR * cells:
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
    """The axis for the runs: the last, unless another one has less than half as many."""
    last = mask.ndim - 1
    joined = [
        np.count_nonzero(np.logical_and(sides[1:], sides[:-1]))
        for sides in (np.moveaxis(mask, axis, 0) for axis in range(mask.ndim))
    ]
    runs = np.count_nonzero(mask) - np.array(joined)
    best = int(runs.argmin())
    return best if 2 * runs[best] < runs[last] else last


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
