"""Methods of DataFrames, one by one and after each other, against loops over lists of rows."""

import math

import pytest
from naive_tables import chosen, grouped, identity, joined, through
from pyspark.sql import Window
from pyspark.sql import functions as F
from table_checks import NAMES, check, frame_of, plain, relation, same_rows

K, X, Y, L = range(4)


def is_nan(value):
    return value is None or math.isnan(value)


FILTERS = {
    "filter": (lambda f: f.filter("x > 1"), lambda r: r[X] is not None and r[X] > 1),
    "filters": (
        lambda f: f.where(F.col("x") > 0).filter("k is not null").where("y > 1"),
        lambda r: (r[X] or 0) > 0 and r[K] is not None and r[Y] is not None and not r[Y] <= 1,
    ),
    "dropna": (
        lambda f: f.dropna(),
        lambda r: not (r[K] is None or r[X] is None or is_nan(r[Y]) or r[L] is None),
    ),
    "all of some": (
        lambda f: f.dropna(how="all", subset=["K", "y"]),
        lambda r: not (r[K] is None and is_nan(r[Y])),
    ),
    "repartitioned": (
        lambda f: f.repartition(4, "k").filter("x > 1").coalesce(2).filter("x < 5"),
        lambda r: r[X] is not None and 1 < r[X] < 5,
    ),
    "sorted": (lambda f: f.orderBy("k", 2, 3).where("x = 2"), lambda r: r[X] == 2),
    "semi": (lambda f: f.join(f.where("y > 2"), "k", "semi"), lambda r: r[K] == "a"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_rows_that_stay(name, store, orders, orders_df, rows):
    step, keep = FILTERS[name]
    same_rows(step(orders), step(orders_df))
    values, pairs = chosen(rows, keep)
    check(store, step(orders), values, orders=pairs)


DRAWS = {
    "sample": lambda f: f.sample(fraction=0.5, seed=7),
    "twice": lambda f: f.sample(True, 2.0, 3),
    "by": lambda f: f.sampleBy("k", {"a": 0.7, "b": 0.5}, 1),
    "spread": lambda f: f.repartition(8).sample(0.5, 3),
    "limit": lambda f: f.repartition(4).limit(4),
    "offset": lambda f: f.repartition(4).offset(4),
    "split": lambda f: f.randomSplit([0.5, 0.5], 1)[0],
    "chance": lambda f: f.withColumn("r", F.rand()).where("r < 0.6").drop("r"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_rows_that_are_drawn(name, store, orders, rows):
    """Values and lineage come from one draw."""
    frame = DRAWS[name](orders)
    values = frame.collect()
    found = relation(store, frame, "orders")
    assert len(found) == 4 * len(values)
    assert all(plain([values[b]]) == plain([rows[a]]) for b, _, a, _ in found)
    assert values == frame.collect() or any(is_nan(row.y) for row in values)


def test_sorted_rows_come_in_order(store, orders, orders_df):
    frame = orders.sort(["x", "k"], ascending=[False, True])
    ours, theirs = frame.collect(), orders_df.sort(["x", "k"], ascending=[False, True]).collect()
    assert [(r.x, r.k) for r in ours] == [(r.x, r.k) for r in theirs]
    top = orders.orderBy(F.desc("y")).limit(2).filter("x is not null")
    assert {row.k for row in top.collect()} <= {"a"}


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_joins(store, orders, names, orders_df, names_df, rows, how):
    frame = orders.join(names, "k", how)
    same_rows(frame, orders_df.join(names_df, "k", how))
    values, left, right = joined(rows, NAMES, [(0, 0)], how, (4, 2))
    check(store, frame, values, orders=left, names=right)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_joins_after_other_steps(store, orders, names, orders_df, names_df, rows, how):
    def step(left, right):
        both = left.filter("x > 0").join(right.filter("n != 'again'"), ["k"], how)
        return both.filter("n != 'second' or n is null")

    frame = step(orders, names)
    same_rows(frame, step(orders_df, names_df))
    kept, first = chosen(rows, lambda r: r[X] is not None and r[X] > 0)
    called, second = chosen(NAMES, lambda r: r[1] != "again")
    values, left, right = joined(kept, called, [(0, 0)], how, (4, 2))
    last, pairs = chosen(values, lambda r: r[4] is None or r[4] != "second")
    ours, theirs = through(through(pairs, left), first), through(through(pairs, right), second)
    check(store, frame, last, orders=ours, names=theirs)


def test_a_join_with_itself_and_with_its_groups(store, orders, orders_df, rows):
    values, left, right = joined(rows, rows, [(0, 0), (1, 1)], "inner", (4, 4))
    check(store, orders.join(orders, ["k", "x"]), values, orders=left | right)

    def step(frame):
        return frame.join(frame.groupBy("k").agg(F.sum("x").alias("total")), "k")

    frame = step(orders)
    same_rows(frame, step(orders_df))
    for b, row in enumerate(frame.collect()):
        found = store.backward(frame.name, [(b, 4)], to="orders").indices().tolist()
        assert found == [[i, X] for i, r in enumerate(rows) if r[K] == row.k]


def test_frames_that_are_held_are_on_the_way(store, orders, names, rows):
    """Each step that somebody has is an array, and the way from one to the next is there."""
    late = orders.where("x > 0")
    both = late.join(names, late.k == names.k, "left")
    total = both.groupBy("n").agg(F.sum("x").alias("s"))
    total.collect()
    ways = {(info.out, info.in_) for info in store.lineages()}
    assert {(total.name, both.name), (both.name, late.name), (late.name, "orders")} <= ways
    assert len(ways) == 4
    del late
    gone = orders.where("x > 0").where("x < 3").groupBy("k").count()
    gone.collect()
    store.flush()
    assert (gone.name, "orders") in {(info.out, info.in_) for info in store.lineages()}


GROUPS = {
    "keys": (lambda f: f.groupBy("k").agg(F.sum("x"), F.count("*"), F.max("y")), [K], (X, K, Y)),
    "two keys": (
        lambda f: f.groupBy("x", F.lower("k")).agg(F.collect_set("k"), F.avg("y")),
        [X, K],
        (K, Y),
    ),
    "count": (lambda f: f.groupBy("k").count(), [K], (K,)),
    "numbers": (lambda f: f.groupBy("k").sum(), [K], (X, Y)),
    "dict": (lambda f: f.groupBy("k").agg({"x": "max"}), [K], (X,)),
    "distinct": (lambda f: f.select("k", "x").distinct(), [K, X], ()),
    "duplicates": (lambda f: f.select("k", "x").drop_duplicates(["k", "x"]), [K, X], ()),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name, store, orders, orders_df, rows):
    step, keys, reads = GROUPS[name]
    frame = step(orders)
    same_rows(frame, step(orders_df))
    values = {tuple(row[: len(keys)]): row for row in frame.collect()}
    expected, pairs = grouped(rows, keys, [(len, (source,)) for source in reads])
    keyed = [tuple(row[: len(keys)]) for row in expected]
    check(store, frame, [values[key] for key in keyed], orders=pairs)


def test_all_rows(store, orders, rows):
    frame = orders.agg(F.sum("x").alias("s"), F.count("*").alias("n"))
    n = len(rows)
    pairs = {(0, 0, a, X) for a in range(n)} | {(0, 1, a, c) for a in range(n) for c in range(4)}
    assert relation(store, frame, "orders") == pairs


def test_one_of_several_rows_is_kept(store, orders, rows):
    """Other columns are from the row that was kept, keys from all rows that agree."""
    frame = orders.dropDuplicates(["x"])
    for b, row in enumerate(frame.collect()):
        found = {
            tuple(c) for c in store.backward(frame.name, (b, "x"), to="orders").indices().tolist()
        }
        assert found == {(a, X) for a, r in enumerate(rows) if r[X] == row.x}
        ((kept, _),) = store.backward(frame.name, (b, "k"), to="orders").indices().tolist()
        assert plain([rows[kept]]) == plain([row])


def test_unions(store, orders, orders_df, spark, rows):
    n = len(rows)
    pairs = identity([(i, i) for i in range(n)] + [(n + i, i) for i in range(n)], 4)
    check(store, orders.unionAll(orders), [*rows, *rows], orders=pairs)
    other = store.track(frame_of(spark, [(1, "q", 5)], "X long, K string, w long", 1), "other")
    frame = orders.unionByName(other, allowMissingColumns=True)
    same_rows(frame, orders_df.unionByName(other.df, allowMissingColumns=True))
    values = [*((*row, None) for row in rows), ("q", 1, None, None, 5)]
    own = identity([(i, i) for i in range(n)], 4)
    check(store, frame, values, orders=own, other={(n, 0, 0, 1), (n, 1, 0, 0), (n, 4, 0, 2)})


def test_generators(store, orders, orders_df, rows):
    frame = orders.select("x", F.explode("l").alias("e"), "k")
    same_rows(frame, orders_df.select("x", F.explode("l").alias("e"), "k"))
    expected, pairs = [], set()
    for place, row in enumerate(rows):
        for element in row[L] or ():
            b = len(expected)
            pairs |= {(b, 0, place, X), (b, 1, place, L), (b, 2, place, K)}
            expected.append((row[X], element, row[K]))
    check(store, frame, expected, orders=pairs)


def partitions(rows):
    """Rows by k, in the order of x; a null comes first."""
    found = {}
    for place, row in enumerate(rows):
        found.setdefault(row[K], []).append(place)
    return {k: sorted(s, key=lambda p: rows[p][X] or 0) for k, s in found.items()}


def by():
    return Window.partitionBy("k").orderBy("x")


def two_of(some, at):
    """A row and the one before it."""
    return some[max(at - 1, 0) : at + 1]


END = Window.unboundedFollowing
WINDOWS = {
    "two": (lambda: F.sum("y").over(by().rowsBetween(-1, 0)), two_of, Y),
    "ahead": (lambda: F.sum("y").over(by().rowsBetween(1, 2)), lambda s, i: s[i + 1 : i + 3], Y),
    "lag": (lambda: F.lag("y", 2).over(by()), lambda s, i: s[i - 2 : i - 1] if i >= 2 else [], Y),
    "lead": (lambda: F.lead("y").over(by()), lambda s, i: s[i + 1 : i + 2], Y),
    "row_number": (lambda: F.row_number().over(by()), lambda s, i: s[: i + 1], X),
    "ntile": (lambda: F.ntile(2).over(by()), lambda s, i: s, X),
    "all": (lambda: F.max("y").over(Window.partitionBy("k")), lambda s, i: s, Y),
    "rest": (lambda: F.first("y").over(by().rowsBetween(0, END)), lambda s, i: s[i:], Y),
}  # fmt: skip


@pytest.mark.parametrize("aqe", [True, False])
def test_windows(aqe, spark, store, rows):
    """Frames of rows, over rows that a shuffle, a sort or another window has moved."""
    kept = [row for number, row in enumerate(rows) if (row[K], row[X]) not in {
        (r[K], r[X]) for r in rows[:number]
    }]  # fmt: skip
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        source = frame_of(spark, kept, "k string, x long, y double, l array<int>", 3)
        table = store.track(source.orderBy("y").limit(80), "table")
        place = {(row.k, row.x): number for number, row in enumerate(table.collect())}
        frame = table.distinct().select(
            "k", "x", *(column().alias(name) for name, (column, _, _) in WINDOWS.items())
        )
        values = frame.collect()
        for number, row in enumerate(values):
            some = partitions(kept)[row.k]
            at = next(i for i, p in enumerate(some) if kept[p][X] == row.x)
            for column, (_, reach, read) in enumerate(WINDOWS.values(), start=2):
                found = store.backward(frame.name, (number, column), to="table").indices().tolist()
                expected = [[place[kept[p][K], kept[p][X]], read] for p in reach(some, at)]
                assert sorted(found) == sorted(expected), column
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def test_range_frames_have_peers(store, orders, rows):
    """The default frame ends with the rows that compare equal to the current one."""
    frame = orders.withColumn("s", F.sum("y").over(by()))
    for b, row in enumerate(frame.collect()):
        found = store.backward(frame.name, [(b, 4)], to="orders").indices().tolist()
        expected = [
            [p, Y] for p, r in enumerate(rows)
            if r[K] == row.k and (r[X] is None or (row.x is not None and r[X] <= row.x))
        ]  # fmt: skip
        assert found == expected


def test_lag_that_skips_nulls_is_a_superset(store, orders):
    frame = orders.withColumn("w", F.lag("y", 1, None).over(by()))
    skipping = orders.selectExpr("lag(y) ignore nulls over (partition by k order by x) as w")
    assert store.backward(frame.name, (slice(None), 4), to="orders").exact
    assert not store.backward(skipping.name, (slice(None), 0), to="orders").exact


def test_running_sums_stay_small(store, spark):
    df = spark.range(0, 20_000, 1, 3).selectExpr("id", "id % 4 as k")
    frame = store.track(df, "t").select(
        "id", F.sum("id").over(Window.partitionBy("k").orderBy("id")).alias("s")
    )
    last = frame.toPandas()["id"].tolist().index(19_999)
    assert store.backward(frame.name, [(last, "s")], to="t").count == 5000
    assert store.stats()["lineage_bytes"] < 3000


def test_functions_over_batches_and_groups_are_supersets(store, orders, orders_df, rows):
    """Any cell may come from any below, and values are those without tracking."""

    def first(key, group):
        return group[["k", "x"]].head(1).assign(k=key[0])

    def of_batches(batches):
        for batch in batches:
            yield batch[batch["x"].notna()][["k"]]

    steps = (
        lambda f: f.groupBy("k").applyInPandas(first, "k string, x long").select("k"),
        lambda f: f.where("x > 0").mapInPandas(of_batches, "k string"),
    )
    for step in steps:
        frame = step(orders)
        same_rows(frame, step(orders_df))
        found = store.backward(frame.name, (0, 0), to="orders")
        assert not found.exact
        assert found.count == 4 * len(rows)
