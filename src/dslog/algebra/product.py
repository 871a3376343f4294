"""Building blocks of structured lineage: parts over some axes, multiplied into one Lineage.

Most numpy functions act on each axis by itself. A *part* says what happens on a few output axes and
a few input axes; ``product`` multiplies parts into a Lineage over all axes. No block looks at a
cell, so its cost does not depend on the size of the arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dslog.algebra.affine import all_to_all
from dslog.compress.encoder import compress
from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import I64, Shape

Interval = tuple[int, int]
Part = tuple[Term, ...]
"""A union of products over some of the axes; all terms over the same axes."""

_FEW = 16  # rows up to which one table is better than two


def row(
    outs: Sequence[Interval],
    ins: Sequence[Interval],
    refs: Sequence[int],
    fold: tuple[int, Sequence[Interval], Sequence[Interval]] | None = None,
) -> Table:
    """Make a table of one row; ``fold`` is a count and the steps of ``outs`` and ``ins``.

    A ref is the output axis that an input axis follows, -1 where it is absolute.

    >>> row([(0, 0)], [(0, 0)], [-1], (3, [(1, 1)], [(0, 1)])).unfold().rows.tolist()
    [[0, 0, 0, 0], [1, 1, 0, 1], [2, 2, 0, 2]]
    """
    plain = Table.plain(len(outs), len(ins), [_columns(outs, ins)], [list(refs)])
    if fold is None:
        return plain
    count, out_steps, in_steps = fold
    step = np.array([[_columns(out_steps, in_steps)]], np.int64)
    return Table(len(outs), len(ins), plain.rows, plain.ref, np.array([[count]], np.int64), step)


def _columns(outs: Sequence[Interval], ins: Sequence[Interval]) -> list[int]:
    columns = [lo for lo, _ in outs] + [hi for _, hi in outs]
    return columns + [lo for lo, _ in ins] + [hi for _, hi in ins]


def part(
    out_axes: Sequence[int],
    in_axes: Sequence[int],
    table: Table,
    *,
    out_flat: bool = False,
    in_flat: bool = False,
) -> Part:
    """Place a table on axes, linearised (C order) where asked."""
    if in_flat and not tuple(in_axes):
        table, in_flat = _without_input(table), False
    if len(table) == 0:
        return ()
    return ((Factor(tuple(out_axes), tuple(in_axes), table, out_flat, in_flat),),)


def _without_input(table: Table) -> Table:
    """Leave out an input axis of one cell; keep the outputs that are from it."""
    plain = table.unfold()
    lo, hi = plain.out_lo.copy(), plain.out_hi.copy()
    ref, first, last = plain.ref[:, 0], plain.in_lo[:, 0], plain.in_hi[:, 0]
    where = np.flatnonzero(ref >= 0)
    at = where, ref[where]
    lo[at] = np.maximum(lo[at], -last[where])
    hi[at] = np.minimum(hi[at], -first[where])
    keep = (lo <= hi).all(axis=1) & ((ref >= 0) | ((first <= 0) & (last >= 0)))
    rows = np.concatenate([lo, hi], axis=1)[keep]
    return Table.plain(plain.num_out, 0, rows, np.zeros((len(rows), 0)))


def free(axis: int, size: int) -> Part:
    """Make an output axis whose place says nothing about the input."""
    return part([axis], [], row([(0, size - 1)], [], []))


def read(axis: int, lo: int, hi: int) -> Part:
    """Input cells lo to hi of an axis, read for every output cell."""
    return part([], [axis], row([], [(lo, hi)], [-1]))


def follow(out_axis: int, in_axis: int, size: int) -> Part:
    """An input axis that goes with an output axis, cell by cell."""
    return part([out_axis], [in_axis], row([(0, size - 1)], [(0, 0)], [0]))


def place(parts: Part, out_axes: Sequence[int], in_axes: Sequence[int]) -> Part:
    """Move a part: its output axis j becomes ``out_axes[j]``, its input axis i ``in_axes[i]``."""
    return tuple(
        tuple(
            Factor(
                tuple(out_axes[j] for j in factor.out_axes),
                tuple(in_axes[i] for i in factor.in_axes),
                factor.table,
                factor.out_flat,
                factor.in_flat,
            )
            for factor in term
        )
        for term in parts
    )


def product(
    out_shape: Sequence[int], in_shape: Sequence[int], *parts: Part, exact: bool = True
) -> Lineage:
    """Multiply parts whose axes together are all axes of both arrays."""
    out_shape, in_shape = tuple(map(int, out_shape)), tuple(map(int, in_shape))
    if 0 in out_shape or 0 in in_shape:
        return Lineage(out_shape, in_shape, (), exact=exact)
    terms = tuple(
        _fuse(tuple(itertools.chain.from_iterable(chosen))) for chosen in itertools.product(*parts)
    )
    return Lineage(out_shape, in_shape, terms, exact=exact)


def _fuse(term: Term) -> Term:
    """Write what is only one plain row together, into a small table where there is one."""
    plain = [f for f in term if _is_plain(f) and len(f.table) == 1 and f.table.levels == 0]
    rest = [f for f in term if not any(f is p for p in plain)]
    small = next((f for f in rest if _is_plain(f) and len(f.table) <= _FEW), None)
    if small is not None:
        rest = [f for f in rest if f is not small]
        plain.append(small)
    if not plain and rest:
        return tuple(rest)
    return (_join_rows(plain), *rest)


def _is_plain(factor: Factor) -> bool:
    return not (factor.out_flat or factor.in_flat)


def _join_rows(factors: Sequence[Factor]) -> Factor:
    """Multiply tables of which at most one has several rows or folds into one, axes in order."""
    out_axes = [(j, n, k) for n, f in enumerate(factors) for k, j in enumerate(f.out_axes)]
    in_axes = [(i, n, k) for n, f in enumerate(factors) for k, i in enumerate(f.in_axes)]
    out_axes.sort()
    in_axes.sort()
    big = next((f.table for f in factors if len(f.table) > 1 or f.table.levels), None)
    rows = 1 if big is None else len(big)
    levels = 0 if big is None else big.levels
    where = {(n, k): place for place, (_, n, k) in enumerate(out_axes)}
    sources = [(n, k) for _, n, k in out_axes], [(n, k) for _, n, k in in_axes]
    ref = np.empty((rows, len(in_axes)), np.int64)
    for column, (n, k) in enumerate(sources[1]):
        old = factors[n].table.ref[:, k]
        new = np.array([where.get((n, r), -1) for r in range(factors[n].table.num_out)] + [-1])
        ref[:, column] = new[old]
    names = ("out_lo", "out_hi", "in_lo", "in_hi")
    columns = [
        getattr(factors[n].table, name)[:, k]
        for name, source in zip(names, (sources[0], sources[0], *sources[1:] * 2), strict=True)
        for n, k in source
    ]
    joined = np.empty((rows, len(columns)), np.int64)
    step = np.zeros((rows, levels, len(columns)), np.int64)
    for column, values in enumerate(columns):
        joined[:, column] = values
    if big is not None and levels:
        _spread_steps(step, factors, big, sources)
    count = np.ones((rows, 0), np.int64) if big is None else big.count
    table = Table(len(out_axes), len(in_axes), joined, ref, count, step)
    return Factor(tuple(j for j, _, _ in out_axes), tuple(i for i, _, _ in in_axes), table)


def _spread_steps(
    step: I64,
    factors: Sequence[Factor],
    big: Table,
    sources: tuple[list[tuple[int, int]], list[tuple[int, int]]],
) -> None:
    """Copy the steps of the folded table to where its columns went."""
    l, m = big.num_out, big.num_in
    first = 0
    for source, starts in ((sources[0], (0, l)), (sources[1], (2 * l, 2 * l + m))):
        for start in starts:
            for column, (n, k) in enumerate(source, start=first):
                if factors[n].table is big:
                    step[:, :, column] = big.step[:, :, start + k]
            first += len(source)


# --- whole arrays --------------------------------------------------------------------------------


def elementwise(out_shape: Sequence[int], in_shape: Sequence[int]) -> Lineage:
    """Each output cell from its input cell; numpy's broadcasting of the input to the output.

    >>> elementwise((2, 3), (3,)).describe()
    'a0 = b1, for b0 in [0, 1], b1 in [0, 2]'
    """
    out_shape, in_shape = tuple(out_shape), tuple(in_shape)
    lead = len(out_shape) - len(in_shape)
    return matched(
        out_shape,
        in_shape,
        {i: lead + i for i, n in enumerate(in_shape) if n != 1 or out_shape[lead + i] == 1},
    )


def matched(
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    follows: Mapping[int, int],
    *more: Part,
    offsets: Mapping[int, int] | None = None,
) -> Lineage:
    """Input axis i follows output axis ``follows[i]``; ``more`` are parts over other axes.

    Input axes that nothing names are read whole, output axes that nothing names are free.
    Several input axes may follow one output axis (a diagonal). ``offsets`` shifts an input axis.
    """
    out_shape, in_shape = tuple(map(int, out_shape)), tuple(map(int, in_shape))
    done_out = {j for p in more for term in p[:1] for f in term for j in f.out_axes}
    done_in = {i for p in more for term in p[:1] for f in term for i in f.in_axes}
    outs = [j for j in range(len(out_shape)) if j not in done_out]
    ins = [i for i in range(len(in_shape)) if i not in done_in]
    shift = offsets or {}
    intervals = [(shift.get(i, 0),) * 2 if i in follows else (0, in_shape[i] - 1) for i in ins]
    refs = [outs.index(follows[i]) if i in follows else -1 for i in ins]
    table = row([(0, out_shape[j] - 1) for j in outs], intervals, refs)
    if any(len(p) == 0 for p in more):
        return Lineage.empty(out_shape, in_shape)
    return product(out_shape, in_shape, part(outs, ins, table), *more)


def flat_identity(out_shape: Sequence[int], in_shape: Sequence[int]) -> Lineage:
    """The same cells in the same C order, whatever the shapes: reshape and ravel."""
    out_shape, in_shape = tuple(map(int, out_shape)), tuple(map(int, in_shape))
    wide_out = [j for j, n in enumerate(out_shape) if n != 1]
    wide_in = [i for i, n in enumerate(in_shape) if n != 1]
    if [out_shape[j] for j in wide_out] == [in_shape[i] for i in wide_in]:
        return matched(out_shape, in_shape, dict(zip(wide_in, wide_out, strict=True)))
    same = 0
    for n, m in zip(out_shape, in_shape, strict=False):
        if n != m:
            break
        same += 1
    lead = [follow(k, k, out_shape[k]) for k in range(same)]
    outs, ins = range(same, len(out_shape)), range(same, len(in_shape))
    return product(
        out_shape, in_shape, *lead, flat(outs, ins, shift_all(math.prod(out_shape[same:])))
    )


def shift_all(size: int) -> Table:
    """The identity of one axis."""
    return row([(0, size - 1)], [(0, 0)], [0])


def flat(out_axes: Iterable[int], in_axes: Iterable[int], table: Table) -> Part:
    """Place a table over the linear (C-order) index of both sides' axes."""
    outs, ins = tuple(out_axes), tuple(in_axes)
    return part(outs, ins, table, out_flat=len(outs) != 1, in_flat=len(ins) != 1)


# --- from pairs of cells -------------------------------------------------------------------------


def from_pairs(
    out_cells: Any, in_cells: Any, out_shape: Sequence[int], in_shape: Sequence[int]
) -> Lineage:
    """Compress pairs of linear (C-order) positions; for what depends on values."""
    out_shape, in_shape = tuple(map(int, out_shape)), tuple(map(int, in_shape))
    out_cells, in_cells = np.asarray(out_cells).ravel(), np.asarray(in_cells).ravel()
    columns = [
        *_unravel(np.asarray(out_cells, np.int64), out_shape),
        *_unravel(np.asarray(in_cells, np.int64), in_shape),
    ]
    if not columns:
        return all_to_all((), ()) if len(out_cells) else Lineage.empty((), ())
    return compress(np.stack(columns, axis=1), out_shape, in_shape)


def _unravel(cells: I64, shape: Shape) -> Sequence[I64]:
    if not shape:
        return []
    if len(shape) == 1 or len(cells) == 0:
        return [cells] * len(shape)
    return np.unravel_index(cells, shape)


def gathered(indices: Any, size: int) -> Part:
    """Output cell b of an array like ``indices`` from input cell ``indices[b]`` of one axis."""
    indices = np.asarray(indices, np.int64)
    if indices.size == 0:
        return ()
    if indices.ndim == 0:
        return read(0, int(indices), int(indices))
    return from_pairs(np.arange(indices.size), indices, indices.shape, (size,)).terms


def numpy_names(module: str, listed: str) -> list[str]:
    """Return dotted names in numpy: ``numpy_names("fft.", "fft ifft")``."""
    return [f"numpy.{module}{name}" for name in listed.split()]
