"""A store is one directory: it notices when that is moved, removed, replaced, or left by chdir."""

import os
import shutil

import numpy as np
import pytest

import dslog
from dslog.store.files import FILES

ROWS = np.stack([np.arange(5000), np.random.default_rng(1).permutation(5000)], axis=1)


def opened(path):
    store = dslog.open(path)
    store.array("A", (5000,))
    store.array("B", (5000,))
    return store


def register(store):
    return store.register_operation("f", ["A"], ["B"], ROWS, reuse=False)


def test_the_working_directory_may_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened("s") as store:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        register(store)
        assert store.path == tmp_path / "s"
    with dslog.open(tmp_path / "s") as store:
        assert store.verify().ok
        assert store.prov_query(["B", "A"], [(7,)]).indices().tolist() == [[ROWS[7, 1]]]
    assert not any((tmp_path / "other").iterdir())


def moved(path):
    path.rename(path.with_name("elsewhere"))


def removed(path):
    shutil.rmtree(path)


def replaced(path):
    moved(path)
    dslog.open(path).close()


def copied_over(path):
    shutil.copytree(path, path.with_name("copy"))
    shutil.rmtree(path)
    path.with_name("copy").rename(path)


@pytest.mark.parametrize("change", [moved, removed, replaced, copied_over])
@pytest.mark.parametrize("tracked", [False, True])
def test_a_store_that_is_not_there_any_more(tmp_path, change, tracked):
    path = tmp_path / "s"
    store = opened(path)
    array = store.track(np.arange(3.0), "x")
    store.flush()
    change(path)
    before = sorted(tmp_path.rglob("*.parquet"))
    match = "another one lies" if change in (replaced, copied_over) else "moved or removed"
    with pytest.raises(dslog.StoreError, match=match):
        register(store) if not tracked else (array + 1, store.flush())
    with pytest.raises(dslog.StoreError, match=match):
        store.prov_query(["B", "A"], 0)
    assert sorted(tmp_path.rglob("*.parquet")) == before
    if change is moved:
        assert not path.exists()
        path.with_name("elsewhere").rename(path)
        register(store)
        assert store.verify().ok
    store.recorder.abandon()
    store.close()


def test_moved_while_a_commit_writes_its_files(tmp_path, monkeypatch):
    path = tmp_path / "s"
    store = opened(path)
    write = store._files.write

    def write_and_move(blobs):
        records = write(blobs)
        moved(path)
        return records

    monkeypatch.setattr(store._files, "write", write_and_move)
    with pytest.raises(dslog.StoreError):
        register(store)
    with dslog.open(tmp_path / "elsewhere") as there:
        assert not there.operations()
    store.close()


@pytest.mark.parametrize("name", [FILES, "values", "catalog.sqlite"])
@pytest.mark.parametrize("kind", [lambda at, to: at.symlink_to(to), lambda at, _: os.mkfifo(at)])
def test_links_and_pipes_in_place_of_what_a_store_holds(tmp_path, name, kind):
    path = tmp_path / "s"
    with opened(path) as store:
        register(store)
    outside = tmp_path / "outside"
    (path / name).rename(outside) if (path / name).exists() else outside.mkdir()
    kind(path / name, outside)
    for mode in ("a", "r"):
        with pytest.raises(dslog.StoreError, match="plain files only"):
            dslog.open(path, mode)
    assert outside.exists()


def test_gc_follows_no_link(tmp_path):
    path, outside = tmp_path / "s", tmp_path / "outside"
    outside.mkdir()
    (outside / "x.parquet").write_text("mine")
    with opened(path) as store:
        register(store)
        (path / FILES / "inner").symlink_to(outside)
        store.gc(force=True)
        (path / FILES).rename(path / "was")
        (path / FILES).symlink_to(outside)
        with pytest.raises(dslog.StoreError, match="is a link"):
            store.gc(force=True)
    assert (outside / "x.parquet").read_text() == "mine"
