"""The 22 queries of TPC-H: Spark's values, and the rows behind them as DuckDB finds them."""

import datetime as dt
import re

import duckdb
import pytest
from tpch import QUERIES, tables

import dslog

FLAT = (1, 3, 5, 6, 10, 12, 14, 19)
"""Queries that are one group-by over joins, without another query inside."""
READS = {12: "orders"}
_PARTS = re.compile(r"select (.*) from (.*?)(?: group by (.*?))?(?: order by .*)?$", re.DOTALL)


@pytest.fixture(scope="module")
def data():
    return tables()


@pytest.fixture(scope="module")
def store(spark, data):
    with dslog.open(":memory:") as opened:
        for name, frame in data.items():
            opened.track(spark.createDataFrame(frame), name).createOrReplaceTempView(name)
        yield opened
    for name in data:
        spark.catalog.dropTempView(name)


def rounded(rows):
    """Rows that can be compared: sums come in any order."""
    return [tuple(f"{v:.6g}" if isinstance(v, float) else str(v) for v in row) for row in rows]


@pytest.mark.parametrize("number", QUERIES)
def test_values_are_those_of_spark(number, store, spark):
    frame = store.sql(QUERIES[number], f"values{number}")
    rows = frame.collect()
    assert rows
    assert sorted(rounded(rows)) == sorted(rounded(spark.sql(QUERIES[number]).collect()))
    sources = {info.in_ for info in store.lineages() if info.out.startswith(f"values{number}")}
    for source in sources:
        assert store.backward(frame.name, None, to=source).exact


@pytest.mark.parametrize("number", FLAT)
def test_rows_are_those_that_duckdb_finds(number, store, data):
    columns, tables_and_conditions, keys = _PARTS.match(" ".join(QUERIES[number].split())).groups()
    source = READS.get(number, "lineitem")
    rows_of = f"list(distinct {source}.rowid order by {source}.rowid)"
    query = f"select {keys + ', ' if keys else ''}{rows_of} from {tables_and_conditions}"
    with duckdb.connect() as db:
        for name, frame in data.items():
            dates = {c: "date" for c in frame if isinstance(frame[c].iloc[0], dt.date)}
            db.register(f"_{name}", frame)
            picked = ", ".join(f"{c}::{dates.get(c)} {c}" if c in dates else c for c in frame)
            db.execute(f"create table {name} as select {picked} from _{name}")
        found = db.execute(query + (f" group by {keys}" if keys else "")).fetchall()
    expected = {tuple(map(str, key)): rows for *key, rows in found}
    frame = store.sql(QUERIES[number], f"rows{number}")
    names = [name.strip() for name in keys.split(",")] if keys else []
    sums = next(n for n, c in enumerate(frame.columns) if c not in names)
    for place, row in enumerate(frame.collect()):
        cells = store.backward(frame.name, (place, sums), to=source).indices()
        key = tuple(str(row[name]) for name in names)
        assert sorted({r for r, _ in cells.tolist()}) == expected[key], columns
