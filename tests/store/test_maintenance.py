"""verify finds every kind of damage; gc removes what nobody needs, and only that."""

import os
import sqlite3
import zlib

import numpy as np
import pytest

import dslog
from dslog.store.files import CATALOG, FILES


def a_file(directory):
    """Return the largest file of a store."""
    return max((directory / FILES).iterdir(), key=lambda path: path.stat().st_size)


@pytest.fixture
def rewrite(change):
    """Return a function that replaces the header of the only lineage, with checksums to match."""

    def run(directory, header):
        with sqlite3.connect(directory / CATALOG) as db:
            sums = [value for (value,) in db.execute("SELECT checksum FROM files")]
        db.close()
        checksum = zlib.crc32(b"\0".join([header.encode(), *sums]))
        size = "length(CAST(?1 AS BLOB)) + (SELECT coalesce(sum(nbytes), 0) FROM files)"
        sql = f"UPDATE bodies SET header = ?1, checksum = ?2, nbytes = {size}"
        change(directory, sql, header, checksum, sealed="bodies")

    return run


def problems(directory):
    with dslog.open(directory, "r") as store:
        report = store.verify()
    assert report.ok == (not report.problems)
    return report.problems


def test_a_sound_store(large):
    with dslog.open(large) as store:
        store.array("S", ())
        store.lineage("S", "A", lambda _: range(4000))
        report = store.verify()
    assert report.ok
    files = len(list((large / FILES).iterdir()))
    assert (report.lineages, report.files) == (2, files)
    assert str(report) == f"2 lineages, {files} files checked: ok"


def test_a_bit_flipped_anywhere_in_a_file(large):
    path = a_file(large)
    content = path.read_bytes()
    for at in range(0, len(content), max(len(content) // 15, 1)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        problem, *_ = problems(large)
        assert "'B' <- 'A'" in problem
        assert "checksum" in problem
        with dslog.open(large) as store, pytest.raises(dslog.CorruptError, match=path.name):
            store.prov_query(["B", "A"], 0)
    path.write_bytes(content)
    assert problems(large) == ()


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_a_file_cut_short(large, share):
    path = a_file(large)
    kept = int(path.stat().st_size * share)
    os.truncate(path, kept)
    problem, *_ = problems(large)
    assert f"has {kept} bytes" in problem


def test_a_file_that_is_gone(large):
    a_file(large).unlink()
    problem, *_ = problems(large)
    assert "can't read the file" in problem
    with dslog.open(large) as store, pytest.raises(dslog.CorruptError):
        store.load("B", "A")


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 9), lambda path: path.unlink()])
def test_capturing_again_repairs_a_file(large, permutation, damage):
    path = a_file(large)
    content = path.read_bytes()
    damage(path)
    with dslog.open(large) as store:
        store.lineage("B", "A", permutation(4000))
        assert store.verify().ok
        assert store.prov_query(["B", "A"], ...).count == 4000
        assert store.gc(force=True).files == 0
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "header",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"b":[4000],"a":[4000]}',
        '{"b":[4000],"a":[4000],"t":[[{"r":[5]}]]}',
        '{"b":[4000],"a":[4000],"t":[[{"blob":3,"n":1,"k":0,"c":{}}]]}',
        '{"b":[4000],"a":[4000],"t":[]}',
    ],
)
def test_a_header_that_makes_no_sense(large, header, rewrite):
    rewrite(large, header)
    problem, *_ = problems(large)
    assert "lineage number 1" in problem
    with dslog.open(large) as store, pytest.raises(dslog.CorruptError):
        store.prov_query(["B", "A"], 0)


def test_a_header_whose_checksum_differs(large, change):
    change(large, "UPDATE bodies SET header = replace(header, '4000', '4001')")
    problem, *_ = problems(large)
    assert "the checksum of lineage number 1 differs" in problem


@pytest.mark.parametrize(
    "row",
    [
        "[[[0,4000]],[5]]",
        "[[[-1,3]],[5]]",
        "[[5],[4000]]",
        '[[[0,3999]],[["b0",1]]]',
        "[[[7,3]],[5]]",
        "[[[0,9]],[[7,3]]]",
        '[[5],["b1"]]',
        '[[0],[0],[[4001,{"b0":1}]]]',
        '[[0],[3999],[[4000,{"b0":1,"a0":-2}]]]',
        '[[0],[["b0",0]],[[2400,{"b0":1,"a0":1}]]]',
        '[[[0,5]],[0],[[3,{"b0":[0,-3]}]]]',
        '[[0],[0],[[0,{"b0":1}]]]',
    ],
)
def test_cells_outside_the_arrays(tmp_path, row, rewrite):
    with dslog.open(tmp_path) as store:
        store.array("A", (4000,))
        store.lineage("A", "A", lambda i: [i])
    header = '{"b":[4000],"a":[4000],"t":[[{"r":[' + row + "]}]]}"
    rewrite(tmp_path, header)
    problem, *_ = problems(tmp_path)
    assert "outside its arrays" in problem


@pytest.mark.parametrize(
    "row",
    [
        '[[0],[3999],[[4000,{"b0":1,"a0":-1}]]]',
        '[[0],[["b0",3999]],[[4000,{"b0":1,"a0":-2}]]]',
        '[[0],[0],[[10,{"b0":100}],[100,{"b0":1}]]]',
        '[[[0,3999]],[["b0",0]]]',
    ],
)
def test_rows_that_reach_to_the_very_ends(tmp_path, row, rewrite):
    with dslog.open(tmp_path) as store:
        store.array("A", (4000,))
        store.lineage("A", "A", lambda i: [i])
    rewrite(tmp_path, '{"b":[4000],"a":[4000],"t":[[{"r":[' + row + "]}]]}")
    assert [one for one in problems(tmp_path) if not one.startswith("commit")] == []


def test_a_shape_that_does_not_fit(large, change):
    change(large, "UPDATE arrays SET shape = '[3999]' WHERE name = 'A'", sealed="arrays")
    problem, *_ = problems(large)
    assert "between shapes (4000,)" in problem


def test_rows_that_refer_to_nothing(large, change):
    change(large, "PRAGMA foreign_keys = OFF")
    change(large, "UPDATE operation_arrays SET array = 77")
    assert any("missing row of arrays" in problem for problem in problems(large))


def test_a_catalog_with_damaged_pages(large):
    """Overwrite every page but the first; whatever SQLite makes of it, it must be reported."""
    with dslog.open(large) as store:
        for at in range(200):
            store.array(f"more {at}", (at,))
    path = large / CATALOG
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    try:
        found = problems(large)
    except dslog.CorruptError as error:
        found = (str(error),)
    assert any("damaged" in problem for problem in found)


def test_a_catalog_whose_header_is_overwritten(large):
    path = large / CATALOG
    path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
    with pytest.raises(dslog.CorruptError, match="damaged"):
        dslog.open(large)


def test_gc_removes_only_old_files_that_no_row_names(large):
    folder = large / FILES
    kept = set(folder.iterdir())
    old, young, part = (folder / n for n in ("old.parquet", "young.parquet", "job/part.parquet"))
    part.parent.mkdir()
    for path in (old, young, part):
        path.write_bytes(b"left behind")
    for path in (old, part, *kept):
        os.utime(path, (1, 1))
    with dslog.open(large) as store:
        report = store.gc()
        assert (report.files, report.bytes, report.kept) == (2, 22, 1)
        assert str(report) == "2 files removed, 22 bytes; 1 younger ones kept"
        assert set(folder.iterdir()) == kept | {young}
        assert store.gc(force=True).files == 1
        assert set(folder.iterdir()) == kept
        assert store.gc(force=True).files == 0
        assert store.verify().ok


def test_gc_of_a_store_without_files(tmp_path):
    with dslog.open(tmp_path) as store:
        assert store.gc().files == 0


def test_gc_needs_to_write(large):
    with dslog.open(large, "r") as store, pytest.raises(dslog.StoreError, match="reading only"):
        store.gc()


def test_a_writer_whose_file_was_collected_fails_cleanly(large, permutation, monkeypatch):
    """Gc with force while another writer is between file and commit: it fails, nothing breaks."""
    with dslog.open(large) as writer, dslog.open(large) as other:
        begin = writer._catalog.transaction

        def collect_first():
            other.gc(force=True)
            return begin()

        monkeypatch.setattr(writer._catalog, "transaction", collect_first)
        with pytest.raises(dslog.StoreError, match="vanished"):
            writer.lineage("A", "B", permutation(4000, seed=5))
        assert len(other.lineages()) == 1
        assert other.verify().ok


def test_a_tracked_writer_whose_file_was_collected_fails_cleanly(large, monkeypatch):
    """The same for calls that are committed together: they can be flushed again."""
    with dslog.open(large) as writer, dslog.open(large) as other:
        np.sort(writer.track(np.random.default_rng(0).random(4000), "values"))
        catalog = writer._catalog
        begin = catalog.transaction

        def collect_first():
            other.gc(force=True)
            return begin()

        monkeypatch.setattr(catalog, "transaction", collect_first)
        with pytest.raises(dslog.StoreError, match="vanished"):
            writer.flush()
        assert len(other.lineages()) == 1
        monkeypatch.undo()
        writer.flush()
        assert len(other.lineages()) == 2
        assert other.verify().ok
