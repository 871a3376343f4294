"""Building blocks of lineage that depends on values; all vectorised over cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.indexrun import lineage_of_positions
from dslog.capture.numpy.patterns import elementwise
from dslog.lineage.lineage import Lineage

Array = npt.NDArray[Any]
I64 = npt.NDArray[np.int64]
Shape = tuple[int, ...]


def positions_of(shape: Sequence[int]) -> I64:
    """Return the C-order position of each cell of an array."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(tuple(shape))


def along_axis(order: Any, in_shape: Shape, axis: int | None) -> Lineage:
    """Each output cell from the cell of its line that ``order`` names, as ``argsort`` gives it."""
    order = np.asarray(order)
    positions = positions_of(in_shape)
    if axis is None:
        return lineage_of_positions(positions.reshape(-1)[order], in_shape)
    return lineage_of_positions(np.take_along_axis(positions, order, axis), in_shape)


def chosen(mask: Any, out_shape: Shape, in_shape: Shape) -> Lineage:
    """Each output cell where ``mask`` is set from the input cell broadcast to it."""
    mask = np.broadcast_to(np.asarray(mask, bool), out_shape)
    if mask.all():
        return elementwise(out_shape, in_shape)
    positions = np.broadcast_to(positions_of(in_shape), out_shape)
    return lineage_of_positions(np.where(mask, positions, -1), in_shape)


def ordered(values: Array, axis: int | None) -> I64:
    """Return the order that sorts each line, equal cells in the order they come."""
    return np.argsort(values, axis=axis, kind="stable")


def lines(values: Array, axes: Sequence[int]) -> tuple[Array, I64]:
    """Return the cells of each output cell of a reduction as a row, and their positions."""
    kept = [k for k in range(values.ndim) if k not in axes]
    order = [*kept, *axes]
    length = math.prod(values.shape[k] for k in axes)
    count = math.prod(values.shape[k] for k in kept)
    positions = positions_of(values.shape).transpose(order).reshape(count, length)
    return values.transpose(order).reshape(count, length), positions


def has_nan(values: Any) -> bool:
    """Whether any value is NaN; kinds that have none are not looked at."""
    values = np.asarray(values)
    return values.dtype.kind in "fcmMO" and bool(is_nan(values).any())


def is_nan(values: Any) -> npt.NDArray[np.bool_]:
    """Return where values are NaN (NaT); nowhere for kinds that have none."""
    values = np.asarray(values)
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.asarray(values != values, bool)  # noqa: PLR0124  only NaN differs from itself
    return np.zeros(values.shape, bool)
