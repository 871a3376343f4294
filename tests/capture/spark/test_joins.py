"""Joins of every kind, on names and on conditions, after other steps and with themselves."""

import pytest
from naive_tables import chosen, joined
from pyspark.sql import functions as F
from table_checks import NAMES, check, plain, relation, same_rows

from dslog.errors import CaptureError

K, X, Y, L = range(4)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_on_names(store, orders, names, orders_df, names_df, rows, how):
    frame = orders.join(names, "k", how)
    same_rows(frame, orders_df.join(names_df, "k", how))
    values, left, right = joined(rows, NAMES, [(0, 0)], how, (4, 2))
    check(store, frame, values, orders=left, names=right)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_after_other_steps(store, orders, names, orders_df, names_df, rows, how):
    """The first filter, the join and the last filter all have lineage of their own."""

    def step(left, right):
        both = left.filter("x > 0").join(right.filter("n != 'again'"), ["k"], how)
        return both.filter("n != 'second' or n is null")

    frame = step(orders, names)
    same_rows(frame, step(orders_df, names_df))
    kept, _ = chosen(rows, lambda r: r[X] is not None and r[X] > 0)
    called, _ = chosen(NAMES, lambda r: r[1] != "again")
    values, left, right = joined(kept, called, [(0, 0)], how, (4, 2))
    last, pairs = chosen(values, lambda r: r[4] is None or r[4] != "second")
    check(store, frame, last, **{"orders.join": pairs})
    between = store.load("orders.join", "orders.filter")[0]
    assert set(map(tuple, between.to_relation().tolist())) == left
    between = store.load("orders.join", "names.filter")[0]
    assert set(map(tuple, between.to_relation().tolist())) == right


def test_a_chain_of_joins(store, orders, names, orders_df, names_df, rows, spark):
    """Rows that a later join drops are still in the lineage of the earlier ones."""
    third_df = spark.createDataFrame([("first", 1), ("again", 2), ("again", 3)], "n string, i long")
    third = store.track(third_df, "third")

    def step(a, b, c):
        return a.join(b, "k").filter("x < 5").join(c, "n").join(b.withColumnRenamed("n", "m"), "k")

    frame = step(orders, names, third)
    same_rows(frame, step(orders_df, names_df, third_df))
    one, left, right = joined(rows, NAMES, [(0, 0)], "inner", (4, 2))
    two, pairs = chosen(one, lambda r: r[X] is not None and r[X] < 5)
    three, left3, right3 = joined(
        two, [("first", 1), ("again", 2), ("again", 3)], [(4, 0)], "inner", (5, 2)
    )
    four, left4, _ = joined(three, NAMES, [(1, 0)], "inner", (6, 2))
    check(store, frame, four, **{"orders.join_2": left4})
    for out, in_, expected in (
        ("orders.join", "orders", left),
        ("orders.join", "names", right),
        ("orders.filter", "orders.join", pairs),
        ("orders.join_2", "orders.filter", left3),
        ("orders.join_2", "third", right3),
    ):
        lineage = store.load(out, in_)[0]
        assert set(map(tuple, lineage.to_relation().tolist())) == expected, (out, in_)


@pytest.mark.parametrize("how", ["semi", "left_anti"])
def test_semi_and_anti(store, orders, names, orders_df, names_df, rows, how):
    frame = orders.filter("x > 0").join(names, "k", how)
    same_rows(frame, orders_df.filter("x > 0").join(names_df, "k", how))
    known = {k for k, _ in NAMES if k}
    kept, _ = chosen(rows, lambda r: r[X] is not None and r[X] > 0)
    values, pairs = chosen(kept, lambda r: (r[K] in known) == (how == "semi"))
    check(store, frame, values, **{"orders.filter": pairs})
    assert frame.table.origin.op == ("semi_join" if how == "semi" else "anti_join")


@pytest.mark.parametrize("how", ["cross", "inner", "left", "full"])
def test_on_conditions(store, orders, names, orders_df, names_df, rows, how):
    on = None if how == "cross" else [F.col("a.k") == F.col("b.k"), F.col("n") != "again"]

    def step(a, b):
        return a.alias("a").join(b.alias("b"), on, how)

    frame = step(orders, names)
    same_rows(frame, step(orders_df, names_df))
    values = frame.collect()
    left, right = relation(store, frame, "orders"), relation(store, frame, "names")
    assert {(c, a) for _, c, _, a in left} <= {(c, c) for c in range(4)}
    assert {(c, a) for _, c, _, a in right} <= {(4, 0), (5, 1)}
    assert all(plain([values[b]])[0][c] == plain([rows[a]])[0][c] for b, c, a, _ in left)
    assert all(values[b][c] == NAMES[a][c - 4] for b, c, a, _ in right)
    assert len(left) + len(right) == sum(
        4 * any(v is not None for v in row[:4]) + 2 * (row[5] is not None) for row in values
    )


def test_condition_after_other_steps(store, orders, names, rows):
    late = orders.filter("x > 0").filter("x < 5")
    frame = late.join(names, late.k == names.k, "left")
    kept = [i for i, r in enumerate(rows) if r[X] is not None and 0 < r[X] < 5]
    first = [
        store.backward(frame.name, [(b, 1)], to="orders").indices().tolist()
        for b in range(frame.count())
    ]
    places = [a for a in kept for _ in range(max(sum(k == rows[a][K] for k, _ in NAMES if k), 1))]
    assert first == [[[a, X]] for a in places]


def test_with_itself(store, orders, orders_df, rows):
    frame = orders.join(orders, ["k", "x"])
    same_rows(frame, orders_df.join(orders_df, ["k", "x"]))
    values, left, right = joined(rows, rows, [(0, 0), (1, 1)], "inner", (4, 4))
    check(store, frame, values, orders=left | right)


def test_with_groups_of_itself(store, orders, orders_df, rows):
    def step(frame):
        sums = frame.groupBy("k").agg(F.sum("x").alias("total"))
        return frame.join(sums, "k")

    frame = step(orders)
    same_rows(frame, step(orders_df))
    found = store.backward(frame.name, [(0, 4)], to="orders").indices().tolist()
    assert found == [[i, X] for i, r in enumerate(rows) if r[K] == rows[0][K]]


def test_cross_join(store, names, names_df):
    frame = names.crossJoin(names)
    same_rows(frame, names_df.crossJoin(names_df))
    n = len(NAMES)
    expected = {(n * i + j, c, i, c) for i in range(n) for j in range(n) for c in range(2)}
    expected |= {(n * i + j, c + 2, j, c) for i in range(n) for j in range(n) for c in range(2)}
    assert relation(store, frame, "names") == expected


def test_the_other_side_may_be_untracked(store, orders, names_df):
    joined = orders.join(names_df, "k")
    assert store.backward(joined.name, (0, "k"), to="orders").count == 1
    with pytest.raises(CaptureError, match="'inwards'"):
        orders.join(orders, "k", "inwards")


def test_skew(store, spark):
    """One row that matches many, in many partitions."""
    left = store.track(spark.createDataFrame([("a",), ("b",)], "k string"), "left")
    right_df = spark.range(0, 5000, 1, 7).selectExpr("'a' as k", "id")
    right = store.track(right_df, "right")
    frame = left.join(right, "k").filter("id % 2 = 0")
    assert frame.shape == (2500, 2)
    assert store.forward("left", [(0, 0)], to=frame.name).count == 2500
    assert store.backward(frame.name, [(7, 1)], to="right").indices().tolist() == [[14, 1]]
    assert store.lineages()[-1].num_rows < 20


def test_join_lineage_is_small(store, orders, names):
    orders.join(names, "k", "left").collect()
    assert all(info.nbytes < 1000 for info in store.lineages())
