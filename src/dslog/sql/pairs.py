"""The pairs of a lineage, piece by piece: never more of them at a time than a batch needs.

Output cells are cut into boxes until the pairs of each are few enough; the pairs of all lineages
between the two arrays are united there, so that every pair comes once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.relation.relation import sort_unique
from dslog.types import I64, Shape

MOST_PAIRS = 1 << 20


def pairs_within(lineages: Sequence[Lineage], window: I64, most: int = MOST_PAIRS) -> Iterator[I64]:
    """Yield the pairs (n, l + m) within a window over all axes, each once, in order of outputs."""
    l = len(lineages[0].out_shape) if lineages else 0
    if (window[:, 0] > window[:, 1]).any():
        return
    waiting = [window[:l]]
    while waiting:
        box = waiting.pop()
        clipped = [_clip(lineage, box) for lineage in lineages]
        axis = int(np.argmax(box[:, 1] - box[:, 0])) if l else 0
        if l and box[axis, 0] < box[axis, 1] and sum(map(_pairs, clipped)) > most:
            waiting += _halves(box, axis)[::-1]
            continue
        found = [lineage.to_relation() for lineage in clipped if lineage.terms]
        if found:
            yield _inside(sort_unique(np.concatenate(found), _shape(lineages[0])), box, window)


def _halves(box: I64, axis: int) -> list[I64]:
    middle = int(box[axis].sum() // 2)
    first, second = box.copy(), box.copy()
    first[axis, 1], second[axis, 0] = middle, middle + 1
    return [first, second]


def _inside(pairs: I64, box: I64, window: I64) -> I64:
    """Drop what clipping alone could not: cells of linear views, and inputs outside."""
    ends = np.concatenate([box, window[len(box) :]])
    keep = ((pairs >= ends[:, 0]) & (pairs <= ends[:, 1])).all(axis=1)
    return pairs if keep.all() else pairs[keep]


def _shape(lineage: Lineage) -> Shape:
    return lineage.out_shape + lineage.in_shape


def _pairs(lineage: Lineage) -> float:
    """About how many pairs a lineage stands for, never fewer."""
    return sum(
        float(np.prod([factor.table.most_pairs for factor in term])) for term in lineage.terms
    )


def _clip(lineage: Lineage, box: I64) -> Lineage:
    """Return a lineage with the rows that meet a box of output cells, cut to it where that is easy.

    A forward-oriented lineage has no output intervals to cut; it is left whole.
    """
    if lineage.orientation == "forward":
        return lineage
    terms = []
    for term in lineage.terms:
        clipped = _clip_term(term, box, lineage.out_shape)
        if clipped is not None:
            terms.append(clipped)
    return Lineage(lineage.out_shape, lineage.in_shape, tuple(terms))


def _clip_term(term: Term, box: I64, out_shape: Shape) -> Term | None:
    factors = []
    for factor in term:
        ends = box[list(factor.out_axes)]
        if factor.out_flat:
            sizes = tuple(out_shape[axis] for axis in factor.out_axes)
            linear = [int(np.ravel_multi_index(ends[:, side], sizes)) for side in (0, 1)]
            ends = np.array([linear], np.int64)
        table = _clip_table(factor.table, ends)
        if len(table) == 0:
            return None
        factors.append(
            Factor(factor.out_axes, factor.in_axes, table, factor.out_flat, factor.in_flat)
        )
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
        if inside.all():
            return table
        return _clip_table(table.unfold(), ends)
    rows = table.rows.copy()
    l = table.num_out
    np.maximum(rows[:, :l], ends[:, 0], out=rows[:, :l])
    np.minimum(rows[:, l : 2 * l], ends[:, 1], out=rows[:, l : 2 * l])
    return Table.plain(l, table.num_in, rows, table.ref)
