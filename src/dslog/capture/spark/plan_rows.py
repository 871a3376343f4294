"""Rows of a plan: their ids, what their columns read, what decided that they are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pyspark.sql import DataFrame

from dslog.capture.spark.catalyst import expr_id
from dslog.capture.spark.source import Kept
from dslog.capture.spark.table_node import TableNode


@dataclass(frozen=True, eq=False)
class Source:
    """A table of the graph, and its rows."""

    table: TableNode
    kept: Kept


class Known(Protocol):
    """The tracked tables that plans are made of."""

    def table_of(self, node: Any, marks: str) -> Source | None:
        """Return the table that a node with these marks is, if it is one."""

    def behind(self, node: Any) -> Iterable[Source]:
        """Return tables that values of a leaf may be from, which says nothing of it itself."""

    def keep(self, frame: DataFrame) -> Kept:
        """Compute rows and keep them."""


Cell = tuple[int | TableNode, int]
"""A column, in the row that a hidden column names, or, of a table, in all of its rows."""

Cells = frozenset[Cell]
NONE: Cells = frozenset()

Fields = tuple[tuple[Cells, "Fields | None"], ...]
"""What each field of a struct reads, and what the fields of that do if it is a struct too."""


@dataclass(frozen=True, eq=False)
class PlanRows:
    """A plan with hidden columns of ids.

    ``ids`` holds these, with the tables that they name rows of; ``reads`` the cells that each
    column reads, and ``decides`` those that decided that a row is there. Steady rows are the same
    each time they are computed. ``equal`` are columns that a join found equal; ``counted``, of
    grouping sets, the cells that a count of their rows reads; ``fields``, of structs that the plan
    makes, what each field reads.
    """

    plan: Any
    ids: Mapping[int, tuple[Source, Any]] = field(default_factory=dict)
    reads: Mapping[int, Cells] = field(default_factory=dict)
    decides: Cells = NONE
    steady: bool = True
    exact: bool = True
    equal: tuple[tuple[int, int], ...] = ()
    counted: Cells | None = None
    fields: Mapping[int, Fields] = field(default_factory=dict)

    def read(self, columns: Iterable[int]) -> Cells:
        """Return the cells that columns read."""
        return frozenset().union(*(self.reads.get(column, NONE) for column in columns))

    def everywhere(self, cells: Cells) -> Cells:
        """Return the columns of cells, in all rows of their tables."""
        return frozenset(
            (self.ids[of][0].table if isinstance(of, int) else of, column) for of, column in cells
        )

    def or_absent(self, cells: Cells) -> Cells:
        """Return cells everywhere, and all that decides which rows their tables have.

        A row that is not there has no id: what kept it out is below the tables it is missing in.
        """
        of_rows = {source.table for source, _ in self.ids.values()}
        waiting: list[tuple[TableNode, int | None]] = [(table, None) for table in of_rows]
        waiting += [(of, c) for of, c in self.everywhere(cells) if not isinstance(of, int)]
        found = set(waiting)
        while waiting:
            table, column = waiting.pop()
            more: set[tuple[TableNode, int | None]] = set()
            for one in table.origin.inputs:
                more.add((one.table, None))
                for _, pairs in one.parts:
                    more |= {(one.table, d) for c, d in pairs if one.decides or c == column}
            waiting += more - found
            found |= more
        return frozenset((table, c) for table, c in found if c is not None)

    def with_reads(self, reads: Mapping[int, Cells]) -> PlanRows:
        """Say anew what columns read."""
        return replace(self, reads=reads)

    @property
    def hidden(self) -> list[Any]:
        """The attributes of the ids."""
        return [attribute for _, attribute in self.ids.values()]

    @property
    def tables(self) -> Cells:
        """Every cell that rows could come from."""
        return self.everywhere(frozenset().union(self.decides, *self.reads.values()))


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows that a kept row comes from: those that agree with it in columns of these names.

    ``rows.plan`` gives these columns, and ids. Of ``spans``, which are among the names, a kept row
    has what holds those of its rows.
    """

    names: Sequence[str]
    rows: PlanRows
    spans: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Made:
    """Rows that were computed and kept: a table to be.

    ``rows`` says what they come from, by ids that are kept beside them; ``groups`` what they come
    from by their keys; ``runs`` by where they are in the order of a window.
    """

    op: str
    kept: Kept
    outputs: Sequence[Any]
    rows: PlanRows
    groups: Sequence[Groups] = ()
    windows: Sequence[WindowRuns] = ()


@dataclass(frozen=True, eq=False)
class WindowRuns:
    """The frames of a window: columns that say where rows are and how far their frames reach.

    ``place`` counts rows within those that agree in ``parts``; ``reads`` are, for each frame, the
    names of two columns, where it ends and how many rows it holds, and what is read in its rows.
    """

    place: str
    parts: Sequence[str]
    reads: Sequence[tuple[str, str, Mapping[int, Cells]]]


def in_other_rows(cells: Cells, ids: Mapping[int, Any]) -> Cells:
    """Say of cells in rows with some ids that they are in those with others."""
    return frozenset(
        (expr_id(ids[of]) if isinstance(of, int) and of in ids else of, c) for of, c in cells
    )


def ids_of(rows: PlanRows, copies: Mapping[int, Any]) -> dict[int, tuple[Source, Any]]:
    """Return what ids that were named once more are of."""
    return {expr_id(one): (rows.ids[of][0], one.toAttribute()) for of, one in copies.items()}
