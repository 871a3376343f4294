"""Lineage that does not compress stays with the executors; the driver sees counts and names."""

import numpy as np
import pyarrow as pa
import pytest
from naive_tables import grouped, identity
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

import dslog
from dslog.capture.spark import row_trace
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.row_pass import compress_function

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


def pairs_of(store, out, in_):
    found = set()
    for lineage in store.load(out, in_):
        found |= set(map(tuple, lineage.to_relation().tolist()))
    return found


@pytest.mark.parametrize("per_file", [1 << 20, 500])
def test_scattered_rows_do_not_come_to_the_driver(
    files, tmp_path, monkeypatch, crossed, per_file, choose
):
    """Sorted, filtered, grouped and joined rows, and a window over them: all from part files."""
    values, keys, df = files
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "40")
    choose(FrameCost, file_rows=per_file)
    with dslog.open(tmp_path / "store") as store:
        frame = store.track(df, "t")
        ordered = frame.orderBy("v")
        some = ordered.filter("v % 3 = 0")
        groups = frame.groupBy("k").agg(F.sum("v").alias("s"))
        pivoted = frame.groupBy(F.expr("v % 2").alias("odd")).pivot("k", [1, 2]).count()
        window = frame.select(F.max("v").over(Window.partitionBy("k")).alias("m"))
        for one in (ordered, some, groups, pivoted, window):
            one.record()
        store.flush()
        assert max(crossed) < 20 * COUNT / 4  # less than a number or two per row
        assert sum(crossed) < 60 * COUNT
        names = [ordered.name, some.name, groups.name, pivoted.name, window.name]
        assert any(body.files for body in bodies(store))
    with dslog.open(tmp_path / "store") as store:
        assert store.verify().ok
        order = np.argsort(values, kind="stable")
        assert pairs_of(store, names[0], "t") == identity(list(enumerate(order.tolist())), 2)
        kept = [place for place in range(COUNT) if place % 3 == 0]
        assert pairs_of(store, names[1], names[0]) == identity(list(enumerate(kept)), 2)
        rows = list(zip(values.tolist(), keys.tolist(), strict=True))
        assert pairs_of(store, names[2], "t") == grouped(rows, [1], [(len, (0,))])[1]
        cells = store.backward(names[3], [(int(values[0] % 2), 1)], to="t").indices()
        assert set(cells[:, 0].tolist()) == {
            a for a, (v, k) in enumerate(rows) if k == 1 and v % 2 == values[0] % 2
        }
        cells = store.backward(names[4], [(5, 0)], to="t").indices().tolist()
        assert cells == [[a, 0] for a in np.flatnonzero(keys == keys[5])]
        late = store.forward("t", [(int(order[9]), 1)], to=names[1]).indices().tolist()
        assert late == [[3, 1]]


@pytest.mark.parametrize("first", [0, 5000])
def test_scattered_numbers_stay_where_they_are(first):
    """A partition's rows do not begin at 0."""
    left = np.arange(first, first + 4000)
    right = np.random.default_rng(0).integers(0, 9, 4000)
    table = compress_function(left, [right])
    assert np.array_equal(table.expand(), np.stack([left, right], axis=1))


def bodies(store):
    return [store.stored(info.out, info.in_)[0].body for info in store.lineages()]


def test_rows_in_order_cost_the_driver_next_to_nothing(spark, store, crossed):
    """A hundred thousand rows that keep their order: what crosses does not grow with them."""
    df = spark.range(0, 100_000, 1, 4).selectExpr("id", "id % 7 as k", "id * 2 as v")
    kept = store.track(df, "t").filter("id >= 1000").withColumn("w", F.col("v") + 1)
    kept.filter("id < 90000").record()
    store.flush()
    assert sum(crossed) < 20_000


def test_nothing_is_left_behind_when_a_job_fails(files, tmp_path, monkeypatch):
    _, _, df = files
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "40")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(row_trace, "write", fail)
    monkeypatch.setattr(row_trace.PartFile, "from_json", fail)
    with dslog.open(tmp_path / "store") as store:
        with pytest.raises(OSError, match="disk full"):
            store.track(df, "t").orderBy("v")
        root = store.recorder.files.root
        assert not [path for path in root.rglob("*") if path.is_file()]
