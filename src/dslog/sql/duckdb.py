"""Lineage as a DuckDB view, for SQL without Spark.

Queries are put together as text, for a view takes no parameters; names of axes are our own, names
of views and files are quoted.

SQL expands to pairs what are plain rows over all axes: products multiplied, folds undone, linear
views expanded. These may be many more than the stored ones.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from dslog.algebra.product import plain_table
from dslog.errors import DslogError
from dslog.lineage.lineage import Lineage
from dslog.lineage.part_files import check_part
from dslog.relation.relation import column_names
from dslog.sql.sql_cost import SqlCost
from dslog.sql.table_kinds import rows_batches, rows_schema
from dslog.store.files import StoredLineage
from dslog.store.lineage_store import LineageStore
from dslog.types import Shape

# ruff: noqa: S608


def duckdb_view(
    con: Any,
    store: LineageStore,
    out: str,
    in_: str,
    *,
    name: str | None = None,
    kind: Literal["pairs", "rows"] = "pairs",
) -> str:
    """Make the lineage between two arrays a view of a DuckDB connection; return its name.

    ``kind`` "pairs" has a row for each pair of cells, with columns ``b0 ..`` and ``a0 ..``; "rows"
    has the compressed rows, as ``dslog.sql.table_kinds`` describes them. Part files are read when
    the view is; smaller lineage is read now, and stays in memory as long as the connection lives.
    """
    if kind not in ("pairs", "rows"):
        raise DslogError(f"kind {kind!r} is none of 'pairs', 'rows'")
    view = name or f"{out}_{in_}"
    stored = store.stored(out, in_)
    sides = store.find(out).shape, store.find(in_).shape
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
    large = stored.large
    if large is None or not large.is_union:
        yield _registered(con, stored.read(), stored.number, f"dslog_{name}", plain=plain)
        return
    files = [unit for unit in large.units() if unit.path and not unit.levels]
    for unit in files:
        if unit.path and unit.part:
            check_part(unit.path, unit.part)  # DuckDB knows of no checksums
    if files:
        yield _files_query([unit.path for unit in files if unit.path], stored.number, sides)
    others = [unit for unit in large.units() if unit not in files]
    if others:
        lineage = large.lineage_of(others)
        yield _registered(con, lineage, stored.number, f"dslog_{name}_others", plain=plain)


def _registered(con: Any, lineage: Lineage, number: int, name: str, *, plain: bool) -> str:
    sides = lineage.out_shape, lineage.in_shape
    if plain:
        table = plain_table(lineage, SqlCost.current().view_rows)
        if table is None:
            raise DslogError(
                f"as plain rows the lineage of {name.removeprefix('dslog_')} is too large for a "
                f"view. Ask the store itself, or read it with Spark"
            )
        lineage = Lineage.of_table(*sides, table)
    schema = rows_schema(*map(len, sides))
    con.register(name, pa.Table.from_batches(rows_batches(lineage, number), schema))
    return f"select * from {_quoted(name)}"


def _files_query(paths: list[Path], number: int, sides: tuple[Shape, Shape]) -> str:
    l, m = map(len, sides)
    columns = [f"{number}::bigint as lineage", "0 as term", "0 as factor"]
    for axis in column_names(l, m):
        columns.append(f"{axis}::bigint as {axis}_lo")
        columns.append(f"{axis}::bigint + {axis}w::bigint as {axis}_hi")
        cases = " ".join(f"when {j} then 'b{j}'" for j in range(l))
        ref = f"case {axis}r {cases} end" if axis.startswith("a") and l else "null::varchar"
        columns.append(f"{ref} as {axis}_ref")
    columns += ["null::varchar as folds", "null::varchar as linear"]
    files = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
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
