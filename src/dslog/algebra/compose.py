"""Lineage of two steps as lineage of one: C from A, when C is from B and B from A.

Three ways, each exact. Formulas first: an identity changes nothing, affine maps multiply, and rows
of boxes combine row by row. Where those have no answer, the pairs themselves are joined, as arrays
of C-order positions sorted by the cell in the middle; where most pairs would be found many times,
as in a loop that smooths an array again and again, as rows of bits. Where that would take too many
pairs there is none, and the caller has to keep the two steps apart.

Two steps as one, row by row: what boxes of boxes are.

A row of the outer step says: for c in a box, b_i lies in an interval, fixed or moving with some
c_j. A row of the inner step says the same of a, given b in a box P. Together they say it of a,
given c, as long as P does not cut the moving interval: where it does, those few c get rows of their
own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import TypeVar

import numpy as np

from dslog.algebra.affine import as_affine, multiply
from dslog.algebra.algebra_cost import AlgebraCost
from dslog.algebra.positions import Pairs
from dslog.algebra.restrict import union
from dslog.cells.boxes import count_up, lexicographic_order, strides
from dslog.compress.bit_runs import Words, compress_bits
from dslog.compress.encoder import recompress
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Interval, Row, Table
from dslog.types import I64, Shape

T = TypeVar("T")


class _NoFormula(Exception):  # noqa: N818 (a way out, not an error)
    """The combination of two rows is not a few rows."""


def combine_rows(outer: Lineage, inner: Lineage) -> Lineage | None:
    """Return the lineage of both steps, or None when it is not a few rows."""
    first, second = _rows_of(outer), _rows_of(inner)
    if (
        first is None
        or second is None
        or len(first) * len(second) > AlgebraCost.current().most_rows
    ):
        return None
    try:
        found = [row for b, a in itertools.product(first, second) for row in _combine(b, a)]
    except _NoFormula:
        return None
    found = list(dict.fromkeys(found))
    if not found:
        return Lineage.empty(outer.out_shape, inner.in_shape)
    table = Table.of_rows(len(outer.out_shape), len(inner.in_shape), found)
    lineage = Lineage.of_table(outer.out_shape, inner.in_shape, table)
    return lineage if len(found) == 1 else recompress([lineage])


def _rows_of(lineage: Lineage) -> list[Row] | None:
    """The rows of a lineage over all its axes, if they are few and plain."""
    if not lineage.is_backward:
        return None
    rows: list[Row] = []
    for term in lineage.terms:
        if any(factor.is_flat for factor in term):
            return None
        tables = [factor.table for factor in term]
        if (
            len(rows) + prod(table.num_unfolded for table in tables)
            > AlgebraCost.current().most_rows
        ):
            return None
        plain = [table.unfold() for table in tables]
        parts = [[table.row(r) for r in range(len(table))] for table in plain]
        for chosen in itertools.product(*parts):
            outs: list[Interval] = [(0, 0)] * len(lineage.out_shape)
            ins: list[Interval] = [(0, 0)] * len(lineage.in_shape)
            refs = [-1] * len(lineage.in_shape)
            for factor, row in zip(term, chosen, strict=True):
                for axis, interval in zip(factor.out_axes, row.outs, strict=True):
                    outs[axis] = interval
                for axis, interval, ref in zip(factor.in_axes, row.ins, row.refs, strict=True):
                    ins[axis], refs[axis] = interval, factor.out_axes[ref] if ref >= 0 else -1
            rows.append(Row(tuple(outs), tuple(ins), tuple(refs)))
    return rows


def _combine(outer: Row, inner: Row) -> Iterator[Row]:
    """Give the rows of c to a for one row of c to b and one of b to a."""
    middle: list[Interval] = []
    followers = [inner.refs.count(i) for i in range(len(outer.ins))]
    box = list(outer.outs)
    for i, ((low, high), ref) in enumerate(zip(outer.ins, outer.refs, strict=True)):
        p_low, p_high = inner.outs[i]
        if ref < 0:
            x, y = max(low, p_low), min(high, p_high)
            if x > y:
                return
            if x < y and followers[i] > 1:
                raise _NoFormula  # a diagonal of an interval is no box
            middle.append((x, y))
            continue
        if low < high and followers[i] > 1:
            raise _NoFormula
        o_low, o_high = box[ref]
        box[ref] = (max(o_low, p_low - high), min(o_high, p_high - low))
        middle.append((low, high))
    if any(low > high for low, high in box):
        return
    for piece in _pieces(Row(tuple(box), tuple(middle), outer.refs), inner, followers):
        found = [
            _follow(piece, interval, ref)
            for interval, ref in zip(inner.ins, inner.refs, strict=True)
        ]
        yield Row(piece.outs, tuple(ends for ends, _ in found), tuple(ref for _, ref in found))


def _pieces(whole: Row, inner: Row, followers: list[int]) -> Iterable[Row]:
    """Split a box where the interval of some b is cut, so that in each piece none is."""
    pieces = [whole]
    for i, ((low, high), ref) in enumerate(zip(whole.ins, whole.refs, strict=True)):
        if ref >= 0 and followers[i] and low < high:
            pieces = [part for piece in pieces for part in _split(piece, i, ref, *inner.outs[i])]
    return pieces


def _split(piece: Row, i: int, ref: int, p_low: int, p_high: int) -> Iterator[Row]:
    most = AlgebraCost.current().most_cut
    low, high = piece.ins[i]
    begin, end = piece.outs[ref]
    free = (max(begin, p_low - low), min(end, p_high - high))  # c for which nothing is cut
    if free[0] <= free[1]:
        yield replace(piece, outs=_put(piece.outs, ref, free))
        cut = [*range(begin, free[0]), *range(free[1] + 1, end + 1)]
    else:
        cut = list(range(begin, min(end, begin + most) + 1))
    if len(cut) > most:
        raise _NoFormula
    for c in cut:
        fixed = (max(c + low, p_low), min(c + high, p_high))
        yield Row(_put(piece.outs, ref, (c, c)), _put(piece.ins, i, fixed), _put(piece.refs, i, -1))


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _follow(piece: Row, interval: Interval, ref: int) -> tuple[Interval, int]:
    """The interval of an input axis, by way of the middle axis that it follows."""
    if ref < 0:
        return interval, -1
    low, high = piece.ins[ref]
    return (low + interval[0], high + interval[1]), piece.refs[ref]


@dataclass(frozen=True, slots=True)
class BitRows:
    """A relation as bits: a row for each output cell, in C order, a bit for each input cell."""

    out_shape: Shape
    in_shape: Shape
    rows: Words
    exact: bool = True

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> BitRows:
        """Set the bits of some pairs."""
        rows = np.zeros((prod(pairs.out_shape), (prod(pairs.in_shape) + 63) // 64), "<u8")
        bits = np.uint64(1) << (pairs.in_ & 63).astype(np.uint64)
        np.bitwise_or.at(rows, (pairs.out, pairs.in_ >> 6), bits)
        return cls(pairs.out_shape, pairs.in_shape, rows, pairs.exact)

    def to_pairs(self) -> Pairs:
        """Return the pairs that are set."""
        size = prod(self.in_shape)
        bits = np.unpackbits(self.rows.view(np.uint8), axis=1, count=size, bitorder="little")
        cells = np.flatnonzero(bits)
        return Pairs(self.out_shape, self.in_shape, cells // size, cells % size, self.exact)

    def lineage(self) -> Lineage:
        """Return the same relation compressed."""
        found = compress_bits(self.rows, self.out_shape, self.in_shape)
        return self.to_pairs().lineage() if found is None else found.with_exact(self.exact)


Either = Lineage | Pairs | BitRows


def compose(outer: Either, inner: Either, written: dict[int, Pairs] | None = None) -> Either | None:
    """Return C from A, given C from B and B from A; None when that takes too many pairs.

    ``written`` holds the pairs of outer lineages by identity: a loop has the same one every time.
    """
    cost = AlgebraCost.current()
    if isinstance(inner, BitRows):
        if isinstance(outer, Lineage) and (map_ := as_affine(outer)) and map_.is_identity:
            return replace(inner, exact=outer.exact and inner.exact)
        known = {} if written is None else written
        if id(outer) not in known:
            known[id(outer)] = to_pairs(outer)
        return _join_bits(known[id(outer)], inner)
    if max(count(outer), count(inner)) <= cost.few_pairs:
        return join(to_pairs(outer), to_pairs(inner))
    if isinstance(outer, Lineage) and isinstance(inner, Lineage):
        formula = _by_formula(outer, inner)
        if formula is not None:
            return formula.with_exact(outer.exact and inner.exact)
    if max(count(outer), count(inner)) > cost.most_pairs:
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
    if isinstance(lineage, BitRows):
        return prod(lineage.out_shape) * prod(lineage.in_shape)
    cells = prod(lineage.out_shape) * prod(lineage.in_shape)
    few = AlgebraCost.current().few_pairs
    return cells if cells <= few else int(min(lineage.most_pairs, cells))


def to_pairs(lineage: Either) -> Pairs:
    """Return a lineage as pairs of positions."""
    if isinstance(lineage, Pairs):
        return lineage
    if isinstance(lineage, BitRows):
        return lineage.to_pairs()
    out_shape, in_shape = lineage.out_shape, lineage.in_shape
    if prod(out_shape) == 1 == prod(in_shape) and lineage.terms:
        zero = np.zeros(1, np.int64)
        return Pairs(out_shape, in_shape, zero, zero, lineage.exact)
    if (single := _single(lineage)) is not None:
        return single
    pairs = lineage.to_relation()
    l = len(out_shape)
    out = pairs[:, :l] @ strides(out_shape)
    in_ = pairs[:, l:] @ strides(in_shape)
    return Pairs(out_shape, in_shape, out, in_, lineage.exact)


def _single(lineage: Lineage) -> Pairs | None:
    """A lineage of one row of one pair, which the loops of a program are full of."""
    if len(lineage.terms) != 1 or len(lineage.terms[0]) != 1 or not lineage.is_backward:
        return None
    factor = lineage.terms[0][0]
    table = factor.table
    if len(table) != 1 or table.levels or factor.is_flat or table.width.any():
        return None
    values, l = table.matrix[:, 0].tolist(), table.num_out
    out, begin, ref = values[:l], values[l : table.num_axes], values[2 * table.num_axes :]
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


def join(outer: Pairs, inner: Pairs) -> Pairs | BitRows | None:
    """Join two relations on the cell in the middle; None when there are too many pairs."""
    start = np.searchsorted(inner.out, outer.in_, side="left")
    stop = np.searchsorted(inner.out, outer.in_, side="right")
    found, cost = int((stop - start).sum()), AlgebraCost.current()
    width = prod(inner.in_shape) // 8 + 8
    most_rows = max(prod(inner.out_shape), prod(outer.out_shape))
    if (
        found > cost.bit_pairs
        and most_rows * width <= cost.bit_bytes
        and len(outer.out) * width < found * cost.bytes_a_pair
    ):
        return _join_bits(outer, BitRows.of_pairs(inner))
    if found > cost.most_pairs:
        return None
    source, t = count_up(stop - start)
    return _sorted(
        outer.out_shape,
        inner.in_shape,
        outer.out[source],
        inner.in_[start[source] + t],
        exact=outer.exact and inner.exact,
    )


def _join_bits(outer: Pairs, inner: BitRows) -> BitRows:
    """Unite the rows of the cells in the middle, some at a time."""
    rows = np.zeros((prod(outer.out_shape), inner.rows.shape[1]), inner.rows.dtype)
    outs, starts = np.unique(outer.out, return_index=True)
    step = max(1, AlgebraCost.current().bit_bytes // max(1, rows.strides[0]))
    begin = 0
    while begin < len(outs):
        end = int(np.searchsorted(starts, starts[begin] + step))
        end = max(begin + 1, min(end, len(outs)))
        stop = starts[end] if end < len(outs) else len(outer.out)
        middle = inner.rows[outer.in_[starts[begin] : stop]]
        parts = starts[begin:end] - starts[begin]
        rows[outs[begin:end]] = np.bitwise_or.reduceat(middle, parts, axis=0)
        begin = end
    return BitRows(outer.out_shape, inner.in_shape, rows, outer.exact and inner.exact)


def _sorted(out_shape: Shape, in_shape: Shape, out: I64, in_: I64, *, exact: bool) -> Pairs:
    """Sort pairs and drop repeats."""
    if len(out) <= 1:
        return Pairs(out_shape, in_shape, out, in_, exact)
    order = lexicographic_order([out, in_])
    out, in_ = out[order], in_[order]
    new = np.concatenate([[True], (np.diff(out) != 0) | (np.diff(in_) != 0)])
    return Pairs(out_shape, in_shape, out[new], in_[new], exact)


def unite(parts: Sequence[Either]) -> Either:
    """Return the union of relations between the same two arrays."""
    if len(parts) == 1:
        return parts[0]
    formulas = [part for part in parts if isinstance(part, Lineage)]
    bits = [part for part in parts if isinstance(part, BitRows)]
    loose = [part for part in parts if isinstance(part, Pairs)]
    if bits:
        rest: list[Either] = [*formulas, *loose]
        others = [BitRows.of_pairs(to_pairs(part)) for part in rest]
        rows = reduce(np.bitwise_or, [part.rows for part in (*bits, *others)])
        exact = all(part.exact for part in (*bits, *others))
        return BitRows(bits[0].out_shape, bits[0].in_shape, rows, exact)
    if not loose:
        return union(*formulas)
    first = loose[0]
    joined = _sorted(
        first.out_shape,
        first.in_shape,
        np.concatenate([part.out for part in loose]),
        np.concatenate([part.in_ for part in loose]),
        exact=all(part.exact for part in loose),
    )
    return union(*formulas, joined.lineage()) if formulas else joined


def as_lineage(lineage: Either) -> Lineage:
    """Return a lineage, compressed if it is not yet."""
    return lineage if isinstance(lineage, Lineage) else lineage.lineage()
