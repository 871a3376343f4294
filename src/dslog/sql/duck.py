"""Lineage as a DuckDB view, for SQL without Spark.

Queries are put together as text, for a view takes no parameters; names of axes are our own, names
of views and files are quoted.
"""

# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa

from dslog.engine.large import LargePart
from dslog.errors import DslogError
from dslog.lineage.factor import whole
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.sql.plain import plain_table
from dslog.sql.tables import rows_batches, rows_schema
from dslog.sql.window import cells_window
from dslog.store.store import Store
from dslog.store.stored import StoredLineage

Shape = tuple[int, ...]


def duckdb_view(
    con: Any,
    store: Store,
    out: str,
    in_: str,
    *,
    name: str | None = None,
    kind: Literal["pairs", "rows"] = "pairs",
) -> str:
    """Make the lineage between two arrays a view of a DuckDB connection; return its name.

    ``kind`` "pairs" has a row for each pair of cells, with columns ``b0 ..`` and ``a0 ..``; "rows"
    has the compressed rows, as ``dslog.sql.tables`` describes them. Part files are read when the
    view is; smaller lineage is read now, and stays in memory as long as the connection lives.
    """
    if kind not in ("pairs", "rows"):
        raise DslogError(f"kind {kind!r} is none of 'pairs', 'rows'")
    view = name or f"{out}_{in_}"
    stored = store.stored(out, in_)
    shapes = {array.name: array.shape for array in store.arrays()}
    sides = shapes[out], shapes[in_]
    sources = [
        source
        for number, one in enumerate(stored)
        for source in _sources(con, one, sides, f"{view}_{number}", plain=kind == "pairs")
    ]
    rows = " union all by name ".join(sources) or _nothing(sides)
    query = rows if kind == "rows" else _pairs_query(rows, sides)
    con.execute(f"create or replace view {_quoted(view)} as {query}")
    return view


def _sources(
    con: Any, stored: StoredLineage, sides: tuple[Shape, Shape], name: str, *, plain: bool
) -> Iterator[str]:
    """Yield a query for each kind of place that a lineage's rows are in."""
    if stored.large is None:
        lineage = stored.read()
        if plain:
            lineage = Lineage(*sides, (whole(plain_table(lineage)),))
        batches = list(rows_batches(lineage, stored.number))
        yield _registered(con, batches, sides, f"dslog_{name}")
        return
    for levels in sorted({part.levels for part in stored.large.parts}):
        parts = [part for part in stored.large.parts if part.levels == levels]
        if levels == 0:
            yield _files_query(parts, stored.number, sides)
            continue
        units = stored.large.units_within(cells_window((), (), sides[0] + sides[1]), 1 << 20)
        lineage = stored.large.lineage_of([unit for unit in units if unit.levels == levels])
        if plain:
            lineage = Lineage(*sides, (whole(plain_table(lineage)),))
        batches = list(rows_batches(lineage, stored.number))
        yield _registered(con, batches, sides, f"dslog_{name}_folded")


def _registered(
    con: Any, batches: list[pa.RecordBatch], sides: tuple[Shape, Shape], name: str
) -> str:
    table = pa.Table.from_batches(batches, rows_schema(*map(len, sides)))
    con.register(name, table)
    return f"select * from {_quoted(name)}"


def _files_query(parts: list[LargePart], number: int, sides: tuple[Shape, Shape]) -> str:
    l, m = map(len, sides)
    columns = [f"{number}::bigint as lineage", "0 as term", "0 as factor"]
    for axis in column_names(l, m):
        columns.append(f"{axis}::bigint as {axis}_lo")
        columns.append(f"{axis}::bigint + {axis}w::bigint as {axis}_hi")
        cases = " ".join(f"when {j} then 'b{j}'" for j in range(l))
        ref = f"case {axis}r {cases} end" if axis.startswith("a") and l else "null::varchar"
        columns.append(f"{ref} as {axis}_ref")
    columns += ["null::varchar as folds", "null::varchar as linear"]
    files = ", ".join("'" + str(part.path).replace("'", "''") + "'" for part in parts)
    return f"select {', '.join(columns)} from read_parquet([{files}])"


def _pairs_query(rows: str, sides: tuple[Shape, Shape]) -> str:
    """Expand plain rows, axis by axis; a pair that several rows give comes once."""
    l, m = map(len, sides)
    query = f"select * from ({rows})"
    for axis in column_names(l, m):
        shift = "0"
        if axis.startswith("a"):
            cases = " ".join(f"when 'b{j}' then b{j}" for j in range(l))
            shift = f"coalesce(case {axis}_ref {cases} end, 0)" if l else "0"
        ends = f"{axis}_lo + {shift}, {axis}_hi + {shift} + 1"
        query = f"select *, unnest(range({ends})) as {axis} from ({query})"
    names = ", ".join(column_names(l, m)) or "0 as nothing"
    return f"select distinct {names} from ({query})"


def _nothing(sides: tuple[Shape, Shape]) -> str:
    columns = [
        f"null::{'varchar' if end == 'ref' else 'bigint'} as {axis}_{end}"
        for axis in column_names(*map(len, sides))
        for end in ("lo", "hi", "ref")
    ]
    return f"select {', '.join(columns) or '0 as nothing'} where false"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
