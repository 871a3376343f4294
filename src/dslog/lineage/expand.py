"""Decompression: a product of Tables as the raw relation it stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dslog.lineage.factor import Shape, Term
from dslog.relation.relation import sort_unique

I64 = npt.NDArray[np.int64]


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
    total = math.prod(len(b) for b in blocks)
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
