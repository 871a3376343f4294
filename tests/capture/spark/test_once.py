"""What is asked runs once: values and lineage are of one computation, and errors are Spark's."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import dslog
from dslog.capture.spark.plan_rule import PlanRule

ROWS = [("a", 3, 1), ("b", 1, 2), ("a", None, 3), ("c", 5, 4), ("b", 7, 5)]


def drawn():
    return random.SystemRandom().random()  # which Spark cannot seed


def cells(store, frame, cell, to):
    found = store.backward(store.name_of(frame), cell, to=to)
    return {tuple(c) for c in found.indices().tolist()}


@pytest.fixture
def table(spark, store):
    spark.udf.register("drawn", F.udf(drawn, "double").asNondeterministic())
    spark.udf.register("secretly_drawn", F.udf(lambda _: drawn(), "double"))
    frame = store.track(spark.createDataFrame(ROWS, "k string, x int, y int").coalesce(1), "o")
    frame.createOrReplaceTempView("o")
    yield frame
    spark.catalog.dropTempView("o")


@pytest.fixture
def held(table):
    frame = table.selectExpr("*", "drawn() r").named("h")
    frame.createOrReplaceTempView("h")
    yield frame
    frame.sparkSession.catalog.dropTempView("h")


def test_commands_run_once(spark, store, table):
    try:
        store.sql("create table made (y int) using parquet")
        store.sql("insert into made select y from o").collect()
        with pytest.warns(dslog.LeakWarning, match="by sql"):  # Spark has run it before
            store.record(spark.sql("insert into made select y from o"))
        store.flush()
        assert spark.table("made").count() == 2 * len(ROWS)
        store.sql("cache table kept as select y from o where y > 2").collect()
        found = store.sql("select * from kept")
        place = [row.y for row in found.collect()].index(4)
        assert cells(store, found, (place, 0), "o") == {(3, 2)}
    finally:
        spark.sql("drop table if exists made")
        spark.sql("drop view if exists kept")


def test_a_scalar_is_drawn_once(store, table):
    for _ in range(4):
        frame = store.sql("select k, (select y from o order by drawn() limit 1) r from o")
        value = frame.collect()[0].r
        assert cells(store, frame, (0, "r"), "o") == {(value - 1, 2)}


@pytest.mark.filterwarnings("ignore:the lineage of")
def test_a_scalar_of_no_row_or_too_many(store, table):
    one = store.sql("select (select y from o where k = 'c') v, (select y from o where y > 9) w")
    assert [tuple(row) for row in one.collect()] == [(4, None)]
    joined = store.sql("select x, (select y from o where k = 'c') v from o where y = 5")
    joined.collect()
    assert cells(store, joined, (0, "v"), "o") == {(3, 2)}
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        store.sql("select (select y from o where k = 'a') v from o").collect()


def test_scalars_beside_aggregates(store, table):
    frame = store.sql("""select k, sum(y) + (select max(y) from o) s from o
        group by k having sum(y) > (select min(y) from o) order by k""")
    assert [tuple(row) for row in frame.collect()] == [("a", 9), ("b", 12), ("c", 9)]
    assert cells(store, frame, (0, "s"), "o") == {(row, 2) for row in range(5)}
    empty = store.sql("select count(*) + (select max(y) from o) s from o where y > 9")
    assert [row.s for row in empty.collect()] == [5]


def test_what_is_held_is_not_drawn_again(store, table, held):
    values = sorted(row.r for row in held.collect())
    schema = held.schema
    for frame in (
        store.sql("select r from h where r = (select max(r) from h) or r < (select max(r) from h)"),
        held.mapInArrow(lambda batches: batches, schema),
        held.groupBy("k").applyInPandas(lambda rows: rows, schema),
        store.sql("select r from h union all (select r from h except all select r from h)"),
        store.sql("select r from h where exists (select 1 from o where o.y = h.y)"),
    ):
        assert sorted(row.r for row in frame.collect()) == values
    assert store.sql("select (select max(r) from h) m").collect()[0].m == values[-1]


def test_a_recursive_table_is_of_what_is_held(store, table, held):
    least = min(row.r for row in held.collect())
    frame = store.sql("""with recursive t(n, r) as (select 1, min(r) from h
        union all select n + 1, r from t where n < 3) select n, r from t""")
    assert {row.r for row in frame.collect()} == {least}
    found = store.backward(store.name_of(frame), (0, 1), to="h")
    assert not found.exact
    assert {(row, 3) for row in range(5)} <= {tuple(c) for c in found.indices().tolist()}


def test_groups_by_what_a_function_draws(store, table):
    """Spark believes that a function of Python gives the same each time; it need not."""
    for query in (
        "select secretly_drawn(y) v, collect_list(y) l from o group by secretly_drawn(y)",
        "select distinct secretly_drawn(y) v, array(y) l from o",
        "select cast(now() as string) || y v, collect_list(y) l from o group by 1",
    ):
        frame = store.sql(query)
        for number, row in enumerate(frame.collect()):
            assert cells(store, frame, (number, "l"), "o") == {(y - 1, 2) for y in row.l}


def test_an_error_is_that_of_the_only_run(store, table, tmp_path):
    def fails_once(value):
        with (tmp_path / "runs").open("a") as file:
            file.write("x")
        if len((tmp_path / "runs").read_text()) == 1:
            raise ValueError("flaky")
        return value

    frame = table.select(F.udf(fails_once, "int")("y").alias("y"))
    with pytest.raises(Exception, match="flaky"):
        frame.collect()
    assert (tmp_path / "runs").read_text() == "x"
    assert [row.y for row in frame.collect()] == [1, 2, 3, 4, 5]
    assert cells(store, frame, (2, 0), "o") == {(2, 2)}


@pytest.mark.filterwarnings("ignore:the lineage of")
@pytest.mark.parametrize("above", [False, True])
def test_a_cancelled_job_is_not_run_again(above, spark, store, table, tmp_path):
    def waits(value):
        with (tmp_path / "runs").open("a") as file:
            file.write("x")
        while not (tmp_path / "go").exists():
            time.sleep(0.05)
        return value

    def cancel():
        while not (tmp_path / "runs").exists():
            time.sleep(0.05)
        spark.sparkContext.cancelAllJobs()

    frame = held = table.select(F.udf(waits, "int")("y").alias("y"))
    if above:
        frame = held.where("y > 2")
    with ThreadPoolExecutor() as pool:
        done = pool.submit(cancel)
        with pytest.raises(Exception, match=r"(?i)cancelled"):
            frame.collect()
        done.result()
    Path(tmp_path / "go").touch()
    assert (tmp_path / "runs").read_text() == "x"


@pytest.mark.filterwarnings("ignore:the lineage of")
def test_a_session_that_was_stopped(spark, store, table, monkeypatch):
    held, late = table.where("y > 2"), table.where("y > 3")
    held.collect()
    with monkeypatch.context() as patch:
        patch.setattr(spark.sparkContext, "_jsc", None)
        for frame in (held, late):
            with pytest.raises(dslog.DslogError, match="was stopped"):
                frame.collect()
        assert cells(store, held, (0, "y"), "o") == {(2, 2)}
    assert late.count() == 2


def test_a_rule_that_fails_gives_a_superset(store, table, monkeypatch):
    rules = {**PlanRule._rules, "Filter": lambda rule, node: {}["x"]}
    monkeypatch.setattr(PlanRule, "_rules", rules)
    frame = table.where("y > 2")
    assert [row.y for row in frame.collect()] == [3, 4, 5]
    found = store.backward(store.name_of(frame), (0, "y"), to="o")
    assert not found.exact
    assert found.count == 15
