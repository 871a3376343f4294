"""The catalog as such: what it keeps, how it comes up to date, how it fails."""

import json
import sqlite3
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dslog.errors import CorruptError, StoreError, VersionError
from dslog.store import schema
from dslog.store.catalog import ArrayInfo, Body, Catalog, FileRecord, Operation, Signature
from dslog.store.sqlite import SqliteCatalog
from dslog.store.store_cost import StoreCost

BODY = Body('{"t":[]}', 3, exact=True)
IN_FILES = Body(
    '{"t":[1]}',
    9,
    exact=False,
    files=(FileRecord(0, 0, "x/a", 10, b"s" * 16), FileRecord(0, 1, "x/b", 20, b"t" * 16)),
)
OPERATION = Operation(
    id=0,
    name="add",
    inputs=("A", "B", "A"),
    outputs=("C",),
    args={"axis": [0, None]},
    reused=None,
    exact=True,
    created=datetime(2026, 5, 4, 3, 2, 1, 987000, tzinfo=UTC),
)


@pytest.fixture(params=["memory", "file"])
def catalog(request, tmp_path):
    opened: Catalog = SqliteCatalog(None if request.param == "memory" else tmp_path / "c.sqlite")
    yield opened
    opened.close()


def fill(catalog):
    with catalog.transaction() as transaction:
        for name, shape in (("A", (3, 2)), ("B", ()), ("C", (0,))):
            transaction.add_array(name, shape)
        number = transaction.add_operation(OPERATION)
        small, large = transaction.add_body(BODY), transaction.add_body(IN_FILES)
        transaction.add_lineage("C", "A", number, small)
        transaction.add_lineage("C", "B", number, large)
        transaction.add_lineage("B", "A", None, small)
    return number


def test_what_goes_in_comes_out(catalog):
    number = fill(catalog)
    assert catalog.arrays() == [ArrayInfo("A", (3, 2)), ArrayInfo("B", ()), ArrayInfo("C", (0,))]
    assert catalog.shape("B") == ()
    assert catalog.shape("b") is None
    (operation,) = catalog.operations()
    assert operation.id == number
    assert (operation.name, operation.inputs, operation.outputs) == ("add", ("A", "B", "A"), ("C",))
    assert (operation.args, operation.created) == (OPERATION.args, OPERATION.created)
    infos = catalog.lineages()
    assert [(i.out, i.in_, i.op, i.where) for i in infos] == [
        ("C", "A", number, "catalog"),
        ("C", "B", number, "files"),
        ("B", "A", None, "catalog"),
    ]
    assert [info.nbytes for info in infos] == [8, 39, 8]
    assert catalog.lineages(out="C", in_="B") == [infos[1]]
    assert catalog.lineages(in_="A") == [infos[0], infos[2]]
    assert catalog.body(infos[1].body) == IN_FILES
    assert infos[0].body == infos[2].body
    assert catalog.inputs_of("C") == ["A", "B"]
    assert catalog.outputs_of("A") == ["B", "C"]
    assert catalog.file_names() == {"x/a", "x/b"}
    assert catalog.problems() == []
    totals = catalog.totals()
    assert (totals["lineages"], totals["stored_lineages"], totals["rows"]) == (3, 2, 12)
    assert (totals["files"], totals["file_bytes"], totals["superset_lineages"]) == (2, 30, 1)


def test_bodies_are_found_by_content(catalog):
    fill(catalog)
    renamed = tuple(replace(file, name=f"y{file.part}") for file in IN_FILES.files)
    assert catalog.find_body(BODY) == catalog.lineages("C", "A")[0].body
    assert catalog.find_body(replace(IN_FILES, files=renamed)) == catalog.lineages("C", "B")[0].body
    assert catalog.find_body(replace(IN_FILES, files=())) is None
    assert catalog.find_body(replace(BODY, header="{}")) is None


def test_edges_hold_shared_lineage_once(catalog):
    fill(catalog)
    body = catalog.find_body(BODY)
    with catalog.transaction() as transaction:
        transaction.add_lineage("C", "A", None, body)
        transaction.add_lineage("C", "A", None, transaction.add_body(replace(BODY, exact=False)))
    edges = catalog.between("C", "A")
    assert [(edge.key == body, edge.num_rows, edge.exact) for edge in edges] == [
        (True, 3, True),
        (False, 3, False),
    ]
    assert catalog.between("A", "C") == []


def test_a_failed_transaction_leaves_nothing(catalog):
    def fail():
        with catalog.transaction() as transaction:
            transaction.add_array("A", (1,))
            assert catalog.shape("A") == (1,)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert catalog.arrays() == []
    fill(catalog)


def test_unknown_arrays_are_refused(catalog):
    with pytest.raises(StoreError, match="not there"), catalog.transaction() as transaction:
        transaction.add_lineage("C", "A", None, transaction.add_body(BODY))
    assert catalog.bodies() == []


def test_signatures(catalog):
    first = Signature("dim_sig", "add[]", "tentative", json.dumps({"rule": 1}))
    second = Signature("dim_sig", "add[]", "permanent", "{}", hits=2, misses=1, refusals=3)
    other = Signature("gen_sig", "add[]", "tentative", "{}")
    for signature in (first, other, second):
        with catalog.transaction() as transaction:
            transaction.put_signature(signature)
    assert catalog.signature("dim_sig", "add[]") == second
    assert catalog.signature("base_sig", "add[]") is None
    assert catalog.signatures() == [second, other]


def test_threads_share_a_catalog(catalog):
    def work(name):
        for at in range(20):
            with catalog.transaction() as transaction:
                transaction.add_array(f"{name}{at}", (at,))
            assert catalog.shape(f"{name}{at}") == (at,)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(catalog.arrays()) == 80


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "c.sqlite"
    SqliteCatalog(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    db.close()
    for writable in (True, False):
        with pytest.raises(VersionError, match=r"format version 99.*up to version 5.*update DSLog"):
            SqliteCatalog(path, writable=writable)


@pytest.fixture
def newer(monkeypatch):
    """Pretend that this DSLog has one more version of the schema."""
    more = (*schema.MIGRATIONS, ("ALTER TABLE arrays ADD COLUMN note TEXT DEFAULT 'none'",))
    return lambda steps=more: monkeypatch.setattr(schema, "MIGRATIONS", steps)


def test_an_older_format_is_brought_up_to_date(tmp_path, newer):
    path = tmp_path / "c.sqlite"
    catalog = SqliteCatalog(path)
    fill(catalog)
    catalog.close()
    newer()
    with pytest.raises(StoreError, match=r"version 5 and must be brought to version 6.*mode='a'"):
        SqliteCatalog(path, writable=False)
    for _ in range(2):
        catalog = SqliteCatalog(path)
        assert len(catalog.arrays()) == 3
        catalog.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT note FROM arrays").fetchall() == [("none",)] * 3
        assert db.execute("SELECT value FROM meta WHERE key = 'format'").fetchall() == [("6",)]
    db.close()
    with sqlite3.connect(tmp_path / "catalog-format-5.sqlite") as db:  # a copy of what was
        assert db.execute("SELECT value FROM meta WHERE key = 'format'").fetchall() == [("5",)]
        assert db.execute("SELECT count(*) FROM arrays").fetchall() == [(3,)]
    db.close()


def test_a_migration_that_fails_changes_nothing(tmp_path, newer):
    path = tmp_path / "c.sqlite"
    SqliteCatalog(path).close()
    steps = (*schema.MIGRATIONS, ("CREATE TABLE extra (x)", "CREATE TABLE extra (x)"))
    with sqlite3.connect(path) as db:
        before = list(db.iterdump())
    newer(steps)
    with pytest.raises(StoreError, match="extra"):
        SqliteCatalog(path)
    with sqlite3.connect(path) as db:
        assert list(db.iterdump()) == before
    db.close()


def test_not_a_database(tmp_path):
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"no database at all, but long enough to have a header" * 100)
    with pytest.raises(CorruptError, match=r"c\.sqlite is damaged"):
        SqliteCatalog(path)


def test_a_database_of_something_else(tmp_path):
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE cookies (x)")
    db.close()
    with pytest.raises(CorruptError, match="no DSLog catalog"):
        SqliteCatalog(path)


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE bodies SET header = '{}'", lambda c: c.body(1)),
        ("DELETE FROM bodies", lambda c: c.body(1)),
        ("UPDATE arrays SET shape = '[3,'", lambda c: c.arrays()),
        ("UPDATE operations SET args = 'x'", lambda c: c.operations()),
    ],
)
def test_damaged_rows(tmp_path, damage, read):
    path = tmp_path / "c.sqlite"
    catalog = SqliteCatalog(path)
    fill(catalog)
    catalog.close()
    with sqlite3.connect(path) as db:
        db.execute(damage)
    db.close()
    catalog = SqliteCatalog(path)
    with pytest.raises(CorruptError):
        read(catalog)
    catalog.close()


def test_a_closed_catalog_says_so(catalog):
    catalog.close()
    catalog.close()
    with pytest.raises(StoreError, match="closed"):
        catalog.arrays()
    with pytest.raises(StoreError, match="closed"), catalog.transaction():
        pass


def test_a_writer_that_never_ends_is_given_up_on(tmp_path):
    with StoreCost.using(patience=0.02):
        first, second = SqliteCatalog(tmp_path / "c.sqlite"), SqliteCatalog(tmp_path / "c.sqlite")
        with first.transaction():
            assert second.arrays() == []  # readers never wait
            with pytest.raises(StoreError, match="locked by another process"), second.transaction():
                pass
        with second.transaction() as transaction:
            transaction.add_array("A", (1,))
        assert first.shape("A") == (1,)
        first.close()
        second.close()
