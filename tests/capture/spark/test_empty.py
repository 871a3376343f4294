"""Tables without rows go through every step, and come out with the same columns and types."""

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F
from table_checks import NAMES, ORDERS, frame_of

NO_ROWS = 0


STEPS = {
    "select": lambda f, _: f.select("y", (F.col("x") * 2).alias("twice"), F.lit(1).alias("one")),
    "selectExpr": lambda f, _: f.selectExpr("*", "x + 1 as up"),
    "columns": lambda f, _: f.withColumn("z", F.col("x")).withColumnRenamed("k", "key").drop("l"),
    "fill": lambda f, _: f.fillna(0).replace("a", "b"),
    "filter": lambda f, _: f.filter("x > 1").dropna().where("y > 0"),
    "sample": lambda f, _: f.sample(0.5, seed=1),
    "repeat": lambda f, _: f.sample(True, 2.0, 1),
    "limit": lambda f, _: f.limit(3),
    "orderBy": lambda f, _: f.orderBy("x", F.desc("k")),
    "union": lambda f, _: f.union(f),
    "unionByName": lambda f, names: f.unionByName(names.limit(0), allowMissingColumns=True),
    "distinct": lambda f, _: f.distinct(),
    "dropDuplicates": lambda f, _: f.dropDuplicates(["k"]),
    "explode": lambda f, _: f.select("k", F.explode("l").alias("e")),
    "window": lambda f, _: f.withColumn("r", F.rank().over(Window.partitionBy("k").orderBy("x"))),
    "groups": lambda f, _: f.groupBy("k").agg(F.sum("x").alias("s"), F.count("*").alias("n")),
    "pivot": lambda f, _: f.groupBy("x").pivot("k", ["a", "b"]).agg(F.max("y")),
    "inner": lambda f, names: f.join(names, "k"),
    "left": lambda f, names: f.join(names, "k", "left").groupBy("n").count(),
    "semi": lambda f, names: f.join(names, "k", "semi"),
    "anti": lambda f, names: f.join(names, "k", "anti"),
    "cross": lambda f, names: f.crossJoin(names),
    "mapInArrow": lambda f, _: f.mapInArrow(lambda batches: batches, ORDERS),
    "applyInPandas": lambda f, _: f.groupBy("k").applyInPandas(
        lambda group: group[["k", "x"]].head(1), "k string, x long"
    ),
}


def test_steps_on_no_rows(store, spark, names, names_df):
    """All at once: one look at the store computes the lineage of all of them."""
    empty_df = frame_of(spark, [], ORDERS, 2)
    empty = store.track(empty_df, "empty")
    frames = {name: step(empty, names) for name, step in STEPS.items()}
    for name, frame in frames.items():
        plain = STEPS[name](empty_df, names_df)
        assert frame.dtypes == plain.dtypes, name
        assert frame.shape == (NO_ROWS, len(plain.columns)), name
        assert store.backward(frame.name, ..., to="empty").count == 0
    assert frames["groups"].collect() == []


def test_one_group_of_no_rows(store, spark):
    """Without keys there is one row all the same, made of nothing."""
    empty = store.track(frame_of(spark, [], ORDERS, 2), "empty")
    frame = empty.agg(F.count("*").alias("n"), F.sum("x").alias("s"))
    assert [tuple(row) for row in frame.collect()] == [(0, None)]
    assert store.backward(frame.name, ..., to="empty").count == 0


@pytest.mark.parametrize("how", ["right", "full"])
def test_only_the_other_side(store, spark, names, names_df, how):
    empty_df = frame_of(spark, [], ORDERS, 2)
    frame = store.track(empty_df, "empty").join(names, "k", how)
    assert sorted(map(repr, frame.collect())) == sorted(
        map(repr, empty_df.join(names_df, "k", how).collect())
    )
    for b, row in enumerate(frame.collect()):
        ((place, _),) = store.backward(frame.name, (b, "n"), to="names").indices().tolist()
        assert NAMES[place] == (row.k, row.n)


def test_a_store_of_no_rows_stays_small(store, spark):
    empty = store.track(frame_of(spark, [], ORDERS, 2), "empty").filter("x > 1")
    assert empty.toPandas().shape == (0, 4)
    assert empty.toNumpy().shape == (0, 4)
    assert empty.first() is None
    assert empty.isEmpty()
