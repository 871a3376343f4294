"""Lineage read off Spark's plan, against sets of cells written down from the rows."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from table_checks import MESSY, frame_of, plain

import dslog
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_rule import PlanRule
from dslog.errors import SelectionError

ITEMS = [
    (1, "a", 5.0),
    (2, "b", 7.0),
    (3, "a", 2.0),
    (4, "c", 9.0),
    (5, None, 1.0),
    (6, "b", None),
    (7, "a", 5.0),
]
KINDS = [("a", True, 10), ("b", False, 20), ("c", True, 30), ("d", True, 40), (None, True, 50)]
ID, KIND, PRICE = range(3)
NAME, SOLD, RATE = range(3)


@pytest.fixture
def views(spark, store):
    """Two tracked tables that SQL knows; what gives a query's cells by its row."""
    tables = {
        "items": frame_of(spark, ITEMS, "id long, kind string, price double", 3),
        "kinds": frame_of(spark, KINDS, "name string, sold boolean, rate int", 2),
    }
    for name, frame in tables.items():
        store.track(frame, name).createOrReplaceTempView(name)

    def ask(frame):
        return {tuple(row): number for number, row in enumerate(plain(frame.collect()))}

    yield ask
    for name in tables:
        spark.catalog.dropTempView(name)


def cells(store, frame, cell, to):
    return set(map(tuple, store.backward(store.name_of(frame), cell, to=to).indices().tolist()))


def column(rows, *columns):
    return {(row, c) for row in rows for c in columns}


def of_kind(*kinds):
    return [place for place, row in enumerate(ITEMS) if row[KIND] in kinds]


def everything(frame, store, to):
    """The cells behind every cell of a frame, by its row's values."""
    rows = plain(frame.collect())
    return {
        (row, c): cells(store, frame, (number, c), to)
        for number, row in enumerate(rows)
        for c in range(len(frame.columns))
    }


PRICES = {"a": 12.0, "b": 7.0, "c": 9.0, None: 1.0}


def test_group_by(views, store):
    frame = store.sql("select kind, sum(price) total, count(*) n from items group by kind")
    found = everything(frame, store, "items")
    assert len(found) == 12
    for kind, total in PRICES.items():
        row, rows = (kind, total, len(of_kind(kind))), of_kind(kind)
        assert found[row, 0] == found[row, 2] == column(rows, KIND)
        assert found[row, 1] == column(rows, PRICE)


def test_having_order_and_limit_keep_what_is_behind_a_row(views, store):
    frame = store.sql(
        "select kind, max(price) top from items group by kind having count(*) > 1 "
        "order by top desc limit 1"
    )
    assert plain(frame.collect()) == [("b", 7.0)]
    assert cells(store, frame, (0, 1), "items") == column(of_kind("b"), PRICE)
    assert store.backward(store.name_of(frame), (0, 1), to="items").exact


def test_subqueries_that_decide_give_no_values(views, store):
    frame = store.sql(
        "select id, price from items where kind in (select name from kinds where sold) "
        "and exists (select 1 from kinds where rate > 25 and name = kind)"
    )
    assert plain(frame.collect()) == [(4, 9.0)]
    assert cells(store, frame, (0, 1), "items") == {(3, PRICE)}
    assert store.backward(store.name_of(frame), None, to="kinds").count == 0


@pytest.mark.parametrize("op", ["not in", "in"])
def test_null_aware_subqueries(op, views, store):
    frame = store.sql(
        f"select id from items where kind {op} (select name from kinds where rate<30)"
    )
    expected = {"in": of_kind("a", "b"), "not in": of_kind("c")}[op]
    assert sorted(plain(frame.collect())) == [(ITEMS[place][ID],) for place in expected]
    found = everything(frame, store, "items")
    assert found == {((ITEMS[p][ID],), 0): {(p, ID)} for p in expected}


def test_a_scalar_subquery_is_read(views, store):
    frame = store.sql("select id, price - (select avg(price) from items) d from items where id < 3")
    seen = views(frame)
    for (number, _), row in seen.items():
        assert cells(store, frame, (row, 0), "items") == {(number - 1, ID)}
        assert cells(store, frame, (row, 1), "items") == column(range(7), PRICE)


def test_a_correlated_scalar_subquery_is_read(views, store):
    frame = store.sql("select id, (select max(rate) from kinds where name = kind) r from items")
    for (number, rate), row in views(frame).items():
        place = [p for p, k in enumerate(KINDS) if k[NAME] == ITEMS[number - 1][KIND] is not None]
        assert rate == (KINDS[place[0]][RATE] if place else None)
        assert cells(store, frame, (row, 1), "kinds") == column(place, RATE)
        assert cells(store, frame, (row, 1), "items") == set()


def test_subqueries_within_subqueries(views, store):
    """As in TPC-H's query 20."""
    frame = store.sql(
        "select name from kinds where name in (select kind from items where price > "
        "(select 0.5 * avg(rate) from kinds where name <> kind) - 12 and id in "
        "(select id from items where price is not null))"
    )
    assert {row for (row,) in plain(frame.collect())} == {"a", "b", "c"}
    found = everything(frame, store, "kinds")
    assert found[("c",), 0] == {(2, NAME)}
    assert store.backward(store.name_of(frame), None, to="kinds").exact
    assert store.backward(store.name_of(frame), None, to="items").count == 0


def test_a_scalar_subquery_in_a_condition(views, store):
    frame = store.sql("select id from items where price > (select avg(price) from items)")
    assert sorted(plain(frame.collect())) == [(1,), (2,), (4,), (7,)]
    for (number,), row in views(frame).items():
        assert cells(store, frame, (row, 0), "items") == {(number - 1, ID)}


def test_predicates_within_a_scalar_subquery(views, store):
    frame = store.sql(
        "select id from items where price > (select avg(price) from items where kind in "
        "(select name from kinds where sold))"
    )
    assert sorted(plain(frame.collect())) == [(2,), (4,)]
    decided = store.backward(frame.name, (0, 0), to="kinds", influence=True)
    assert not decided.exact
    assert set(map(tuple, decided.indices().tolist())) == column(range(5), NAME, SOLD)


def test_common_tables_used_twice(views, store):
    frame = store.sql(
        "with t as (select kind, count(*) n from items group by kind) "
        "select a.kind, a.n + b.n both from t a join t b using (kind)"
    )
    found = everything(frame, store, "items")
    for kind in "abc":
        n = len(of_kind(kind))
        assert found[(kind, 2 * n), 1] == column(of_kind(kind), KIND)


def test_rollup_reads_per_grouping_set(views, store):
    frame = store.sql(
        "select kind, grouping(kind) g, sum(price) s from items group by rollup(kind)"
    )
    found = everything(frame, store, "items")
    for kind, total in PRICES.items():
        assert found[(kind, 0, total), 0] == column(of_kind(kind), KIND)
        assert found[(kind, 0, total), 2] == column(of_kind(kind), PRICE)
    assert found[(None, 1, 29.0), 0] == set()
    assert found[(None, 1, 29.0), 2] == column(range(7), PRICE)


def test_cube(views, store):
    frame = store.sql(
        "select kind, id, count(price) n from items where id < 4 group by cube(kind, id)"
    )
    found = everything(frame, store, "items")
    assert found[("a", None, 2), 2] == column([0, 2], PRICE)
    assert found[(None, 2, 1), 2] == {(1, PRICE)}
    assert found[(None, 2, 1), 1] == {(1, ID)}
    assert found[(None, None, 3), 2] == column([0, 1, 2], PRICE)


def test_a_count_without_keys_is_of_all_columns(views, store):
    frame = store.sql("select kind, count(*) n, grouping(kind) g from items group by rollup(kind)")
    seen = views(frame)
    assert len(seen) == 5
    for (kind, _, total), row in seen.items():
        expected = column(range(7), ID, KIND, PRICE) if total else column(of_kind(kind), KIND)
        assert cells(store, frame, (row, 1), "items") == expected


def test_set_operations(views, store):
    both = store.sql("select kind from items intersect select name from kinds")
    found = everything(both, store, "items")
    right = everything(both, store, "kinds")
    for kind in ("a", "b", "c", None):
        assert found[(kind,), 0] == column(of_kind(kind), KIND)
        assert right[(kind,), 0] == column([p for p, k in enumerate(KINDS) if k[0] == kind], NAME)
    rest = store.sql("select name from kinds except select kind from items")
    assert everything(rest, store, "kinds") == {(("d",), 0): {(3, NAME)}}
    assert store.backward(store.name_of(rest), None, to="items").count == 0
    union = store.sql("select kind from items union select name from kinds")
    found = everything(union, store, "items")
    assert found[("a",), 0] == column(of_kind("a"), KIND)
    assert found[("d",), 0] == set()


def test_set_operations_with_all(views, store):
    frame = store.sql("select kind from items except all select name from kinds")
    assert sorted(map(str, plain(frame.collect()))) == ["('a',)", "('a',)", "('b',)"]
    for (_, row), read in everything(frame, store, "items").items():
        assert row == 0
        assert {c for _, c in read} == {KIND}
    for number, (kind,) in enumerate(plain(frame.collect())):
        assert cells(store, frame, (number, 0), "items") == column(of_kind(kind), KIND)
    merged = store.sql("select kind from items intersect all select name from kinds")
    for number, (kind,) in enumerate(plain(merged.collect())):
        assert cells(store, merged, (number, 0), "items") == column(of_kind(kind), KIND)


def test_window_functions(views, store):
    frame = store.sql(
        "select id, row_number() over (partition by kind order by id) r, "
        "sum(price) over (order by id rows between 1 preceding and current row) s, "
        "lag(price, 2) over (order by id) l, sum(price) over (partition by kind) t from items"
    )
    for (number, *_), row in views(frame).items():
        place = number - 1
        same = of_kind(ITEMS[place][KIND])
        assert cells(store, frame, (row, 0), "items") == {(place, ID)}
        assert cells(store, frame, (row, 1), "items") == column([p for p in same if p <= place], ID)
        assert cells(store, frame, (row, 2), "items") == column(
            range(max(place - 1, 0), place + 1), PRICE
        )
        assert cells(store, frame, (row, 3), "items") == column(
            [place - 2] if place > 1 else [], PRICE
        )
        assert cells(store, frame, (row, 4), "items") == column(same, PRICE)


def test_lateral_views_and_joins(views, store):
    frame = store.sql("select id, e from items lateral view explode(array(price, id)) t as e")
    found = everything(frame, store, "items")
    assert len(found) == 28
    assert all(
        read == column([r[0] - 1], *((ID,), (PRICE, ID))[c]) for (r, c), read in found.items()
    )
    frame = store.sql(
        "select id, x from items, lateral (select rate + id x from kinds where name = kind)"
    )
    for (number, _), row in views(frame).items():
        kind = [p for p, k in enumerate(KINDS) if k[NAME] == ITEMS[number - 1][KIND]]
        assert cells(store, frame, (row, 1), "items") == {(number - 1, ID)}
        assert cells(store, frame, (row, 1), "kinds") == column(kind, RATE)


def test_pivot_reads_the_rows_of_its_value(views, store):
    frame = store.sql(
        "select * from (select id % 2 odd, kind, price from items) "
        "pivot (sum(price) for kind in ('a', 'b'))"
    )
    for (odd, *_), row in views(frame).items():
        for c, kind in enumerate("ab", start=1):
            rows = [p for p in of_kind(kind) if ITEMS[p][ID] % 2 == odd]
            assert cells(store, frame, (row, c), "items") == column(rows, KIND, PRICE)
        rows = [p for p, r in enumerate(ITEMS) if r[ID] % 2 == odd]
        assert cells(store, frame, (row, 0), "items") == column(rows, ID)


def test_unpivot_and_melt(views, store):
    frame = store.sql("select * from kinds unpivot (v for what in (rate)) where name = 'b'")
    assert plain(frame.collect()) == [("b", False, "rate", 20)]
    assert cells(store, frame, (0, 3), "kinds") == {(1, RATE)}
    assert cells(store, frame, (0, 2), "kinds") == set()


def test_nested_names_and_functions_of_arrays(views, store):
    frame = store.sql(
        "select s.price p, "
        "aggregate(transform(array(id, price), x -> x + 1), 0D, (a, x) -> a + x) t "
        "from (select named_struct('price', price, 'id', id) s, id, price from items) where id = 2"
    )
    assert plain(frame.collect()) == [(7.0, 11.0)]
    assert cells(store, frame, (0, 1), "items") == {(1, ID), (1, PRICE)}


def test_values_and_untracked_tables_are_from_nothing(views, store, spark):
    frame = store.sql(
        "select id, w from items join (values ('a', 2), ('b', 3)) v(k, w) on kind = k"
    )
    for (number, _), row in views(frame).items():
        assert cells(store, frame, (row, 0), "items") == {(number - 1, ID)}
        assert cells(store, frame, (row, 1), "items") == set()


def test_a_column_named_twice(views, store):
    frame = store.sql("select id, price, id, id as id from items where id < 3")
    for (number, _, _, _), row in views(frame).items():
        assert cells(store, frame, (row, 1), "items") == {(number - 1, PRICE)}
        for c in (0, 2, 3):
            assert cells(store, frame, (row, c), "items") == {(number - 1, ID)}
    frame = store.sql("select kind, kind from items intersect select name, name from kinds")
    for (kind, _), row in views(frame).items():
        for c in range(2):
            assert cells(store, frame, (row, c), "items") == column(of_kind(kind), KIND)


def test_self_joins_and_views_over_views(views, store, spark):
    spark.sql("select id, kind from items where id < 4").createOrReplaceTempView("few")
    frame = store.sql(
        "select a.id x, b.id y from few a join few b on a.kind = b.kind and a.id < b.id"
    )
    assert plain(frame.collect()) == [(1, 3)]
    assert cells(store, frame, (0, 0), "items") == {(0, ID)}
    assert cells(store, frame, (0, 1), "items") == {(2, ID)}
    spark.catalog.dropTempView("few")


def test_a_plain_frame_of_a_tracked_one(spark, store):
    items = frame_of(spark, ITEMS, "id long, kind string, price double", 3)
    store.track(items, "items")
    frame = store.record(
        items.where("price > 4").groupBy("kind").agg(F.avg("price").alias("m")), "means"
    )
    assert store.name_of(frame) == "means"
    for number, (kind, _) in enumerate(plain(frame.collect())):
        rows = [p for p in of_kind(kind) if (ITEMS[p][PRICE] or 0) > 4]
        assert cells(store, frame, (number, 1), "items") == column(rows, PRICE)


def test_recorded_frames_are_gone_on_from(views, store, spark):
    store.sql(
        "select kind, sum(price) total from items group by kind", "totals"
    ).createOrReplaceTempView("t")
    frame = store.sql("select name, total * rate due from t join kinds on kind = name")
    assert {info.in_ for info in store.lineages() if info.out == store.name_of(frame)} >= {
        "totals",
        "kinds",
    }
    for (name, _), row in views(frame).items():
        assert cells(store, frame, (row, 1), "items") == column(of_kind(name), PRICE)
    spark.catalog.dropTempView("t")


def test_what_is_drawn_is_drawn_once(spark, store):
    numbers = store.track(spark.range(2000).repartition(8), "numbers")
    before = numbers.collect()
    for op, plan in enumerate(
        (
            numbers.df.sample(0.5, 3),
            numbers.df.withColumn("r", F.rand()).where("r < 0.5"),
            numbers.df.limit(100),
        )
    ):
        frame = store.record(plan, f"drawn{op}")
        rows = frame.collect()
        assert 0 < len(rows) < 2000
        assert [row.id for row in frame.collect()] == [row.id for row in rows]
        for number in range(0, len(rows), 97):
            (place,) = cells(store, frame, (number, 0), "numbers")
            assert before[place[0]].id == rows[number].id


def test_groups_of_random_numbers(spark, store):
    numbers = store.track(spark.range(50), "numbers")
    drawn = numbers.df.groupBy((F.rand() * 3).cast("int").alias("g")).agg(F.sum("id").alias("s"))
    frame = store.record(drawn, "groups")
    total = 0
    for number, row in enumerate(frame.collect()):
        members = [place for place, _ in cells(store, frame, (number, 1), "numbers")]
        assert sum(members) == row.s
        total += len(members)
    assert total == 50


METHODS = {
    "rollup": lambda o: o.rollup("k").agg(F.sum("x").alias("s")),
    "cube": lambda o: o.cube("k", "x").count(),
    "intersect": lambda o: o.select("k").intersect(o.where("x > 2").select("k")),
    "exceptAll": lambda o: o.select("x").exceptAll(o.limit(3).select("x")),
    "subtract": lambda o: o.select("k").subtract(o.where("k = 'a'").select("k")),
    "na": lambda o: o.na.drop(subset=["x"]).na.fill(0.0),
    "melt": lambda o: o.selectExpr("k", "double(x) x", "y").melt("k", ["x", "y"], "c", "v"),
    "randomSplit": lambda o: o.randomSplit([0.5, 0.5], 1)[0],
    "describe": lambda o: o.select("x").describe(),
    "summary": lambda o: o.select("x").summary("max", "min"),
    "withColumnsRenamed": lambda o: o.withColumnsRenamed({"k": "key"}),
    "sortWithinPartitions": lambda o: o.sortWithinPartitions("x"),
    "crosstab": lambda o: o.crosstab("k", "x"),
    "observe": lambda o: o.observe("seen", F.count(F.lit(1)).alias("n")),
    "zipWithIndex": lambda o: o.zipWithIndex(),
    "tail": lambda o: o.orderBy("x").offset(2),
    "groupingSets": lambda o: o.groupingSets([["k"], ["x"]], "k", "x").agg(F.count("y")),
    "lateralJoin": lambda o: o.crossJoin(o.limit(1).select(F.col("x").alias("z"))),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_methods_go_through_the_plan(method, store, orders, orders_df):
    tracked, untracked = METHODS[method](orders), METHODS[method](orders_df)
    assert type(tracked).__name__ == "TrackedFrame"
    assert sorted(map(repr, plain(tracked.collect()))) == sorted(
        map(repr, plain(untracked.collect()))
    )
    assert tracked.columns == untracked.columns
    assert store.backward(store.name_of(tracked), None, to="orders").count > 0


def test_large_relations_are_compressed_by_spark(spark, store):
    numbers = store.track(spark.range(300).withColumn("g", F.col("id") % 7), "numbers")
    with FrameCost.using(small_rows=20):
        frame = store.record(
            numbers.df.where("id > 9").groupBy("g").agg(F.sum("id").alias("s")), "sums"
        )
        for number, row in enumerate(frame.collect()):
            expected = {(i, 0) for i in range(10, 300) if i % 7 == row.g}
            assert cells(store, frame, (number, 1), "numbers") == expected


def test_a_function_over_batches_is_a_superset(store, orders):
    def halves(batches):
        for batch in batches:
            yield batch[["x"]].dropna() / 2

    frame = store.record(orders.df.mapInPandas(halves, "x double"), "halves")
    assert len(frame.collect()) == 9
    found = store.backward("halves", (0, 0), to="orders")
    assert not found.exact
    assert found.count == len(MESSY) * 4


def test_a_table_function_that_remembers_rows_is_a_superset(spark, store):
    class Sums:
        def __init__(self):
            self.sum = 0

        def eval(self, row):
            self.sum += row["x"]
            yield (self.sum,)

    spark.udtf.register("sums", F.udtf(Sums, returnType="s int"))
    table = store.track(spark.range(4).selectExpr("cast(id as int) x").coalesce(1), "numbers")
    table.createOrReplaceTempView("numbers")
    frame = store.sql("select s from sums(table(numbers) with single partition)")
    assert sorted(row.s for row in frame.collect()) == [0, 1, 3, 6]
    found = store.backward(store.name_of(frame), (0, "s"), to="numbers")
    assert not found.exact
    assert found.count == 4


def test_groups_by_maps(views, store, spark):
    held = [row.id for row in spark.table("items").collect()]
    frame = store.sql("""select map(kind, 1, 'q', 2) m, collect_list(id) l from items
        where kind is not null group by 1""")
    for number, row in enumerate(frame.collect()):
        assert cells(store, frame, (number, "l"), "items") == {(held.index(i), ID) for i in row.l}


def test_it_is_a_dataframe(spark, store, orders, orders_df, names_df):
    assert isinstance(orders, DataFrame)
    assert isinstance(orders, ClassicFrame)
    store.track(names_df, "names")
    for frame in (names_df.join(orders, "k"), F.broadcast(orders).join(names_df, "k")):
        recorded = store.record(frame)
        found = store.backward(store.name_of(recorded), (0, "k"), to="orders")
        assert found.count == 1
    joined = orders.join(names_df, "k")
    assert store.backward(store.name_of(joined), (0, "x"), to="orders").count == 1


def test_a_table_of_another_store(store, orders, spark):
    """It is a source of its own in this one, under its name."""
    with dslog.open(":memory:") as other:
        frame = other.record(orders.df.select("k"), "mixed")
        frame.collect()
        assert other.backward("mixed", (3, 0), to="orders").indices().tolist() == [[3, 0]]
    assert {array.name for array in store.arrays()} == {"orders"}


def test_a_job_that_fails_leaves_the_store_as_it_was(spark, store, orders):
    failing = store.record(orders.df.select(F.raise_error(F.lit("no")).alias("e")), "failing")
    fine = store.record(orders.df.select("x"), "fine")
    with pytest.raises(Exception, match="no"):
        failing.collect()
    with pytest.warns(RuntimeWarning, match="failing"):
        assert store.backward("fine", (0, "x"), to="orders").count == 1
    assert "failing" not in [array.name for array in store.arrays()]
    assert fine.count() == len(MESSY)


def test_a_plan_that_no_rule_can_follow_is_a_superset(spark, store, orders, monkeypatch):
    def cannot(self, node):
        raise AnalysisException("no such plan")

    monkeypatch.setitem(PlanRule._rules, "Filter", cannot)
    frame = store.record(orders.df.where("x > 2").select("x"), "some")
    assert len(frame.collect()) == 3
    found = store.backward("some", (0, 0), to="orders")
    assert not found.exact
    assert found.count == len(MESSY) * 4


def test_what_files_say_of_themselves(spark, store, tmp_path):
    spark.range(10).write.parquet(str(tmp_path / "numbers"))
    numbers = store.track(spark.read.parquet(str(tmp_path / "numbers")), "numbers")
    frame = store.record(numbers.df.select("id", "_metadata.row_index"), "named")
    rows = numbers.collect()
    for number, row in enumerate(frame.collect()):
        ((place, _),) = cells(store, frame, (number, 0), "numbers")
        assert rows[place].id == row.id
        assert cells(store, frame, (number, 1), "numbers") == set()


def test_columns_are_named_in_queries(views, store):
    frame = store.sql("select kind, sum(price) total from items group by kind", "totals")
    number = [row.kind for row in frame.collect()].index("c")
    assert cells(store, frame, (number, "total"), "items") == {(3, PRICE)}
    assert set(
        map(tuple, store.forward("items", [(3, "price")], to="totals").indices().tolist())
    ) == {(number, 1)}
    with pytest.raises(SelectionError, match="total"):
        store.backward("totals", (0, "totl"), to="items")


def test_parameters_of_queries(views, store):
    frame = store.sql("select id from items where price > :least", least=8)
    assert plain(frame.collect()) == [(4,)]
