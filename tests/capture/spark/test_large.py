"""Lineage that does not compress stays with the executors; the driver sees counts and names."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

import dslog
from dslog.capture.spark.frame_cost import FrameCost

COUNT = 3000


@pytest.fixture
def crossed(monkeypatch):
    """Bytes of every table that comes to the driver."""
    seen = []

    def watched(name, size):
        original = getattr(ClassicDataFrame, name)

        def call(frame, *args, **kwargs):
            result = original(frame, *args, **kwargs)
            seen.append(size(result))
            return result

        monkeypatch.setattr(ClassicDataFrame, name, call)

    watched("toArrow", lambda table: table.nbytes)
    watched("collect", lambda rows: 64 * len(rows))
    watched("toPandas", lambda frame: int(frame.memory_usage().sum()))
    assert issubclass(ClassicDataFrame, DataFrame)
    return seen


@pytest.fixture
def files(spark, tmp_path):
    """Numbers in no order, in four files, with a key that repeats."""
    rng = np.random.default_rng(1)
    values = rng.permutation(COUNT)
    keys = rng.integers(0, 40, COUNT)
    (tmp_path / "t").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(COUNT), 4)):
        table = pa.table({"v": values[rows], "k": keys[rows]})
        pa.parquet.write_table(table, tmp_path / "t" / f"part-{part}.parquet")
    df = spark.read.parquet(str(tmp_path / "t"))
    rows = df.toPandas()  # Spark reads larger files first
    return rows["v"].to_numpy(), rows["k"].to_numpy(), df


def test_scattered_rows_do_not_come_to_the_driver(files, tmp_path, monkeypatch, crossed, choose):
    """Sorted, filtered, grouped and joined rows, and a window over them: all from part files."""
    values, keys, df = files
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "40")
    choose(FrameCost, small_rows=50)
    with dslog.open(tmp_path / "store") as store:
        frame = store.track(df, "t")
        ordered = frame.orderBy("v")
        some = ordered.filter("v % 3 = 0")
        groups = frame.groupBy("k").agg(F.sum("v").alias("s"))
        window = frame.select("v", "k", F.max("v").over(Window.partitionBy("k").orderBy("v")))
        for one in (ordered, some, groups, window):
            one.record()
        store.flush()
        assert max(crossed) < 20 * COUNT / 4  # less than a number or two per row
        assert any(body.files for body in bodies(store))
        names = [store.name_of(one) for one in (ordered, some, groups, window)]
        group = [row.k for row in groups.collect()]
        rows = window.toPandas()
    with dslog.open(tmp_path / "store") as store:
        assert store.verify().ok
        order = np.argsort(values, kind="stable")
        for place in (0, 1, 77, COUNT - 1):
            found = store.backward(names[0], [(place, 0)], to="t").indices().tolist()
            assert found == [[int(order[place]), 0]]
        late = store.forward("t", [(int(order[9]), 1)], to=names[1]).indices().tolist()
        assert late == [[3, 1]]
        cells = store.backward(names[2], [(group.index(keys[5]), 1)], to="t").indices().tolist()
        assert cells == [[a, 0] for a in np.flatnonzero(keys == keys[5])]
        for place in (0, 5, COUNT // 2):
            v, k = rows["v"][place], rows["k"][place]
            cells = store.backward(names[3], [(place, 2)], to="t").indices().tolist()
            assert cells == [[a, 0] for a in np.flatnonzero((keys == k) & (values <= v))]


def bodies(store):
    return [store.stored(info.out, info.in_)[0].body for info in store.lineages()]


def test_rows_in_order_cost_the_driver_next_to_nothing(spark, store, crossed):
    """A hundred thousand rows that keep their order: what crosses does not grow with them."""
    df = spark.range(0, 100_000, 1, 4).selectExpr("id", "id % 7 as k", "id * 2 as v")
    kept = store.track(df, "t").filter("id >= 1000").withColumn("w", F.col("v") + 1)
    kept.filter("id < 90000").record()
    store.flush()
    assert sum(crossed) < 20_000
