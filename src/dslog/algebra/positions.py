"""Lineage given cell by cell, as C-order positions of output and input cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dslog.algebra.affine import find_affine
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
        if len(self.out) == math.prod(self.out_shape) and bool((np.diff(self.out) > 0).all()):
            formula = find_affine(self.in_.reshape(self.out_shape), self.in_shape)
            if formula is not None:
                return formula.with_exact(self.exact)
        pairs = pairs_of_cells(self.out, self.out_shape, self.in_, self.in_shape)
        return compress(pairs, self.out_shape, self.in_shape).with_exact(self.exact)
