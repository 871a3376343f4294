"""Ways around a job, which must give what the job would: footers that count, hashes that group."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive_tables import grouped
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructType
from table_checks import relation, same_rows

import dslog
from dslog.capture.spark import row_groups as grouping
from dslog.capture.spark.row_pass import has_hash
from dslog.capture.spark.source import count_partitions, rows_by_footers, with_ids


def counted(df):
    """What a job says, with zeros at the end."""
    counts = count_partitions(with_ids(df, "__dslog_id"), "__dslog_id").counts
    return counts + (0,) * (df.rdd.getNumPartitions() - len(counts))


@pytest.fixture
def folder(tmp_path):
    """Files of several row groups, with a name that a URL has to quote."""
    rng = np.random.default_rng(2)
    (tmp_path / "a b").mkdir()
    for number, rows in enumerate((5000, 17, 0, 9000)):
        table = pa.table({"x": rng.integers(0, 1 << 40, rows), "y": rng.random(rows)})
        path = tmp_path / "a b" / f"part %20{number}.parquet"
        pq.write_table(table, path, row_group_size=700 + 300 * number)
    return str(tmp_path / "a b")


@pytest.mark.parametrize("most", [10_000, 31_003, 150_000, 1 << 27])
def test_footers_count_what_a_job_counts(spark, folder, most):
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(most))
    try:
        df = spark.read.parquet(folder)
        assert df.rdd.getNumPartitions() > 1 or most > 200_000
        found = rows_by_footers(df)
        assert found == counted(df) or (found is None and most == 10_000)
        assert rows_by_footers(df.select("y")) in (found, counted(df))
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_footers_do_not_count_what_they_cannot(spark, folder, tmp_path):
    df = spark.read.parquet(folder)
    assert rows_by_footers(df.where("x > 5")) is None
    assert rows_by_footers(df.union(df)) is None
    assert rows_by_footers(spark.range(5).toDF("x")) is None
    df.write.csv(str(tmp_path / "csv"))
    assert rows_by_footers(spark.read.csv(str(tmp_path / "csv"))) is None
    twice = spark.read.parquet(folder, folder)
    assert rows_by_footers(twice) in (None, counted(twice))


def test_which_keys_hashes_tell_apart():
    assert has_hash(LongType())
    assert has_hash(StringType())
    assert not has_hash(StringType("UNICODE_CI"))
    assert has_hash(StructType().add("x", ArrayType(LongType())))
    assert not has_hash(StructType().add("x", ArrayType(StringType("UNICODE_CI"))))
    assert not has_hash(MapType(LongType(), LongType()))


KEYS = [("a", None), (None, "a"), ("a", None), (None, None), ("", "a"), ("a", ""), (None, "a")] * 3


def test_nulls_are_keys(spark, store):
    rows = [(*key, number) for number, key in enumerate(KEYS)]
    df = spark.createDataFrame(spark.sparkContext.parallelize(rows, 4), "k string, l string, x int")
    frame = store.track(df, "t").groupBy("k", "l").agg(F.sum("x").alias("s"))
    same_rows(frame, df.groupBy("k", "l").agg(F.sum("x").alias("s")))
    assert [row[:2] for row in frame.collect()] == list(dict.fromkeys(KEYS))
    assert relation(store, frame, "t") == grouped(rows, [0, 1], [(len, (2,))])[1]


@pytest.fixture
def joins(monkeypatch):
    """How often rows were joined with the numbers of their groups after all."""
    calls = []
    original = grouping._link_by_keys

    def link(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(grouping, "_link_by_keys", link)
    return calls


def test_hashes_of_groups_that_collide(store, orders, rows, joins, monkeypatch):
    monkeypatch.setattr(grouping, "hash_of", lambda *_: F.lit(1).cast("long"))
    frame = orders.groupBy("k").agg(F.sum("x").alias("s"))
    assert relation(store, frame, "orders") == grouped(rows, [0], [(len, (1,))])[1]
    assert len(joins) == 1


@pytest.mark.parametrize(("most", "times"), [(3, 1), (1000, 0)])
def test_groups_of_more_rows_than_the_driver_takes(
    orders_df, rows, joins, monkeypatch, most, times
):
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", str(most))
    with dslog.open(":memory:") as store:
        frame = store.track(orders_df, "orders").where("x > 0").groupBy("k").agg(F.sum("x"))
        kept = [number for number, row in enumerate(rows) if row[1]]
        expected = grouped([rows[number] for number in kept], [0], [(len, (1,))])[1]
        assert relation(store, frame, "orders.filter") == expected
    assert len(joins) == times


def test_numbers_that_are_equal_and_look_different(spark, store, joins):
    bits = [0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000123, 1 << 63, 0, 1]
    values = np.array(bits * 2, np.uint64).view(np.float64)
    df = spark.createDataFrame(pa.table({"y": values, "x": range(12)})).repartition(3)
    before = df.toPandas()
    frame = store.track(df, "t").groupBy("y").agg(F.sum("x").alias("s"))
    assert frame.count() == df.groupBy("y").count().count() == 3
    kinds = [0 if np.isnan(y) else 1 if y == 0 else 2 for y in before["y"]]
    assert relation(store, frame, "t") == grouped([(k, 0) for k in kinds], [0], [(len, (1,))])[1]
    assert not joins


def test_keys_without_a_hash(spark, store, joins):
    df = spark.createDataFrame([("a", 1), ("A", 2), ("b", 3)], "k string, x int")
    df = df.select(F.expr("k collate unicode_ci").alias("k"), "x")
    frame = store.track(df, "t").groupBy("k").agg(F.sum("x").alias("s"))
    rows = [("a", 1), ("a", 2), ("b", 3)]
    assert relation(store, frame, "t") == grouped(rows, [0], [(len, (1,))])[1]
    assert len(joins) == 1


def test_a_join_that_makes_more_rows_than_the_driver_takes(spark, monkeypatch):
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "60")
    left = spark.createDataFrame(spark.sparkContext.parallelize([(n % 2, n) for n in range(40)], 3))
    right = spark.createDataFrame([(n % 2, n) for n in range(30)])
    with dslog.open(":memory:") as store:
        frames = (store.track(left, "left"), store.track(right, "right"))
        both = frames[0].join(frames[1].toDF("_1", "z"), "_1")
        pairs = [(a, b) for a in range(40) for b in range(30) if a % 2 == b % 2]
        assert relation(store, both, "left") == {
            (out, c, a, c) for out, (a, _) in enumerate(pairs) for c in range(2)
        }
        assert both.shape == (len(pairs), 3)


def test_bucketed_tables(spark, store, tmp_path):
    """Spark splits them into buckets for a join, and otherwise as it likes: ids must not change."""
    keys = [int(key) for key in np.random.default_rng(0).integers(0, 20, 150)]
    left = spark.createDataFrame([(key, n) for n, key in enumerate(keys)], "k int, x int")
    right = spark.createDataFrame([(key, 10 * key) for key in range(20)], "k int, z int")
    frames = []
    for name, df in (("left", left.repartition(3)), ("right", right)):
        table = f"bucketed_{name}"
        df.write.option("path", str(tmp_path / name)).bucketBy(4, "k").saveAsTable(table)
        frames.append(store.track(spark.table(table), name))
    joined = frames[0].join(frames[1].hint("merge"), "k")
    rows = joined.toPandas()
    assert sorted(rows["x"]) == list(range(150))
    values = frames[0].toPandas()["x"]
    made = {(out, a) for out, c, a, d in relation(store, joined, "left") if c == d == 1}
    assert made == {(out, int(values[values == x].index[0])) for out, x in enumerate(rows["x"])}
    for name in ("left", "right"):
        spark.sql(f"drop table bucketed_{name}")
