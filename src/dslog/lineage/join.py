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

from dslog.cells.boxes import count_up
from dslog.lineage.kernels import join_folds, join_pairs, join_rows
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
        hits = _plain(table, row, query, q_lo, q_hi, backward=backward)
        return Hits(*hits, scanned, len(row) if backward else len(hits[0]))
    return _folded(table, query, row, q_lo, q_hi, scanned, backward=backward)


def _every_pair(table: Table, q_lo: I64, q_hi: I64, *, backward: bool) -> Hits:
    """Join each box with each row: for a few of them that is less work than an index."""
    most = len(table) * len(q_lo)
    query = np.empty(most, np.int64)
    boxes = np.empty((most, table.num_in if backward else table.num_out, 2), np.int64)
    found = join_pairs(table.matrix, table.num_out, q_lo, q_hi, backward, query, boxes)
    return Hits(query[:found], boxes[:found], most, found)


def _plain(
    table: Table, row: I64, query: I64, q_lo: I64, q_hi: I64, *, backward: bool
) -> tuple[I64, I64]:
    """Join plain rows, each with one query box."""
    box, of_query = query.copy(), None
    if backward and table.shares_ref:
        source, q_lo, q_hi = _split_shared(table.take(row), q_lo[query], q_hi[query])
        row, box, of_query = row[source], np.arange(len(source)), query[source]
    boxes = np.empty((len(row), table.num_in if backward else table.num_out, 2), np.int64)
    found = join_rows(table.matrix, table.num_out, q_lo, q_hi, row, backward, box, boxes)
    return box[:found] if of_query is None else of_query[box[:found]], boxes[:found]


def _split_shared(met: Table, q_lo: I64, q_hi: I64) -> tuple[I64, I64, I64]:
    """Split the box of each row into cells on every output axis that two inputs refer to.

    Returns the row that each piece is of, and the pieces.
    """
    l = met.num_out
    lo = np.maximum(met.lo[:l], q_lo.T)
    hi = np.minimum(met.lo[:l] + met.width[:l], q_hi.T)
    source = np.arange(len(met))
    for j in range(l):
        shared = (met.ref[:, source] == j).sum(axis=0) > 1
        again, t = count_up(np.where(shared, hi[j] - lo[j] + 1, 1))
        if len(again) > len(source):
            source, lo, hi, shared = source[again], lo[:, again], hi[:, again], shared[again]
            lo[j] += np.where(shared, t, 0)
            hi[j] = np.where(shared, lo[j], hi[j])
    return source, np.ascontiguousarray(lo.T), np.ascontiguousarray(hi.T)


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
    rows = np.arange(len(met))
    plain_query, plain_boxes = _plain(met, rows, row_query, q_lo, q_hi, backward=backward)
    return Hits(
        np.concatenate([box_query, plain_query]),
        np.concatenate([boxes, plain_boxes]),
        scanned,
        len(boxes) + len(row_query),
    )
