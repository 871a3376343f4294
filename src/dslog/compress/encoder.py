"""The encoder: from a raw relation to the smallest Lineage it can find without trying everything.

ProvRC first: it is one or two passes and often leaves a row or two. What is left is folded; if rows
remain, products are looked for (each factor is folded in turn), then the linear view of the
cells, each behind a test that costs a fraction of the attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, get_args

import numpy as np

from dslog.compress.compress_cost import CompressCost
from dslog.compress.factors import factorise
from dslog.compress.kernels import each_once, linear_column
from dslog.compress.provrc import fold, provrc, provrc_ranges
from dslog.errors import DslogError, ShapeError
from dslog.lineage.factor import Factor, Term, num_rows, whole
from dslog.lineage.lineage import Lineage, Orientation
from dslog.lineage.table import Table, concat
from dslog.relation.relation import as_shape, linear_strides, read
from dslog.types import I64, Shape

Method = Literal["auto", "provrc", "factors", "folds"]


def compress(
    relation: Any,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    method: Method = "auto",
    orientation: Orientation | None = None,
) -> Lineage:
    """Compress a raw relation: an integer array (n, l + m), or an Arrow table b0.. a0.. .

    ``method`` "provrc" is the paper's algorithm alone; "folds" and "factors" add one layer to it;
    "auto" keeps the smallest form. ``orientation`` says whose axes are absolute in the rows:
    the output's ("backward") or the input's ("forward"). By default the output's, but "auto" takes
    the input's where each input cell feeds one output cell without any order, as in a group-by.

    >>> lin = compress([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], (2,), (2, 2))
    >>> print(lin.describe())
    a0 = b0, a1 in [0, 1], for b0 in [0, 1]
    """
    if method not in get_args(Method):
        msg = f"unknown method {method!r}: use one of {', '.join(get_args(Method))}"
        raise DslogError(msg)
    out_shape, in_shape = as_shape(out_shape), as_shape(in_shape)
    pairs = read(relation, out_shape, in_shape)
    if orientation is None:
        forward = method == "auto" and _scatters(pairs, out_shape, in_shape)
        orientation = "forward" if forward else "backward"
    if orientation == "backward":
        terms = _encode(pairs, out_shape, in_shape, method)
    else:
        l = len(out_shape)
        swapped = np.ascontiguousarray(np.concatenate([pairs[:, l:], pairs[:, :l]], axis=1))
        terms = _encode(swapped, in_shape, out_shape, method)
    return Lineage(out_shape, in_shape, terms, orientation=orientation)


def _scatters(pairs: I64, out_shape: Shape, in_shape: Shape) -> bool:
    """Whether each input cell has one output cell, several share one, and a sample shows no order.

    Then the output cell of each input cell, in order, is all there is to write.
    """
    n, cost = len(pairs), CompressCost.current()
    if n < cost.scatter_pairs or n != prod(in_shape) or n == prod(out_shape):
        return False
    size = cost.prefix_pairs
    middle = (n - size) // 2
    sample = provrc(pairs[middle : middle + size], out_shape, in_shape, thorough=False)
    if len(sample) * 4 < size:
        return False
    strides = linear_strides(in_shape)
    return strides is not None and each_once(pairs, len(out_shape), strides, n)


def recompress(lineages: Sequence[Lineage], method: Method = "auto") -> Lineage:
    """Unite Lineages over the same arrays and compress the result again."""
    first = lineages[0]
    for other in lineages:
        if (other.out_shape, other.in_shape, other.orientation) != (
            first.out_shape,
            first.in_shape,
            first.orientation,
        ):
            msg = f"can't unite {first!r} with {other!r}: shapes or orientations differ"
            raise ShapeError(msg)
    simple = [t for lin in lineages for t in lin.terms if len(t) == 1 and not t[0].is_flat]
    other_terms = [t for lin in lineages for t in lin.terms if len(t) > 1 or t[0].is_flat]
    terms: tuple[Term, ...] = ()
    if simple:  # a term of one factor holds all axes, in order
        table = provrc_ranges(concat([t[0].table for t in simple]))
        terms = encode_table(table, *first.sides, method)
    return Lineage(
        first.out_shape,
        first.in_shape,
        terms + tuple(other_terms),
        exact=all(lin.exact for lin in lineages),
        orientation=first.orientation,
    )


def _encode(pairs: I64, out_shape: Shape, in_shape: Shape, method: Method) -> tuple[Term, ...]:
    table = provrc(pairs, out_shape, in_shape, thorough=method == "provrc")
    return encode_table(table, out_shape, in_shape, method, pairs)


def encode_table(
    table: Table,
    out_shape: Shape,
    in_shape: Shape,
    method: Method = "auto",
    pairs: I64 | None = None,
) -> tuple[Term, ...]:
    """Encode ProvRC's rows further; ``pairs``, if at hand, lets the linear view be tried."""
    if len(table) == 0:
        return ()
    plain = (whole(table),)
    enough = CompressCost.current().enough_rows
    if method == "provrc" or len(table) <= enough:
        return plain
    if method == "factors":
        return factorise(table) or plain
    best = _folded(whole(table)[0])
    if num_rows(best) <= enough:
        return best
    if method == "auto" and len(table) >= CompressCost.current().factor_rows:
        product = factorise(table)
        if product is not None:
            refined = tuple(t for term in product for t in refine(term, out_shape, in_shape))
            best = min(best, refined, key=num_rows)
    linear = _linear(whole(table)[0], out_shape, in_shape, num_rows(best), pairs)
    return best if linear is None else (linear,)


def _folded(factor: Factor) -> tuple[Term, ...]:
    """Fold a factor; many rows that did not fold go to a term of their own."""
    table = factor.table
    folded = fold(table)
    if folded.levels == 0:
        return ((factor.with_table(folded),),)
    alone = (folded.count == 1).all(axis=0)
    many = int(np.count_nonzero(alone))
    if many <= CompressCost.current().mixed_rows:
        return ((factor.with_table(folded),),)
    if many * 4 > 3 * len(table):  # hardly anything folds
        return ((factor.with_table(table),),)
    single = Table(table.num_out, table.num_in, folded.take(alone).matrix)
    return (factor.with_table(folded.take(~alone)),), (factor.with_table(single),)


def refine(term: Term, out_shape: Shape, in_shape: Shape) -> tuple[Term, ...]:
    """Fold each factor of a product, or take its linear view."""
    factors: list[Factor] = []
    for factor in term:
        folded = fold(factor.table)
        best = factor.with_table(folded) if len(folded) * 2 <= len(factor.table) else factor
        linear = _linear(factor, out_shape, in_shape, len(best.table))
        factors.append(best if linear is None else linear[0])
    return (tuple(factors),)


def _linear(
    factor: Factor,
    out_shape: Shape,
    in_shape: Shape,
    limit: int,
    pairs: I64 | None = None,
) -> Term | None:
    """Return the factor over linear cells if that takes at most a quarter of ``limit`` rows."""
    out_sizes = tuple(out_shape[j] for j in factor.out_axes)
    in_sizes = tuple(in_shape[i] for i in factor.in_axes)
    outs, ins = (sum(size > 1 for size in sizes) > 1 for sizes in (out_sizes, in_sizes))
    views = [
        (out_flat, in_flat)
        for out_flat, in_flat in ((True, True), (False, True), (True, False))
        if outs >= out_flat and ins >= in_flat
    ]
    if limit <= CompressCost.current().enough_rows or not views or not (out_sizes and in_sizes):
        return None
    if pairs is None:
        if factor.table.most_pairs > CompressCost.current().expand_pairs:
            return None
        pairs = factor.table.expand()
    best: Table | None = None
    chosen = views[0]
    for out_flat, in_flat in views:
        table = _try_linear(pairs, out_sizes, in_sizes, out_flat, in_flat, limit)
        if table is not None and (best is None or len(table) < len(best)):
            best, chosen = table, (out_flat, in_flat)
            if len(table) == 1:
                break
    if best is None:
        return None
    return (Factor(factor.out_axes, factor.in_axes, best, *chosen),)


def _try_linear(
    pairs: I64, out_sizes: Shape, in_sizes: Shape, out_flat: bool, in_flat: bool, limit: int
) -> Table | None:
    l = len(out_sizes)
    sides = []
    for first, sizes, flat in ((0, out_sizes, out_flat), (l, in_sizes, in_flat)):
        strides = linear_strides(sizes)
        if flat and strides is None:
            return None
        sides.append((first, (prod(sizes),) if flat else sizes, strides if flat else None))
    shapes = sides[0][1], sides[1][1]

    def view(some: I64) -> I64:
        seen = np.empty((len(some), len(shapes[0]) + len(shapes[1])), np.int64)
        at = 0
        for first, shape, strides in sides:
            if strides is None:
                seen[:, at : at + len(shape)] = some[:, first : first + len(shape)]
            else:
                linear_column(some, first, strides, seen, at)
            at += len(shape)
        return seen

    prefix = CompressCost.current().prefix_pairs
    if len(pairs) > 2 * prefix:
        head = view(pairs[:prefix])
        if len(fold(provrc(head, *shapes, thorough=False))) * 64 > prefix:
            return None
    table = fold(provrc(view(pairs), *shapes, thorough=False))
    return table if len(table) * 4 <= limit else None
