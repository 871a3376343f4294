"""A cell that neither contributed nor decided changes no value, nor whether there is one.

DuckDB computes each query again with one cell of its tables changed, and knows nothing of lineage.
"""

import itertools

import duckdb
import pytest
from table_checks import plain

import dslog
from dslog.store.arguments import ArgumentError

ITEMS = [(1, "a", 5.0), (2, "b", 7.0), (3, "a", 2.0), (4, "c", 9.0), (5, None, 1.0), (6, "b", None)]
KINDS = [("a", True, 10), ("b", False, 20), ("c", True, 30), ("d", True, 40)]
COLUMNS = {"items": ["id", "kind", "price"], "kinds": ["name", "sold", "rate"]}
TYPES = {
    "items": "id long, kind text, price double",
    "kinds": "name text, sold bool, rate int",
}
OTHERS = {
    "id": [0, 2, 9],
    "kind": ["a", "b", "z", None],
    "price": [0.0, 6.0, 100.0, None],
    "name": ["a", "c", "z"],
    "sold": [True, False],
    "rate": [0, 25, 100],
}

QUERIES = {
    "filter": "select id, price from items where price > 4 and kind <> 'c'",
    "join": "select id, rate from items join kinds on kind = name where sold",
    "left join": "select id, rate from items left join kinds on kind = name and sold",
    "in": "select id, price from items where kind in (select name from kinds where rate > 15)",
    "not in": "select id from items where kind not in (select name from kinds where sold)",
    "exists": """select id, price from items where exists
        (select 1 from kinds where name = kind and rate < 25)""",
    "not exists": """select id, price from items where not exists
        (select 1 from kinds where name = kind)""",
    "scalar": "select id, price from items where price > (select avg(price) from items)",
    "group": "select kind, sum(price) s, count(*) n from items where id < 6 group by kind",
    "having": "select kind, max(price) m from items group by kind having count(*) > 1",
    "join and group": """select sold, sum(price) s from items join kinds on kind = name
        group by sold""",
    "distinct": "select distinct kind from items where price > 1",
    "except": "select name from kinds where sold except select kind from items",
    "union": "select kind, 1 t from items union select name, 2 t from kinds where sold",
    "top": "select id, price from items order by price desc nulls last, id limit 2",
    "window": """select id, sum(price) over (partition by kind order by id) s from items
        where id < 6""",
    "either": """select kind, sum(price) s from items where
        id in (select max(id) from items group by kind)
        or kind in (select name from kinds where sold) group by kind""",
    "not in a group": """select id, price from items where kind not in
        (select name from kinds where rate > 25 group by name)""",
    "not exists in distinct": """select id from items where not exists
        (select 1 from (select distinct name from kinds where not sold) d where name = kind)""",
    "correlated count": """select id, (select count(*) from kinds where name = kind and rate > 15) n
        from items""",
    "except distinct": """select name from kinds except
        (select distinct kind from items where price > 4)""",
    "exists as a value": """select id, exists (select 1 from kinds where name = kind and sold) e
        from items""",
    "scalar of a row": """select id, (select rate from kinds where sold order by name limit 1) r
        from items""",
    "default of lag": """select id, lag(price, 1, cast(id as double)) over (partition by kind
        order by id) p from items where id < 6""",
}
KEYS = {"union": 2}
"""How many columns, the first ones, say which row is which, if not one."""


def computed(query, tables):
    with duckdb.connect() as db:
        for name, rows in tables.items():
            db.execute(f"create table {name} ({TYPES[name]})")
            db.executemany(f"insert into {name} values (?, ?, ?)", rows)
        return db.execute(query).fetchall()


def rows_by_key(rows, keys):
    found = {row[:keys]: row for row in rows}
    return found if len(found) == len(rows) else None


@pytest.fixture
def tables(spark, store):
    schemas = {
        "items": "id long, kind string, price double",
        "kinds": "name string, sold boolean, rate int",
    }
    given = {"items": ITEMS, "kinds": KINDS}
    for name, rows in given.items():
        frame = spark.createDataFrame(rows, schemas[name]).coalesce(1)
        store.track(frame, name).createOrReplaceTempView(name)
    yield given
    for name in given:
        spark.catalog.dropTempView(name)


def other_tables(tables):
    """The tables with one cell changed, and which."""
    for source, rows in tables.items():
        for place, row in enumerate(rows):
            for c, column in enumerate(COLUMNS[source]):
                for value in OTHERS[column]:
                    changed = [*rows]
                    changed[place] = (*row[:c], value, *row[c + 1 :])
                    yield source, (place, c), {**tables, source: changed}


def differing(before, after):
    """The cells of rows that are not as they were, or not there."""
    for key, was in before.items():
        now = after.get(key)
        for c in range(len(was)):
            if now is None or now[c] != was[c]:
                yield key, c


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_else_decides(name, store, tables):
    query, keys = QUERIES[name], KEYS.get(name, 1)
    frame = store.sql(query)
    rows = plain(frame.collect())
    before = rows_by_key(computed(query, tables), keys)
    assert rows_by_key(rows, keys) == before
    behind = {}
    for number, row in enumerate(rows):
        for c, source in itertools.product(range(len(row)), tables):
            cell = (store.name_of(frame), (number, c), source)
            read, both = (store.backward(*cell, influence=kind) for kind in (False, True))
            behind[row[:keys], c, source] = set(map(tuple, both.indices().tolist()))
            assert set(map(tuple, read.indices().tolist())) <= behind[row[:keys], c, source]
    for source, cell, changed in other_tables(tables):
        after = rows_by_key(computed(query, changed), keys)
        if after is None:
            continue  # what named one row names two
        for key, c in differing(before, after):
            assert cell in set().union(*(behind[key, k, source] for k in (c, *range(keys))))


def test_only_what_decided(store, tables):
    store.sql("select id, price from items join kinds on kind = name where sold and id=1", "sold")
    only = store.backward("sold", (0, "price"), to="kinds", influence="only")
    assert sorted(map(tuple, only.indices().tolist())) == [(0, 0), (0, 1)]
    assert store.backward("sold", (0, "price"), to="kinds").count == 0
    only = store.backward("sold", (0, "price"), to="items", influence="only")
    assert sorted(map(tuple, only.indices().tolist())) == [(0, 0), (0, 1)]
    assert store.forward("kinds", (0, "sold"), to="sold", influence=True).count == 2
    assert store.forward("kinds", (0, "sold"), to="sold").count == 0


def test_through_several_tables(store, tables):
    """What decided about a table that was read decided about what was made of it."""
    store.sql("select kind, sum(price) s from items group by kind", "sums").createOrReplaceTempView(
        "sums"
    )
    store.sql("select name, s from kinds join sums on kind = name where sold", "both")
    found = store.backward("both", (0, "s"), to="items", influence="only")
    assert (0, 1) in set(map(tuple, found.indices().tolist()))
    union = store.backward("both", (0, "s"), to="items", influence=True)
    assert union.count >= found.count
    with pytest.raises(ArgumentError, match="'only'"):
        store.backward("both", (0, 1), to="items", influence="some")


def test_it_stays_when_the_store_is_opened_again(spark, tmp_path):
    frame = spark.createDataFrame(ITEMS, "id long, kind string, price double").coalesce(1)
    with dslog.open(tmp_path / "s") as store:
        store.record(store.track(frame, "items").df.where("price > 4").select("id"), "few")
    with dslog.open(tmp_path / "s", "r") as store:
        assert store.verify().ok
        only = store.backward("few", None, to="items", influence="only")
        assert sorted(map(tuple, only.indices().tolist())) == [(0, 2), (1, 2), (3, 2)]


HELD = {
    "anti join": lambda left, right: left.join(right, left.kind == right.kind, "left_anti"),
    "group": lambda _, right: right.groupBy("kind").count(),
    "limit": lambda _, right: right.orderBy("id").limit(1),
    "batches": lambda _, right: right.mapInArrow(lambda rows: rows, right.schema),
}


@pytest.mark.parametrize("how", HELD)
def test_rows_that_a_held_table_has_not(how, spark, store, tables):
    """Row 2 of the items is not in the held table, and would be with another price."""
    items = spark.table("items")
    held = store.record(items.where("price > 4"), "held")
    frame = store.record(HELD[how](items, held))
    assert frame.count() > 0
    found = store.backward(store.name_of(frame), (0, 0), to="items", influence=True)
    assert (2, 2) in set(map(tuple, found.indices().tolist()))
    assert not found.exact


def test_a_default_is_read_where_there_is_no_row(spark, store, tables):
    frame = store.sql("""select id, lag(price, 1, rate) over (order by id) p,
        lead(price, 2) over (order by id) n
        from items left join kinds on kind = name order by id""")
    assert [row.p for row in frame.collect()] == [10.0, 5.0, 7.0, 2.0, 9.0, 1.0]

    skipping = store.sql("""select lag(price, 1, rate) ignore nulls over (order by id) q
        from items left join kinds on kind = name order by id""")
    assert skipping.collect()[0].q == 10.0

    def behind(row, column, to, frame=frame):
        found = store.backward(store.name_of(frame), (row, column), to=to)
        return found.exact, {tuple(c) for c in found.indices().tolist()}

    assert behind(0, "p", "kinds") == (True, {(0, 2)})
    assert behind(0, "p", "items") == (True, set())
    assert behind(2, "p", "kinds") == (True, set())
    assert behind(2, "p", "items") == (True, {(1, 2)})
    assert behind(1, "n", "items") == (True, {(3, 2)})
    exact, found = behind(0, "q", "kinds", skipping)
    assert not exact
    assert (0, 2) in found
