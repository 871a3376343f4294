"""The 22 queries of TPC-H, as SQL and as code: Spark's values, and what DuckDB finds behind them.

With ``--hypothesis-profile=deep`` every cell is compared, of tables at scale 0.001.
"""

import numpy as np
import pytest
from hypothesis import settings
from oracle import (
    Oracle,
    check_contribution,
    check_influence,
    check_scrambled,
    check_sums,
    texts,
)
from tpch_oracle import ALIASES, BEHIND

import dslog
from benchmarks.workloads.tpch import QUERIES, tables
from benchmarks.workloads.tpch_frames import FRAMES

DEEP = settings.default.max_examples >= 1000
SCALE = 0.001 if DEEP else 0.0005
SUMS = {
    1: "sum_qty", 3: "revenue", 5: "revenue", 6: "revenue", 7: "revenue", 9: "profit",
    10: "revenue", 11: "v", 15: "total_revenue", 17: "avg_yearly", 18: "q",
    19: "revenue", 22: "totacctbal",
}  # fmt: skip
"""Columns that are a sum, which any of its numbers changes."""
FORMS = [f"sql {number}" for number in QUERIES]
FORMS += [f"{form} {n}" for n in QUERIES for form in ("code", "methods") if DEEP or n in (2, 13)]


@pytest.fixture(scope="module")
def data():
    return tables(SCALE)


@pytest.fixture(scope="module")
def oracle(data):
    return Oracle(data, ALIASES)


@pytest.fixture(scope="module")
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(spark, data):
    return {name: spark.createDataFrame(table) for name, table in data.items()}


@pytest.fixture(scope="module")
def tracked(spark, store, plain):
    frames = {name: store.track(frame, name) for name, frame in plain.items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    yield frames
    for name in frames:
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("form", FORMS)
def test_lineage_is_what_duckdb_finds(form, store, oracle, tracked, plain):
    """As text, as code on plain frames that is recorded, and as code on tracked frames."""
    way, _, number = form.partition(" ")
    number = int(number)
    if way == "sql":
        frame = store.sql(QUERIES[number], form)
    elif way == "code":
        frame = store.record(FRAMES[number](plain), form)
    else:
        frame = FRAMES[number](tracked).named(form)
    rows = [tuple(row) for row in frame.collect()]
    assert rows
    assert sorted(texts(rows)) == sorted(texts(oracle.rows(QUERIES[number])))
    few = np.random.default_rng(number).permutation(len(rows))[: 20 if DEEP else 2].tolist()
    check_contribution(store, frame, rows, oracle, BEHIND[number], None if DEEP else few)
    if way != "methods":  # which say what contributed alone
        check_influence(store, frame, rows, oracle, BEHIND[number], few)
        check_scrambled(store, frame, rows, oracle, QUERIES[number], few)
        if number in SUMS:
            check_sums(store, frame, rows, oracle, QUERIES[number], SUMS[number], few)
