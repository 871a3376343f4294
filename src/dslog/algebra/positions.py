"""Lineage given cell by cell, as C-order positions of output and input cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.affine import affine
from dslog.algebra.product import Part, read, same_order
from dslog.cells.boxes import strides
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Shape


def lineage_of_positions(positions: I64, in_shape: Shape) -> Lineage:
    """Return the lineage of an output whose cells came from these C-order positions.

    A negative position is a cell that came from nowhere.
    """
    formula = find_affine(positions, in_shape)
    if formula is not None:
        return formula
    out = np.flatnonzero(positions >= 0)
    pairs = pairs_of_cells(out, positions.shape, positions.reshape(-1)[out], in_shape)
    return compress(pairs, positions.shape, in_shape)


def pairs_of_cells(out: I64, out_shape: Shape, in_: I64, in_shape: Shape) -> I64:
    """Return a relation (n, l + m) from C-order positions of output and input cells."""
    pairs = np.empty((len(out), len(out_shape) + len(in_shape)), np.int64)
    for column, axis in enumerate(_unravel(out, out_shape)):
        pairs[:, column] = axis
    for column, axis in enumerate(_unravel(in_, in_shape), start=len(out_shape)):
        pairs[:, column] = axis
    return pairs


def _unravel(positions: I64, shape: Shape) -> Iterator[I64]:
    return iter(np.unravel_index(positions, shape) if shape and len(positions) else ())


def from_pairs(
    out_cells: Any, in_cells: Any, out_shape: Sequence[int], in_shape: Sequence[int]
) -> Lineage:
    """Compress pairs of linear (C-order) positions; for what depends on values."""
    out_shape, in_shape = tuple(map(int, out_shape)), tuple(map(int, in_shape))
    out, in_ = (np.asarray(cells, np.int64).ravel() for cells in (out_cells, in_cells))
    return compress(pairs_of_cells(out, out_shape, in_, in_shape), out_shape, in_shape)


def gathered(indices: Any, size: int) -> Part:
    """Output cell b of an array like ``indices`` from input cell ``indices[b]`` of one axis."""
    indices = np.asarray(indices, np.int64)
    if indices.size == 0:
        return ()
    if indices.ndim == 0:
        return read(0, int(indices), int(indices))
    return from_pairs(np.arange(indices.size), indices, indices.shape, (size,)).terms


def find_affine(positions: I64, in_shape: Shape) -> Lineage | None:
    """Return the formula behind an array of C-order positions, if it is affine or a reshape.

    One pass over the cells: the steps are read off the first cells of each axis, then checked.
    """
    shape = positions.shape
    if not positions.size:
        return Lineage.empty(shape, in_shape)
    first = int(positions[(0,) * len(shape)])
    deltas = [0] * len(shape)
    expected = np.full((1,) * len(shape), first, np.int64)
    for axis, size in enumerate(shape):
        if size > 1:
            at = [0] * len(shape)
            at[axis] = 1
            deltas[axis] = int(positions[tuple(at)]) - first
            ramp = np.arange(size, dtype=np.int64) * deltas[axis]
            expected = expected + ramp.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    lowest = first + sum(min(0, d * (size - 1)) for d, size in zip(deltas, shape, strict=True))
    if lowest < 0 or not np.array_equal(positions, np.broadcast_to(expected, shape)):
        return None
    steps = strides(shape).tolist()
    if positions.size == prod(in_shape) and all(
        d == step for d, step, size in zip(deltas, steps, shape, strict=True) if size > 1
    ):
        return same_order(shape, in_shape)
    return _unravelled(shape, in_shape, first, deltas)


def _unravelled(shape: Shape, in_shape: Shape, first: int, deltas: Sequence[int]) -> Lineage | None:
    """Write an affine map of linear positions per input axis, if it stays inside every axis."""
    start = np.array(np.unravel_index(first, in_shape), np.int64).reshape(len(in_shape))
    steps = np.zeros((len(in_shape), len(shape)), np.int64)
    for axis, delta in enumerate(deltas):
        if delta:
            steps[:, axis] = np.array(np.unravel_index(first + delta, in_shape)) - start
    reach = steps * (np.array(shape, np.int64) - 1)
    low = start + np.minimum(reach, 0).sum(axis=1)
    high = start + np.maximum(reach, 0).sum(axis=1)
    if (low < 0).any() or (high >= np.array(in_shape, np.int64)).any():
        return None
    return affine(shape, in_shape, start.tolist(), steps)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A relation as C-order positions, sorted by output cell, then input cell, without repeats."""

    out_shape: Shape
    in_shape: Shape
    out: I64
    in_: I64
    exact: bool = True

    def lineage(self) -> Lineage:
        """Return the same pairs compressed."""
        if len(self.out) == prod(self.out_shape) and bool((np.diff(self.out) > 0).all()):
            formula = find_affine(self.in_.reshape(self.out_shape), self.in_shape)
            if formula is not None:
                return formula.with_exact(self.exact)
        pairs = pairs_of_cells(self.out, self.out_shape, self.in_, self.in_shape)
        return compress(pairs, self.out_shape, self.in_shape).with_exact(self.exact)
