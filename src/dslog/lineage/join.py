"""The theta-join of query boxes with one Table, in either direction, exact (paper section V).

Backward, for a query box Q over the output axes: intersect on every output axis; an absolute input
axis keeps its interval, a relative one becomes ``[I_lo + in_lo, I_hi + in_hi]`` of the intersection
I. Two input axes that share a ref move together, so that output axis is split into its cells
(the paper's de-relativisation turns such a diagonal into a square).

Forward, on the same rows, for Q over the input axes: ``b_j`` lies in ``[out_lo, out_hi]``
intersected with ``[Q_lo_i - in_hi_i, Q_hi_i - in_lo_i]`` for each input axis i that refers to j
(the paper misprints the upper end of its ``rel_for``), and each absolute input axis must overlap Q.
That is always one box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dslog.cells.order import count_up
from dslog.lineage.kernels import join_folds, join_pairs
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Table
from dslog.types import I64


@dataclass(frozen=True, slots=True)
class Hits:
    """Result boxes of a join, each with the query box it answers; boxes may overlap."""

    query: I64  # (p,)
    boxes: I64  # (p, d, 2)
    scanned: int  # rows looked at
    matched: int  # rows that met the query


def join(table: Table, queries: I64, *, backward: bool) -> Hits:
    """Join query boxes (k, d, 2) with a table."""
    cost = LineageCost.current()
    q_lo = np.ascontiguousarray(queries[:, :, 0])
    q_hi = np.ascontiguousarray(queries[:, :, 1])
    work = len(table) * len(queries)
    few = work <= cost.few_pairs
    if not few and len(table) >= cost.interleaved and work > table.num_unfolded:
        table = table.unfolded  # every box would have to look into every fold
    if few and table.levels == 0 and not (backward and table.shares_ref):
        return _every_pair(table, q_lo, q_hi, backward=backward)
    if few and table.levels:  # folds leave out by themselves what does not match
        row, query = np.divmod(np.arange(work), max(1, len(queries)))
        scanned = len(row)
    else:
        query, row, scanned = table.overlaps(q_lo, q_hi, backward=backward)
    if table.levels == 0:
        hits = _plain(table.take(row), query, q_lo, q_hi, backward=backward)
        return Hits(*hits, scanned, len(row) if backward else len(hits[0]))
    return _folded(table, query, row, q_lo, q_hi, scanned, backward=backward)


def _every_pair(table: Table, q_lo: I64, q_hi: I64, *, backward: bool) -> Hits:
    """Join each box with each row: for a few of them that is less work than an index."""
    most = len(table) * len(q_lo)
    query = np.empty(most, np.int64)
    boxes = np.empty((most, table.num_in if backward else table.num_out, 2), np.int64)
    columns = table.lo, table.width, table.ref
    found = join_pairs(*columns, table.num_out, q_lo, q_hi, backward, query, boxes)
    return Hits(query[:found], boxes[:found], most, found)


def _plain(met: Table, query: I64, q_lo: I64, q_hi: I64, *, backward: bool) -> tuple[I64, I64]:
    """Join rows, each with one query box."""
    follow = _backward if backward else _forward
    return follow(met, query, q_lo[query].T, q_hi[query].T)


def _backward(met: Table, query: I64, q_lo: I64, q_hi: I64) -> tuple[I64, I64]:
    l = met.num_out
    lo = np.maximum(met.lo[:l], q_lo)
    hi = np.minimum(met.lo[:l] + met.width[:l], q_hi)
    if met.shares_ref:
        source, lo, hi = _split_shared(met.ref, lo, hi)
        met, query = met.take(source), query[source]
    first = met.lo[l:]
    last = first + met.width[l:]
    if l and met.num_in:
        relative = met.ref >= 0
        if relative.any():
            at = np.where(relative, met.ref, 0)
            first = first + np.where(relative, np.take_along_axis(lo, at, 0), 0)
            last += np.where(relative, np.take_along_axis(hi, at, 0), 0)
    return query, np.stack([first.T, last.T], axis=2)


def _split_shared(ref: I64, lo: I64, hi: I64) -> tuple[I64, I64, I64]:
    """Split every output axis that two or more input axes refer to into its cells."""
    source = np.arange(ref.shape[1])
    for j in range(len(lo)):
        shared = (ref[:, source] == j).sum(axis=0) > 1
        again, t = count_up(np.where(shared, hi[j] - lo[j] + 1, 1))
        if len(again) > len(source):
            source, lo, hi, shared = source[again], lo[:, again], hi[:, again], shared[again]
            lo[j] += np.where(shared, t, 0)
            hi[j] = np.where(shared, lo[j], hi[j])
    return source, lo, hi


def _forward(met: Table, query: I64, q_lo: I64, q_hi: I64) -> tuple[I64, I64]:
    l, ref = met.num_out, met.ref
    first, width = met.lo, met.width
    lo = first[:l].copy()
    hi = lo + width[:l]
    keep = np.ones(len(met), bool)
    for i, (in_lo, in_width) in enumerate(zip(first[l:], width[l:], strict=True)):
        in_hi = in_lo + in_width
        keep &= (ref[i] >= 0) | ((in_lo <= q_hi[i]) & (in_hi >= q_lo[i]))
        for j in range(l):
            refers = ref[i] == j
            if refers.any():
                lo[j] = np.where(refers, np.maximum(lo[j], q_lo[i] - in_hi), lo[j])
                hi[j] = np.where(refers, np.minimum(hi[j], q_hi[i] - in_lo), hi[j])
    keep &= (lo <= hi).all(axis=0)
    boxes = np.stack([lo.T, hi.T], axis=2)
    return (query, boxes) if keep.all() else (query[keep], boxes[keep])


def _folded(
    table: Table, query: I64, row: I64, q_lo: I64, q_hi: I64, scanned: int, *, backward: bool
) -> Hits:
    d = table.num_in if backward else table.num_out
    sizes = np.zeros(3, np.int64)
    for fill in (False, True):
        row_query = np.empty(sizes[0], np.int64)
        row_columns = np.empty((len(table.matrix), sizes[0]), np.int64)
        box_query = np.empty(sizes[1], np.int64)
        boxes = np.empty((sizes[1], d, 2), np.int64)
        sizes = join_folds(
            q_lo, q_hi, query, row, table.matrix, table.count, table.step,
            table.num_out, backward, row_query, row_columns, box_query, boxes, fill,
        )  # fmt: skip
    met = Table(table.num_out, table.num_in, row_columns)
    plain_query, plain_boxes = _plain(met, row_query, q_lo, q_hi, backward=backward)
    return Hits(
        np.concatenate([box_query, plain_query]),
        np.concatenate([boxes, plain_boxes]),
        scanned,
        len(boxes) + len(row_query),
    )
