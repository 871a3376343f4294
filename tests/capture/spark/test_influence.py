"""What decides: a cell outside of contribution and influence changes nothing, nor whether it is there.

DuckDB computes each query again with one cell of its tables changed, and knows nothing of lineage.
"""

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

# the query, and how many of its columns, the first ones, say which row is which
QUERIES = {
    "filter": ("select id, price from items where price > 4 and kind <> 'c'", 1),
    "join": ("select id, rate from items join kinds on kind = name where sold", 1),
    "left join": ("select id, rate from items left join kinds on kind = name and sold", 1),
    "in": ("select id, price from items where kind in (select name from kinds where rate > 15)", 1),
    "not in": ("select id from items where kind not in (select name from kinds where sold)", 1),
    "exists": (
        "select id, price from items where exists "
        "(select 1 from kinds where name = kind and rate < 25)",
        1,
    ),
    "not exists": (
        "select id, price from items where not exists (select 1 from kinds where name = kind)",
        1,
    ),
    "scalar": ("select id, price from items where price > (select avg(price) from items)", 1),
    "group": ("select kind, sum(price) s, count(*) n from items where id < 6 group by kind", 1),
    "having": ("select kind, max(price) m from items group by kind having count(*) > 1", 1),
    "join and group": (
        "select sold, sum(price) s from items join kinds on kind = name group by sold",
        1,
    ),
    "distinct": ("select distinct kind from items where price > 1", 1),
    "except": ("select name from kinds where sold except select kind from items", 1),
    "union": ("select kind, 1 t from items union select name, 2 t from kinds where sold", 2),
    "top": ("select id, price from items order by price desc nulls last, id limit 2", 1),
    "window": (
        "select id, sum(price) over (partition by kind order by id) s from items where id < 6",
        1,
    ),
    "either": (
        "select kind, sum(price) s from items where id in (select max(id) from items group by kind)"
        " or kind in (select name from kinds where sold) group by kind",
        1,
    ),
}


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


@pytest.mark.parametrize("name", QUERIES)
def test_nothing_else_decides(name, store, tables):
    query, keys = QUERIES[name]
    frame = store.sql(query)
    rows = plain(frame.collect())
    before = rows_by_key(computed(query, tables), keys)
    assert rows_by_key(rows, keys) == before
    behind = {}
    for number, row in enumerate(rows):
        for c in range(len(row)):
            for source in tables:
                found = store.backward(frame.name, (number, c), to=source, influence=True)
                cells = set(map(tuple, found.indices().tolist()))
                behind[row[:keys], c, source] = cells
                read = store.backward(frame.name, (number, c), to=source)
                assert set(map(tuple, read.indices().tolist())) <= cells
    for source, given in tables.items():
        for place, row in enumerate(given):
            for c, column in enumerate(COLUMNS[source]):
                for value in OTHERS[column]:
                    if value == row[c]:
                        continue
                    changed = [*given]
                    changed[place] = (*row[:c], value, *row[c + 1 :])
                    after = rows_by_key(computed(query, {**tables, source: changed}), keys)
                    if after is None:
                        continue  # a key that was one of a row is one of two
                    for key, was in before.items():
                        now = after.get(key)
                        for out in range(len(was)):
                            if now is None or now[out] != was[out]:
                                names = [behind[key, k, source] for k in (out, *range(keys))]
                                assert (place, c) in set().union(*names)


def test_only_what_decided(store, tables):
    store.sql("select id, price from items join kinds on kind = name where sold", "sold")
    only = store.backward("sold", (0, "price"), to="kinds", influence="only")
    assert sorted(map(tuple, only.indices().tolist())) == [(0, 0), (0, 1)]
    assert store.backward("sold", (0, "price"), to="kinds").count == 0
    only = store.backward("sold", (0, "price"), to="items", influence="only")
    assert sorted(map(tuple, only.indices().tolist())) == [(0, 1)]
    assert store.forward("kinds", (0, "sold"), to="sold", influence=True).count == 4
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
        store.record(store.track(frame, "items").marked.where("price > 4").select("id"), "few")
    with dslog.open(tmp_path / "s", "r") as store:
        assert store.verify().ok
        only = store.backward("few", None, to="items", influence="only")
        assert sorted(map(tuple, only.indices().tolist())) == [(0, 2), (1, 2), (3, 2)]
