"""Lineages that are affine maps, read back as matrices, so that two can be multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.structured import affine
from dslog.lineage.factor import Factor, Shape
from dslog.lineage.lineage import Lineage

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Affine:
    """Each output cell b from the one input cell ``start + step @ b``."""

    out_shape: Shape
    in_shape: Shape
    start: I64  # (m,)
    step: I64  # (m, l)

    @property
    def is_identity(self) -> bool:
        """Whether each cell is from the cell in the same place."""
        if self.out_shape != self.in_shape:
            return False
        moving = np.array([size > 1 for size in self.out_shape], bool)
        eye = np.eye(len(self.out_shape), dtype=np.int64)
        return not self.start.any() and bool((self.step[:, moving] == eye[:, moving]).all())

    def lineage(self) -> Lineage:
        """Return the lineage that it is."""
        return affine(self.out_shape, self.in_shape, self.start.tolist(), self.step)


def multiply(outer: Affine, inner: Affine) -> Affine:
    """Return the map that takes both steps."""
    return Affine(
        outer.out_shape,
        inner.in_shape,
        inner.start + inner.step @ outer.start,
        inner.step @ outer.step,
    )


def as_affine(lineage: Lineage) -> Affine | None:
    """Return the affine map that a lineage is, if it is one over all output cells."""
    if lineage.orientation != "backward" or len(lineage.terms) != 1:
        return None
    start = np.zeros(len(lineage.in_shape), np.int64)
    step = np.zeros((len(lineage.in_shape), len(lineage.out_shape)), np.int64)
    for factor in lineage.terms[0]:
        if not _read(factor, lineage.out_shape, start, step):
            return None
    return Affine(lineage.out_shape, lineage.in_shape, start, step)


def _read(factor: Factor, out_shape: Shape, start: I64, step: I64) -> bool:
    """Add the axes of a factor of one row; False when it is not affine, or leaves cells out."""
    table = factor.table
    if len(table) != 1 or factor.out_flat or factor.in_flat:
        return False
    l, m = table.num_out, table.num_in
    low, high = table.rows[0, :l], table.rows[0, l : 2 * l]
    begin, end = table.rows[0, 2 * l : 2 * l + m], table.rows[0, 2 * l + m :]
    if low.any() or (begin != end).any():
        return False
    sizes = high + 1
    ins, outs = list(factor.in_axes), list(factor.out_axes)
    start[ins] = begin
    for i, ref in enumerate(table.ref[0].tolist()):
        if ref >= 0:
            step[ins[i], outs[ref]] = 1
    for count, by in zip(table.count[0].tolist(), table.step[0], strict=True):
        moved = np.flatnonzero(by[:l])
        alike = (by[:l] == by[l : 2 * l]).all() and (by[2 * l : 2 * l + m] == by[2 * l + m :]).all()
        if count == 1:
            continue
        if not alike or len(moved) != 1 or by[moved[0]] != 1 or sizes[moved[0]] != 1:
            return False
        sizes[moved[0]] = count
        change = by[2 * l : 2 * l + m].copy()
        follows = table.ref[0] == moved[0]
        if follows.any():
            return False
        step[ins, outs[moved[0]]] = change
    return bool((sizes == [out_shape[j] for j in outs]).all())
