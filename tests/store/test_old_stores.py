"""Stores written by earlier versions open and answer: one of each format is kept in tests/data."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import dslog

STORES = sorted((Path(__file__).parent.parent / "data" / "stores").iterdir())


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def store(request, tmp_path):
    shutil.copytree(request.param, tmp_path / "store")
    with dslog.open(tmp_path / "store") as opened:
        yield opened


def answer(store, path, cell):
    return sorted(map(tuple, store.prov_query(path, [cell]).indices().tolist()))


def test_an_old_store_is_sound(store):
    assert store.verify().ok
    assert {array.name for array in store.arrays()} >= {"x", "y", "z", "p", "q", "out", "big"}


def test_rows_columns_files_and_parts_answer(store):
    """What was in the header as rows, in a file, forward, and in part files that Spark wrote."""
    rng = np.random.default_rng(12)
    order, groups = rng.permutation(6000), rng.integers(0, 40, 3000)
    spark_order = np.random.default_rng(5).permutation(3000)
    for b in (0, 17, 2999):
        assert answer(store, ["q", "p"], (b,)) == [(order[b],)]
        assert answer(store, ["out", "big"], (b,)) == [(spark_order[b],)]
        assert answer(store, ["r", "g"], (b,)) == [(groups[b],)]
    assert answer(store, ["g", "r"], (3,)) == [(a,) for a in np.flatnonzero(groups == 3)]
    assert answer(store, ["v", "w"], (1,)) == [(0,), (1,), (2,), (3,)]


def test_tracked_calls_answer(store):
    assert store.backward("y", (4,), to="x").indices().tolist() == [[r, 4] for r in range(6)]
    assert answer(store, ["z", "x"], (2, 3)) == [(2, c) for c in range(4)]
    assert store.values("x")[5, 9] == 59


def test_an_old_store_goes_on(store):
    total = store.track(store.values("x"), "x").sum(axis=0).named("again")
    assert store.backward("again", 2, to="x").count == 6
    assert total[0] == 150


def test_what_was_reused_before_labels_were_counted_is_predicted(tmp_path):
    """Format 1 did not say what was compared on a few cells only."""
    path = tmp_path / "store"
    with dslog.open(path) as store:
        for n in (5, 6, 7):
            store.array(f"a{n}", (n,))
            store.array(f"b{n}", (n,))
            store.register_operation(
                "copy", [f"a{n}"], [f"b{n}"], np.c_[np.arange(n), np.arange(n)]
            )
        assert [op.reused for op in store.operations()] == [None, None, "gen_sig"]
    with sqlite3.connect(path / "catalog.sqlite") as db:
        db.execute("ALTER TABLE operations DROP COLUMN compared")
        db.execute("DROP INDEX operation_arrays_by_array")
        db.execute("ALTER TABLE operations DROP COLUMN sides")
        for table in ("runs", "readings", "sources", "places", "kept", "commits"):
            db.execute(f"DROP TABLE {table}")
        db.execute("DROP INDEX operations_by_run")
        for column in ("run", "place", "took", "text"):
            db.execute(f"ALTER TABLE operations DROP COLUMN {column}")
        db.execute("CREATE TABLE old AS SELECT id, name, shape FROM arrays")
        db.execute("DROP TABLE arrays")
        db.execute("ALTER TABLE old RENAME TO arrays")
        for table in ("operations", "bodies", "lineages", "signatures"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN seal")
        db.execute("ALTER TABLE lineages DROP COLUMN influence")
        db.execute("DROP TABLE leaks")
        db.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    db.close()
    with dslog.open(path) as store:
        labels = [(op.predicted, op.compared) for op in store.operations()]
        assert labels == [(False, None), (False, None), (True, None)]
        assert store.prov_query(["b7", "a7"], 3).predicted
        assert not store.prov_query(["b6", "a6"], 3).predicted


def test_an_old_store_is_copied_before_it_is_brought_up_to_date(tmp_path):
    for old in STORES[:-1]:
        path = shutil.copytree(old, tmp_path / old.name)
        was = shutil.copytree(old, tmp_path / f"was-{old.name}")
        with dslog.open(path) as store:
            number = len(store.operations())
            assert store.values("x")[5, 9] == 59
        backup = path / f"catalog-{old.name}.sqlite"
        dumps = []
        for file in (backup, was / "catalog.sqlite"):
            with sqlite3.connect(file) as db:
                dumps.append(list(db.iterdump()))
            db.close()
        assert dumps[0] == dumps[1]
        backup.replace(path / "catalog.sqlite")
        with dslog.open(path) as store:
            assert len(store.operations()) == number
