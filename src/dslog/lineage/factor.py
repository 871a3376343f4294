"""Products of Tables over disjoint groups of axes, and queries against them.

A relation that acts on groups of axes independently (a resize, a filter of rows) is the product of
its projections. A query box is a product too, so it goes to each factor by its projection and the
answers are multiplied: exact, at the cost of the factors and not of their product.

Decompression: a product of Tables as the raw relation it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from dslog.cells.boxes import coalesce
from dslog.cells.linear import from_intervals, to_intervals
from dslog.lineage.join import Hits, join
from dslog.lineage.table import Table
from dslog.relation.relation import sort_unique
from dslog.types import I64, Shape


@dataclass(frozen=True, slots=True)
class Factor:
    """A Table over some output axes and some input axes, either side possibly linearised."""

    out_axes: Shape
    in_axes: Shape
    table: Table
    out_flat: bool = False
    in_flat: bool = False

    @property
    def is_flat(self) -> bool:
        """Whether some axes are linearised."""
        return self.out_flat or self.in_flat

    @property
    def is_plain(self) -> bool:
        """Whether axes are in order and not linearised, so that boxes fit as they are."""
        if self.is_flat:
            return False
        axes = (self.out_axes, self.in_axes)
        return all(some == tuple(range(len(some))) for some in axes)

    def with_table(self, table: Table) -> Factor:
        """Return another table over the same axes."""
        return replace(self, table=table)

    def sizes(self, out_shape: Shape, in_shape: Shape) -> tuple[Shape, Shape]:
        """Return how long the table's axes are in arrays of these shapes."""
        outs = tuple(out_shape[j] for j in self.out_axes)
        ins = tuple(in_shape[i] for i in self.in_axes)
        return (
            (prod(outs),) if self.out_flat else outs,
            (prod(ins),) if self.in_flat else ins,
        )

    def axis_names(self, out: str = "b", inp: str = "a") -> tuple[list[str], list[str]]:
        """Return what people call the table's axes, ``linear(b0, b1)`` for linearised ones."""
        sides = []
        for letter, axes, flat in (
            (out, self.out_axes, self.out_flat),
            (inp, self.in_axes, self.in_flat),
        ):
            names = [f"{letter}{axis}" for axis in axes]
            sides.append([f"linear({', '.join(names)})"] if flat else names)
        return sides[0], sides[1]

    def axis_columns(self, out: str = "b", inp: str = "a") -> tuple[list[str], list[str]]:
        """Return names of columns for the table's axes; linearised ones take their first axis's."""
        outs = [f"{out}{axis}" for axis in self.out_axes]
        ins = [f"{inp}{axis}" for axis in self.in_axes]
        return outs[:1] if self.out_flat else outs, ins[:1] if self.in_flat else ins

    def flat_sides(self, out: str = "b", inp: str = "a") -> str:
        """Return the letters of the sides that are linearised."""
        return out * self.out_flat + inp * self.in_flat


Term = tuple[Factor, ...]  # a product; its factors' axes partition the axes of both arrays


def num_rows(terms: Iterable[Term]) -> int:
    """Return the compressed rows of products, over all factors; a folded row counts once."""
    return sum(len(factor.table) for term in terms for factor in term)


def whole(table: Table) -> Term:
    """Make the term of one table over all axes."""
    return (Factor(tuple(range(table.num_out)), tuple(range(table.num_in)), table),)


def join_term(
    term: Term, out_shape: Shape, in_shape: Shape, queries: I64, *, backward: bool
) -> Hits:
    """Join query boxes over one array with a product, giving boxes over the other."""
    if len(term) == 1 and term[0].is_plain:
        return join(term[0].table, queries, backward=backward)
    result_ndim = len(in_shape if backward else out_shape)
    parts = []
    scanned = matched = 0
    for factor in term:
        q_axes = factor.out_axes if backward else factor.in_axes
        if len(term) == 1:
            distinct, which = queries[:, q_axes], np.zeros(0, np.int64)
        else:
            distinct, which = _distinct(queries[:, q_axes])
        hits = _join_factor(factor, out_shape, in_shape, distinct, backward=backward)
        scanned, matched = scanned + hits.scanned, matched + hits.matched
        if len(term) > 1:
            hits = _merge(hits)
        parts.append((which, len(distinct), hits))
    if len(term) == 1:
        which, _, hits = parts[0]
        axes = term[0].in_axes if backward else term[0].out_axes
        return Hits(hits.query, hits.boxes[:, np.argsort(axes)], scanned, matched)
    query, picks = _multiply(len(queries), parts)
    boxes = np.empty((len(query), result_ndim, 2), np.int64)
    for factor, (_, _, hits), pick in zip(term, parts, picks, strict=True):
        axes = factor.in_axes if backward else factor.out_axes
        boxes[:, axes] = hits.boxes[pick]
    return Hits(query, boxes, scanned, matched)


def _join_factor(
    factor: Factor, out_shape: Shape, in_shape: Shape, queries: I64, *, backward: bool
) -> Hits:
    outs = tuple(out_shape[j] for j in factor.out_axes), factor.out_flat
    ins = tuple(in_shape[i] for i in factor.in_axes), factor.in_flat
    (q_sizes, q_flat), (r_sizes, r_flat) = (outs, ins) if backward else (ins, outs)
    if q_flat:
        source, linear = to_intervals(queries, q_sizes)
        queries = linear[:, None]
    hits = join(factor.table, queries, backward=backward)
    if q_flat:
        hits = replace(hits, query=source[hits.query])
    if r_flat:
        hits = _merge(hits)
        source, boxes = from_intervals(hits.boxes[:, 0], r_sizes)
        hits = replace(hits, query=hits.query[source], boxes=boxes)
    return hits


def _distinct(queries: I64) -> tuple[I64, I64]:
    """Return the distinct boxes and, for each given box, which of them it is."""
    k, d = queries.shape[:2]
    if k <= 1 or d == 0:
        return queries[:1], np.zeros(k, np.int64)
    flat, which = np.unique(queries.reshape(k, 2 * d), axis=0, return_inverse=True)
    return flat.reshape(-1, d, 2), which.reshape(-1)


def _merge(hits: Hits) -> Hits:
    """Merge the boxes of each query box among themselves, sorted by query box."""
    if len(hits.query) == 0:
        return hits
    # the query as an axis of its own; doubled, so that neighbours never touch
    tag = np.repeat(2 * hits.query[:, None, None], 2, axis=2)
    boxes = coalesce(np.concatenate([tag, hits.boxes], axis=1))
    boxes = boxes[np.argsort(boxes[:, 0, 0], kind="stable")]
    return Hits(boxes[:, 0, 0] // 2, boxes[:, 1:], hits.scanned, hits.matched)


def _multiply(queries: int, parts: Sequence[tuple[I64, int, Hits]]) -> tuple[I64, list[I64]]:
    """Pair up the factors' hits for each query: the query of each pairing, and each one's hit."""
    counts, firsts = [], []
    for which, distinct, hits in parts:
        count = np.bincount(hits.query, minlength=distinct)
        counts.append(count[which])
        firsts.append((np.cumsum(count) - count)[which])
    total = np.prod(counts, axis=0) if queries else np.zeros(0, np.int64)
    query = np.repeat(np.arange(queries), total)
    t = np.arange(len(query)) - (np.cumsum(total) - total)[query]
    picks: list[I64] = []
    for count, first in zip(counts, firsts, strict=True):
        size = count[query]
        picks.append(first[query] + t % size)
        t //= size
    return query, picks


def expand_terms(terms: Sequence[Term], out_shape: Shape, in_shape: Shape) -> I64:
    """Return the relation (n, l + m) of a union of products, sorted, without repeats."""
    shape = out_shape + in_shape
    parts = [_expand_term(term, out_shape, in_shape) for term in terms]
    if not parts:
        return np.zeros((0, len(shape)), np.int64)
    return sort_unique(np.concatenate(parts), shape)


def _expand_term(term: Term, out_shape: Shape, in_shape: Shape) -> I64:
    l = len(out_shape)
    blocks, columns = [], []
    for factor in term:
        cells = factor.table.expand()
        cut = factor.table.num_out
        out = _unravel(cells[:, :cut], [out_shape[j] for j in factor.out_axes], factor.out_flat)
        inp = _unravel(cells[:, cut:], [in_shape[i] for i in factor.in_axes], factor.in_flat)
        blocks.append(np.concatenate([out, inp], axis=1))
        columns.append([*factor.out_axes, *(l + i for i in factor.in_axes)])
    total = prod(len(b) for b in blocks)
    result = np.empty((total, l + len(in_shape)), np.int64)
    t = np.arange(total)
    for block, column in zip(blocks, columns, strict=True):
        if total:
            result[:, column] = block[t % len(block)]
            t //= len(block)
    return result


def _unravel(cells: I64, sizes: Sequence[int], flat: bool) -> I64:
    if not flat:
        return cells
    return np.stack(np.unravel_index(cells[:, 0], tuple(sizes)), axis=1).astype(np.int64)
