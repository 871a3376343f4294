"""Steps that drop, sort, repeat or stack rows."""

import math

import pytest
from naive_tables import chosen, identity, sorted_rows
from pyspark.sql import functions as F
from table_checks import check, frame_of, plain, relation, same_rows

from dslog.errors import CaptureError

K, X, Y, L = range(4)


def is_nan(value):
    return value is None or math.isnan(value)


def test_filter(store, orders, orders_df, rows):
    frame = orders.filter("x > 1")
    same_rows(frame, orders_df.filter("x > 1"))
    values, pairs = chosen(rows, lambda r: r[X] is not None and r[X] > 1)
    check(store, frame, values, orders=pairs)


def test_filters_after_each_other(store, orders, orders_df, rows):
    """Each has its own lineage, also for rows that a later one drops."""
    first = orders.where(F.col("x") > 0)
    second = first.filter("k is not null")
    third = second.where("y > 1")
    same_rows(third, orders_df.where("x > 0").filter("k is not null").where("y > 1"))
    one, pairs_one = chosen(rows, lambda r: r[X] is not None and r[X] > 0)
    two, pairs_two = chosen(one, lambda r: r[K] is not None)
    three, pairs_three = chosen(two, lambda r: r[Y] is not None and (r[Y] != r[Y] or r[Y] > 1))
    assert relation(store, third, second.name) == pairs_three
    check(store, first, one, orders=pairs_one)
    check(store, second, two, **{first.name: pairs_two})
    check(store, third, three, **{second.name: pairs_three})


@pytest.mark.parametrize(
    ("args", "keep"),
    [
        ({}, lambda r: not (r[K] is None or r[X] is None or is_nan(r[Y]) or r[L] is None)),
        ({"how": "all", "subset": ["k", "y"]}, lambda r: not (r[K] is None and is_nan(r[Y]))),
        (
            {"thresh": 3},
            lambda r: sum(plain([r])[0][c] not in (None, "nan") for c in range(4)) >= 3,
        ),
        ({"subset": "y"}, lambda r: not is_nan(r[Y])),
    ],
)
def test_dropna(store, orders, orders_df, rows, args, keep):
    frame = orders.dropna(**args)
    same_rows(frame, orders_df.dropna(**args))
    values, pairs = chosen(rows, keep)
    check(store, frame, values, orders=pairs)


def test_dropna_asks_for_any_or_all(orders):
    with pytest.raises(CaptureError, match="'some'"):
        orders.dropna(how="some")


def test_sample(store, orders, orders_df, rows):
    frame = orders.sample(fraction=0.5, seed=7)
    same_rows(frame, orders_df.sample(fraction=0.5, seed=7))
    found = relation(store, frame, "orders")
    values = frame.collect()
    assert len(found) == 4 * len(values)
    assert all(plain([values[b]]) == plain([rows[a]]) for b, _, a, _ in found)


def test_sample_with_replacement(store, orders, orders_df, rows):
    frame = orders.sample(True, 2.0, 3)
    same_rows(frame, orders_df.sample(True, 2.0, 3))
    values = frame.collect()
    found = relation(store, frame, "orders")
    assert len(found) == 4 * len(values)
    assert all(plain([values[b]]) == plain([rows[a]]) for b, _, a, _ in found)


def test_sample_by(store, orders, orders_df):
    fractions = {"a": 1.0, "b": 0.0}
    same_rows(orders.sampleBy("k", fractions, 1), orders_df.sampleBy("k", fractions, 1))


@pytest.mark.parametrize("count", [0, 4, 100])
def test_limit_and_offset(store, orders, orders_df, rows, count):
    same_rows(orders.limit(count), orders_df.limit(count))
    check(
        store,
        orders.limit(count),
        rows[:count],
        orders=identity([(i, i) for i in range(len(rows[:count]))], 4),
    )
    rest = rows[count:]
    check(
        store,
        orders.offset(count),
        rest,
        orders=identity([(i, i + count) for i in range(len(rest))], 4),
    )


def test_order_by(store, orders, orders_df, rows):
    frame = orders.orderBy("k", F.desc("x"))
    values, pairs = sorted_rows(
        rows,
        lambda r: (r[K] is not None, r[K] or "", r[X] is None, -(r[X] or 0)),
        4,
    )
    check(store, frame, values, orders=pairs)
    same_rows(frame, orders_df.orderBy("k", F.desc("x")))


def test_sort_descending(store, orders, orders_df):
    ours = orders.sort(["x", "k"], ascending=[False, True]).collect()
    theirs = orders_df.sort(["x", "k"], ascending=[False, True]).collect()
    assert [(r.x, r.k) for r in ours] == [(r.x, r.k) for r in theirs]
    with pytest.raises(CaptureError, match="1 entries for 2 columns"):
        orders.sort("x", "k", ascending=[True])


def test_top(store, orders, rows):
    frame = orders.orderBy(F.desc("y")).limit(2).filter("x is not null")
    frame.collect()
    found = store.backward(frame.name, (slice(None), 0), to="orders").indices()
    order = sorted(
        range(len(rows)),
        key=lambda i: (rows[i][Y] is None, rows[i][Y] == rows[i][Y], -(rows[i][Y] or 0)),
    )
    expected = [(i, 0) for i in order[:2] if rows[i][X] is not None]
    assert {tuple(p) for p in found.tolist()} == set(expected)


def test_union(store, orders, orders_df, rows):
    late = orders.filter("x > 1")
    frame = late.union(orders).union(late)
    same_rows(frame, orders_df.filter("x > 1").union(orders_df).union(orders_df.filter("x > 1")))
    values, _ = chosen(rows, lambda r: r[X] is not None and r[X] > 1)
    n = len(values)
    last = identity([(n + len(rows) + i, i) for i in range(n)], 4)
    check(store, frame, [*values, *rows, *values], **{late.name: last})


def test_union_with_itself(store, orders, rows):
    frame = orders.unionAll(orders)
    n = len(rows)
    pairs = identity([(i, i) for i in range(n)] + [(n + i, i) for i in range(n)], 4)
    check(store, frame, [*rows, *rows], orders=pairs)


def test_union_by_name(store, orders, orders_df, spark, rows):
    other_df = frame_of(spark, [(1, "q", 5)], "x long, k string, w long", 1)
    other = store.track(other_df, "other")
    frame = orders.unionByName(other, allowMissingColumns=True)
    same_rows(frame, orders_df.unionByName(other_df, allowMissingColumns=True))
    n = len(rows)
    assert relation(store, frame, "other") == {(n, 0, 0, 1), (n, 1, 0, 0), (n, 4, 0, 2)}
    assert relation(store, frame, "orders") == identity([(i, i) for i in range(n)], 4)


def test_union_needs_as_many_columns(orders, names):
    with pytest.raises(CaptureError, match="4 columns and 'names' 2"):
        orders.union(names)


def test_explode(store, orders, orders_df, rows):
    def step(frame):
        return frame.select("x", F.explode("l").alias("e"), "k")

    frame = step(orders)
    same_rows(frame, step(orders_df))
    expected, pairs = [], set()
    for place, row in enumerate(rows):
        for element in row[L] or ():
            b = len(expected)
            pairs |= {(b, 0, place, X), (b, 1, place, L), (b, 2, place, K)}
            expected.append((row[X], element, row[K]))
    check(store, frame, expected, orders=pairs)


@pytest.mark.parametrize(
    "text", ["posexplode(l)", "explode_outer(l)", "stack(2, 'a', x, 'b', x + 1) as (n, v)"]
)
def test_other_generators(store, orders, orders_df, rows, text):
    frame = orders.selectExpr("k", text)
    same_rows(frame, orders_df.selectExpr("k", text))
    found = relation(store, frame, "orders")
    values = frame.collect()
    assert {b for b, c, _, _ in found if c == 0} == set(range(len(values)))
    assert all(values[b].k == rows[a][K] for b, c, a, _ in found if c == 0)


def test_explode_after_filter_and_before_it(store, orders, orders_df, rows):
    def step(frame):
        exploded = frame.filter("x > 1").withColumn("l", F.explode("l")).filter("l < 5")
        return exploded.filter("k = 'a'")

    frame = step(orders)
    same_rows(frame, step(orders_df))
    kept = [
        place
        for place, row in enumerate(rows)
        if (row[X] or 0) > 1 and row[K] == "a"
        for element in row[L] or ()
        if element is not None and element < 5
    ]
    found = [
        store.backward(frame.name, [(b, 3)], to="orders").indices().tolist()
        for b in range(len(kept))
    ]
    assert found == [[[place, L]] for place in kept]


def test_repartitioned_rows_keep_their_positions(store, orders, rows):
    frame = orders.repartition(4, "k").filter("x > 1").coalesce(2).filter("x < 5")
    expected = [r for r in rows if r[X] is not None and 1 < r[X] < 5]
    assert plain(frame.collect()) == plain(expected)
    found = relation(store, frame, "orders.filter")
    kept, _ = chosen(rows, lambda r: r[X] is not None and r[X] > 1)
    assert found == chosen(kept, lambda r: r[X] < 5)[1]
