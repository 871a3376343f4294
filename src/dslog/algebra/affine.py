"""Lineage of calls that move cells by a formula, written down without looking at the cells.

An affine map sends output cell b to input cell ``a_i = start_i + sum_j step_ij * b_j``. Slices,
flips, transposes, diagonals and windows are all affine; reshapes are affine on the linear index.
Each takes a number of rows that does not depend on the number of cells.

Lineages that are affine maps, read back as matrices, so that two can be multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from dslog.algebra.product import all_to_all
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Fold, Row, Table
from dslog.types import I64, Shape


def affine(out_shape: Shape, in_shape: Shape, start: Iterable[int], step: npt.ArrayLike) -> Lineage:
    """Each output cell b from the input cell ``start + step @ b``.

    ``step`` has a row per input axis and a column per output axis. Every cell must exist.
    """
    cells = prod(out_shape)
    if cells == 0:
        return Lineage.empty(out_shape, in_shape)
    if cells == 1:
        return point(out_shape, in_shape, (0,) * len(out_shape), start)
    steps = np.array(step, np.int64).reshape(len(in_shape), len(out_shape))
    steps[:, [size == 1 for size in out_shape]] = 0
    origin = [int(value) for value in start]
    simple = _simple(steps)
    groups = [simple, *_connected(steps, simple)]
    term = tuple(_factor(out_shape, origin, steps, *group) for group in groups if any(group))
    return Lineage(out_shape, in_shape, (term,) if term else ((_scalar(),),))


def point(out_shape: Shape, in_shape: Shape, out: Iterable[int], in_: Iterable[int]) -> Lineage:
    """One output cell from one input cell."""
    l, m = len(out_shape), len(in_shape)
    columns = np.zeros((2 * l + 3 * m, 1), np.int64)
    columns[: l + m, 0] = [*out, *in_]
    columns[2 * (l + m) :] = -1
    return Lineage.of_table(out_shape, in_shape, Table(l, m, columns))


def linear(out_shape: Shape, in_shape: Shape, first: int, steps: Sequence[int]) -> Lineage:
    """Each output cell b from the input cell at C-order position ``first + steps @ b``."""
    if not in_shape:
        return all_to_all(out_shape, in_shape)
    lineage = affine(out_shape, (prod(in_shape),), [first], [list(steps)])
    axes = tuple(range(len(in_shape)))
    terms = tuple(
        tuple(replace(f, in_axes=axes, in_flat=True) if f.in_axes else f for f in term)
        for term in lineage.terms
    )
    return Lineage(out_shape, in_shape, terms)


Group = tuple[tuple[int, ...], tuple[int, ...]]  # output axes, input axes


def _simple(steps: I64) -> Group:
    """The axes that need no fold: each input axis follows at most one output axis, by steps of 1.

    They share one row.
    """
    bad_in = (np.count_nonzero(steps, axis=1) > 1) | ((steps != 0) & (steps != 1)).any(axis=1)
    bad_out = steps[bad_in].any(axis=0)
    while True:  # whatever hangs together with an axis that folds goes with it
        more_in = bad_in | steps[:, bad_out].any(axis=1)
        more_out = bad_out | steps[more_in].any(axis=0)
        if (more_in == bad_in).all() and (more_out == bad_out).all():
            break
        bad_in, bad_out = more_in, more_out
    return tuple(np.flatnonzero(~bad_out).tolist()), tuple(np.flatnonzero(~bad_in).tolist())


def _connected(steps: I64, without: Group) -> Iterable[Group]:
    """The other axes, in groups that do not depend on each other."""
    left = [j for j in range(steps.shape[1]) if j not in without[0]]
    while left:
        outs = {left[0]}
        while True:
            ins = set(np.flatnonzero(steps[:, sorted(outs)].any(axis=1)).tolist())
            more = set(np.flatnonzero(steps[sorted(ins)].any(axis=0)).tolist())
            if more <= outs:
                break
            outs |= more
        left = [j for j in left if j not in outs]
        yield tuple(sorted(outs)), tuple(sorted(ins))


def _factor(
    out_shape: Shape, start: Sequence[int], steps: I64, outs: Sequence[int], ins: Sequence[int]
) -> Factor:
    """One row over some axes: output axes that inputs follow by 1 are ranges, the others fold."""
    part = steps[np.ix_(ins, outs)]
    refs = np.full(len(ins), -1, np.int64)
    ends = [(0, 0)] * len(outs)
    folded = []
    for j in sorted(range(len(outs)), key=lambda j: -out_shape[outs[j]]):
        follows = part[:, j] == 1
        if ((part[:, j] == 0) | follows).all() and (refs[follows] < 0).all():
            refs[follows] = j
            ends[j] = (0, out_shape[outs[j]] - 1)
        else:
            folded.append(j)
    folds = tuple(
        Fold(
            out_shape[outs[j]],
            tuple((int(k == j),) * 2 for k in range(len(outs))),
            tuple((by, by) for by in part[:, j].tolist()),
        )
        for j in sorted(folded)
    )
    row = Row(tuple(ends), tuple((start[i],) * 2 for i in ins), tuple(refs.tolist()), folds)
    return Factor(tuple(outs), tuple(ins), Table.of_rows(len(outs), len(ins), [row]))


def _scalar() -> Factor:
    return Factor((), (), Table.point())


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
    if not lineage.is_backward or len(lineage.terms) != 1:
        return None
    start = np.zeros(len(lineage.in_shape), np.int64)
    step = np.zeros((len(lineage.in_shape), len(lineage.out_shape)), np.int64)
    for factor in lineage.terms[0]:
        if not _read(factor, lineage.out_shape, start, step):
            return None
    return Affine(lineage.out_shape, lineage.in_shape, start, step)


def _read(factor: Factor, out_shape: Shape, start: I64, step: I64) -> bool:
    """Add the axes of a factor of one row; False when it is not affine, or leaves cells out."""
    if len(factor.table) != 1 or factor.is_flat:
        return False
    row = factor.table.row(0)
    if any(lo for lo, _ in row.outs) or any(lo != hi for lo, hi in row.ins):
        return False
    sizes = [hi + 1 for _, hi in row.outs]
    ins, outs = list(factor.in_axes), list(factor.out_axes)
    start[ins] = [lo for lo, _ in row.ins]
    for i, ref in enumerate(row.refs):
        if ref >= 0:
            step[ins[i], outs[ref]] = 1
    for fold in row.folds:
        moved = [j for j, by in enumerate(fold.outs) if any(by)]
        if any(lo != hi for lo, hi in fold.outs + fold.ins) or len(moved) != 1:
            return False
        (j,) = moved
        if fold.outs[j][0] != 1 or sizes[j] != 1 or j in row.refs:
            return False
        sizes[j] = fold.count
        step[ins, outs[j]] = [by for by, _ in fold.ins]
    return sizes == [out_shape[j] for j in outs]
