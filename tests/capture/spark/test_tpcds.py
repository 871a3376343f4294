"""Queries of the kinds that TPC-DS has: Spark's values, and what DuckDB finds behind them.

Every second one; with ``--hypothesis-profile=deep`` all, and all rows of what they give.
"""

import pytest
from hypothesis import settings
from oracle import Oracle, cells, check_contribution, check_influence, check_scrambled, texts
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tpcds import ALIASES, CASES, JOINED, one, tables

import dslog

DEEP = settings.default.max_examples >= 1000
ROWS = 3
"""How many rows of a result are asked for what decided, and stay when all else is drawn anew."""
MOST = None if DEEP else 12
"""How many are asked for what contributed."""


@pytest.fixture(scope="module")
def data():
    return tables()


@pytest.fixture(scope="module")
def oracle(data):
    return Oracle(data, ALIASES)


@pytest.fixture(scope="module")
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture(scope="module")
def tracked(spark, store, data):
    frames = {name: store.track(spark.createDataFrame(t), name) for name, t in data.items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    yield frames
    for name in data:
        spark.catalog.dropTempView(name)


def spread(rows, most=ROWS):
    return range(0, len(rows), max(1, len(rows) // (most or len(rows) or 1)))


@pytest.mark.parametrize("name", CASES if DEEP else list(CASES)[::2])
def test_lineage_is_what_duckdb_finds(name, store, tracked, oracle, spark):
    case = CASES[name]
    frame = store.sql(case.sql)
    rows = [tuple(row) for row in frame.collect()]
    plain = [tuple(row) for row in spark.sql(case.sql).collect()]
    assert sorted(texts(rows)) == sorted(texts(plain))
    if case.other:
        assert sorted(texts(rows)) == sorted(texts(oracle.rows(case.other)))
        check_scrambled(store, frame, rows, oracle, case.other, spread(rows))
    if case.behind is not None:
        check_contribution(store, frame, rows, oracle, case.behind, spread(rows, MOST))
        check_influence(store, frame, rows, oracle, case.behind, spread(rows))


OWN = "select sid, rowid s from sales"


def check(store, frame, oracle, spec, query=None):
    """What is behind a frame that was made of the tracked tables, in any way."""
    rows = [tuple(row) for row in frame.collect()]
    check_contribution(store, frame, rows, oracle, spec)
    check_influence(store, frame, rows, oracle, spec, spread(rows))
    if query:
        assert sorted(texts(rows)) == sorted(texts(oracle.rows(query)))
        check_scrambled(store, frame, rows, oracle, query, spread(rows))


def test_user_functions(store, tracked, oracle, spark):
    spark.udf.register("half", lambda x: x / 2, "double")
    spark.sql("create temporary function twice(x double) returns double return x * 2")
    frame = store.sql("select sid, half(sqty) a, twice(sprice) b from sales where half(sqty) > 2")
    reads = {"sid": "sid", "a": "sqty", "b": "sprice"}
    query = "select sid, sqty / 2, sprice * 2 from sales where sqty > 4"
    check(store, frame, oracle, one(OWN, reads, "sqty"), query)
    spark.sql("drop temporary function twice")


def test_views_over_views(store, tracked, oracle, spark):
    spark.sql("select s.*, hregion from sales s join shops on sshop = hid").createOrReplaceTempView(
        "placed"
    )
    spark.sql("select hregion, sum(sqty) q from placed group by 1").createOrReplaceTempView("sums")
    frame = store.sql("select sid, sqty / q part from placed join sums using (hregion)")
    rows = """select a.sid, list(s.rowid) s1, list(h.rowid) h1, any_value(a.rowid) s2 from
        sales a join shops b on a.sshop = b.hid join shops h on h.hregion = b.hregion
        join sales s on s.sshop = h.hid group by a.sid"""
    spec = one(rows, {"sid": "s2.sid", "part": "s1.sqty s2.sqty"}, "s1.sshop h1.hid h1.hregion")
    check(store, frame, oracle, spec)
    for name in ("placed", "sums"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("keep", ["cache", "localCheckpoint"])
def test_kept_frames(keep, store, tracked, oracle):
    some = getattr(tracked["sales"].where("sqty > 3"), keep)()
    frame = some.groupBy("sshop").agg(F.sum("sprice").alias("v")).where("v > 50").named(keep)
    rows = [tuple(row) for row in frame.collect()]
    reads = {"sshop": "sshop", "v": "sprice"}
    spec = one("select sshop, rowid s from sales where sqty > 3", reads)
    check_contribution(store, frame, rows, oracle, spec)


def test_frames_made_by_methods(store, tracked, oracle):
    sales, shops = tracked["sales"], tracked["shops"]
    joined = sales.join(shops, sales.sshop == shops.hid).na.fill(0.0, ["sprice"])
    frame = joined.cube("hregion").agg(F.max("sprice").alias("m"), F.grouping("hregion").alias("g"))
    rows = [tuple(row) for row in frame.collect()]
    regions = dict(oracle.rows(f"select hregion, list(s.rowid) from {JOINED} group by 1"))
    assert len(rows) == len(regions) + 1
    regions[None] = [row for some in regions.values() for row in some]
    price = oracle.columns["sales"].index("sprice")
    for number, (region, *_) in enumerate(rows):
        found = store.backward(frame.name, (number, 1), to="sales")
        assert cells(found) == {(row, price) for row in regions[region]}


@pytest.mark.parametrize(
    "query",
    [
        "select sid / (sqty - sqty) from sales",
        "select sum(sqty * 9223372036854775807) over () from sales",
        "select itags[9] from items",
    ],
)
@pytest.mark.filterwarnings("ignore:the lineage of:RuntimeWarning")
def test_what_fails_leaves_the_store_as_it_was(query, store, tracked, spark):
    with pytest.raises(PySparkException) as untracked:
        spark.sql(query).collect()
    before = {array.name for array in store.arrays()}
    with pytest.raises(type(untracked.value)) as found:
        store.sql(query).collect()
    assert found.value.getCondition() == untracked.value.getCondition()
    assert {array.name for array in store.arrays()} == before
    fine = store.sql("select sid from sales where sid < 103")
    assert len(fine.collect()) == 3
    assert cells(store.backward(fine.name, (0, 0), to="sales")) == {(0, 0)}
