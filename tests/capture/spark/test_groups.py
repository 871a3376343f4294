"""groupBy, agg, pivot, distinct: every aggregate reads all rows of its group."""

import re

import pytest
from naive_tables import chosen, grouped, joined
from pyspark.sql import functions as F
from table_checks import NAMES, check, plain, relation, same_rows

from dslog.capture.spark import row_id as trail_rows
from dslog.capture.spark.frame_cost import FrameCost
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


def test_shortcuts(store, orders, orders_df, rows):
    for name in ("count", "sum", "avg", "mean", "min", "max"):
        frame = getattr(orders.groupBy("k"), name)()
        assert frame.dtypes == getattr(orders_df.groupBy("k"), name)().dtypes
        reads = [(count, (K,))] if name == "count" else [(count, (X,)), (count, (Y,))]
        assert relation(store, frame, "orders") == grouped(rows, [K], reads)[1]


AGGREGATES = [
    "count(x)", "count(distinct x)", "sum(distinct x)", "avg(y)", "first(x)", "last(x)",
    "stddev(y)", "stddev_pop(y)", "var_samp(y)", "var_pop(y)", "collect_list(x)", "collect_set(k)",
    "approx_count_distinct(x)", "percentile(x, 0.5)", "percentile_approx(x, 0.5)", "median(x)",
    "mode(x)", "max_by(x, y)", "min_by(x, y)", "corr(x, y)", "covar_pop(x, y)", "covar_samp(x, y)",
    "bool_and(x > 1)", "bool_or(x > 1)", "every(x > 1)", "count_if(x > 1)", "any_value(x)",
    "sum(x) filter (where y > 0)", "sum(x) + max(y)", "listagg(k)", "kurtosis(y)", "skewness(y)",
    "min(k)", "max(struct(x, y))", "bit_and(x)", "bit_or(x)", "bit_xor(x)",
    "regr_slope(y, x)", "regr_r2(y, x)", "histogram_numeric(x, 2)", "try_sum(x)", "try_avg(y)",
    "first_value(y)", "last_value(y)", "array_agg(x)", "sum(1)", "count(*)", "count(1)",
]  # fmt: skip


def test_built_in_aggregates(store, orders, orders_df, rows):
    """What is read is what the expression names; the group's key, if it names nothing."""
    aggregates = [F.expr(text).alias(f"v{number}") for number, text in enumerate(AGGREGATES)]
    frame = orders.groupBy("k").agg(*aggregates)
    assert sorted(map(str, frame.collect())) == sorted(
        map(str, orders_df.groupBy("k").agg(*aggregates).collect())
    )
    places = {"k": K, "x": X, "y": Y}
    reads = [
        (count, tuple(places[n] for n in set(re.findall(r"\b[kxy]\b", text))) or (K,))
        for text in AGGREGATES
    ]
    assert relation(store, frame, "orders") == grouped(rows, [K], reads)[1]


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


@pytest.mark.parametrize("bits", [63, 1])
def test_after_a_full_join(store, orders, names, orders_df, names_df, rows, bits, monkeypatch):
    """Rows without a left side come last; so do groups that have no others."""
    monkeypatch.setattr(trail_rows, "RANK_BITS", bits)

    def step(a, b):
        return a.filter("x != 1").join(b.filter("n != 'again'"), "k", "full")

    one, _ = chosen(rows, lambda r: r[X] is not None and r[X] != 1)
    called, _ = chosen(NAMES, lambda r: r[1] != "again")
    two, _, _ = joined(one, called, [(0, 0)], "full", (4, 2))
    both = step(orders, names)
    for keys in (["n"], ["y", "n"]):
        places = [both.columns.index(name) for name in keys]
        values, pairs = grouped(two, places, [(total(1), (1,))])
        frame = both.groupBy(*keys).agg(F.sum("x").alias("s"))
        same_rows(frame, step(orders_df, names_df).groupBy(*keys).agg(F.sum("x").alias("s")))
        check(store, frame, values, **{"orders.join": pairs})
    frame = both.dropDuplicates(["x"])
    firsts = {}
    for a, row in enumerate(two):
        firsts.setdefault(row[1], a)
    assert plain(frame.collect()) == plain([two[a] for a in firsts.values()])
    same = {(b, c, a, c) for b, a in enumerate(firsts.values()) for c in (0, 2, 3, 4)}
    same |= {(list(firsts).index(row[1]), 1, a, 1) for a, row in enumerate(two)}
    assert relation(store, frame, "orders.join") == same


def test_after_explode(store, orders, orders_df, rows):
    def step(frame):
        return frame.select("k", F.explode("l").alias("e")).groupBy("e").agg(F.max("k").alias("m"))

    frame = step(orders)
    same_rows(frame, step(orders_df))
    elements = [(row[K], e) for row in rows for e in row[L] or ()]
    values, pairs = grouped(elements, [1], [(count, (0,))])
    assert [row.e for row in frame.collect()] == [row[0] for row in values]
    assert relation(store, frame, "orders.select") == pairs


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


def test_many_groups(store, spark, choose):
    """More groups than a task takes, in several partitions."""
    choose(FrameCost, bucket_rows=100, broadcast_ids=10)
    df = spark.range(0, 3000, 1, 3).selectExpr("id", "(id * 7) % 500 as k")
    frame = store.track(df, "t").groupBy("k").agg(F.sum("id").alias("s"))
    assert [row.k for row in frame.collect()] == [(i * 7) % 500 for i in range(500)]
    found = store.backward(frame.name, [(3, 1)], to="t").indices()[:, 0].tolist()
    assert found == [i for i in range(3000) if i % 500 == 3]
