"""groupBy, agg, pivot, distinct: every aggregate reads all rows of its group."""

import pytest
from naive_tables import chosen, grouped, joined
from pyspark.sql import functions as F  # noqa: N812
from table_checks import NAMES, check, plain, relation, same_rows

from dslog.errors import CaptureError

K, X, Y, L = range(4)


def total(place):
    def add(rows):
        values = [row[place] for row in rows if row[place] is not None]
        return sum(values) if values else None

    return add


def count(rows):
    return len(rows)


def test_group_and_aggregate(store, orders, orders_df, rows):
    aggregates = [F.sum("x").alias("total"), F.count("*").alias("n"), F.max("y").alias("most")]
    frame = orders.groupBy("k").agg(*aggregates)
    same_rows(frame, orders_df.groupBy("k").agg(*aggregates))
    values, pairs = grouped(rows, [K], [(total(X), (X,)), (count, (K,)), (count, (Y,))])
    assert [row[:3] for row in plain(frame.collect())] == [row[:3] for row in plain(values)]
    assert relation(store, frame, "orders") == pairs


def test_several_keys_and_expressions(store, orders, orders_df, rows):
    def step(frame):
        return frame.groupBy("x", F.upper("k").alias("up")).agg(
            F.avg(F.col("y") * F.col("x")).alias("m"), F.collect_set("k").alias("s")
        )

    frame = step(orders)
    same_rows(frame, step(orders_df))
    _, pairs = grouped(rows, [X, K], [(count, (X, Y)), (count, (K,))])
    assert relation(store, frame, "orders") == pairs


@pytest.mark.parametrize("name", ["count", "sum", "avg", "mean", "min", "max"])
@pytest.mark.parametrize("rows", ["messy"], indirect=True)
def test_shortcuts(store, orders, orders_df, rows, name):
    frame = getattr(orders.groupBy("k"), name)()
    same_rows(frame, getattr(orders_df.groupBy("k"), name)())
    reads = [(count, (K,))] if name == "count" else [(count, (X,)), (count, (Y,))]
    assert relation(store, frame, "orders") == grouped(rows, [K], reads)[1]


@pytest.mark.parametrize(
    "text",
    [
        "count(x)", "count(distinct x)", "sum(distinct x)", "avg(y)", "first(x)", "last(x)",
        "stddev(y)",
        "var_pop(y)", "collect_list(x)", "approx_count_distinct(x)", "percentile(x, 0.5)",
        "median(x)", "mode(x)", "max_by(x, y)", "corr(x, y)", "bool_and(x > 1)", "any_value(x)",
        "sum(x) filter (where y > 0)", "sum(x) + max(y)", "listagg(k)", "kurtosis(y)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("rows", ["messy"], indirect=True)
def test_built_in_aggregates(store, orders, rows, text):
    """What is read is what the expression names, whatever the function does with it."""
    frame = orders.groupBy("k").agg(F.expr(text).alias("v"))
    names = {"k": K, "x": X, "y": Y}
    inside = text.partition("(")[2]
    reads = tuple(place for name, place in names.items() if name in inside.replace("max", ""))
    assert relation(store, frame, "orders") == grouped(rows, [K], [(count, reads)])[1]


def test_dict_of_functions(store, orders, orders_df):
    frame = orders.groupBy("k").agg({"x": "max", "*": "count"})
    same_rows(frame, orders_df.groupBy("k").agg({"x": "max", "*": "count"}))
    with pytest.raises(CaptureError, match="agg takes columns"):
        orders.groupBy("k").agg("x")


def test_all_rows(store, orders, orders_df, rows):
    frame = orders.agg(F.sum("x").alias("s"), F.count("*").alias("n"))
    same_rows(frame, orders_df.agg(F.sum("x").alias("s"), F.count("*").alias("n")))
    n = len(rows)
    pairs = {(0, 0, a, X) for a in range(n)} | {(0, 1, a, c) for a in range(n) for c in range(4)}
    assert relation(store, frame, "orders") == pairs


def test_after_joins_and_filters(store, orders, names, orders_df, names_df, rows):
    """Groups share one pass with the steps before them."""

    def step(a, b):
        both = a.filter("x >= 0").join(b, "k", "left").filter("n != 'second' or n is null")
        return both.groupBy("n").agg(F.sum("x").alias("s"))

    frame = step(orders, names)
    same_rows(frame, step(orders_df, names_df))
    one, pairs1 = chosen(rows, lambda r: r[X] is not None and r[X] >= 0)
    two, left, right = joined(one, NAMES, [(0, 0)], "left", (4, 2))
    three, pairs3 = chosen(two, lambda r: r[4] is None or r[4] != "second")
    values, pairs = grouped(three, [4], [(total(1), (1,))])
    check(store, frame, values, **{"orders.filter_2": pairs})
    for out, in_, expected in (
        ("orders.filter", "orders", pairs1),
        ("orders.join", "orders.filter", left),
        ("orders.join", "names", right),
        ("orders.filter_2", "orders.join", pairs3),
    ):
        lineage = store.load(out, in_)[0]
        assert set(map(tuple, lineage.to_relation().tolist())) == expected, (out, in_)


def test_groups_go_on(store, orders, orders_df, rows):
    def step(frame):
        groups = frame.groupBy("k").agg(F.sum("x").alias("s"))
        return groups.filter(groups["s"] > 1).orderBy(F.desc("s")).withColumn("t", F.col("s") * 2)

    frame = step(orders)
    same_rows(frame, step(orders_df))
    for b, row in enumerate(frame.collect()):
        found = store.backward(frame.name, [(b, 2)], to="orders").indices().tolist()
        assert found == [[a, X] for a, r in enumerate(rows) if r[K] == row.k]


def test_python_aggregates(store, orders, orders_df, rows):
    import pandas as pd

    @F.pandas_udf("double")
    def spread(values: pd.Series) -> float:
        return float(values.max() - values.min())

    frame = orders.groupBy("k").agg(spread("x").alias("d"))
    same_rows(frame, orders_df.groupBy("k").agg(spread("x").alias("d")))
    assert relation(store, frame, "orders") == grouped(rows, [K], [(count, (X,))])[1]


def test_pivot(store, orders, orders_df, rows):
    def step(frame):
        values = F.sum("y").alias("s"), F.count(F.lit(1)).alias("n")
        return frame.groupBy("x").pivot("k").agg(*values)  # noqa: PD010

    frame = step(orders)
    same_rows(frame, step(orders_df))
    values = sorted({r[K] for r in rows}, key=lambda v: (v is not None, v))
    groups = list(dict.fromkeys(r[X] for r in rows))
    pairs = set()
    for a, row in enumerate(rows):
        g, v = groups.index(row[X]), values.index(row[K])
        pairs |= {(g, 0, a, X), (g, 1 + 2 * v, a, Y), (g, 1 + 2 * v, a, K)}
        pairs |= {(g, 2 + 2 * v, a, X), (g, 2 + 2 * v, a, K)}
    assert relation(store, frame, "orders") == pairs


def test_pivot_of_given_values(store, orders, orders_df, rows):
    def step(frame):
        groups = frame.filter("x is not null").groupBy("x")
        return groups.pivot("k", ["b", "a"]).max("y")  # noqa: PD010

    frame = step(orders)
    same_rows(frame, step(orders_df))
    kept = [r for r in rows if r[X] is not None]
    groups = list(dict.fromkeys(r[X] for r in kept))
    pairs = set()
    for a, row in enumerate(kept):
        pairs.add((groups.index(row[X]), 0, a, X))
        if row[K] in ("b", "a"):
            cell = groups.index(row[X]), 1 + "ba".index(row[K])
            pairs |= {(*cell, a, Y), (*cell, a, K)}
    assert relation(store, frame, "orders.filter") == pairs


def test_distinct(store, orders, orders_df, rows):
    frame = orders.distinct()
    same_rows(frame, orders_df.distinct())
    known = plain(rows)
    firsts = list(dict.fromkeys(known))
    pairs = {(firsts.index(row), c, a, c) for a, row in enumerate(known) for c in range(4)}
    assert plain(frame.collect()) == firsts
    assert relation(store, frame, "orders") == pairs


def test_drop_duplicates(store, orders, names, orders_df, rows):
    frame = orders.filter("x < 9").join(names, "k", "left").drop_duplicates(["x"])
    same_rows(frame.select("x"), orders_df.filter("x < 9").select("x").distinct())
    one, _ = chosen(rows, lambda r: r[X] is not None)
    two, _, _ = joined(one, NAMES, [(0, 0)], "left", (4, 2))
    firsts = {}
    for a, row in enumerate(two):
        firsts.setdefault(row[1], a)
    order = list(firsts)
    pairs = {(order.index(row[1]), 1, a, 1) for a, row in enumerate(two)}
    pairs |= {(b, c, firsts[x], c) for b, x in enumerate(order) for c in (0, 2, 3, 4)}
    check(store, frame, [two[firsts[x]] for x in order], **{"orders.join": pairs})
    with pytest.raises(CaptureError, match="no column 'w'"):
        orders.dropDuplicates(["w"])


def test_many_groups(store, spark):
    """More groups than a task takes, in several partitions."""
    from dslog.capture.spark import grouping, numbering

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "PER_BUCKET", 100)
        patch.setattr(grouping, "BROADCAST", 10)
        df = spark.range(0, 3000, 1, 3).selectExpr("id", "(id * 7) % 500 as k")
        frame = store.track(df, "t").groupBy("k").agg(F.sum("id").alias("s"))
        assert [row.k for row in frame.collect()] == [(i * 7) % 500 for i in range(500)]
        found = store.backward(frame.name, [(3, 1)], to="t").indices()[:, 0].tolist()
        assert found == [i for i in range(3000) if i % 500 == 3]
