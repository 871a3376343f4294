"""Steps that keep rows: columns and the columns they read."""

import pytest
from naive_tables import computed
from pyspark.sql import functions as F
from table_checks import check, plain, relation, same_rows

from dslog.errors import CaptureError

K, X, Y, L = range(4)


def pick(*places):
    return [(lambda row, p=p: row[p], (p,)) for p in places]


def times(row):
    return None if row[X] is None or row[Y] is None else row[X] * row[Y]


def test_select_names_and_expressions(store, orders, orders_df, rows):
    items = ["y", (F.col("x") * F.col("y")).alias("xy"), F.col("k").alias("key"), F.lit(1)]
    frame = orders.select(*items)
    same_rows(frame, orders_df.select(*items))
    check(
        store,
        frame,
        *computed(rows, [*pick(Y), (times, (X, Y)), (lambda r: r[K], (K,)), (lambda _: 1, ())])[:1],
        orders=computed(rows, [*pick(Y), (times, (X, Y)), (lambda r: r[K], (K,))])[1],
    )


def test_columns_bound_to_a_frame(store, orders, rows):
    late = orders.filter(orders.x > 1)
    frame = late.select(late["x"] + orders["x"], orders.y)
    kept = [row for row in rows if row[X] is not None and row[X] > 1]
    assert plain(frame.collect()) == plain([(2 * row[X], row[Y]) for row in kept])
    assert relation(store, frame, late.name) == {
        pair for b in range(len(kept)) for pair in ((b, 0, b, X), (b, 1, b, Y))
    }


@pytest.mark.parametrize("star", ["*", "column"])
def test_select_star(store, orders, rows, star):
    frame = orders.select("*" if star == "*" else F.col("*"), F.col("x").alias("x2"))
    check(
        store,
        frame,
        [(*row, row[X]) for row in rows],
        orders=computed(rows, [*pick(K, X, Y, L, X)])[1],
    )


def test_select_expr(store, orders, orders_df, rows):
    texts = ["x + 1 as up", "coalesce(k, cast(x as string)) as kx", "*"]
    frame = orders.selectExpr(*texts)
    same_rows(frame, orders_df.selectExpr(*texts))
    reads = [(X,), (K, X), (K,), (X,), (Y,), (L,)]
    pairs = {(b, c, b, a) for b in range(len(rows)) for c, some in enumerate(reads) for a in some}
    assert relation(store, frame, "orders") == pairs


def test_with_column_replaces_and_adds(store, orders, orders_df, rows):
    def step(frame):
        return frame.withColumn("x", F.col("x") + F.length("k")).withColumns(
            {"z": F.col("y"), "Y": F.lit(0)}
        )

    frame = step(orders)
    same_rows(frame, step(orders_df))
    first = orders.withColumn("x", F.col("x") + F.length("k"))
    assert (
        relation(store, first, "orders")
        == computed(rows, [*pick(K), (times, (X, K)), *pick(Y, L)])[1]
    )


def test_rename_and_drop(store, orders, orders_df, rows):
    def step(frame):
        return (
            frame.withColumnRenamed("k", "key").withColumnsRenamed({"x": "y", "y": "x"}).drop("l")
        )

    frame = step(orders)
    same_rows(frame, step(orders_df))
    found = store.backward(frame.name, (slice(None), 1), to="orders").indices().tolist()
    assert found == [[place, X] for place in range(len(rows))]
    dropped = orders.drop("k", orders_df["y"])
    check(store, dropped, [(r[X], r[L]) for r in rows], orders=computed(rows, pick(X, L))[1])


def test_to_df(store, orders, rows):
    frame = orders.toDF("a", "b", "c", "d")
    assert frame.columns == ["a", "b", "c", "d"]
    check(store, frame, rows, orders=computed(rows, pick(K, X, Y, L))[1])


def test_fill_and_replace(store, orders, orders_df, rows):
    """Each step alone, and all in turn."""
    ours, theirs = orders, orders_df
    for step in (
        lambda f: f.replace(2, 20),
        lambda f: f.replace({"a": "A"}),
        lambda f: f.replace(["a", "b"], ["b", "a"], subset="k"),
        lambda f: f.fillna("?", subset=["k"]),
        lambda f: f.fillna({"k": "none", "y": 0.0}),
        lambda f: f.fillna(7),
    ):
        alone = step(orders)
        assert relation(store, alone, "orders") == computed(rows, pick(K, X, Y, L))[1]
        ours, theirs = step(ours), step(theirs)
    same_rows(ours, theirs)


def test_one_hot(store, orders, rows):
    frame = orders.select("x", "k").one_hot("k")
    values = sorted({row[K] for row in rows if row[K] is not None})
    assert frame.columns == ["x", *(f"k_{v}" for v in values)]
    expected = [(row[X], *(int(row[K] == v) for v in values)) for row in rows]
    assert plain(frame.collect()) == plain(expected)
    pairs = {(b, c, b, int(c > 0)) for b in range(len(rows)) for c in range(len(values) + 1)}
    assert relation(store, frame, "orders") == {(b, c, a, 0 if d else X) for b, c, a, d in pairs}


def test_one_hot_of_given_values(store, orders, rows):
    frame = orders.one_hot("k", ["a", "q"], prefix="is", keep=True)
    assert frame.columns == ["k", "x", "y", "l", "is_a", "is_q"]
    assert [row["is_a"] for row in frame.collect()] == [int(row[K] == "a") for row in rows]


def test_too_many_values(store, spark):
    frame = store.track(spark.range(1001), "many")
    with pytest.raises(CaptureError, match="more than 1000 different values"):
        frame.one_hot("id")


def test_python_functions(store, orders, orders_df, rows):
    up = F.udf(lambda v: None if v is None else v + 1, "long")

    def step(frame):
        return frame.filter("x > 0").filter("x < 5").withColumn("up", up("x"))

    frame = step(orders)
    same_rows(frame, step(orders_df))
    kept = [(b, a) for b, a in enumerate(i for i, r in enumerate(rows) if r[X] and 0 < r[X] < 5)]
    found = store.backward(frame.name, (slice(None), 4), to="orders").indices()
    assert {tuple(p) for p in found} == {(a, X) for _, a in kept}


def test_random_columns_are_computed_once(store, orders, rows):
    frame = orders.withColumn("r", F.rand()).filter("r > 0.5")
    values = frame.toPandas()["r"]
    again = frame.toPandas()["r"]
    assert list(values) == list(again)
    assert len(values) == frame.shape[0]


def test_expressions_are_not_computed_for_rows_that_are_gone(store, spark):
    """After the second filter, 1 / x would divide by zero for a row that ended."""
    df = spark.createDataFrame([(0, 1), (1, 1), (2, 0)], "x long, y long")
    frame = store.track(df, "t").filter("y >= 0").filter("x > 0")
    frame = frame.withColumn("q", F.expr("10 div x")).filter("10 div x > 5")
    frame = frame.select("q", F.expr("10 div x").alias("q2"))
    assert frame.collect() == [(10, 10)]
    assert store.backward(frame.name, [(0, 1)], to="t").indices().tolist() == [[1, 0]]
