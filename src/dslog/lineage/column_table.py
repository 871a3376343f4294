"""A table as it is read: columns, most of them constant, and no matrix until something needs one.

Reading a store and asking once must not cost more than the columns that were written. A table of
single cells (a sort, a filter, a join's rows) answers bitmaps straight from its columns; only boxes
that keep coming are worth the matrix and an index over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dslog.lineage.table import Linear, Table, axis_columns
from dslog.types import I64

_BLOCK = 1 << 12  # rows of the matrix that are filled at a time, to stay in cache
_SCANS = 4  # queries that a table answers before it is worth an index


class ColumnTable(Table):
    """A plain table of ``n`` rows with named columns ``b0 b0w .. a0 a0w .. a0r ..``.

    ``ordered`` are the sizes of the output axes when the rows' outputs are all of their cells in
    C order; then the columns ``b0 ..`` are made from that.
    """

    def __init__(
        self,
        num_out: int,
        num_in: int,
        n: int,
        columns: Mapping[str, I64],
        ordered: Sequence[int] | None = None,
    ) -> None:
        self.__dict__.update(
            num_out=num_out,
            num_in=num_in,
            _n=n,
            _columns=dict(columns),
            _ordered=None if ordered is None else tuple(ordered),
            _scans=0,
        )

    _n: int
    _columns: dict[str, I64]
    _ordered: tuple[int, ...] | None
    _scans: int

    def __len__(self) -> int:
        return self._n

    @property
    def levels(self) -> int:
        """None of the rows is folded."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix, made or not: what a cache has to reckon with in the end."""
        return 8 * self._n * (self.width + self.num_in)

    @property
    def ordered(self) -> tuple[int, ...] | None:
        """Sizes of the output axes when the rows are all of their cells in order, else None."""
        return self._ordered

    @property
    def columns(self) -> dict[str, I64]:
        """The columns; those of the outputs are left out where they go without saying."""
        return dict(self._columns)

    def said_of(self, axis: int) -> list[I64]:
        """What the rows say of an axis, as columns: widths stand for upper ends."""
        if self.has_rows or (self._ordered is not None and axis < self.num_out):
            return super().said_of(axis)
        j = axis - self.num_out
        names = [f"b{axis}", f"b{axis}w"] if j < 0 else [f"a{j}", f"a{j}w", f"a{j}r"]
        return [self._columns[name] for name in names]

    def take(self, which: Any) -> Table:
        """Keep some rows, in the given order; the others are not made for that."""
        if self.has_rows:
            return super().take(which)
        if isinstance(which, slice):
            places = np.arange(*which.indices(self._n))
        else:
            places = np.arange(self._n)[which]
        columns = {name: column[places] for name, column in self._columns.items()}
        if self._ordered is not None:
            indices = np.unravel_index(places, self._ordered)
            columns.update((f"b{j}", index) for j, index in enumerate(indices))
        part = ColumnTable(self.num_out, self.num_in, len(places), columns)
        return Table.plain(self.num_out, self.num_in, part.rows, part.ref)

    @property
    def has_rows(self) -> bool:
        """Whether the matrix was made."""
        return "rows" in self.__dict__

    @cached_property
    def rows(self) -> I64:
        """The matrix."""
        matrix = np.empty((self._n, self.width), np.int64)
        columns = dict(self._columns)
        if self._ordered is not None:
            indices = np.unravel_index(np.arange(self._n), self._ordered)
            columns.update((f"b{j}", index) for j, index in enumerate(indices))
        axes = [
            (lo, hi, columns[name], columns[f"{name}w"])
            for name, lo, hi in axis_columns(self.num_out, self.num_in)
        ]
        for start in range(0, self._n, _BLOCK):
            part = slice(start, start + _BLOCK)
            for lo, hi, column, width in axes:
                matrix[part, lo] = column[part]
                matrix[part, hi] = column[part] + width[part]
        return matrix

    @cached_property
    def ref(self) -> I64:
        """The references."""
        matrix = np.empty((self._n, self.num_in), np.int64)
        for i in range(self.num_in):
            matrix[:, i] = self._columns[f"a{i}r"]
        return matrix

    @cached_property
    def count(self) -> I64:
        """No fold."""
        return np.ones((self._n, 0), np.int64)

    @cached_property
    def step(self) -> I64:
        """No fold."""
        return np.zeros((self._n, 0, self.width), np.int64)

    @cached_property
    def most_pairs(self) -> float:
        """The number of pairs."""
        same = 1.0  # what every row has
        sizes = np.ones(1)
        for name, _, _ in axis_columns(self.num_out, self.num_in):
            width = self._columns[f"{name}w"]
            if width.strides == (0,):
                same *= float(width[:1].sum()) + 1
            else:
                sizes = sizes * (width + 1.0)
        return same * float(sizes.sum() if len(sizes) == self._n else sizes[0] * self._n)

    def prefers_bitmap(self) -> bool:
        """Whether a query by bitmap is quicker than making the matrix; true a few times only."""
        if self.has_rows or not self._single:
            return False
        self.__dict__["_scans"] += 1
        return self._scans <= _SCANS

    def linear_pairs(self, out_sizes: tuple[int, ...], in_sizes: tuple[int, ...]) -> Linear:
        """Return the linear cells of every pair, from the columns if rows are single cells."""
        known = self._ordered is None or self._ordered == out_sizes
        if not self._single or not self._n or not known:
            return super().linear_pairs(out_sizes, in_sizes)
        shape = self._ordered or (self._n,)
        places: I64 | None = None
        for i, size in enumerate(in_sizes):
            if size > 1:
                column = self._columns[f"a{i}"].reshape(shape)
                if places is None:
                    places = column.copy()
                else:
                    places *= size
                    places += column
                j = int(self._columns[f"a{i}r"][0])
                if j >= 0:
                    places += self._output(j, shape)
        if places is None:
            places = np.zeros(shape, np.int64)
        if self._ordered:
            return None, places.reshape(-1)
        outs = np.zeros(self._n, np.int64)
        for j, size in enumerate(out_sizes):
            outs *= size
            outs += self._columns[f"b{j}"]
        return outs, places

    def _output(self, j: int, shape: tuple[int, ...]) -> I64:
        """The cells of an output axis, shaped so that they add to every row."""
        if shape == self._ordered:
            return np.arange(shape[j]).reshape([-1 if k == j else 1 for k in range(len(shape))])
        return self._columns[f"b{j}"]

    @cached_property
    def _single(self) -> bool:
        """Whether every row is one output and one input cell, with the same references."""
        names = [f"{name}w" for name, _, _ in axis_columns(self.num_out, self.num_in)]
        widths = (self._columns[name] for name in names)
        refs = (self._columns[f"a{i}r"] for i in range(self.num_in))
        return all(w.strides == (0,) and not w[:1].any() for w in widths) and all(
            r.strides == (0,) for r in refs
        )
