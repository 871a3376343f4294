"""Compressed rows over some output axes and some input axes (paper section IV), as columns.

A row stands for all pairs ``(b, a)`` with ``b_j`` in ``[lo_j, lo_j + width_j]`` for every output
axis ``j`` and, for every input axis ``i``, ``a_i`` in such an interval when ``ref_i`` is -1
(absolute), or in that interval moved along by ``b_ref`` otherwise (relative).

A row may be *folded*: with K levels it stands for the plain rows ``row + sum_k t_k * step_k`` for
all ``0 <= t_k < count_k``. A plain row has every count equal to 1.

Cost: a table of n rows, l + m axes and K levels takes ``n * (2 (l + m) (K + 1) + m + K)`` integers,
less what constant columns save.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dslog.cells.boxes import count_up, strides
from dslog.lineage.interval_index import IntervalIndex, scan
from dslog.lineage.kernels import expand_rows, linear_rows, plain_bounds, row_sizes
from dslog.lineage.lineage_cost import LineageCost
from dslog.types import I64, Shape

Linear = tuple[I64 | None, I64]
"""C-order positions of the output and of the input cell of each pair; None: 0, 1, 2 and so on."""

Interval = tuple[int, int]
"""The lower and the upper end, inclusive; or what a fold adds to each."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One level of a folded row: how often it repeats, and how its ends move each time."""

    count: int
    outs: tuple[Interval, ...]
    ins: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row in plain Python, for code that writes or reads a few of them one by one."""

    outs: tuple[Interval, ...]
    ins: tuple[Interval, ...]  # offsets where relative
    refs: tuple[int, ...]  # the output axis that each input follows, -1 for none
    folds: tuple[Fold, ...] = ()  # outermost first


class Table:
    """Rows as columns, never changed: for each axis ``lo`` and ``width``, for each input ``ref``.

    ``columns`` are all lower ends, outputs first, then all widths, then the refs: a matrix with a
    line for each, or a sequence of arrays, of which constant ones may be broadcast and take no
    memory (see ``same``). The matrix is made when something needs it. ``count`` (K, n) and
    ``step`` (K, 2 (l + m), n), of lower ends and widths, are the folds.

    ``ordered`` are the sizes of the output axes when the rows' outputs are all of their cells, in C
    order; then the columns of their lower ends are None, and made from that.
    """

    def __init__(
        self,
        num_out: int,
        num_in: int,
        columns: I64 | Sequence[I64 | None],
        count: I64 | None = None,
        step: I64 | None = None,
        *,
        ordered: Sequence[int] | None = None,
    ) -> None:
        self.num_out, self.num_in = num_out, num_in
        self.ordered = None if ordered is None else tuple(ordered)
        self._columns: tuple[I64 | None, ...] | None = None
        self._n: int
        if isinstance(columns, np.ndarray):
            self.matrix = np.ascontiguousarray(columns, np.int64)
            self._n = columns.shape[1]
        else:
            self._columns = tuple(columns)
            self._n = len(next(column for column in columns if column is not None))
        n, axes = self._n, num_out + num_in
        self.count: I64 = np.ones((0, n), np.int64) if count is None else count
        self.step = np.zeros((0, 2 * axes, n), np.int64) if step is None else step
        self._scans = self._asked = 0

    @classmethod
    def of_rows(cls, num_out: int, num_in: int, rows: Iterable[Row]) -> Table:
        """Make a table of a few rows.

        >>> Table.of_rows(1, 1, [Row(((0, 2),), ((-1, 1),), (0,))]).matrix.tolist()
        [[0], [-1], [2], [2], [0]]
        """
        rows = list(rows)
        axes, levels = num_out + num_in, max((len(row.folds) for row in rows), default=0)
        values = [[*_lows_widths(row.outs + row.ins), *row.refs] for row in rows]
        matrix = np.array(values, np.int64).reshape(len(rows), 2 * axes + num_in).T
        count = np.ones((levels, len(rows)), np.int64)
        step = np.zeros((levels, 2 * axes, len(rows)), np.int64)
        for r, row in enumerate(rows):
            for level, fold in enumerate(row.folds, start=levels - len(row.folds)):
                count[level, r] = fold.count
                step[level, :, r] = _lows_widths(fold.outs + fold.ins)
        return cls(num_out, num_in, matrix, count, step)

    @classmethod
    def of_boxes(cls, out_lo: Any, out_hi: Any, in_lo: Any, in_hi: Any) -> Table:
        """Make a table of absolute boxes from their ends, each (axes, n), or (n,) for one axis.

        >>> Table.of_boxes([0, 5], [4, 9], [1, 1], [1, 1]).lo.tolist()
        [[0, 5], [1, 1]]
        """
        ends = (np.atleast_2d(np.asarray(end, np.int64)) for end in (out_lo, out_hi, in_lo, in_hi))
        b_lo, b_hi, a_lo, a_hi = ends
        refs = np.full(a_lo.shape, -1, np.int64)
        columns = np.concatenate([b_lo, a_lo, b_hi - b_lo, a_hi - a_lo, refs])
        return cls(len(b_lo), len(a_lo), columns)

    @classmethod
    def of_named(
        cls,
        num_out: int,
        num_in: int,
        columns: Mapping[str, I64],
        levels: int = 0,
        ordered: Sequence[int] | None = None,
    ) -> Table:
        """Undo ``named``; outputs that are all cells in order have no lower ends."""
        names = attribute_names(num_out, num_in)
        some = [columns.get(name) for name in names]
        if not levels and some:
            return cls(num_out, num_in, some, ordered=ordered)
        n = len(next(iter(columns.values()))) if columns else 0
        if not names:
            return cls(0, 0, np.zeros((0, n), np.int64))
        steps = names[: 2 * (num_out + num_in)]
        count = np.array([columns[f"n{k}"] for k in range(levels)], np.int64)
        step = np.array([[columns[f"s{k}{name}"] for name in steps] for k in range(levels)], "i8")
        return cls(num_out, num_in, some, count, step)

    @classmethod
    def empty(cls, num_out: int, num_in: int) -> Table:
        """Make a table without rows."""
        return cls(num_out, num_in, np.zeros((2 * num_out + 3 * num_in, 0), np.int64))

    @classmethod
    def point(cls, num_out: int = 0, num_in: int = 0) -> Table:
        """Make a table of one row: the first cell of the output from the first of the input."""
        matrix = np.zeros((2 * num_out + 3 * num_in, 1), np.int64)
        matrix[2 * (num_out + num_in) :] = -1
        return cls(num_out, num_in, matrix)

    def __len__(self) -> int:
        return self._n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            (self.num_out, self.num_in) == (other.num_out, other.num_in)
            and np.array_equal(self.matrix, other.matrix)
            and np.array_equal(self.count, other.count)
            and np.array_equal(self.step, other.step)
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def matrix(self) -> I64:
        """All columns (2 l + 3 m, n): lower ends, widths, refs."""
        matrix = np.empty((2 * self.num_out + 3 * self.num_in, self._n), np.int64)
        for k, column in enumerate(self._columns or ()):
            if column is not None:
                matrix[k] = column
        if self.ordered is not None:
            matrix[: self.num_out] = np.unravel_index(np.arange(self._n), self.ordered)
        return matrix

    @property
    def has_matrix(self) -> bool:
        """Whether the columns stand together already."""
        return "matrix" in self.__dict__

    @property
    def num_axes(self) -> int:
        """The number of axes, l + m."""
        return self.num_out + self.num_in

    @property
    def levels(self) -> int:
        """The number of fold levels K."""
        return len(self.count)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, of the matrix too, made or not: what a cache has to reckon with."""
        columns = 2 * self.num_axes + self.num_in
        return 8 * self._n * columns + self.count.nbytes + self.step.nbytes

    @property
    def lo(self) -> I64:
        """Lower ends (l + m, n), of the first plain row of each fold; offsets where relative."""
        return self.matrix[: self.num_axes]

    @property
    def width(self) -> I64:
        """Upper less lower ends (l + m, n)."""
        return self.matrix[self.num_axes : 2 * self.num_axes]

    @property
    def ref(self) -> I64:
        """The output axis that each input follows (m, n), -1 where absolute."""
        return self.matrix[2 * self.num_axes :]

    def column(self, place: int) -> I64:
        """Return one column, numbered as in the matrix; constants may be broadcast."""
        if not self.has_matrix and self._columns is not None:
            found = self._columns[place]
            if found is not None:
                return found
        line: I64 = self.matrix[place]
        return line

    def said_of(self, axis: int) -> list[I64]:
        """What the rows say of an axis, output j being j and input i ``l + i``, as columns."""
        axes, l = self.num_axes, self.num_out
        places = [axis, axes + axis] if axis < l else [axis, axes + axis, 2 * axes + axis - l]
        return [self.column(place) for place in places]

    def named(self, *, implied: bool = False) -> dict[str, I64]:
        """Return all columns by the names that files use.

        ``implied`` leaves out the lower ends of outputs, which go without saying.
        """
        names = attribute_names(self.num_out, self.num_in)
        first = self.num_out if implied else 0
        columns = {name: self.column(k) for k, name in enumerate(names) if k >= first}
        for k in range(self.levels):
            columns[f"n{k}"] = self.count[k]
            steps = zip(names, self.step[k], strict=False)  # refs don't step
            columns |= {f"s{k}{name}": step for name, step in steps}
        return columns

    def row(self, r: int) -> Row:
        """Return one row in plain Python."""
        values = self.matrix[:, r].tolist()
        ends, l = self._ends(values), self.num_out
        folds = []
        for level in range(self.levels):
            if (count := int(self.count[level, r])) > 1:
                steps = self._ends(self.step[level, :, r].tolist())
                folds.append(Fold(count, steps[:l], steps[l:]))
        return Row(ends[:l], ends[l:], tuple(values[2 * self.num_axes :]), tuple(folds))

    def _ends(self, values: Sequence[int]) -> tuple[Interval, ...]:
        axes = self.num_axes
        pairs = zip(values[:axes], values[axes : 2 * axes], strict=True)
        return tuple((lo, lo + width) for lo, width in pairs)

    def take(self, which: Any) -> Table:
        """Keep some rows, in the given order; the others' matrix is not made for that."""
        if self.has_matrix or self._columns is None or self.levels:
            some = self.matrix[:, which], self.count[:, which], self.step[:, :, which]
            return Table(self.num_out, self.num_in, *some)
        if isinstance(which, slice):
            places = np.arange(*which.indices(self._n))
        else:
            places = np.arange(self._n)[which]
        columns = [column if column is None else _pick(column, places) for column in self._columns]
        if self.ordered is not None:
            columns[: self.num_out] = np.unravel_index(places, self.ordered)
        return Table(self.num_out, self.num_in, columns)

    def with_columns(self, columns: I64) -> Table:
        """Return a table of other columns under the same folds."""
        return Table(self.num_out, self.num_in, columns, self.count, self.step)

    def moved(self, axis: int, by: int) -> Table:
        """Move all cells along an input axis (``l + i``), or along an output that none follows."""
        matrix = self.matrix.copy()
        matrix[axis] += by
        return self.with_columns(matrix)

    def clip_outputs(self, low: I64, high: I64) -> Table:
        """Cut the output intervals of plain rows, which must meet ``[low, high]`` (l, 1 or n)."""
        matrix, l = self.matrix.copy(), self.num_out
        ends = np.minimum(self.lo[:l] + self.width[:l], high)
        np.maximum(matrix[:l], low, out=matrix[:l])
        matrix[self.num_axes : self.num_axes + l] = ends - matrix[:l]
        return Table(l, self.num_in, matrix)

    def unfold(self) -> Table:
        """Return the same relation as plain rows; one row per t of every fold."""
        if not self.levels:
            return self
        matrix, count, step = self.matrix, self.count, self.step
        for level in range(self.levels):
            source, t = count_up(count[level])
            matrix = matrix[:, source]
            matrix[: 2 * self.num_axes] += t * step[level][:, source]
            count, step = count[:, source], step[:, :, source]
        return Table(self.num_out, self.num_in, matrix)

    @cached_property
    def num_unfolded(self) -> float:
        """Rows without folds."""
        return float(np.prod(self.count.astype(float), axis=0).sum()) if self.levels else len(self)

    @cached_property
    def unfolded(self) -> Table:
        """The same without folds, worked out once."""
        return self.unfold()

    @cached_property
    def bounds(self) -> tuple[I64, I64, I64, I64]:
        """Per row, the box that holds it: out_lo, out_hi (n, l), in_lo, in_hi (n, m), absolute."""
        if self.levels == 0:
            return plain_bounds(self.lo, self.width, self.ref, self.num_out)
        axes, l = self.num_axes, self.num_out
        low, high = self.lo, self.lo + self.width
        for count, step in zip(self.count, self.step, strict=True):
            low = low + np.minimum((count - 1) * step[:axes], 0)
            high = high + np.maximum((count - 1) * (step[:axes] + step[axes:]), 0)
        in_lo, in_hi = low[l:], high[l:]
        if l and self.num_in:
            relative = self.ref >= 0
            ref = np.where(relative, self.ref, 0)
            in_lo = in_lo + np.where(relative, np.take_along_axis(low[:l], ref, 0), 0)
            in_hi = in_hi + np.where(relative, np.take_along_axis(high[:l], ref, 0), 0)
        sides = low[:l].T, high[:l].T, in_lo.T, in_hi.T
        out_lo, out_hi, in_lo, in_hi = (np.ascontiguousarray(side) for side in sides)
        return out_lo, out_hi, in_lo, in_hi

    @cached_property
    def most_pairs(self) -> float:
        """A number of pairs that the rows can't exceed; exact unless widths step in a fold."""
        same = 1.0  # what every row has
        sizes = np.ones(1)
        for axis in range(self.num_axes, 2 * self.num_axes):
            width = self.column(axis)
            if width.strides == (0,) and not self.levels:
                same *= float(width[:1].sum()) + 1
                continue
            widest = width + 1.0
            for count, step in zip(self.count, self.step, strict=True):
                widest += np.maximum((count - 1) * step[axis], 0)
            sizes = sizes * widest
        for count in self.count:
            sizes = sizes * count
        return same * float(sizes.sum() if len(sizes) == self._n else sizes[0] * self._n)

    @cached_property
    def lookups(self) -> dict[tuple[tuple[int, ...], ...], Linear]:
        """Linear cells of all pairs, by the shapes of both sides; filled by queries by bitmap."""
        return {}

    @cached_property
    def plans(self) -> dict[tuple[object, ...], object]:
        """How queries by bitmap apply the rows; filled by them."""
        return {}

    def prefers_bitmap(self) -> bool:
        """Whether even a query of few cells is quicker by bitmap; true a few times only.

        That is so for single cells as they were read: boxes need the matrix, and an index over it.
        """
        if self.has_matrix or not self._single:
            return False
        self._scans += 1
        return self._scans <= LineageCost.current().scans

    def linear_pairs(self, out_sizes: Shape, in_sizes: Shape) -> Linear:
        """Return the linear output and input cell of every pair."""
        known = self.ordered in (None, out_sizes)
        if known and not self.has_matrix and self._single and self._n:
            return self._linear_cells(out_sizes, in_sizes)
        table = self.unfold()
        outs, ins = np.empty((2, int(row_sizes(table.width).sum())), np.int64)
        steps = strides(out_sizes), strides(in_sizes)
        linear_rows(table.lo, table.width, table.ref, table.num_out, *steps, outs, ins)
        return outs, ins

    def _linear_cells(self, out_sizes: Shape, in_sizes: Shape) -> Linear:
        """The same from the columns, where every row is one pair."""
        shape = self.ordered or (self._n,)
        places: I64 | None = None
        for i, size in enumerate(in_sizes):
            if size > 1:
                column, _, ref = self.said_of(self.num_out + i)
                column = column.reshape(shape)
                if places is None:
                    places = column.copy()
                else:
                    places *= size
                    places += column
                if ref[0] >= 0:
                    places += self._outputs(int(ref[0]), shape)
        if places is None:
            places = np.zeros(shape, np.int64)
        if self.ordered:
            return None, places.reshape(-1)
        outs = np.zeros(self._n, np.int64)
        for j, size in enumerate(out_sizes):
            outs *= size
            outs += self.column(j)
        return outs, places

    def _outputs(self, j: int, shape: Shape) -> I64:
        """The cells of an output axis, shaped so that they add to every row."""
        if self.ordered:
            return np.arange(shape[j]).reshape([-1 if k == j else 1 for k in range(len(shape))])
        return self.column(j)

    @cached_property
    def _single(self) -> bool:
        """Whether every row is one output and one input cell, with the same references."""
        axes = self.num_axes
        widths = (self.column(axes + axis) for axis in range(axes))
        refs = (self.column(2 * axes + i) for i in range(self.num_in))
        return (
            not self.levels
            and all(w.strides == (0,) and not w[:1].any() for w in widths)
            and all(r.strides == (0,) for r in refs)
        )

    def expand(self) -> I64:
        """Return every (b, a) pair, (n, l + m); pairs that two rows share come twice."""
        table = self.unfold()
        pairs = np.empty((int(row_sizes(table.width).sum()), self.num_axes), np.int64)
        expand_rows(table.lo, table.width, table.ref, table.num_out, pairs)
        return pairs

    def overlaps(self, q_lo: I64, q_hi: I64, *, backward: bool) -> tuple[I64, I64, int]:
        """Return the (query, row) pairs whose boxes overlap, and how many were looked at.

        Rows are in order of their outputs, so an index over them is cheap. One over the inputs has
        to sort: the first few boxes that ask look at every row instead.
        """
        cost = LineageCost.current()
        side = self.bounds[:2] if backward else self.bounds[2:]
        work = len(self) * len(q_lo)
        if not backward and not self._asked and cost.few_scans < work <= cost.most_scans:
            self._asked += 1
            return scan(*side, q_lo, q_hi)
        index = self._out_index if backward else self._in_index
        return index.overlaps(q_lo, q_hi)

    @cached_property
    def _out_index(self) -> IntervalIndex:
        return IntervalIndex.build(self.bounds[0], self.bounds[1])

    @cached_property
    def _in_index(self) -> IntervalIndex:
        return IntervalIndex.build(self.bounds[2], self.bounds[3])

    @cached_property
    def shares_ref(self) -> bool:
        """Whether some row has two input axes that refer to the same output axis."""
        ref = np.sort(self.ref, axis=0)
        return bool(((ref[1:] == ref[:-1]) & (ref[1:] >= 0)).any())

    def _lies_plainly(self, out_sizes: Sequence[int], in_sizes: Sequence[int]) -> bool | None:
        """Whether rows lie inside by the extremes of their columns alone; None if that says not."""
        if not self._n:
            return True
        if self.ordered is not None and self.ordered != tuple(out_sizes):
            return False
        ends: list[tuple[int, int]] = []
        inside = True
        for axis, size in enumerate([*out_sizes, *in_sizes]):
            if self.ordered is not None and axis < self.num_out:
                lo, rest = (0, size - 1), self.said_of(axis)[1:]
            else:
                first, *rest = self.said_of(axis)
                lo = _extremes(first)
            width, *refs = map(_extremes, rest)
            low, high = lo[0], lo[1] + width[1]
            if max(map(abs, (*lo, *width))) >= 1 << 60 or width[0] < 0:
                return False
            for first_ref, last_ref in refs:
                if first_ref < -1 or last_ref >= self.num_out:
                    return False
                met = ends[max(first_ref, 0) : last_ref + 1]
                low += min([0 if first_ref < 0 else 1 << 62, *(end[0] for end in met)])
                high += max([0 if first_ref < 0 else -(1 << 62), *(end[1] for end in met)])
            ends.append((low, high))
            inside &= low >= 0 and high < size
        return True if inside and not self.levels else None

    def is_inside(self, out_sizes: Sequence[int], in_sizes: Sequence[int]) -> bool:
        """Whether every cell of every row lies within axes of these sizes.

        Every column is linear in the turns of a fold, so its least and greatest values are at the
        ends: nothing is unfolded. A fold must move something, or it would only take time. Numbers
        that could wrap when they are added are outside of anything.
        """
        plain = self._lies_plainly(out_sizes, in_sizes)
        if plain is not None:
            return plain
        ref, l = self.ref, self.num_out
        reach = np.abs(self.step.astype(float)) * (self.count - 1)[:, None]
        still = (self.count > 1) & ~reach.any(axis=1)
        if still.any() or (reach.sum(axis=0) >= _FAR).any():
            return False
        if (ref < -1).any() or (ref >= l).any() or (self.count < 1).any():
            return False
        axes = self.num_axes
        lo = np.concatenate([self.lo[None], self.step[:, :axes]])  # (1 + K, l + m, n)
        width = np.concatenate([self.width[None], self.step[:, axes:]])
        if (_least(width, self.count) < 0).any():
            return False
        # a relative input counts from its output axis; axis l stands for none and is all zeros
        hi = lo + width
        at = np.where(ref < 0, l, ref)[None]
        zero = np.zeros((len(lo), 1, len(self)), np.int64)
        for ends in (lo, hi):
            ends[:, l:] += np.take_along_axis(np.concatenate([ends[:, :l], zero], axis=1), at, 1)
        sizes = np.array([*out_sizes, *in_sizes], np.int64)[:, None]
        return bool(
            (_least(lo, self.count) >= 0).all() and (_least(-hi, self.count) > -sizes).all()
        )


_FAR = 2.0**60


def _least(columns: I64, count: I64) -> I64:
    """Return the least value over a fold's turns; ``columns[0]`` start, the others step."""
    least: I64 = columns[0] + np.minimum(columns[1:] * (count - 1)[:, None], 0).sum(axis=0)
    return least


def _extremes(column: I64) -> tuple[int, int]:
    """Least and greatest value of a column that is not empty."""
    column = column[:1] if column.strides == (0,) else column
    return int(column.min()), int(column.max())


def _lows_widths(ends: Sequence[Interval]) -> list[int]:
    return [lo for lo, _ in ends] + [hi - lo for lo, hi in ends]


def attribute_names(l: int, m: int, levels: int = 0) -> list[str]:
    """Return the names of a table's columns in files: lower ends, widths, refs, then folds.

    >>> attribute_names(1, 1)
    ['b0', 'a0', 'b0w', 'a0w', 'a0r']
    """
    axes = [f"b{j}" for j in range(l)] + [f"a{i}" for i in range(m)]
    ends = axes + [f"{axis}w" for axis in axes]
    names = ends + [f"a{i}r" for i in range(m)]
    for k in range(levels):
        names += [f"n{k}", *(f"s{k}{name}" for name in ends)]
    return names


def same(value: int, n: int) -> I64:
    """Return a constant column, which takes no memory."""
    return np.broadcast_to(np.int64(value), n)


def _pick(column: I64, places: I64) -> I64:
    return same(int(column[0]), len(places)) if column.strides == (0,) else column[places]


def concat(tables: Sequence[Table]) -> Table:
    """Stack tables over the same axes; folds are padded to the deepest one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    levels = max(t.levels for t in tables)
    padded = [pad_levels(t, levels) for t in tables]
    return Table(
        first.num_out,
        first.num_in,
        np.concatenate([t.matrix for t in padded], axis=1),
        np.concatenate([t.count for t in padded], axis=1),
        np.concatenate([t.step for t in padded], axis=2),
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
        table.matrix,
        np.concatenate([np.ones((more, n), np.int64), table.count]),
        np.concatenate([np.zeros((more, 2 * table.num_axes, n), np.int64), table.step]),
    )
