"""Lineage as a DuckDB view, for SQL without Spark.

Queries are put together as text, for a view takes no parameters; names of axes are our own, names
of views and files are quoted.

SQL expands to pairs what are plain rows over all axes: products multiplied, folds undone, linear
views expanded. These may be many more than the stored ones.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from dslog.compress.provrc import provrc
from dslog.errors import DslogError
from dslog.lineage.factor import Factor, Term, whole
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.relation.relation import column_names
from dslog.sql.sql_cost import SqlCost
from dslog.sql.table_kinds import rows_batches, rows_schema
from dslog.store.files import StoredLineage
from dslog.store.lineage_store import LineageStore
from dslog.types import Shape


def plain_table(lineage: Lineage) -> Table:
    """Return one plain table over all axes that means the same as a lineage."""
    out_shape, in_shape = lineage.out_shape, lineage.in_shape
    l, m = len(out_shape), len(in_shape)
    if lineage.orientation == "forward":
        return provrc(lineage.to_relation(), out_shape, in_shape)
    tables = [_multiply(term, out_shape, in_shape) for term in lineage.terms]
    return concat([Table.empty(l, m), *tables])


def _multiply(term: Term, out_shape: Shape, in_shape: Shape) -> Table:
    tables = [_plain(factor, out_shape, in_shape) for factor in term]
    total = math.prod(map(len, tables))
    if total > SqlCost.current().view_rows:
        raise DslogError(
            f"as plain rows this lineage has {total:,} rows: too many for a view. "
            f"Ask the store itself, or read it with Spark"
        )
    l, m = len(out_shape), len(in_shape)
    rows = np.empty((total, 2 * (l + m)), np.int64)
    ref = np.full((total, m), -1, np.int64)
    t = np.arange(total)
    for factor, table in zip(term, tables, strict=True):
        outs, ins = list(factor.out_axes), list(factor.in_axes)
        columns = [*outs, *(l + j for j in outs)]
        columns += [*(2 * l + i for i in ins), *(2 * l + m + i for i in ins)]
        pick = t % max(len(table), 1)
        rows[:, columns] = table.rows[pick]
        renumber = np.array([*outs, -1], np.int64)  # the last entry answers for -1
        ref[:, ins] = renumber[table.ref[pick]]
        t //= max(len(table), 1)
    return Table.plain(l, m, rows, ref)


def _plain(factor: Factor, out_shape: Shape, in_shape: Shape) -> Table:
    if not (factor.out_flat or factor.in_flat):
        return factor.table.unfold()
    outs = tuple(out_shape[j] for j in factor.out_axes)
    ins = tuple(in_shape[i] for i in factor.in_axes)
    alone = Factor(
        tuple(range(len(outs))),
        tuple(range(len(ins))),
        factor.table,
        factor.out_flat,
        factor.in_flat,
    )
    return provrc(Lineage(outs, ins, ((alone,),)).to_relation(), outs, ins)


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
    large = stored.large
    if large is None or not large.is_union:
        yield _registered(con, stored.read(), stored.number, f"dslog_{name}", plain=plain)
        return
    files = [unit for unit in large.units() if unit.path and not unit.levels]
    if files:
        yield _files_query([unit.path for unit in files if unit.path], stored.number, sides)
    others = [unit for unit in large.units() if unit not in files]
    if others:
        lineage = large.lineage_of(others)
        yield _registered(con, lineage, stored.number, f"dslog_{name}_others", plain=plain)


def _registered(con: Any, lineage: Lineage, number: int, name: str, *, plain: bool) -> str:
    sides = lineage.out_shape, lineage.in_shape
    if plain:
        lineage = Lineage(*sides, (whole(plain_table(lineage)),))
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
