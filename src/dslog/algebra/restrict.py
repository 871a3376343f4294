"""Lineages cut down to some of their cells, and unions of lineages between the same two arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dslog.algebra.algebra_cost import AlgebraCost
from dslog.compress.encoder import compress, recompress
from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import I64, Mask, Shape


def union(*lineages: Lineage) -> Lineage:
    """Return the pairs that are in any of some lineages over the same shapes."""
    first = lineages[0]
    if len(lineages) == 1:
        return first
    terms: list[Term] = []
    for one in lineages:
        terms += [t for t in one.terms if not any(_same(t, other) for other in terms)]
    alike = all(one.orientation == first.orientation for one in lineages)
    if not alike or len(terms) > AlgebraCost.current().most_terms:
        return recompress([_turned(one) for one in lineages])
    exact = all(one.exact for one in lineages)
    return replace(first, terms=tuple(terms), exact=exact)


def _same(a: Term, b: Term) -> bool:
    return len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b, strict=True))


def _turned(lineage: Lineage) -> Lineage:
    """The same with the output's axes as the absolute ones."""
    if lineage.is_backward:
        return lineage
    shapes = lineage.out_shape, lineage.in_shape
    turned = compress(lineage.to_relation(), *shapes, orientation="backward")
    return turned.with_exact(lineage.exact)


def restrict(lineage: Lineage, out: Mask | None = None, in_: Mask | None = None) -> Lineage:
    """Keep the pairs whose output cell, or input cell, is marked."""
    pairs = lineage.to_relation()
    l = len(lineage.out_shape)
    if out is not None:
        pairs = pairs[np.broadcast_to(out[tuple(pairs[:, :l].T)], len(pairs))]
    if in_ is not None:
        pairs = pairs[np.broadcast_to(in_[tuple(pairs[:, l:].T)], len(pairs))]
    restricted = compress(pairs, lineage.out_shape, lineage.in_shape)
    return restricted.with_exact(lineage.exact)


def clip(lineage: Lineage, box: I64) -> Lineage:
    """Return a lineage with the rows that meet a box of output cells, cut to it where that is easy.

    Linear views keep what lies between the first and the last cell of the box. A forward-oriented
    lineage has no output intervals to cut; it is left whole.
    """
    if not lineage.is_backward:
        return lineage
    clipped = [_clip_term(term, box, lineage.out_shape) for term in lineage.terms]
    return replace(lineage, terms=tuple(term for term in clipped if term is not None))


def _clip_term(term: Term, box: I64, out_shape: Shape) -> Term | None:
    factors: list[Factor] = []
    for factor in term:
        ends = box[list(factor.out_axes)]
        if factor.out_flat:
            sizes = tuple(out_shape[axis] for axis in factor.out_axes)
            linear = [int(np.ravel_multi_index(ends[:, side], sizes)) for side in (0, 1)]
            ends = np.array([linear], np.int64)
        table = _clip_table(factor.table, ends)
        if len(table) == 0:
            return None
        factors.append(factor.with_table(table))
    return tuple(factors)


def _clip_table(table: Table, ends: I64) -> Table:
    lo, hi = table.bounds[:2]
    meets = ((lo <= ends[:, 1]) & (hi >= ends[:, 0])).all(axis=1)
    if not meets.all():
        table = table.take(meets)
    if len(table) == 0:
        return table
    if table.levels:
        inside = (table.bounds[0] >= ends[:, 0]) & (table.bounds[1] <= ends[:, 1])
        return table if inside.all() else _clip_table(table.unfold(), ends)
    return table.clip_outputs(ends[:, :1], ends[:, 1:])
