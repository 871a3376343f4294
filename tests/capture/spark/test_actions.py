"""Rows come out in the order of their positions, and lineage goes on in numpy and from files."""

import json

import numpy as np
import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F
from table_checks import check, plain

import dslog
from dslog.errors import CaptureError, EngineError

K, X, Y, L = range(4)


def test_every_action_gives_row_i_at_place_i(store, orders, rows):
    """The rows that were recorded, whatever order Spark would give them in next time."""
    frame = orders.repartition(3, "x").withColumn("z", F.lit(1))
    found = plain(frame.collect())
    assert sorted(map(repr, found)) == sorted(map(repr, plain([(*row, 1) for row in rows])))
    assert plain(frame.take(3)) == plain(frame.head(3)) == found[:3]
    assert plain(frame.tail(2)) == found[-2:]
    assert plain([frame.first()]) == plain([frame.head()]) == found[:1]
    assert frame.toPandas()["k"].tolist() == [row[K] for row in found]
    assert frame.toArrow().column("x").to_pylist() == [row[X] for row in found]
    assert plain(frame.toLocalIterator()) == plain(frame.rdd.collect()) == found
    assert frame.count() == len(rows)
    assert not frame.isEmpty()
    assert frame.toPandas().attrs["dslog"] == frame.name
    for place, row in enumerate(found):
        cells = store.backward(frame.name, (place, "k"), to="orders").indices().tolist()
        assert [rows[a][K] for a, _ in cells] == [row[K]]


def test_numpy_goes_on(store, orders, rows):
    """The array is the table, so what numpy does comes next."""
    frame = orders.filter("x is not null and y > 0").select("x", "y")
    values = frame.toNumpy("float64")
    kept = [
        a  # NaN is more than any number
        for a, r in enumerate(rows)
        if r[X] is not None and r[Y] is not None and not r[Y] <= 0
    ]
    assert values.name == frame.name
    assert values.shape == (len(kept), 2)
    scaled = (values * 2)[::-1, 1]
    for b, a in enumerate(reversed(kept)):
        assert store.backward(scaled.name, [(b,)], to="orders").indices().tolist() == [[a, Y]]
    assert store.forward("orders", np.s_[:, X], to=scaled.name).count == 0


def test_columns_and_attributes(orders, orders_df):
    assert orders.dtypes == orders_df.dtypes
    assert orders.schema == orders_df.schema
    assert isinstance(orders["x"], Column)
    assert isinstance(orders.x, Column)
    assert orders[["k", "x"]].columns == ["k", "x"]
    assert orders[orders.x > 1].columns == orders.columns
    assert repr(orders) == repr(orders_df)
    with pytest.raises(AttributeError, match="xx"):
        _ = orders.xx
    assert orders.rdd.count() == len(orders_df.collect())


OWN = ["name", "named", "df", "shape", "record", "toNumpy", "one_hot", "data", "table", "tracker"]


def test_no_name_hides_a_column(spark, store):
    """Where a column is called like something of ours, it is the column, as in PySpark."""
    plain_df = spark.createDataFrame([tuple(range(len(OWN)))], OWN)
    frame = store.track(plain_df, "odd")
    for place, name in enumerate(OWN):
        assert isinstance(getattr(frame, name), Column)
        kept = frame.where(F.col(name) == getattr(frame, name)).select(getattr(frame, name))
        assert [tuple(row) for row in kept.collect()] == [(place,)]
        found = store.backward(store.name_of(kept), (0, 0), to="odd").indices().tolist()
        assert found == [[0, place]]
    assert store.name_of(store.name(frame.select("name"), "renamed")) == "renamed"
    assert store.name_of(plain_df) is None


def test_names(store, orders):
    late = orders.filter("x > 1").named("late")
    assert late.name == "late"
    late.collect()
    store.flush()  # a table that is stored keeps its name, and gets a twin of another
    again = late.named("later")
    assert again.name == "later"
    assert store.backward("later", ..., to="orders") == store.backward("late", ..., to="orders")
    with pytest.raises(CaptureError, match="another name"):
        store.track(orders.df.select("k"), "late")


def test_frames_without_a_plan(store):
    """Spark Connect does not tell what an expression reads."""

    class Connected:
        columns = ()
        sparkSession = None  # noqa: N815

    from dslog.capture.spark.plan_reader import jvm_of

    with pytest.raises(EngineError, match="classic Spark session"):
        jvm_of(Connected())


# files


def test_parquet_read_again_is_the_same_table(store, orders, rows, spark, tmp_path):
    late = orders.filter("x > 1").repartition(3, "x")
    late.write.parquet(str(tmp_path / "late"))
    again = store.track(spark.read.parquet(str(tmp_path / "late")))
    assert again.name == late.name
    assert plain(again.collect()) == plain(late.collect())
    last = again.filter("x < 5")
    values = [r for a, r in enumerate(rows) if r[X] is not None and 1 < r[X] < 5]
    kept = [a for a, r in enumerate(rows) if r[X] is not None and 1 < r[X] < 5]
    check(store, last, values, orders={(b, c, a, c) for b, a in enumerate(kept) for c in range(4)})
    named = store.track(spark.read.parquet(str(tmp_path / "late")), "copy")
    assert plain(named.collect()) == plain(late.collect())
    assert store.backward("copy", ..., to=late.name).count == 4 * late.count()


def test_parquet_in_another_session(spark, rows, tmp_path, orders_df):
    """The store on disk knows the table by name when the files are read later."""
    with dslog.open(tmp_path / "store") as store:
        late = store.track(orders_df, "orders").filter("x > 1").named("late")
        late.write.parquet(str(tmp_path / "late"))
    with dslog.open(tmp_path / "store") as store:
        frame = store.track(spark.read.parquet(str(tmp_path / "late"))).select("x")
        kept = [a for a, r in enumerate(rows) if r[X] is not None and r[X] > 1]
        found = store.backward(frame.name, ..., to="orders").indices().tolist()
        assert found == [[a, X] for a in kept]


def forms(spark, path):
    """Ways to write a frame, and to read it again."""
    here = str(path)
    return {
        "csv": (
            lambda w: w.option("header", True).csv(here),
            lambda: spark.read.option("header", True).csv(here),
        ),
        "csv without names": (lambda w: w.csv(here), lambda: spark.read.csv(here)),
        "json": (lambda w: w.json(here), lambda: spark.read.json(here)),
        "orc": (lambda w: w.format("orc").save(here), lambda: spark.read.orc(here)),
        "saveAsTable": (
            lambda w: w.option("path", here).saveAsTable("written"),
            lambda: spark.table("written"),
        ),
    }


@pytest.mark.parametrize("form", ["csv", "csv without names", "json", "orc", "saveAsTable"])
def test_what_is_written_goes_on(form, spark, tmp_path, orders_df, rows):
    """In another process too: what is known of files is beside them."""
    write, read = forms(spark, tmp_path / "out")[form]
    try:
        with dslog.open(tmp_path / "store") as store:
            late = store.track(orders_df, "orders").where("x > 0").select("k", "x")
            write(late.repartition(3, "x").write)
        with dslog.open(tmp_path / "store") as store:
            back = read()
            again = store.track(back, "again")
            x = next(c for c in (1, 0) if again.columns[c] in ("x", "_c1"))
            assert again.count() == 8
            for number, row in enumerate(again.collect()):
                found = store.backward("again", (number, x), to="orders")
                assert found.exact
                ((place, column),) = found.indices().tolist()
                assert column == X
                assert str(rows[place][X]) == str(row[x])
    finally:
        spark.sql("drop table if exists written")


def test_tables_are_gone_on_from_in_sql(spark, store, orders, tmp_path, rows):
    orders.where("x > 1").select("k", "x").write.option("path", str(tmp_path / "t")).saveAsTable(
        "kept_t"
    )
    try:
        store.sql("select k, sum(x) s from kept_t group by k", "sums")
        found = {
            tuple(cell) for cell in store.backward("sums", None, to="orders").indices().tolist()
        }
        kept = [a for a, r in enumerate(rows) if (r[X] or 0) > 1]
        assert found == {(a, c) for a in kept for c in (K, X)}
    finally:
        spark.sql("drop table kept_t")


def test_appended_files_are_of_two_tables(store, orders, rows, spark, tmp_path):
    path = str(tmp_path / "all")
    orders.select("k", "x").where("x > 1").write.parquet(path)
    assert json.loads((tmp_path / "all" / "_dslog.json").read_text())["array"]
    orders.select("k", "x").where("x <= 1").write.mode("append").parquet(path)
    both = store.track(spark.read.parquet(path), "both")
    for number, row in enumerate(both.collect()):
        ((place, _),) = store.backward("both", (number, "x"), to="orders").indices().tolist()
        assert rows[place][X] == row.x
    assert both.count() == sum(row[X] is not None for row in rows)


def test_what_is_written_elsewhere_leaves(store, orders):
    with pytest.warns(dslog.LeakWarning, match="write"):
        orders.write.format("noop").mode("overwrite").save()
    assert store.leaks()


def test_values_that_come_back_are_missed(store, orders, spark):
    values = orders.select("k", "x").toPandas()
    with pytest.warns(dslog.LeakWarning, match="createDataFrame"):
        back = store.track(spark.createDataFrame(values), "back")
    frame = back.where("x > 1")
    assert not store.backward(frame.name, (0, "x"), to="orders").complete


def test_values_are_kept(orders_df, rows, tmp_path, spark):
    with dslog.open(tmp_path / "store") as store:
        late = store.track(orders_df, "orders", keep_values=True).filter("x > 1").named("late")
        assert late.columns == orders_df.columns
    kept = spark.read.parquet(str(tmp_path / "store" / "values" / "late.parquet"))
    assert kept.count() == sum(r[X] is not None and r[X] > 1 for r in rows)
