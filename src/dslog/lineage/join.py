"""The theta-join of query boxes with one Table, in either direction, exact (paper section V).

Backward, for a query box Q over the output axes: intersect on every output axis; an absolute input
axis keeps its interval, a relative one becomes ``[I_lo + in_lo, I_hi + in_hi]`` of the intersection
I. Two input axes that share a ref move together, so that output axis is split into its cells
(the paper's de-relativisation turns such a diagonal into a square).

Forward, on the same rows, for Q over the input axes: ``b_j`` lies in ``[out_lo, out_hi]``
intersected with ``[Q_lo_i - in_hi_i, Q_hi_i - in_lo_i]`` for each input axis i that refers to j
(the paper misprints the upper end of its ``rel_for``), and each absolute input axis must overlap Q.
That is always one box.

Boxes of a group of axes as intervals of their C-order linear index, and back.

Reshape-like relations are the identity on the linear index, so a Factor may run over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.lineage.kernels import join_folds, join_pairs
from dslog.lineage.table import Table
from dslog.types import I64


def explode(
    source: I64, lo: I64, hi: I64, axis: int, where: npt.NDArray[np.bool_]
) -> tuple[I64, I64, I64]:
    """Split boxes into single cells along one axis, where asked; ``source`` follows."""
    repeats = np.where(where, hi[:, axis] - lo[:, axis] + 1, 1)
    if bool((repeats == 1).all()):
        return source, lo, hi
    again = np.repeat(np.arange(len(lo)), repeats)
    t = np.arange(len(again)) - (np.cumsum(repeats) - repeats)[again]
    source, lo, hi, where = source[again], lo[again], hi[again], where[again]
    lo[:, axis] += np.where(where, t, 0)
    hi[:, axis] = np.where(where, lo[:, axis], hi[:, axis])
    return source, lo, hi


def to_intervals(boxes: I64, shape: Sequence[int]) -> tuple[I64, I64]:
    """Return (source, boxes (p, 1, 2)): the linear intervals of each box, in order.

    A box is contiguous from its first axis of more than one cell on if all later axes are full.
    """
    lo, hi = boxes[:, :, 0], boxes[:, :, 1]
    source = np.arange(len(boxes))
    for axis in range(len(shape) - 1):
        rest_full = np.ones(len(lo), bool)
        for later in range(axis + 1, len(shape)):
            rest_full &= (lo[:, later] == 0) & (hi[:, later] == shape[later] - 1)
        source, lo, hi = explode(source, lo, hi, axis, ~rest_full)
    stride = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], np.int64)
    flat = np.stack([lo @ stride, hi @ stride], axis=-1)[:, None, :]
    return source, flat


def from_intervals(flat: I64, shape: Sequence[int]) -> tuple[I64, I64]:
    """Return (source, boxes): the boxes that make up each linear interval (k, 1, 2)."""
    lo, hi = flat[:, 0, 0], flat[:, 0, 1]
    source = np.arange(len(flat))
    inner = math.prod(shape[1:])
    if len(shape) == 0:
        return source, np.zeros((len(flat), 0, 2), np.int64)
    if len(shape) == 1:
        return source, flat.copy()
    first, last = lo // inner, hi // inner
    parts = []
    one = first == last
    parts.append(_lead(source[one], first[one], first[one], lo[one], hi[one], inner, shape))
    many = ~one
    src, f, e, a, b = source[many], first[many], last[many], lo[many], hi[many]
    head_cut = a % inner != 0
    tail_cut = b % inner != inner - 1
    f2, e2 = f + head_cut, e - tail_cut
    whole = f2 <= e2
    full = np.zeros(int(whole.sum()), np.int64)
    parts.append(_lead(src[whole], f2[whole], e2[whole], full, full + inner - 1, inner, shape))
    h, t = head_cut, tail_cut
    parts.append(_lead(src[h], f[h], f[h], a[h], (f[h] + 1) * inner - 1, inner, shape))
    parts.append(_lead(src[t], e[t], e[t], e[t] * inner, b[t], inner, shape))
    return (
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
    )


def _lead(
    source: I64, first: I64, last: I64, lo: I64, hi: I64, inner: int, shape: Sequence[int]
) -> tuple[I64, I64]:
    """Boxes whose first axis is first..last and whose other axes are a linear interval."""
    rest = np.stack([lo % inner, hi % inner], axis=-1)[:, None, :]
    back, boxes = from_intervals(rest, shape[1:])
    lead = np.stack([first[back], last[back]], axis=-1)[:, None, :]
    return source[back], np.concatenate([lead, boxes], axis=1)


_FEW_PAIRS = 64  # boxes times rows
_INTERLEAVED = 4  # folded rows that likely lie between each other


@dataclass(frozen=True, slots=True)
class Hits:
    """Result boxes of a join, each with the query box it answers; boxes may overlap."""

    query: I64  # (p,)
    boxes: I64  # (p, d, 2)
    scanned: int  # rows looked at
    matched: int  # rows that met the query


def join(table: Table, queries: I64, *, backward: bool) -> Hits:
    """Join query boxes (k, d, 2) with a table."""
    q_lo = np.ascontiguousarray(queries[:, :, 0])
    q_hi = np.ascontiguousarray(queries[:, :, 1])
    few = len(table) * len(queries) <= _FEW_PAIRS
    if not few and len(table) >= _INTERLEAVED and len(table) * len(queries) > table.num_unfolded:
        table = table.unfolded  # every box would have to look into every fold
    if few and table.levels == 0 and not (backward and table.shares_ref):
        return _every_pair(table, q_lo, q_hi, backward=backward)
    if few and table.levels:  # folds leave out by themselves what does not match
        row, query = np.divmod(np.arange(len(table) * len(queries)), max(1, len(queries)))
        scanned = len(row)
    else:
        query, row, scanned = table.overlaps(q_lo, q_hi, backward=backward)
    if table.levels == 0:
        hits = _plain(table.rows[row], table.ref[row], query, q_lo, q_hi, table, backward)
        return Hits(*hits, scanned, len(row) if backward else len(hits[0]))
    return _folded(table, query, row, q_lo, q_hi, scanned, backward=backward)


def _every_pair(table: Table, q_lo: I64, q_hi: I64, *, backward: bool) -> Hits:
    """Join each box with each row: for a few of them that is less work than an index."""
    most = len(table) * len(q_lo)
    query = np.empty(most, np.int64)
    boxes = np.empty((most, table.num_in if backward else table.num_out, 2), np.int64)
    found = join_pairs(table.rows, table.ref, table.num_out, q_lo, q_hi, backward, query, boxes)
    return Hits(query[:found], boxes[:found], most, found)


def _plain(
    rows: I64, ref: I64, query: I64, q_lo: I64, q_hi: I64, table: Table, backward: bool
) -> tuple[I64, I64]:
    if backward:
        return _backward(rows, ref, query, q_lo[query], q_hi[query], table)
    return _forward(rows, ref, query, q_lo[query], q_hi[query], table)


def _backward(
    rows: I64, ref: I64, query: I64, q_lo: I64, q_hi: I64, table: Table
) -> tuple[I64, I64]:
    l, m = table.num_out, table.num_in
    lo = np.maximum(rows[:, :l], q_lo)
    hi = np.minimum(rows[:, l : 2 * l], q_hi)
    if table.shares_ref:
        source, lo, hi = _split_shared(ref, lo, hi)
        rows, ref, query = rows[source], ref[source], query[source]
    boxes = np.empty((len(rows), m, 2), np.int64)
    boxes[:, :, 0] = rows[:, 2 * l : 2 * l + m]
    boxes[:, :, 1] = rows[:, 2 * l + m :]
    if l and m:
        relative = ref >= 0
        if relative.any():
            at = np.where(relative, ref, 0)
            boxes[:, :, 0] += np.where(relative, np.take_along_axis(lo, at, 1), 0)
            boxes[:, :, 1] += np.where(relative, np.take_along_axis(hi, at, 1), 0)
    return query, boxes


def _split_shared(ref: I64, lo: I64, hi: I64) -> tuple[I64, I64, I64]:
    """Split every output axis that two or more input axes refer to into its cells."""
    source = np.arange(len(ref))
    for j in range(lo.shape[1]):
        source, lo, hi = explode(source, lo, hi, j, (ref[source] == j).sum(axis=1) > 1)
    return source, lo, hi


def _forward(
    rows: I64, ref: I64, query: I64, q_lo: I64, q_hi: I64, table: Table
) -> tuple[I64, I64]:
    l, m = table.num_out, table.num_in
    boxes = np.empty((len(rows), l, 2), np.int64)
    boxes[:, :, 0], boxes[:, :, 1] = rows[:, :l], rows[:, l : 2 * l]
    in_lo, in_hi = rows[:, 2 * l : 2 * l + m], rows[:, 2 * l + m :]
    keep = np.ones(len(rows), bool)
    for i in range(m):
        keep &= (ref[:, i] >= 0) | ((in_lo[:, i] <= q_hi[:, i]) & (in_hi[:, i] >= q_lo[:, i]))
        for j in range(l):
            refers = ref[:, i] == j
            if not refers.any():
                continue
            low = np.maximum(boxes[:, j, 0], q_lo[:, i] - in_hi[:, i])
            high = np.minimum(boxes[:, j, 1], q_hi[:, i] - in_lo[:, i])
            boxes[:, j, 0] = np.where(refers, low, boxes[:, j, 0])
            boxes[:, j, 1] = np.where(refers, high, boxes[:, j, 1])
    keep &= (boxes[:, :, 0] <= boxes[:, :, 1]).all(axis=1)
    return (query, boxes) if keep.all() else (query[keep], boxes[keep])


def _folded(
    table: Table, query: I64, row: I64, q_lo: I64, q_hi: I64, scanned: int, *, backward: bool
) -> Hits:
    d = table.num_in if backward else table.num_out
    sizes = np.zeros(3, np.int64)
    for fill in (False, True):
        row_query = np.empty(sizes[0], np.int64)
        row_vec = np.empty((sizes[0], table.width), np.int64)
        row_ref = np.empty((sizes[0], table.num_in), np.int64)
        box_query = np.empty(sizes[1], np.int64)
        boxes = np.empty((sizes[1], d, 2), np.int64)
        sizes = join_folds(
            q_lo, q_hi, query, row, table.rows, table.ref, table.count, table.step,
            table.num_out, backward, row_query, row_vec, row_ref, box_query, boxes, fill,
        )  # fmt: skip
    plain_query, plain_boxes = _plain(row_vec, row_ref, row_query, q_lo, q_hi, table, backward)
    return Hits(
        np.concatenate([box_query, plain_query]),
        np.concatenate([boxes, plain_boxes]),
        scanned,
        len(boxes) + len(row_query),
    )
