"""Row lineage times column lineage: the lineage between the cells of two tables.

What a step does to rows and what it does to columns are independent of each other, mostly: so n
rows and c columns cost n + c, not n * c. Where columns differ in the rows they read (a group's key
and a value picked from one of its rows) the lineage is a union of such products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dslog.compress.encoder import encode_table
from dslog.compress.provrc import fold, provrc
from dslog.lineage.factor import Factor
from dslog.lineage.large_lineage import LargeLineage, LargeTerm, PartFactor, PartTable
from dslog.lineage.lineage import Orientation
from dslog.lineage.table import Row, Table, same
from dslog.types import Shape

Pairs = frozenset[tuple[int, int]]
"""Columns that read columns: (output column, input column)."""


@dataclass(frozen=True, eq=False)
class RowMap:
    """Which rows of an input made which rows of an output.

    ``forward`` says that the table's absolute side is the input, as for a group-by, where each
    input row has one output row. Such a table may give the output's column as well (``pivoted``).
    """

    table: Table | PartTable
    forward: bool = False

    @property
    def pivoted(self) -> bool:
        """Whether the table names output cells, not output rows."""
        return self.table.num_in == 2

    @classmethod
    def run(cls, count: int, out: int = 0, in_: int = 0) -> RowMap:
        """Map ``count`` rows in order, from rows ``out`` and ``in_`` on."""
        if not count:
            return cls(Table.empty(1, 1))
        row = Row(((out, out + count - 1),), ((in_ - out, in_ - out),), (0,))
        return cls(Table.of_rows(1, 1, [row]))

    @classmethod
    def everything(cls, out: int, in_: int) -> RowMap:
        """Map all of the input's rows to every row of the output."""
        rows = [Row(((0, out - 1),), ((0, in_ - 1),), (-1,))] if out and in_ else []
        return cls(Table.of_rows(1, 1, rows))

    @classmethod
    def gather(cls, count: int) -> RowMap:
        """Map all of ``count`` input rows to one output row."""
        rows = [Row(((0, count - 1),), ((0, 0),), (-1,))] if count else []
        return cls(Table.of_rows(1, 1, rows), forward=True)

    def turned(self) -> RowMap:
        """Return a map of rows in order, or of all, with the other side as the absolute one."""
        table = self.table
        if not isinstance(table, Table) or table.levels:
            raise AssertionError("only rows in order can be turned")
        (start, shift), (length, wide), ref = table.lo, table.width, table.ref[0]
        if (ref < 0).all():
            return RowMap(Table(1, 1, [shift, start, wide, length, ref]), not self.forward)
        if (ref < 0).any() or wide.any():
            raise AssertionError("only rows in order can be turned")
        columns = [start + shift, -shift, length, same(0, len(table)), ref]
        return RowMap(Table(1, 1, columns), not self.forward)


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Which rows of an input made which rows of an output, as a union of products."""

    terms: tuple[LargeTerm, ...]
    forward: bool = False


@dataclass(frozen=True, eq=False)
class TableProduct:
    """Rows by columns. A pivoted map takes the input columns alone."""

    rows: RowMap | RowTerms
    columns: Pairs


def same_columns(count: int) -> Pairs:
    """Every column comes from the one at its place."""
    return frozenset((c, c) for c in range(count))


def all_columns(out: int, in_: int) -> Pairs:
    """Every column comes from every column."""
    return frozenset((c, d) for c in range(out) for d in range(in_))


def picked(places: Iterable[int]) -> Pairs:
    """Column c comes from the c-th of these places."""
    return frozenset(enumerate(places))


def unite_products(
    out_shape: Shape, in_shape: Shape, parts: Sequence[TableProduct], *, exact: bool = True
) -> LargeLineage:
    """Return the lineage that is the union of these products; rows in part files stay there."""
    forward = any(part.rows.forward for part in parts)
    terms: list[LargeTerm] = []
    for part in parts:
        rows = part.rows
        if isinstance(rows, RowTerms):
            columns = _columns(part.columns, out_shape, in_shape, forward=forward)
            terms += [(*term, columns) for term in rows.terms]
            continue
        rows = rows if rows.forward == forward else rows.turned()
        if len(rows.table) and part.columns:
            terms += _terms(rows, part.columns, out_shape, in_shape)
    direction: Orientation = "forward" if forward else "backward"
    return LargeLineage(out_shape, in_shape, tuple(terms), exact, direction)


def _terms(rows: RowMap, columns: Pairs, out_shape: Shape, in_shape: Shape) -> list[LargeTerm]:
    if rows.pivoted:
        reads = {(c,) for _, c in columns}
        table = _encode_pairs(reads, (in_shape[1],), ())
        others = Factor((1,), (), table)
        encoded = _encode_rows(rows, in_shape[:1], out_shape)
        return [(*term, others) for term in encoded]
    sides = (in_shape, out_shape) if rows.forward else (out_shape, in_shape)
    factor = _columns(columns, out_shape, in_shape, forward=rows.forward)
    encoded = _encode_rows(rows, sides[0][:1], sides[1][:1])
    return [(*term, factor) for term in encoded]


def _columns(columns: Pairs, out_shape: Shape, in_shape: Shape, *, forward: bool) -> Factor:
    sides = (in_shape, out_shape) if forward else (out_shape, in_shape)
    pairs = {(i, o) for o, i in columns} if forward else set(columns)
    return Factor((1,), (1,), _encode_pairs(pairs, sides[0][1:], sides[1][1:]))


def _encode_rows(rows: RowMap, out_shape: Shape, in_shape: Shape) -> Sequence[LargeTerm]:
    """Compress a map further; one in part files stays as it is."""
    if isinstance(rows.table, PartTable):
        return [(PartFactor((0,), tuple(range(rows.table.num_in)), rows.table),)]
    return encode_table(rows.table, out_shape, in_shape)


def _encode_pairs(pairs: Iterable[tuple[int, ...]], out_shape: Shape, in_shape: Shape) -> Table:
    relation = np.array(sorted(pairs), np.int64)
    return fold(provrc(relation, out_shape, in_shape))
