"""Window functions: every output row reads the rows of its frame."""

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F
from table_checks import same_rows

K, X, Y, L = range(4)


def nulls_first(value):
    return (value is not None, value if value is not None else 0)


def partitions(rows):
    """Rows by k, in the order of x; rows that compare equal keep theirs."""
    found = {}
    for place, row in enumerate(rows):
        found.setdefault(row[K], []).append(place)
    return {k: sorted(some, key=lambda p: nulls_first(rows[p][X])) for k, some in found.items()}


def reads(store, frame, column):
    """Per output row, the cells of orders that a column reads."""
    return [
        {
            tuple(cell)
            for cell in store.backward(frame.name, [(b, column)], to="orders").indices().tolist()
        }
        for b in range(frame.shape[0])
    ]


def frames(rows, reach):
    """Per row, the rows of its frame: ``reach`` is from a partition and a place in it."""
    found = {}
    for some in partitions(rows).values():
        for at, place in enumerate(some):
            found[place] = reach(some, at)
    return [found[place] for place in range(len(rows))]


END = Window.unboundedFollowing


def before(some, at):
    """The row at a place and the one before it."""
    return some[max(at - 1, 0) : at + 1]


def by():
    return Window.partitionBy("k").orderBy("x")


@pytest.mark.parametrize(
    ("column", "reach", "source"),
    [
        (lambda: F.sum("y").over(by().rowsBetween(-1, 0)), before, Y),
        (lambda: F.sum("y").over(by().rowsBetween(1, 2)), lambda s, i: s[i + 1 : i + 3], Y),
        (lambda: F.lag("y", 2).over(by()), lambda s, i: s[i - 2 : i - 1] if i >= 2 else [], Y),
        (lambda: F.lead("y").over(by()), lambda s, i: s[i + 1 : i + 2], Y),
        (lambda: F.row_number().over(by()), lambda s, i: s[: i + 1], X),
        (lambda: F.ntile(2).over(by()), lambda s, i: s, X),
        (lambda: F.max("y").over(Window.partitionBy("k")), lambda s, i: s, Y),
        (lambda: F.first("y").over(by().rowsBetween(0, END)), lambda s, i: s[i:], Y),
    ],
)  # fmt: skip
def test_frames_of_rows(store, orders, orders_df, rows, column, reach, source):
    unique = orders.dropDuplicates(["k", "x"])  # equal rows would have no order
    frame = unique.withColumn("w", column())
    firsts = []
    for place, row in enumerate(rows):
        if (row[K], row[X]) not in [(rows[p][K], rows[p][X]) for p in firsts]:
            firsts.append(place)
    table = [rows[p] for p in firsts]
    expected = [{(b, source) for b in some} for some in frames(table, reach)]
    found = [
        {tuple(c) for c in store.backward(frame.name, [(b, 4)], to=unique.name).indices().tolist()}
        for b in range(len(table))
    ]
    assert found == expected


def test_values_are_those_without_tracking(store, orders, orders_df):
    def step(frame):
        return frame.select(
            "k",
            F.rank().over(by()).alias("r"),
            (F.col("x") - F.avg("x").over(Window.partitionBy("k"))).alias("d"),
            F.percent_rank().over(by()).alias("p"),
            F.sum("x").over(Window.orderBy("x")).alias("all"),
        )

    same_rows(step(orders), step(orders_df))


def test_range_frames_have_peers(store, orders, rows):
    """The default frame ends with the rows that compare equal to the current one."""
    frame = orders.withColumn("s", F.sum("y").over(by()))
    same = [
        {(q, Y) for q in partitions(rows)[row[K]] if nulls_first(rows[q][X]) <= nulls_first(row[X])}
        for row in rows
    ]
    assert reads(store, frame, 4) == same


def test_range_between_values(store, orders, rows):
    frame = orders.withColumn("s", F.count("y").over(by().rangeBetween(-1, 1)))

    def near(a, b):
        return a is b if a is None or b is None else abs(a - b) <= 1

    expected = [
        {(q, Y) for q, other in enumerate(rows) if other[K] == row[K] and near(other[X], row[X])}
        for row in rows
    ]
    assert reads(store, frame, 4) == expected


def test_expressions_of_windows_and_columns(store, orders, rows):
    """Part of the expression reads the own row, part the frame; other columns their own row."""
    frame = orders.select("x", (F.col("x") - F.max("y").over(Window.partitionBy("k"))).alias("d"))
    expected = [{(p, X)} | {(q, Y) for q in partitions(rows)[row[K]]} for p, row in enumerate(rows)]
    assert reads(store, frame, 1) == expected
    assert reads(store, frame, 0) == [{(p, X)} for p in range(len(rows))]


def test_two_orders_at_once(store, orders, rows):
    frame = orders.select(
        F.count("*").over(Window.partitionBy("k")).alias("a"),
        F.count("*").over(Window.partitionBy("x")).alias("b"),
        "l",
    )
    assert reads(store, frame, 0) == [
        {(q, K) for q, other in enumerate(rows) if other[K] == row[K]} for row in rows
    ]
    assert reads(store, frame, 1) == [
        {(q, X) for q, other in enumerate(rows) if other[X] == row[X]} for row in rows
    ]
    assert reads(store, frame, 2) == [{(p, L)} for p in range(len(rows))]


def test_partition_by_expression(store, orders, rows):
    spec = Window.partitionBy(F.coalesce("k", F.lit("a"))).orderBy(F.desc(F.col("x") + 1))
    frame = orders.filter("x is not null").withColumn("n", F.row_number().over(spec))
    kept = [p for p, r in enumerate(rows) if r[X] is not None]
    numbers = frame.toPandas()["n"].tolist()
    for b, p in enumerate(kept):
        found = store.backward(frame.name, [(b, 4)], to="orders").indices().tolist()
        assert len(found) == numbers[b]
        assert all(column == X for _, column in found)
        assert [p, X] in found


def test_windows_go_on(store, orders, orders_df, rows):
    def step(frame):
        numbered = frame.withColumn("n", F.row_number().over(by().orderBy("x", "y", "k")))
        return numbered.filter("n = 1").groupBy("k").agg(F.max("n").alias("m"))

    frame = step(orders)
    same_rows(frame, step(orders_df))
    for b, row in enumerate(frame.collect()):
        found = store.backward(frame.name, [(b, 1)], to="orders").indices().tolist()
        assert len({place for place, _ in found}) == 1
        assert rows[found[0][0]][K] == row.k


def test_lag_that_skips_nulls_is_a_superset(store, orders, rows):
    frame = orders.withColumn("w", F.lag("y", 1, None).over(by()))
    skipping = orders.selectExpr("lag(y) ignore nulls over (partition by k order by x) as w")
    frame.collect()
    skipping.collect()
    assert store.backward(frame.name, (slice(None), 4), to="orders").exact
    assert not store.backward(skipping.name, (slice(None), 0), to="orders").exact


def test_running_sums_stay_small(store, spark):
    df = spark.range(0, 20_000, 1, 3).selectExpr("id", "id % 4 as k")
    frame = store.track(df, "t").withColumn(
        "s", F.sum("id").over(Window.partitionBy("k").orderBy("id"))
    )
    cells = store.backward(frame.name, [(19_999, 2)], to="t")
    assert cells.count == 5000
    assert store.stats()["lineage_bytes"] < 2000
