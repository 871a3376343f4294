"""A store as tables of Spark and DuckDB: what SQL reads is what the store holds."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relation_strategies import relations

import dslog
from benchmarks.workloads import relations as ops
from dslog.algebra.product import plain_table
from dslog.compress.encoder import compress
from dslog.errors import DslogError
from dslog.sql.pairs import Condition, cells_window, condition, pairs_within, rows_window
from dslog.sql.spark_session import register
from dslog.sql.sql_cost import SqlCost

CASES = {
    "rot": ops.moved((4, 5), np.rot90),
    "ravel": ops.moved((4, 5), np.ravel),
    "resize": ops.resize((11, 13), (5, 4)),
    "sum": (ops.cells((4, 5)), (), (4, 5)),
    "fill": (ops.cells((4, 5)), (4, 5), ()),
}


@pytest.fixture(scope="module")
def store(spark, tmp_path_factory):
    """Small lineages of all forms, and a large one in part files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSLOG_COLLECT_ROWS", "200")
        opened = dslog.open(tmp_path_factory.mktemp("sql") / "s")
        for name, (relation, out_shape, in_shape) in CASES.items():
            opened.array(f"{name}_out", out_shape)
            opened.array(f"{name}_in", in_shape)
            opened.register_operation(name, [f"{name}_in"], [f"{name}_out"], relation)
        opened.array("A", (3000,))
        opened.array("B", (3000,))
        table = pa.table({"b0": LARGE[:, 0], "a0": LARGE[:, 1]})
        opened.lineage("B", "A", spark.createDataFrame(table))
        opened.lineage("B", "A", EXTRA)
        yield opened
        opened.close()


LARGE = np.stack([np.arange(3000), np.random.default_rng(0).permutation(3000)], axis=1)
EXTRA = np.array([[0, 0], [0, 1], [5, LARGE[5, 1]]])  # overlaps the other lineage
BOTH = np.unique(np.concatenate([LARGE, EXTRA]), axis=0)


def read(spark, store, **options):
    reader = spark.read.format("dslog").option("path", str(store.path))
    for name, value in options.items():
        reader = reader.option(name.rstrip("_"), value)
    return reader.load()


def rows_of(frame):
    return sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("name", CASES)
def test_pairs(spark, store, name):
    relation, _, _ = CASES[name]
    frame = read(spark, store, out=f"{name}_out", in_=f"{name}_in")
    assert rows_of(frame) == sorted(map(tuple, relation.tolist()))


def test_pairs_of_several_lineages_come_once(spark, store):
    frame = read(spark, store, out="B", in_="A", kind="pairs")
    assert rows_of(frame) == list(map(tuple, BOTH.tolist()))


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        ("b0 >= 10 and b0 < 20", lambda b, a: (b >= 10) & (b < 20)),
        ("a0 = 77", lambda b, a: a == 77),
        ("b0 in (3, 5, 900) and a0 <= 2500", lambda b, a: np.isin(b, [3, 5, 900]) & (a <= 2500)),
        ("b0 > 5000", lambda b, a: b > 5000),
        ("b0 % 1000 = 1 or a0 = 3", lambda b, a: (b % 1000 == 1) | (a == 3)),
    ],
)
def test_filters(spark, store, where, keep):
    found = rows_of(read(spark, store, out="B", in_="A").where(where))
    expected = BOTH[keep(BOTH[:, 0], BOTH[:, 1])]
    assert found == list(map(tuple, expected.tolist()))


def test_a_session_that_does_not_push_filters(spark, store):
    key = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(key, "false")
    try:
        register(spark)
        found = rows_of(read(spark, store, out="B", in_="A").where("b0 >= 10 and b0 < 20"))
        assert found == list(map(tuple, LARGE[10:20].tolist()))
    finally:
        spark.conf.set(key, "true")
        register(spark)


def test_compressed_rows(spark, store):
    frame = read(spark, store, out="B", in_="A", kind="rows")
    assert frame.count() == sum(info.num_rows for info in store.lineages() if info.out == "B")
    some = frame.where("b0_lo <= 20 and b0_hi >= 10 and lineage = 6").select("b0_lo", "a0_lo")
    assert rows_of(some) == list(map(tuple, LARGE[10:21].tolist()))
    folded = read(spark, store, out="rot_out", in_="rot_in", kind="rows").collect()
    assert len(folded) == 1
    assert folded[0].folds == '[{"count":5,"step":{"b0":[1,1],"a1":[-1,-1]}}]'
    assert folded[0].a0_ref == "b1"


def test_catalog_tables(spark, store):
    arrays = {row.name: row["shape"] for row in read(spark, store, kind="arrays").collect()}
    assert arrays["rot_out"] == [5, 4]
    operations = read(spark, store, kind="operations").collect()
    assert [row.name for row in operations] == list(CASES)
    assert operations[0].inputs == ["rot_in"]
    lineages = read(spark, store, kind="lineages").where("out = 'B'").collect()
    assert [row["in"] for row in lineages] == ["A", "A"]


def test_sql(spark, store):
    spark.sql(
        f"create or replace temporary view pairs using dslog "
        f"options (path '{store.path}', out 'B', in 'A')"
    )
    assert spark.sql("select count(*) as n from pairs").collect()[0].n == len(BOTH)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pair"}, "Did you mean 'pairs'"),
        ({"out": "B"}, 'needs the option "in"'),
        ({"out": "B", "in": "Z"}, "no array 'Z'"),
        ({"out": "A", "in": "B"}, "no lineage is stored with 'A' as output"),
    ],
)
def test_bad_options(spark, store, options, message):
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=message):
        read(spark, store, **options)


# --- DuckDB --------------------------------------------------------------------------------------


@pytest.fixture
def con():
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("name", CASES)
def test_duckdb_pairs(store, con, name):
    relation, _, _ = CASES[name]
    view = dslog.duckdb_view(con, store, f"{name}_out", f"{name}_in")
    found = con.sql(f'select * from "{view}"').fetchall()
    assert sorted(found) == sorted(map(tuple, relation.tolist()))


def test_duckdb_over_part_files(store, con):
    view = dslog.duckdb_view(con, store, "B", "A", name="it's a view")
    assert view == "it's a view"
    found = con.sql('select * from "it\'s a view" where b0 < 100').fetchall()
    assert sorted(found) == list(map(tuple, BOTH[BOTH[:, 0] < 100].tolist()))
    rows = dslog.duckdb_view(con, store, "B", "A", name="rows", kind="rows")
    assert con.sql(f"select count(*) from {rows}").fetchall()[0][0] >= 2990
    with pytest.raises(DslogError, match="cells"):
        dslog.duckdb_view(con, store, "B", "A", kind="cells")


def test_duckdb_reads_folded_parts(spark, con, tmp_path, monkeypatch):
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "3")
    n = 5000
    relation = np.concatenate(
        [np.stack([np.arange(n), n - 1 - np.arange(n)], 1), [[k, 7 * k] for k in range(10, 20)]]
    )
    with dslog.open(tmp_path / "s") as opened:
        opened.array("A", (n,))
        opened.array("B", (n,))
        frame = spark.createDataFrame(pa.table({"b0": relation[:, 0], "a0": relation[:, 1]}))
        opened.lineage("B", "A", frame)
        assert opened.stored("B", "A")[0].large is not None
        view = dslog.duckdb_view(con, opened, "B", "A")
        found = sorted(con.sql(f"select * from {view}").fetchall())
        assert found == sorted(set(map(tuple, relation.tolist())))
        assert opened.verify().ok


# --- the pure parts ------------------------------------------------------------------------------


@given(case=relations(), data=st.data(), most=st.sampled_from([1, 5, 1000]))
@settings(max_examples=60)
def test_pairs_within_a_window(case, data, most):
    relation, out_shape, in_shape = case
    methods = ["provrc", "auto"] if data.draw(st.booleans()) else ["auto"]
    lineages = [compress(relation, out_shape, in_shape, method=m) for m in methods]
    shape = out_shape + in_shape
    window = np.array(
        [sorted(data.draw(st.tuples(*[st.integers(0, s - 1)] * 2))) for s in shape], np.int64
    ).reshape(-1, 2)
    with SqlCost.using(batch_pairs=most):
        found = [tuple(p) for some in pairs_within(lineages, window) for p in some.tolist()]
    expected = {
        tuple(p)
        for p in np.asarray(relation).tolist()
        if all(lo <= v <= hi for v, (lo, hi) in zip(p, window.tolist(), strict=True))
    }
    assert len(found) == len(set(found))
    assert set(found) == expected


@given(case=relations(), orientation=st.sampled_from(["backward", "forward"]))
@settings(max_examples=60)
def test_plain_rows_mean_the_same(case, orientation):
    relation, out_shape, in_shape = case
    lineage = compress(relation, out_shape, in_shape, orientation=orientation)
    plain = dslog.Lineage.of_table(out_shape, in_shape, plain_table(lineage))
    np.testing.assert_array_equal(plain.to_relation(), lineage.to_relation())


def test_products_too_large_for_a_view_say_so():
    relation, out_shape, in_shape = ops.resize((30, 31), (13, 17))
    assert plain_table(compress(relation, out_shape, in_shape), 10) is None
    with dslog.open(":memory:") as opened, duckdb.connect() as con:
        opened.array("A", in_shape)
        opened.array("B", out_shape)
        opened.lineage("B", "A", relation)
        with SqlCost.using(view_rows=10), pytest.raises(DslogError, match=r"B_A.*too large"):
            dslog.duckdb_view(con, opened, "B", "A")


def test_windows():
    assert condition("Like", "b0", 3) is None
    assert condition("EqualTo", "b0", "x") is None
    assert condition("In", "b0", (5, 2)) == Condition("b0", 2, 5, whole=False)
    names, shape = ["b0", "a0"], (10, 20)
    found = [condition("GreaterThanOrEqual", "a0", 4), condition("LessThan", "b0", 3)]
    assert cells_window(found, names, shape).tolist() == [[0, 2], [4, 19]]
    found = [condition("LessThanOrEqual", "b0_lo", 6), condition("GreaterThan", "b0_hi", 2)]
    assert rows_window(found, names, shape).tolist() == [[3, 6], [0, 19]]
