"""Compressed rows over some output axes and some input axes (paper section IV).

A row stands for all pairs ``(b, a)`` with ``b_j`` in ``[out_lo_j, out_hi_j]`` for every output axis
``j`` and, for every input axis ``i``, ``a_i`` in ``[in_lo_i, in_hi_i]`` when ``ref_i`` is -1
(absolute) or in ``[b_ref + in_lo_i, b_ref + in_hi_i]`` otherwise (relative).

A row may be *folded*: with K levels it stands for the plain rows ``row + sum_k t_k * step_k`` for
all ``0 <= t_k < count_k``. A plain row has every count equal to 1.

Cost: a table of n rows, l + m axes and K levels takes ``n * (2 (l + m) (K + 1) + m + K)`` integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dslog.lineage.interval_index import IntervalIndex, scan
from dslog.lineage.row_kernels import expand_rows, linear_rows, plain_bounds, row_sizes
from dslog.types import I64

Linear = tuple[I64 | None, I64]
"""C-order positions of the output and of the input cell of each pair; None: 0, 1, 2 and so on."""

_FEW_ROWS = 1 << 16
_SCAN = 1 << 24  # rows times boxes that are compared sooner than an index is built


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as one int64 matrix whose columns are out_lo, out_hi, in_lo, in_hi, in that order."""

    num_out: int
    num_in: int
    rows: I64  # (n, 2l + 2m)
    ref: I64  # (n, m), -1 where absolute
    count: I64  # (n, K)
    step: I64  # (n, K, 2l + 2m)

    @classmethod
    def plain(cls, num_out: int, num_in: int, rows: Any, ref: Any) -> Table:
        """Make a table without folds."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        ref = np.ascontiguousarray(ref, dtype=np.int64).reshape(len(rows), num_in)
        count = np.ones((len(rows), 0), np.int64)
        return cls(num_out, num_in, rows, ref, count, np.zeros((len(rows), 0, rows.shape[1]), "i8"))

    @classmethod
    def empty(cls, num_out: int, num_in: int) -> Table:
        """Make a table without rows."""
        return cls.plain(num_out, num_in, np.zeros((0, 2 * (num_out + num_in)), np.int64), ())

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (self.num_out, self.num_in) == (other.num_out, other.num_in) and all(
            np.array_equal(a, b)
            for a, b in (
                (self.rows, other.rows),
                (self.ref, other.ref),
                (self.count, other.count),
                (self.step, other.step),
            )
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def levels(self) -> int:
        """The number of fold levels K."""
        return int(self.count.shape[1])

    @property
    def width(self) -> int:
        """The number of columns, 2l + 2m."""
        return 2 * (self.num_out + self.num_in)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory."""
        return self.rows.nbytes + self.ref.nbytes + self.count.nbytes + self.step.nbytes

    @property
    def out_lo(self) -> I64:
        """Lower ends on the output axes, of the first plain row of each fold."""
        return self.rows[:, : self.num_out]

    @property
    def out_hi(self) -> I64:
        """Upper ends on the output axes."""
        return self.rows[:, self.num_out : 2 * self.num_out]

    @property
    def in_lo(self) -> I64:
        """Lower ends on the input axes, offsets where relative."""
        return self.rows[:, 2 * self.num_out : 2 * self.num_out + self.num_in]

    @property
    def in_hi(self) -> I64:
        """Upper ends on the input axes, offsets where relative."""
        return self.rows[:, 2 * self.num_out + self.num_in :]

    def said_of(self, axis: int) -> list[I64]:
        """What the rows say of an axis, output j being j and input i ``l + i``, as columns."""
        l, m = self.num_out, self.num_in
        if axis < l:
            return [self.rows[:, axis], self.rows[:, l + axis]]
        i = axis - l
        return [self.rows[:, 2 * l + i], self.rows[:, 2 * l + m + i], self.ref[:, i]]

    def take(self, which: Any) -> Table:
        """Keep some rows, in the given order."""
        return Table(
            self.num_out,
            self.num_in,
            self.rows[which],
            self.ref[which],
            self.count[which],
            self.step[which],
        )

    def unfold(self) -> Table:
        """Return the same relation as plain rows; one row per t of every fold."""
        rows, ref = self.rows, self.ref
        count, step = self.count, self.step
        for level in range(self.levels):
            repeats = count[:, level]
            source = np.repeat(np.arange(len(rows)), repeats)
            first = np.cumsum(repeats) - repeats
            t = np.arange(len(source)) - first[source]
            rows = rows[source] + t[:, None] * step[source, level]
            ref, count, step = ref[source], count[source], step[source]
        return Table.plain(self.num_out, self.num_in, rows, ref)

    @cached_property
    def num_unfolded(self) -> float:
        """Rows without folds."""
        return float(np.prod(self.count.astype(float), axis=1).sum()) if self.levels else len(self)

    @cached_property
    def unfolded(self) -> Table:
        """The same without folds, worked out once."""
        return self.unfold()

    @cached_property
    def bounds(self) -> tuple[I64, I64, I64, I64]:
        """Per row, the box that holds it: out_lo, out_hi, in_lo, in_hi, all absolute."""
        if self.levels == 0:
            return plain_bounds(self.rows, self.ref, self.num_out)
        low, high = self.rows, self.rows
        for level in range(self.levels):
            reach = (self.count[:, level, None] - 1) * self.step[:, level]
            low, high = low + np.minimum(reach, 0), high + np.maximum(reach, 0)
        l, m = self.num_out, self.num_in
        out_lo, out_hi = low[:, :l], high[:, l : 2 * l]
        in_lo, in_hi = low[:, 2 * l : 2 * l + m], high[:, 2 * l + m :]
        if l and m:
            relative = self.ref >= 0
            ref = np.where(relative, self.ref, 0)
            in_lo = in_lo + np.where(relative, np.take_along_axis(out_lo, ref, 1), 0)
            in_hi = in_hi + np.where(relative, np.take_along_axis(out_hi, ref, 1), 0)
        return out_lo, out_hi, in_lo, in_hi

    @cached_property
    def most_pairs(self) -> float:
        """A number of pairs that the rows can't exceed; exact unless widths step in a fold."""
        l, m = self.num_out, self.num_in
        if self.levels == 0:
            return float(row_sizes(self.rows, l, m, np.empty(len(self), np.int64)))
        last = self.rows
        for level in range(self.levels):
            last = last + (self.count[:, level, None] - 1) * self.step[:, level]
        sizes = np.prod(self.count.astype(float), axis=1)
        for _, lo, hi in axis_columns(l, m):
            widths = [rows[:, hi] - rows[:, lo] + 1 for rows in (self.rows, last)]
            sizes *= np.maximum(*widths)
        return float(sizes.sum())

    @cached_property
    def lookups(self) -> dict[tuple[tuple[int, ...], ...], Linear]:
        """Linear cells of all pairs, by the shapes of both sides; filled by queries by bitmap."""
        return {}

    @cached_property
    def plans(self) -> dict[tuple[object, ...], object]:
        """How queries by bitmap apply the rows; filled by them."""
        return {}

    def prefers_bitmap(self) -> bool:
        """Whether even a query of few cells is quicker by bitmap."""
        return False

    def linear_pairs(self, out_sizes: tuple[int, ...], in_sizes: tuple[int, ...]) -> Linear:
        """Return the linear output and input cell of every pair."""
        table = self.unfold()
        sizes = np.empty(len(table), np.int64)
        row_sizes(table.rows, table.num_out, table.num_in, sizes)
        outs, ins = np.empty((2, int(sizes.sum())), np.int64)
        strides = _strides(out_sizes), _strides(in_sizes)
        linear_rows(table.rows, table.ref, table.num_out, *strides, outs, ins)
        return outs, ins

    def expand(self) -> I64:
        """Return every (b, a) pair, (n, l + m); pairs that two rows share come twice."""
        table = self.unfold()
        sizes = np.empty(len(table), np.int64)
        row_sizes(table.rows, table.num_out, table.num_in, sizes)
        pairs = np.empty((int(sizes.sum()), table.num_out + table.num_in), np.int64)
        expand_rows(table.rows, table.ref, table.num_out, pairs)
        return pairs

    def overlaps(self, q_lo: I64, q_hi: I64, *, backward: bool) -> tuple[I64, I64, int]:
        """Return the (query, row) pairs whose boxes overlap, and how many were looked at.

        Rows are in order of their outputs, so an index over them is cheap. One over the inputs has
        to sort: the first few boxes that ask look at every row instead.
        """
        side = self.bounds[:2] if backward else self.bounds[2:]
        if not backward and not self._asked and _FEW_ROWS < len(self) * len(q_lo) <= _SCAN:
            self._asked.append(len(q_lo))
            return scan(*side, q_lo, q_hi)
        index = self._out_index if backward else self._in_index
        return index.overlaps(q_lo, q_hi)

    @cached_property
    def _asked(self) -> list[int]:
        return []

    @cached_property
    def _out_index(self) -> IntervalIndex:
        return IntervalIndex.build(self.bounds[0], self.bounds[1])

    @cached_property
    def _in_index(self) -> IntervalIndex:
        return IntervalIndex.build(self.bounds[2], self.bounds[3])

    @cached_property
    def shares_ref(self) -> bool:
        """Whether some row has two input axes that refer to the same output axis."""
        ref = np.sort(self.ref, axis=1)
        return bool(((ref[:, 1:] == ref[:, :-1]) & (ref[:, 1:] >= 0)).any())


def _strides(sizes: tuple[int, ...]) -> I64:
    return np.array([math.prod(sizes[k + 1 :]) for k in range(len(sizes))], np.int64)


def axis_columns(l: int, m: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name and the columns of the lower and the upper end of every axis."""
    for j in range(l):
        yield f"b{j}", j, l + j
    for i in range(m):
        yield f"a{i}", 2 * l + i, 2 * l + m + i


def concat(tables: list[Table]) -> Table:
    """Stack tables over the same axes; folds are padded to the deepest one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    levels = max(t.levels for t in tables)
    padded = [pad_levels(t, levels) for t in tables]
    return Table(
        first.num_out,
        first.num_in,
        np.concatenate([t.rows for t in padded]),
        np.concatenate([t.ref for t in padded]),
        np.concatenate([t.count for t in padded]),
        np.concatenate([t.step for t in padded]),
    )


def pad_levels(table: Table, levels: int) -> Table:
    """Give a table more fold levels, each of count 1."""
    more = levels - table.levels
    if more == 0:
        return table
    n = len(table)
    return Table(
        table.num_out,
        table.num_in,
        table.rows,
        table.ref,
        np.concatenate([np.ones((n, more), np.int64), table.count], axis=1),
        np.concatenate([np.zeros((n, more, table.width), np.int64), table.step], axis=1),
    )
