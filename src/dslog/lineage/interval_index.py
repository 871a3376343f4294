"""Interval index: rows sorted by lower end on one axis, with the running maximum of upper ends.

For a query interval ``[lo, hi]`` the rows that can overlap it lie in one stretch of that order:
from the first row whose running maximum reaches ``lo`` to the last row that starts by ``hi``. Both
ends are binary searches, so the cost of a query follows the rows it meets, not the rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dslog.lineage.kernels import count_pairs, fill_pairs
from dslog.lineage.lineage_cost import LineageCost
from dslog.types import I64


@dataclass(frozen=True)
class IntervalIndex:
    """Boxes ``lo``..``hi`` of shape (n, d), ordered along ``axis``."""

    lo: I64
    hi: I64
    axis: int
    order: I64 | None  # None: the boxes are in order already
    first: I64  # sorted lower ends on the axis
    reach: I64  # running maximum of the upper ends in that order

    @classmethod
    def build(cls, lo: I64, hi: I64) -> IntervalIndex:
        """Sort along the axis on which the boxes are narrowest for its extent."""
        n, d = lo.shape
        if d == 0 or n == 0:
            none = np.zeros(0, np.int64)
            return cls(lo, hi, -1, None, none, none)
        axis = _narrowest(lo, hi)
        first, last = lo[:, axis], hi[:, axis]
        order: I64 | None = None
        if n > 1 and bool((first[1:] < first[:-1]).any()):
            order = np.argsort(first)
            lo, hi = np.ascontiguousarray(lo[order]), np.ascontiguousarray(hi[order])
            first, last = lo[:, axis], hi[:, axis]
        reach = np.maximum.accumulate(last)
        return cls(lo, hi, axis, order, np.ascontiguousarray(first), reach)

    def stretch(self, q_lo: I64, q_hi: I64) -> tuple[I64, I64]:
        """Return, per query box, the half-open stretch of the order that can overlap it."""
        if self.axis < 0:
            zero = np.zeros(len(q_lo), np.int64)
            return zero, np.full(len(q_lo), len(self.lo), np.int64)
        start = np.searchsorted(self.reach, q_lo[:, self.axis], "left")
        stop = np.searchsorted(self.first, q_hi[:, self.axis], "right")
        return start.astype(np.int64), np.maximum(stop, start).astype(np.int64)

    def overlaps(self, q_lo: I64, q_hi: I64) -> tuple[I64, I64, int]:
        """Return all (query, row) pairs whose boxes overlap, and how many pairs were looked at."""
        q_lo, q_hi = np.ascontiguousarray(q_lo), np.ascontiguousarray(q_hi)
        start, stop = self.stretch(q_lo, q_hi)
        looked = int((stop - start).sum())
        few = LineageCost.current().few_boxes
        if looked > 4 * (len(q_lo) + len(self.lo)) and len(q_lo) > few and self.axis >= 0:
            other = IntervalIndex.build(q_lo, q_hi)
            begin, end = other.stretch(self.lo, self.hi)
            cost = int((end - begin).sum())
            if cost < looked:
                row, query = _pairs(self.lo, self.hi, other.lo, other.hi, begin, end)
                query = query if other.order is None else other.order[query]
                return query, self._original(row), cost
        query, row = _pairs(q_lo, q_hi, self.lo, self.hi, start, stop)
        return query, self._original(row), looked

    def _original(self, row: I64) -> I64:
        return row if self.order is None else self.order[row]


def scan(lo: I64, hi: I64, q_lo: I64, q_hi: I64) -> tuple[I64, I64, int]:
    """Do what ``IntervalIndex.overlaps`` does without an index, looking at every row."""
    start = np.zeros(len(q_lo), np.int64)
    stop = np.full(len(q_lo), len(lo), np.int64)
    query, row = _pairs(q_lo, q_hi, lo, hi, start, stop)
    return query, row, len(lo) * len(q_lo)


def _pairs(q_lo: I64, q_hi: I64, lo: I64, hi: I64, start: I64, stop: I64) -> tuple[I64, I64]:
    counts = count_pairs(q_lo, q_hi, lo, hi, start, stop)
    offsets = np.cumsum(counts) - counts
    total = int(counts.sum())
    query = np.empty(total, np.int64)
    row = np.empty(total, np.int64)
    fill_pairs(q_lo, q_hi, lo, hi, start, stop, offsets, query, row)
    return query, row


def _narrowest(lo: I64, hi: I64) -> int:
    some = slice(None, None, -(-len(lo) // LineageCost.current().index_sample))
    extent = (hi[some].max(axis=0) - lo[some].min(axis=0) + 1).astype(float)
    covered = (hi[some] - lo[some] + 1).mean(axis=0) / extent
    return int(np.argmin(covered))
