"""Queries by bitmap: when the asked cells are scattered, move their bits instead of joining boxes.

A product is applied factor by factor, the other axes carried along. A factor of few rows moves
whole slices: along each axis a row is either a *pair* of strided blocks (output block t goes with
input block t) or an interval that pairs with nothing. A factor of many rows looks its cells up.
What fits neither goes by way of boxes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from dslog.lineage.factor import Factor, Term
from dslog.lineage.table import Linear, Table
from dslog.types import I64, Mask, Shape

_FEW_ROWS = 256  # rows that are applied one by one
_MOST_SHIFTS = 64  # shifted copies that one row may need
_MOST_PAIRS = 1 << 23
_PAIRS_PER_ROW = 1 << 11  # what moving a slice costs, in cells looked up


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Along one axis: ``count`` blocks of ``width`` cells, ``step`` apart, from ``start`` on."""

    start: int
    step: int
    width: int
    count: int

    def shifted(self, offset: int) -> slice:
        """The cells ``offset`` into each block."""
        first = self.start + offset
        stop: int | None = first + self.step * self.count
        if stop is not None and stop < 0:
            stop = None
        return slice(first, stop, self.step)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, taken apart by axis: pairs (asked axis, answered axis) and what stands alone."""

    pairs: tuple[tuple[int, int, _Blocks, _Blocks], ...]
    asked: tuple[tuple[int, slice], ...]
    answered: tuple[tuple[int, slice], ...]


def apply_bitmap(
    terms: Sequence[Term], asked: Shape, answered: Shape, mask: Mask, *, backward: bool
) -> Mask | None:
    """Return the bitmap that answers a bitmap, or None if boxes are the better way."""
    plans: list[list[_Plan]] = []
    for term in terms:
        found = [_plan(factor, asked, answered, backward=backward) for factor in term]
        fitting = [plan for plan in found if plan is not None]
        if len(fitting) < len(found):
            return None
        plans.append(fitting)
    result = np.zeros(answered, bool)
    for term, steps in zip(terms, plans, strict=True):
        bits = mask
        order = list(range(len(asked)))  # asked axes that are still there, then answered ones
        done: list[int] = []
        for factor, plan in zip(term, steps, strict=True):
            q_axes, r_axes = _sides(factor, backward=backward)
            front = [order.index(axis) for axis in q_axes]
            bits = np.moveaxis(bits, front, range(len(front)))
            order = [axis for axis in order if axis not in q_axes]
            bits = _apply(plan, bits, len(q_axes), tuple(answered[a] for a in r_axes))
            bits = np.moveaxis(bits, range(len(r_axes)), range(-len(r_axes), 0))
            done += r_axes
        result |= bits.transpose(np.argsort(done))
    return result


def _sides(factor: Factor, *, backward: bool) -> tuple[Shape, Shape]:
    pair = (factor.out_axes, factor.in_axes)
    return pair if backward else pair[::-1]


_Plan = tuple[list[_Row], bool, bool] | tuple[I64 | None, I64 | None]


def _plan(factor: Factor, asked: Shape, answered: Shape, *, backward: bool) -> _Plan | None:
    """How to apply a factor, worked out once for each direction."""
    plans = factor.table.plans
    q_axes, r_axes = _sides(factor, backward=backward)
    sizes = tuple(asked[a] for a in q_axes), tuple(answered[a] for a in r_axes)
    key = (backward, factor.out_flat, factor.in_flat, *sizes)
    if key not in plans:
        plans[key] = _make_plan(factor, *sizes, backward=backward)
    return cast("_Plan | None", plans[key])


def _make_plan(factor: Factor, q_sizes: Shape, r_sizes: Shape, *, backward: bool) -> _Plan | None:
    """How to apply a factor: rows to move slices by, or cells to look up."""
    q_flat, r_flat = factor.out_flat, factor.in_flat
    if not backward:
        q_flat, r_flat = r_flat, q_flat
    table = factor.table
    most = min(_MOST_PAIRS, 8 * (math.prod(q_sizes) + math.prod(r_sizes)))
    fits = not q_flat and not r_flat and table.most_pairs <= most
    by_cell = fits and table.most_pairs < _PAIRS_PER_ROW * (len(table) - 1)
    if len(table) <= _FEW_ROWS and not by_cell:
        rows = list(_take_apart(table, backward=backward))
        if len(rows) == len(table) and all(_shifts(row) <= _MOST_SHIFTS for row in rows):
            return rows, q_flat, r_flat
    if not fits:
        return None
    out_sizes, in_sizes = (q_sizes, r_sizes) if backward else (r_sizes, q_sizes)
    outs, ins = _lookup(table, out_sizes, in_sizes)
    return (outs, ins) if backward else (ins, outs)


def _lookup(table: Table, out_sizes: Shape, in_sizes: Shape) -> Linear:
    """The linear output and input cell of every pair, worked out once."""
    key = (out_sizes, in_sizes)
    if key not in table.lookups:
        table.lookups[key] = table.linear_pairs(out_sizes, in_sizes)
    return table.lookups[key]


def _apply(plan: _Plan, bits: Mask, asked: int, sizes: Shape) -> Mask:
    """Replace the first ``asked`` axes of a bitmap by the answered ones, of the given sizes."""
    batch = bits.shape[asked:]
    if len(plan) == 3:
        rows, q_flat, r_flat = plan
        front = (math.prod(bits.shape[:asked]),) if q_flat else bits.shape[:asked]
        bits = bits.reshape(front + batch)
        result = np.zeros(((math.prod(sizes),) if r_flat else sizes) + batch, bool)
        for row in rows:
            _move(row, bits, result, len(batch))
        return result.reshape(sizes + batch)
    source, target = plan
    bits = bits.reshape((-1, *batch))
    found = bits if source is None else bits[source]
    if target is None:  # an answer for every cell, in order
        return found.reshape(sizes + batch)
    result = np.zeros((math.prod(sizes), *batch), bool)
    if not batch:
        result[target[found]] = True
    elif len(target):
        if not (target[1:] > target[:-1]).all():  # several pairs may lead to one cell
            order = np.argsort(target, kind="stable")
            target = target[order]
            first = np.flatnonzero(np.diff(target, prepend=-1))
            target, found = target[first], np.logical_or.reduceat(found[order], first, axis=0)
        result[target] = found
    return result.reshape(sizes + batch)


def _move(row: _Row, bits: Mask, result: Mask, batch: int) -> None:
    """Unite one row's answer into the result."""
    q_ndim, r_ndim = bits.ndim - batch, result.ndim - batch
    key: list[slice | int] = [slice(None)] * q_ndim
    for axis, span in row.asked:
        key[axis] = span
    found: Mask | None = None
    for offsets in itertools.product(*(range(q.width) for _, _, q, _ in row.pairs)):
        for (axis, _, blocks, _), offset in zip(row.pairs, offsets, strict=True):
            key[axis] = blocks.shifted(offset)
        part = bits[tuple(key)]
        found = part if found is None else found | part
    assert found is not None  # noqa: S101 (a product of no ranges still has one element)
    alone = tuple(axis for axis, _ in row.asked)
    if alone:
        found = np.asarray(found.any(axis=alone))
    # what is left of the asked axes are the pairs', in order of the asked axis
    kept = sorted(range(len(row.pairs)), key=lambda p: row.pairs[p][0])
    goal = sorted(range(len(row.pairs)), key=lambda p: row.pairs[p][1])
    found = found.transpose([kept.index(p) for p in goal] + list(range(len(kept), found.ndim)))
    for axis, _ in sorted(row.answered):
        found = np.expand_dims(found, axis)
    key = [slice(None)] * r_ndim
    for axis, span in row.answered:
        key[axis] = span
    for offsets in itertools.product(*(range(r.width) for _, _, _, r in row.pairs)):
        for (_, axis, _, blocks), offset in zip(row.pairs, offsets, strict=True):
            key[axis] = blocks.shifted(offset)
        result[tuple(key)] |= found


def _shifts(row: _Row) -> int:
    return math.prod(q.width for _, _, q, _ in row.pairs) + math.prod(
        r.width for _, _, _, r in row.pairs
    )


def _take_apart(table: Table, *, backward: bool) -> Iterator[_Row]:
    """Yield the rows that come apart by axis; stop at the first that does not."""
    l, m = table.num_out, table.num_in
    for r in range(len(table)):
        paired = _pair_axes(table, r)
        if paired is None:
            return
        row = table.rows[r].tolist()
        outs = {j for j, _, _, _ in paired}
        ins = {i for _, i, _, _ in paired}
        lone_out = tuple((j, slice(row[j], row[l + j] + 1)) for j in range(l) if j not in outs)
        lone_in = tuple(
            (i, slice(row[2 * l + i], row[2 * l + m + i] + 1)) for i in range(m) if i not in ins
        )
        if backward:
            yield _Row(tuple(paired), lone_out, lone_in)
        else:
            swapped = tuple((i, j, a, b) for j, i, b, a in paired)
            yield _Row(swapped, lone_in, lone_out)


def _pair_axes(table: Table, r: int) -> list[tuple[int, int, _Blocks, _Blocks]] | None:
    """Find the axes of a row that go together, one output with one input; None if others do."""
    l, m = table.num_out, table.num_in
    row, ref = table.rows[r].tolist(), table.ref[r].tolist()
    pairs: list[tuple[int, int, _Blocks, _Blocks]] = []
    for i in range(m):
        j = ref[i]
        if j >= 0:
            lo, hi = row[2 * l + i], row[2 * l + m + i]
            count = row[l + j] - row[j] + 1
            blocks = _Blocks(row[j] + lo, 1, hi - lo + 1, count)
            pairs.append((j, i, _Blocks(row[j], 1, 1, count), blocks))
    for count, step in zip(table.count[r].tolist(), table.step[r].tolist(), strict=True):
        if count == 1:
            continue
        out = [j for j in range(l) if step[j] or step[l + j]]
        inp = [i for i in range(m) if step[2 * l + i] or step[2 * l + m + i]]
        if len(out) != 1 or len(inp) != 1:
            return None
        (j,), (i,) = out, inp
        a, b = 2 * l + i, 2 * l + m + i
        if step[j] != step[l + j] or step[a] != step[b] or ref[i] >= 0:
            return None
        pairs.append(
            (
                j,
                i,
                _Blocks(row[j], step[j], row[l + j] - row[j] + 1, count),
                _Blocks(row[a], step[a], row[b] - row[a] + 1, count),
            )
        )
    outs, ins = [p[0] for p in pairs], [p[1] for p in pairs]
    return pairs if len(set(outs)) == len(outs) and len(set(ins)) == len(ins) else None
