"""Rows come out in the order of their positions, and lineage goes on in numpy and from files."""

import json

import numpy as np
import pytest
from pyspark.sql import functions as F
from table_checks import check, plain

import dslog
from dslog.errors import CaptureError, EngineError

K, X, Y, L = range(4)


def test_rows_come_in_order(store, orders, rows):
    frame = orders.repartition(3, "x").withColumn("z", F.lit(1))
    expected = [(*row, 1) for row in rows]
    assert plain(frame.collect()) == plain(expected)
    assert plain(frame.take(3)) == plain(expected[:3])
    assert plain(frame.head(2)) == plain(expected[:2])
    assert plain([frame.first()]) == plain([frame.head()]) == plain(expected[:1])
    assert frame.toPandas()["k"].tolist() == [row[K] for row in rows]
    assert frame.toArrow().column("x").to_pylist() == [row[X] for row in rows]
    assert frame.count() == len(rows)
    assert not frame.isEmpty()
    assert frame.toPandas().attrs["dslog"] == frame.name


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
    assert orders["x"] is not None
    assert orders[["k", "x"]].columns == ["k", "x"]
    assert orders[orders.x > 1].columns == orders.columns
    assert repr(orders.select("k")).endswith(" x 1: k)")
    with pytest.raises(AttributeError, match="Did you mean"):
        _ = orders.xx
    assert orders.rdd.count() == len(orders_df.collect())
    with pytest.raises(CaptureError, match="count"):
        len(orders)


def test_names(store, orders):
    late = orders.filter("x > 1").named("late")
    assert late.name == "late"
    late.collect()
    store.flush()  # a table that is stored keeps its name, and gets a twin of another
    again = late.named("later")
    assert again.name == "later"
    assert store.backward("later", ..., to="orders") == store.backward("late", ..., to="orders")
    with pytest.raises(CaptureError, match="another name"):
        store.track(orders.df, "late")


def test_frames_without_a_plan(store):
    """Spark Connect does not tell what an expression reads."""

    class Connected:
        columns = ()
        sparkSession = None  # noqa: N815

    from dslog.capture.spark.plan_reader import jvm_of

    with pytest.raises(EngineError, match="classic Spark session"):
        jvm_of(Connected())


# Parquet


def written(frame, path, partitions=3):
    frame.repartition(partitions, "x").write.parquet(str(path))
    return str(path)


def test_parquet_read_again_is_the_same_table(store, orders, rows, spark, tmp_path):
    late = orders.filter("x > 1")
    path = written(late, tmp_path / "late")
    again = store.track(spark.read.parquet(path))
    assert again.name == late.name
    last = again.filter("x < 5")
    kept = [a for a, r in enumerate(rows) if r[X] is not None and 1 < r[X] < 5]
    found = [
        store.backward(last.name, [(b, X)], to="orders").indices().tolist()
        for b in range(last.count())
    ]
    assert found == [[[a, X]] for a in kept]
    named = store.track(spark.read.parquet(path), "copy")
    check(store, named, plain(late.collect()), **{late.name: identity(named.count())})


def identity(count, width=4):
    return {(a, c, a, c) for a in range(count) for c in range(width)}


def test_parquet_in_another_session(spark, rows, tmp_path, orders_df):
    """The store on disk knows the table by name when the files are read later."""
    with dslog.open(tmp_path / "store") as store:
        late = store.track(orders_df, "orders").filter("x > 1").named("late")
        path = written(late, tmp_path / "late")
    with dslog.open(tmp_path / "store") as store:
        frame = store.track(spark.read.parquet(path)).select("x")
        kept = [a for a, r in enumerate(rows) if r[X] is not None and r[X] > 1]
        found = store.backward(frame.name, ..., to="orders").indices().tolist()
        assert found == [[a, X] for a in kept]


def test_other_files_are_other_tables(store, orders, rows, spark, tmp_path):
    """What was appended to, filtered while reading or partitioned is no longer the table."""
    path = written(orders, tmp_path / "all", 2)
    assert json.loads((tmp_path / "all" / "_dslog.json").read_text())["array"] == "orders"
    some = store.track(spark.read.parquet(path).where("x > 1"), "some")
    assert not some.table.origin.inputs
    orders.write.mode("append").parquet(path)
    both = store.track(spark.read.parquet(path), "both")
    assert both.count() == 2 * len(rows)
    assert not both.table.origin.inputs
    orders.write.partitionBy("k").parquet(str(tmp_path / "by_k"))
    assert not (tmp_path / "by_k" / "_dslog.json").exists()
    orders.select("k", "x").write.format("json").save(str(tmp_path / "json"))
    orders.select("k", "x").write.option("header", True).csv(str(tmp_path / "csv"))
    back = spark.read.json(str(tmp_path / "json"))
    assert back.count() == len(rows)


def test_values_are_kept(orders_df, rows, tmp_path, spark):
    with dslog.open(tmp_path / "store") as store:
        late = store.track(orders_df, "orders", keep_values=True).filter("x > 1").named("late")
        assert late.columns == orders_df.columns
    kept = spark.read.parquet(str(tmp_path / "store" / "values" / "late.parquet"))
    assert kept.count() == sum(r[X] is not None and r[X] > 1 for r in rows)
