"""Several processes at once, and processes that die in the middle."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import dslog
from dslog.store.connection import Connection
from dslog.store.files import CATALOG, FILES

PRELUDE = """
import os, signal, sys
import numpy as np
import dslog
from dslog.store import sqlite

sqlite.PATIENCE = 3600.0  # others may hold the lock as long as the machine takes

def permutation(n, seed):
    return np.stack([np.arange(n), np.random.default_rng(seed).permutation(n)], axis=1)

directory = sys.argv[1]
"""


def start(code, *args, **options):
    program = PRELUDE + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", program, *map(str, args)], text=True, **options)


def test_several_processes_write_at_once(tmp_path):
    """They race to create the store, and give the same lineage, which is stored once."""
    code = """
    name = sys.argv[2]
    with dslog.open(directory) as store:
        store.array("A", (4000,))
        for at in range(15):
            store.array(f"{name}{at}", (4000,))
            relation = permutation(4000, at) if at % 3 == 0 else np.array([(0, 0)])
            store.register_operation("f", ["A"], [f"{name}{at}"], relation)
        assert sum(op.outputs[0].startswith(name) for op in store.operations()) == 15
    """
    writers = [start(code, tmp_path / "s", name) for name in "bcde"]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    with dslog.open(tmp_path / "s") as store:
        assert store.stats()["operations"] == 60
        assert len({op.id for op in store.operations()}) == 60
        assert store.stats()["lineages"] == 60
        assert store.stats()["stored_lineages"] == 6
        assert store.stats()["files"] == len(list((tmp_path / "s" / FILES).iterdir()))
        assert store.verify().ok
        assert store.gc(force=True).files == 0


def test_several_processes_define_one_array(tmp_path):
    code = """
    with dslog.open(directory) as store:
        store.array("A", (int(sys.argv[2]),))
    """
    results = [start(code, tmp_path / "s", size) for size in (1, 2, 2)]
    assert [process.wait() for process in results] == [0, 0, 0]
    with dslog.open(tmp_path / "s") as store:
        assert {array.shape for array in store.arrays()} == {(1,), (2,)}  # each run its own
        assert len(store.arrays()) <= 3


@pytest.mark.parametrize("where", ["add_operation", "add_body", "add_lineage"])
def test_killed_between_files_and_commit(large, snapshot, where):
    rows, files = snapshot(large)
    code = f"""
    from dslog.store.sqlite import SqliteTransaction

    done = SqliteTransaction.{where}
    def die(self, *args, **options):
        done(self, *args, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    SqliteTransaction.{where} = die
    with dslog.open(directory) as store:
        store.register_operation("g", ["B"], ["A"], permutation(4000, 9))
    """
    assert start(code, large).wait() == -signal.SIGKILL
    rows_after, files_after = snapshot(large)
    assert rows_after == rows
    left = len(files_after) - len(files)
    assert left > 0
    with dslog.open(large) as store:
        assert store.verify().ok
        assert (store.gc().kept, store.gc(force=True).files) == (left, left)
        store.register_operation("g", ["B"], ["A"], lambda i: [i])
    assert snapshot(large)[1] == files


def test_killed_while_busy(tmp_path):
    """Killed at any moment, a writer leaves whole operations and nothing else."""
    code = """
    store = dslog.open(directory)
    store.array("A", (4000,))
    store.array("B", (4000,))
    for at in range(10**6):
        store.register_operation("f", ["A"], ["B"], permutation(4000, at + 10**6 * os.getpid()))
        print(at, flush=True)
    """
    done = 0
    for wanted in (1, 5, 12):
        writer = start(code, tmp_path / "s", stdout=subprocess.PIPE)
        for line in writer.stdout:
            if int(line) == wanted:
                break
        writer.kill()
        done += wanted + 1
        writer.stdout.close()
        writer.wait()
        with dslog.open(tmp_path / "s") as store:
            assert store.verify().ok
            stats = store.stats()
            assert stats["operations"] == stats["lineages"] == stats["stored_lineages"] >= done
            done = stats["operations"]
            store.gc(force=True)
            assert len(list((tmp_path / "s" / FILES).iterdir())) == stats["files"]


@pytest.mark.parametrize("where", ["add_operation", "add_body", "add_lineage"])
def test_an_error_between_files_and_commit(large, snapshot, permutation, monkeypatch, where):
    """Unlike a kill, an error cleans up its files at once."""
    before = snapshot(large)

    def fail(*args, **options):
        raise OSError(5, "Input/output error")

    with dslog.open(large) as store:
        monkeypatch.setattr(f"dslog.store.sqlite.SqliteTransaction.{where}", fail)
        with pytest.raises(OSError, match="Input/output error"):
            store.register_operation("g", ["B"], ["A"], permutation(4000, seed=3))
        monkeypatch.undo()
        assert snapshot(large) == before
        store.register_operation("g", ["B"], ["A"], permutation(4000, seed=3))
        assert store.verify().ok


def as_nobody(directory, action):
    """Run ``action`` in a child that may read the directory and not write it; return its verdict.

    Root may write everywhere, so the child of a root process becomes another user first.
    """
    paths = [directory, *directory.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            action(directory)
        except BaseException as error:  # noqa: BLE001
            sys.stderr.write(f"{type(error).__name__}: {error}")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return os.waitstatus_to_exitcode(status)


@pytest.fixture
def readable(large):
    """A large store where everybody may enter; pytest's own directories are closed to others."""
    with TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        yield shutil.copytree(large, Path(top) / "large")


def test_a_read_only_directory_can_be_read(readable, snapshot):
    before = snapshot(readable)

    def action(directory):
        for mode in ("a", "r"):
            with dslog.open(directory, mode) as store:
                assert store.prov_query(["B", "A"], ...).count == 4000
                assert store.verify().ok
                for write in (
                    lambda: store.array("new", (1,)),
                    lambda: store.lineage("B", "A", lambda i: [0]),
                    lambda: store.register_operation("f", ["A"], ["B"], lambda i: [i]),
                    store.gc,
                ):
                    with pytest.raises(dslog.StoreError, match="open for reading only"):
                        write()

    assert as_nobody(readable, action) == 0
    assert snapshot(readable) == before


def test_large_lineage_in_a_read_only_directory_writes_no_file(readable, snapshot, permutation):
    def action(directory):
        with dslog.open(directory) as store, pytest.raises(dslog.StoreError, match="reading only"):
            store.lineage("A", "B", permutation(4000, seed=4))

    before = snapshot(readable)
    assert as_nobody(readable, action) == 0
    assert snapshot(readable) == before


def test_a_read_only_directory_beside_a_running_writer(readable):
    """The writer's last commits are in its log, not in the database yet: a reader sees them."""

    def action(directory):
        with dslog.open(directory) as store:
            assert [array.name for array in store.arrays()] == ["A", "B", "fresh"]

    with dslog.open(readable) as writer, closing(sqlite3.connect(readable / CATALOG)) as other:
        other.execute("SELECT * FROM arrays").fetchall()  # keeps the log when the fork closes ours
        writer.array("fresh", (2,))
        assert as_nobody(readable, action) == 0


def test_no_store_in_a_read_only_directory(readable):
    def action(directory):
        with pytest.raises(dslog.StoreError, match="can't make a store"):
            dslog.open(directory / "inner")
        with pytest.raises(dslog.StoreError, match="none can be made"):
            dslog.open(directory / "empty")

    (readable / "empty").mkdir()
    assert as_nobody(readable, action) == 0


def test_reads_see_one_state_while_another_process_writes(tmp_path, monkeypatch):
    """Another writer commits between any two statements of a read: it must not be half seen."""
    with dslog.open(tmp_path / "s") as store, dslog.open(tmp_path / "s") as other:
        store.array("A", (3,))
        plain, count = Connection.rows, 0

        def rows(self, sql, *values):
            nonlocal count
            found = plain(self, sql, *values)
            if self is store._catalog:
                monkeypatch.undo()
                name = f"B{count}"
                other.array(name, (3,))
                other.register_operation("f", ["A"], [name], np.array([(0, 0)]))
                monkeypatch.setattr(Connection, "rows", rows)
                count += 1
            return found

        monkeypatch.setattr(Connection, "rows", rows)
        assert store.verify().ok
        assert all(operation.outputs for operation in store.operations())
        stats = store.stats()
        assert stats["operations"] == stats["lineages"] == stats["arrays"] - 1
        found = store.impact("A", (0,))
        assert found.ends == tuple(one.array for one in found.arrays)
        monkeypatch.undo()
        assert store.stats()["operations"] == count > 10
