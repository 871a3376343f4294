"""Queries by bitmap: when the asked cells are scattered, move their bits instead of joining boxes.

A product is applied factor by factor, the other axes carried along. A factor of few rows moves
whole slices: along each axis a row is either a *pair* of strided blocks (output block t goes with
input block t) or an interval that pairs with nothing. A factor of many rows looks its cells up.
What fits neither goes by way of boxes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np

from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Interval, Linear, Row, Table
from dslog.types import I64, Mask, Shape


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
class _Move:
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


_Plan = tuple[list[_Move], bool, bool] | tuple[I64 | None, I64 | None]


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
    table, cost = factor.table, LineageCost.current()
    most = min(cost.most_pairs, 8 * (prod(q_sizes) + prod(r_sizes)))
    fits = not factor.is_flat and table.most_pairs <= most
    by_cell = fits and table.most_pairs < cost.pairs_per_row * (len(table) - 1)
    if len(table) <= cost.few_rows and not by_cell:
        rows = list(_take_apart(table, backward=backward))
        if len(rows) == len(table) and all(_shifts(row) <= cost.most_shifts for row in rows):
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
        front = (prod(bits.shape[:asked]),) if q_flat else bits.shape[:asked]
        bits = bits.reshape(front + batch)
        result = np.zeros(((prod(sizes),) if r_flat else sizes) + batch, bool)
        for row in rows:
            _move(row, bits, result, len(batch))
        return result.reshape(sizes + batch)
    source, target = plan
    bits = bits.reshape((-1, *batch))
    found = bits if source is None else bits[source]
    if target is None:  # an answer for every cell, in order
        return found.reshape(sizes + batch)
    result = np.zeros((prod(sizes), *batch), bool)
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


def _move(row: _Move, bits: Mask, result: Mask, batch: int) -> None:
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


def _shifts(row: _Move) -> int:
    return prod(q.width for _, _, q, _ in row.pairs) + prod(r.width for _, _, _, r in row.pairs)


def _take_apart(table: Table, *, backward: bool) -> Iterator[_Move]:
    """Yield the rows that come apart by axis; stop at the first that does not."""
    for r in range(len(table)):
        row = table.row(r)
        paired = _pair_axes(row)
        if paired is None:
            return
        outs = {j for j, _, _, _ in paired}
        ins = {i for _, i, _, _ in paired}
        lone_out = tuple((j, _span(ends)) for j, ends in enumerate(row.outs) if j not in outs)
        lone_in = tuple((i, _span(ends)) for i, ends in enumerate(row.ins) if i not in ins)
        if backward:
            yield _Move(tuple(paired), lone_out, lone_in)
        else:
            swapped = tuple((i, j, a, b) for j, i, b, a in paired)
            yield _Move(swapped, lone_in, lone_out)


def _span(ends: Interval) -> slice:
    return slice(ends[0], ends[1] + 1)


def _pair_axes(row: Row) -> list[tuple[int, int, _Blocks, _Blocks]] | None:
    """Find the axes of a row that go together, one output with one input; None if others do."""
    pairs: list[tuple[int, int, _Blocks, _Blocks]] = []
    for i, (j, (lo, hi)) in enumerate(zip(row.refs, row.ins, strict=True)):
        if j >= 0:
            first, last = row.outs[j]
            count = last - first + 1
            blocks = _Blocks(first + lo, 1, hi - lo + 1, count)
            pairs.append((j, i, _Blocks(first, 1, 1, count), blocks))
    for fold in row.folds:
        outs = [j for j, step in enumerate(fold.outs) if any(step)]
        ins = [i for i, step in enumerate(fold.ins) if any(step)]
        if len(outs) != 1 or len(ins) != 1:
            return None
        (j,), (i,) = outs, ins
        if len({*fold.outs[j]}) > 1 or len({*fold.ins[i]}) > 1 or row.refs[i] >= 0:
            return None
        sides = ((row.outs[j], fold.outs[j][0]), (row.ins[i], fold.ins[i][0]))
        out, inp = (_Blocks(lo, step, hi - lo + 1, fold.count) for (lo, hi), step in sides)
        pairs.append((j, i, out, inp))
    outs, ins = [p[0] for p in pairs], [p[1] for p in pairs]
    return pairs if len(set(outs)) == len(outs) and len(set(ins)) == len(ins) else None
