"""Unions and restrictions of lineages between the same two arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dslog.compress.encoder import compress, recompress
from dslog.lineage.factor import Term
from dslog.lineage.lineage import Lineage
from dslog.types import Mask

_MANY = 8  # terms above which a union is compressed again


def unite(lineages: Sequence[Lineage]) -> Lineage:
    """Return the union of lineages between the same two arrays."""
    if len(lineages) == 1:
        return lineages[0]
    if sum(len(lineage.terms) for lineage in lineages) > _MANY:
        return recompress(lineages)
    first = lineages[0]
    terms = tuple(term for lineage in lineages for term in lineage.terms)
    exact = all(lineage.exact for lineage in lineages)
    return Lineage(first.out_shape, first.in_shape, terms, exact=exact)


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


def union(*lineages: Lineage) -> Lineage:
    """Return the pairs that are in any of some lineages over the same shapes."""
    first = lineages[0]
    terms: list[Term] = []
    for one in lineages:
        terms += [t for t in one.terms if not any(_same(t, other) for other in terms)]
    exact = all(one.exact for one in lineages)
    return Lineage(first.out_shape, first.in_shape, tuple(terms), exact=exact)


def _same(a: Term, b: Term) -> bool:
    return len(a) == len(b) and all(x is y or x == y for x, y in zip(a, b, strict=True))
