"""Building blocks of structured lineage: parts over some axes, multiplied into one Lineage.

Most numpy functions act on each axis by itself. A *part* says what happens on a few output axes and
a few input axes; ``product`` multiplies parts into a Lineage over all axes. No block looks at a
cell, so its cost does not depend on the size of the arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

import numpy as np

from dslog.algebra.algebra_cost import AlgebraCost
from dslog.compress.provrc import provrc
from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Fold, Interval, Row, Table, concat
from dslog.types import Shape

Part = tuple[Term, ...]
"""A union of products over some of the axes; all terms over the same axes."""


def row(
    outs: Sequence[Interval],
    ins: Sequence[Interval],
    refs: Sequence[int],
    fold: tuple[int, Sequence[Interval], Sequence[Interval]] | None = None,
) -> Table:
    """Make a table of one row; ``fold`` is a count and the steps of ``outs`` and ``ins``.

    A ref is the output axis that an input axis follows, -1 where it is absolute.

    >>> row([(0, 0)], [(0, 0)], [-1], (3, [(1, 1)], [(0, 1)])).expand().tolist()
    [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]
    """
    folds = () if fold is None else (Fold(fold[0], tuple(fold[1]), tuple(fold[2])),)
    one = Row(tuple(outs), tuple(ins), tuple(refs), folds)
    return Table.of_rows(len(outs), len(ins), [one])


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
    l = plain.num_out
    lo, hi = plain.lo[:l].copy(), plain.lo[:l] + plain.width[:l]
    first, width, ref = plain.said_of(l)
    last = first + width
    where = np.flatnonzero(ref >= 0)
    at = ref[where], where
    lo[at] = np.maximum(lo[at], -last[where])
    hi[at] = np.minimum(hi[at], -first[where])
    keep = (lo <= hi).all(axis=0) & ((ref >= 0) | ((first <= 0) & (last >= 0)))
    return Table(l, 0, np.concatenate([lo, hi - lo])[:, keep])


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
            replace(
                factor,
                out_axes=tuple(out_axes[j] for j in factor.out_axes),
                in_axes=tuple(in_axes[i] for i in factor.in_axes),
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
    plain = [f for f in term if not f.is_flat and len(f.table) == 1 and f.table.levels == 0]
    rest = [f for f in term if not any(f is p for p in plain)]
    few = AlgebraCost.current().fused_rows
    small = next((f for f in rest if not f.is_flat and len(f.table) <= few), None)
    if small is not None:
        rest = [f for f in rest if f is not small]
        plain.append(small)
    if not plain and rest:
        return tuple(rest)
    return (_join_rows(plain), *rest)


def _join_rows(factors: Sequence[Factor]) -> Factor:
    """Multiply tables of which at most one has several rows or folds into one, axes in order."""
    big = next((f.table for f in factors if len(f.table) > 1 or f.table.levels), Table.point())
    outs = sorted((j, n, k) for n, f in enumerate(factors) for k, j in enumerate(f.out_axes))
    ins = sorted((i, n, k) for n, f in enumerate(factors) for k, i in enumerate(f.in_axes))
    place = {(n, k): at for at, (_, n, k) in enumerate(outs)}
    axes = [(n, k) for _, n, k in outs] + [(n, factors[n].table.num_out + k) for _, n, k in ins]
    columns = np.empty((2 * len(axes) + len(ins), len(big)), np.int64)
    step = np.zeros((big.levels, 2 * len(axes), len(big)), np.int64)
    for at, (n, axis) in enumerate(axes):
        table = factors[n].table
        columns[at], columns[len(axes) + at] = table.lo[axis], table.width[axis]
        if table is big:
            step[:, [at, len(axes) + at]] = big.step[:, [axis, big.num_axes + axis]]
    for at, (_, n, k) in enumerate(ins, start=2 * len(axes)):
        table = factors[n].table
        moved = np.array([place.get((n, j), -1) for j in range(table.num_out)] + [-1])
        columns[at] = moved[table.ref[k]]
    table = Table(len(outs), len(ins), columns, big.count, step)
    return Factor(tuple(j for j, _, _ in outs), tuple(i for i, _, _ in ins), table)


def plain_table(lineage: Lineage, most: int = 1 << 62) -> Table | None:
    """Return one plain table over all axes that means the same: products multiplied, folds undone.

    None if a product has more than ``most`` rows.
    """
    out_shape, in_shape = lineage.out_shape, lineage.in_shape
    if not lineage.is_backward:
        return provrc(lineage.to_relation(), out_shape, in_shape)
    tables = [Table.empty(len(out_shape), len(in_shape))]
    for term in lineage.terms:
        parts = [_plain(factor, out_shape, in_shape) for factor in term]
        if prod(map(len, parts)) > most:
            return None
        tables.append(_multiply(term, parts, len(out_shape), len(in_shape)))
    return concat(tables)


def _multiply(term: Term, tables: Sequence[Table], l: int, m: int) -> Table:
    total = prod(map(len, tables))
    columns = np.empty((2 * l + 3 * m, total), np.int64)
    lo, width, ref = columns[: l + m], columns[l + m : 2 * (l + m)], columns[2 * (l + m) :]
    t = np.arange(total)
    for factor, table in zip(term, tables, strict=True):
        axes = [*factor.out_axes, *(l + i for i in factor.in_axes)]
        pick = t % max(len(table), 1)
        lo[axes], width[axes] = table.lo[:, pick], table.width[:, pick]
        renumber = np.array([*factor.out_axes, -1], np.int64)  # the last entry answers for -1
        ref[list(factor.in_axes)] = renumber[table.ref[:, pick]]
        t //= max(len(table), 1)
    return Table(l, m, columns)


def _plain(factor: Factor, out_shape: Shape, in_shape: Shape) -> Table:
    if not factor.is_flat:
        return factor.table.unfold()
    outs = tuple(out_shape[j] for j in factor.out_axes)
    ins = tuple(in_shape[i] for i in factor.in_axes)
    alone = replace(factor, out_axes=tuple(range(len(outs))), in_axes=tuple(range(len(ins))))
    return provrc(Lineage(outs, ins, ((alone,),)).to_relation(), outs, ins)


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
    if 0 in out_shape or 0 in in_shape:
        return Lineage.empty(out_shape, in_shape)
    done_out = {j for p in more for term in p[:1] for f in term for j in f.out_axes}
    done_in = {i for p in more for term in p[:1] for f in term for i in f.in_axes}
    outs = [j for j in range(len(out_shape)) if j not in done_out]
    ins = [i for i in range(len(in_shape)) if i not in done_in]
    if any(len(p) == 0 for p in more):
        return Lineage.empty(out_shape, in_shape)
    if more and not (outs or ins):
        return product(out_shape, in_shape, *more)
    shift = offsets or {}
    intervals = [(shift.get(i, 0),) * 2 if i in follows else (0, in_shape[i] - 1) for i in ins]
    refs = [outs.index(follows[i]) if i in follows else -1 for i in ins]
    table = row([(0, out_shape[j] - 1) for j in outs], intervals, refs)
    return product(out_shape, in_shape, part(outs, ins, table), *more)


@lru_cache(maxsize=1024)
def identity(shape: Shape) -> Lineage:
    """Each cell from the cell in the same place."""
    return matched(shape, shape, {axis: axis for axis in range(len(shape))})


@lru_cache(maxsize=1024)
def all_to_all(out_shape: Shape, in_shape: Shape, *, exact: bool = True) -> Lineage:
    """Each output cell from every input cell."""
    return matched(out_shape, in_shape, {}).with_exact(exact)


@lru_cache(maxsize=1024)
def same_order(out_shape: Shape, in_shape: Shape) -> Lineage:
    """The same cells in the same C order, whatever the shapes: reshape and ravel."""
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
    return product(out_shape, in_shape, *lead, flat(outs, ins, shift_all(prod(out_shape[same:]))))


def shift_all(size: int) -> Table:
    """The identity of one axis."""
    return row([(0, size - 1)], [(0, 0)], [0])


def flat(out_axes: Iterable[int], in_axes: Iterable[int], table: Table) -> Part:
    """Place a table over the linear (C-order) index of both sides' axes."""
    outs, ins = tuple(out_axes), tuple(in_axes)
    return part(outs, ins, table, out_flat=len(outs) != 1, in_flat=len(ins) != 1)


def numpy_names(module: str, listed: str) -> list[str]:
    """Return dotted names in numpy: ``numpy_names("fft.", "fft ifft")``."""
    return [f"numpy.{module}{name}" for name in listed.split()]
