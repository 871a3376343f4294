"""Lineage of two steps as lineage of one: C from A, when C is from B and B from A.

Three ways, each exact. Formulas first: an identity changes nothing, affine maps multiply, and rows
of boxes combine row by row. Where those have no answer, the pairs themselves are joined, as arrays
of C-order positions sorted by the cell in the middle. Where that would take more than ``MOST``
pairs there is none, and the caller has to keep the two steps apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.affine import as_affine, multiply
from dslog.capture.numpy.indexrun import pairs_of_cells
from dslog.capture.numpy.rows import combine_rows
from dslog.capture.numpy.structured import find_affine
from dslog.capture.numpy.writes import unite
from dslog.compress.encoder import compress
from dslog.lineage.factor import Shape
from dslog.lineage.lineage import Lineage

I64 = npt.NDArray[np.int64]

FEW = 1 << 12  # pairs that are quicker to join than to reason about
MOST = 1 << 24  # pairs that fit in memory with some room


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


Either = Lineage | Pairs


def compose(outer: Either, inner: Either) -> Either | None:
    """Return C from A, given C from B and B from A; None when that takes too many pairs."""
    if count(outer) <= FEW and count(inner) <= FEW:
        return join(to_pairs(outer), to_pairs(inner))
    if isinstance(outer, Lineage) and isinstance(inner, Lineage):
        formula = _by_formula(outer, inner)
        if formula is not None:
            return formula.with_exact(outer.exact and inner.exact)
    if max(count(outer), count(inner)) > MOST:
        return None
    return join(to_pairs(outer), to_pairs(inner))


def _by_formula(outer: Lineage, inner: Lineage) -> Lineage | None:
    first, second = as_affine(outer), as_affine(inner)
    if first is not None and first.is_identity:
        return inner
    if second is not None and second.is_identity:
        return outer
    if first is not None and second is not None:
        return multiply(first, second).lineage()
    return combine_rows(outer, inner)


def count(lineage: Either) -> int:
    """Return how many pairs there are, or more."""
    if isinstance(lineage, Pairs):
        return len(lineage.out)
    cells = math.prod(lineage.out_shape) * math.prod(lineage.in_shape)
    if cells <= FEW:
        return cells
    total = 0.0
    for term in lineage.terms:
        size = 1.0
        for factor in term:
            low_out, high_out, low_in, high_in = factor.table.bounds
            if factor.table.levels == 0:
                rows = factor.table.rows
                l, m = factor.table.num_out, factor.table.num_in
                low_in, high_in = rows[:, 2 * l : 2 * l + m], rows[:, 2 * l + m :]
            extent = np.prod((high_out - low_out + 1).astype(float), axis=1)
            size *= float((extent * np.prod((high_in - low_in + 1).astype(float), axis=1)).sum())
        total += size
    return int(min(total, cells))


def to_pairs(lineage: Either) -> Pairs:
    """Return a lineage as pairs of positions."""
    if isinstance(lineage, Pairs):
        return lineage
    out_shape, in_shape = lineage.out_shape, lineage.in_shape
    if math.prod(out_shape) == 1 == math.prod(in_shape) and lineage.terms:
        zero = np.zeros(1, np.int64)
        return Pairs(out_shape, in_shape, zero, zero, lineage.exact)
    if (single := _single(lineage)) is not None:
        return single
    pairs = lineage.to_relation()
    l = len(out_shape)
    out = pairs[:, :l] @ _strides(out_shape)
    in_ = pairs[:, l:] @ _strides(in_shape)
    return Pairs(out_shape, in_shape, out, in_, lineage.exact)


def _single(lineage: Lineage) -> Pairs | None:
    """A lineage of one row of one pair, which the loops of a program are full of."""
    if len(lineage.terms) != 1 or len(lineage.terms[0]) != 1 or lineage.orientation == "forward":
        return None
    factor = lineage.terms[0][0]
    table = factor.table
    if len(table) != 1 or table.levels or factor.out_flat or factor.in_flat:
        return None
    l, m = table.num_out, table.num_in
    row, ref = table.rows[0].tolist(), table.ref[0].tolist()
    out, begin = row[:l], row[2 * l : 2 * l + m]
    if out != row[l : 2 * l] or begin != row[2 * l + m :]:
        return None
    cell = [low + (out[at] if at >= 0 else 0) for low, at in zip(begin, ref, strict=True)]
    return Pairs(
        lineage.out_shape,
        lineage.in_shape,
        np.array([_position(out, lineage.out_shape)], np.int64),
        np.array([_position(cell, lineage.in_shape)], np.int64),
        lineage.exact,
    )


def _position(cell: Sequence[int], shape: Shape) -> int:
    position = 0
    for index, size in zip(cell, shape, strict=True):
        position = position * size + index
    return position


def _strides(shape: Shape) -> I64:
    return np.array([math.prod(shape[k + 1 :]) for k in range(len(shape))], np.int64)


def join(outer: Pairs, inner: Pairs) -> Pairs | None:
    """Join two relations on the cell in the middle; None when there are too many pairs."""
    start = np.searchsorted(inner.out, outer.in_, side="left")
    stop = np.searchsorted(inner.out, outer.in_, side="right")
    repeats = stop - start
    total = int(repeats.sum())
    if total > MOST:
        return None
    source = np.repeat(np.arange(len(repeats)), repeats)
    t = np.arange(total) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return _sorted(
        outer.out_shape,
        inner.in_shape,
        outer.out[source],
        inner.in_[start[source] + t],
        exact=outer.exact and inner.exact,
    )


def _sorted(out_shape: Shape, in_shape: Shape, out: I64, in_: I64, *, exact: bool) -> Pairs:
    """Sort pairs and drop repeats."""
    if len(out) <= 1:
        return Pairs(out_shape, in_shape, out, in_, exact)
    order = np.lexsort((in_, out))
    out, in_ = out[order], in_[order]
    new = np.concatenate([[True], (np.diff(out) != 0) | (np.diff(in_) != 0)])
    return Pairs(out_shape, in_shape, out[new], in_[new], exact)


def union(parts: Sequence[Either]) -> Either:
    """Return the union of relations between the same two arrays."""
    if len(parts) == 1:
        return parts[0]
    formulas = [part for part in parts if isinstance(part, Lineage)]
    if len(formulas) == len(parts):
        return unite(formulas)
    loose = [part for part in parts if isinstance(part, Pairs)]
    first = loose[0]
    joined = _sorted(
        first.out_shape,
        first.in_shape,
        np.concatenate([part.out for part in loose]),
        np.concatenate([part.in_ for part in loose]),
        exact=all(part.exact for part in loose),
    )
    return unite([*formulas, joined.lineage()]) if formulas else joined


def as_lineage(lineage: Either) -> Lineage:
    """Return a lineage, compressed if it is not yet."""
    return lineage if isinstance(lineage, Lineage) else lineage.lineage()
