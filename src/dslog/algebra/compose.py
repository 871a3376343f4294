"""Lineage of two steps as lineage of one: C from A, when C is from B and B from A.

Three ways, each exact. Formulas first: an identity changes nothing, affine maps multiply, and rows
of boxes combine row by row. Where those have no answer, the pairs themselves are joined, as arrays
of C-order positions sorted by the cell in the middle. Where that would take more than ``MOST``
pairs there is none, and the caller has to keep the two steps apart.

Two steps as one, row by row: what boxes of boxes are.

A row of the outer step says: for c in a box, b_i lies in an interval, fixed or moving with some
c_j. A row of the inner step says the same of a, given b in a box P. Together they say it of a,
given c, as long as P does not cut the moving interval: where it does, those few c get rows of their
own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dslog.algebra.affine import as_affine, multiply
from dslog.algebra.positions import Pairs
from dslog.algebra.union import unite
from dslog.compress.encoder import recompress
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import I64, Shape

Interval = tuple[int, int]

_MOST_ROWS = 4096  # combinations that are worth trying
_MOST_CUT = 64  # cells at the edge of a cut interval that get rows of their own


class _NoFormula(Exception):  # noqa: N818 (a way out, not an error)
    """The combination of two rows is not a few rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One plain row: the output box, and per input axis an interval and the axis it follows."""

    out: tuple[Interval, ...]
    ins: tuple[tuple[Interval, int], ...]


def combine_rows(outer: Lineage, inner: Lineage) -> Lineage | None:
    """Return the lineage of both steps, or None when it is not a few rows."""
    first, second = _rows_of(outer), _rows_of(inner)
    if first is None or second is None or len(first) * len(second) > _MOST_ROWS:
        return None
    try:
        found = [row for b, a in itertools.product(first, second) for row in _combine(b, a)]
    except _NoFormula:
        return None
    found = list(dict.fromkeys(found))
    if not found:
        return Lineage.empty(outer.out_shape, inner.in_shape)
    table = _table(found, len(outer.out_shape), len(inner.in_shape))
    lineage = Lineage.of_table(outer.out_shape, inner.in_shape, table)
    return lineage if len(found) == 1 else recompress([lineage])


def _rows_of(lineage: Lineage) -> list[Row] | None:
    """The rows of a lineage over all its axes, if they are few and plain."""
    if lineage.orientation != "backward":
        return None
    rows: list[Row] = []
    for term in lineage.terms:
        if any(factor.out_flat or factor.in_flat for factor in term):
            return None
        tables = [factor.table for factor in term]
        size = 1
        for table in tables:
            size *= int(table.count.prod(axis=1).sum()) if len(table) else 0
        if len(rows) + size > _MOST_ROWS:
            return None
        parts = [_read(table.unfold()) for table in tables]
        for chosen in itertools.product(*parts):
            out: list[Interval] = [(0, 0)] * len(lineage.out_shape)
            ins: list[tuple[Interval, int]] = [((0, 0), -1)] * len(lineage.in_shape)
            for factor, row in zip(term, chosen, strict=True):
                for axis, interval in zip(factor.out_axes, row.out, strict=True):
                    out[axis] = interval
                for axis, (interval, ref) in zip(factor.in_axes, row.ins, strict=True):
                    ins[axis] = (interval, factor.out_axes[ref] if ref >= 0 else -1)
            rows.append(Row(tuple(out), tuple(ins)))
    return rows


def _read(table: Table) -> list[Row]:
    out = np.stack([table.out_lo, table.out_hi], axis=-1).tolist()
    ins = np.stack([table.in_lo, table.in_hi], axis=-1).tolist()
    refs = table.ref.tolist()
    return [
        Row(
            tuple((lo, hi) for lo, hi in box),
            tuple(((lo, hi), ref) for (lo, hi), ref in zip(interval, ref_row, strict=True)),
        )
        for box, interval, ref_row in zip(out, ins, refs, strict=True)
    ]


def _combine(outer: Row, inner: Row) -> Iterator[Row]:
    """Give the rows of c to a for one row of c to b and one of b to a."""
    middle = []
    followers = [sum(ref == i for _, ref in inner.ins) for i in range(len(outer.ins))]
    box = list(outer.out)
    for i, ((low, high), ref) in enumerate(outer.ins):
        p_low, p_high = inner.out[i]
        if ref < 0:
            x, y = max(low, p_low), min(high, p_high)
            if x > y:
                return
            if x < y and followers[i] > 1:
                raise _NoFormula  # a diagonal of an interval is no box
            middle.append(((x, y), -1))
            continue
        if low < high and followers[i] > 1:
            raise _NoFormula
        o_low, o_high = box[ref]
        box[ref] = (max(o_low, p_low - high), min(o_high, p_high - low))
        middle.append(((low, high), ref))
    if any(low > high for low, high in box):
        return
    for piece in _pieces(tuple(box), middle, inner, followers):
        yield Row(
            piece.out, tuple(_follow(piece.ins, interval, ref) for interval, ref in inner.ins)
        )


def _pieces(
    box: tuple[Interval, ...],
    middle: list[tuple[Interval, int]],
    inner: Row,
    followers: list[int],
) -> Iterable[Row]:
    """Split a box where the interval of some b is cut, so that in each piece none is."""
    pieces = [Row(box, tuple(middle))]
    for i, ((low, high), ref) in enumerate(middle):
        if ref < 0 or not followers[i] or low == high:
            continue
        p_low, p_high = inner.out[i]
        pieces = [part for piece in pieces for part in _split(piece, i, ref, p_low, p_high)]
    return pieces


def _split(piece: Row, i: int, ref: int, p_low: int, p_high: int) -> Iterator[Row]:
    (low, high), _ = piece.ins[i]
    begin, end = piece.out[ref]
    free = (max(begin, p_low - low), min(end, p_high - high))  # c for which nothing is cut
    if free[0] <= free[1]:
        yield _narrow(piece, ref, free)
        cut = [*range(begin, free[0]), *range(free[1] + 1, end + 1)]
    else:
        cut = list(range(begin, min(end, begin + _MOST_CUT) + 1))
    if len(cut) > _MOST_CUT:
        raise _NoFormula
    for c in cut:
        fixed = ((max(c + low, p_low), min(c + high, p_high)), -1)
        narrowed = _narrow(piece, ref, (c, c))
        ins = (*narrowed.ins[:i], fixed, *narrowed.ins[i + 1 :])
        yield replace(narrowed, ins=ins)


def _narrow(piece: Row, axis: int, interval: Interval) -> Row:
    return replace(piece, out=(*piece.out[:axis], interval, *piece.out[axis + 1 :]))


def _follow(
    middle: tuple[tuple[Interval, int], ...], interval: Interval, ref: int
) -> tuple[Interval, int]:
    """The interval of an input axis, by way of the middle axis that it follows."""
    if ref < 0:
        return interval, -1
    (low, high), further = middle[ref]
    return (low + interval[0], high + interval[1]), further


def _table(rows: list[Row], num_out: int, num_in: int) -> Table:
    flat = [
        [lo for lo, _ in row.out]
        + [hi for _, hi in row.out]
        + [lo for (lo, _), _ in row.ins]
        + [hi for (_, hi), _ in row.ins]
        for row in rows
    ]
    return Table.plain(num_out, num_in, flat, [[ref for _, ref in row.ins] for row in rows])


FEW = 1 << 12  # pairs that are quicker to join than to reason about
MOST = 1 << 24  # pairs that fit in memory with some room


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
