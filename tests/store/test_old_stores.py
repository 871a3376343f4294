"""Stores written by earlier versions open and answer: one of each format is kept in tests/data."""

import shutil
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
