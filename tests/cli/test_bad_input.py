"""Bad input on the command line: one clear line, the right exit code, and the store unchanged."""

import json
import os
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import dslog

CELLS = {
    "unknown array": (["query", "STORE", "totl", "image"], r"Did you mean 'total'?"),
    "unknown array, nothing near": (["query", "STORE", "zzz"], "there is no array 'zzz'"),
    "unknown array to show": (["show", "STORE", "imge"], "Did you mean 'image'?"),
    "unknown array to show, nothing near": (["show", "STORE", "zzz"], "'dslog ls' lists"),
    "unknown input to show": (["show", "STORE", "total", "imge"], "Did you mean 'image'?"),
    "no lineage to show": (["show", "STORE", "image", "total"], "no lineage is stored"),
    "out of range": (["query", "STORE", "total", "image", "-c", "3"], "Index 3 is out of range"),
    "negative": (["query", "STORE", "total", "image", "-c", "-1"], "Index -1 is negative"),
    "too many axes": (["query", "STORE", "total", "image", "-c", "0, 1"], "'total'"),
    "float": (["query", "STORE", "total", "image", "-c", "0.5"], "'0.5' selects no cells"),
    "nan": (["explain", "STORE", "total", "image", "-c", "nan"], "'nan' selects no cells"),
    "no cells": (["query", "STORE", "total", "image", "-c", ""], "Nothing selects no cells"),
    "no lineage": (["query", "STORE", "total", "list"], "no lineage between 'total' and 'list'"),
    "no direct lineage": (["explain", "STORE", "grand", "image"], "use backward / forward"),
    "no path": (["query", "STORE", "image", "grand", "--backward"], "use forward"),
    "every path needs ends": (
        ["query", "STORE", "grand", "total", "image", "--backward"],
        "--backward takes two arrays, where to start and where to end, not 3",
    ),
    "every path needs an end": (["query", "STORE", "image", "--forward"], "not 1: image"),
}

USAGE = {
    "no command": ([], None),
    "unknown command": (["qurey"], "No such command 'qurey'"),
    "no store": (["ls"], "Missing argument 'STORE'"),
    "empty path": (["query", "STORE"], "Missing argument 'ARRAY"),
    "unknown option": (["ls", "STORE", "--jsn"], "No such option"),
    "unknown format": (["query", "STORE", "total", "--format", "box"], "'box'"),
    "unknown engine": (["query", "STORE", "total", "--engine", "gpu"], "'gpu'"),
    "negative limit": (["ls", "STORE", "--limit", "-1"], "--limit"),
    "two ways at once": (
        ["query", "STORE", "total", "image", "--forward", "--backward"],
        "ask one",
    ),
    "bad shape": (["ingest", "STORE", "a", "b", "STORE", "--out-shape", "3.5"], "is no shape"),
}


def filled(arguments, store):
    return [str(store) if argument == "STORE" else argument for argument in arguments]


@pytest.mark.parametrize("case", CELLS)
def test_bad_question(run, store, snapshot, case):
    arguments, words = CELLS[case]
    before = snapshot(store)
    result = run(*filled(arguments, store))
    assert (result.code, result.out) == (1, "")
    assert words in result.err
    assert result.err.startswith("dslog: ")
    assert result.err.count("\n") == 1
    assert snapshot(store) == before


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage(run, store, snapshot, case):
    arguments, words = USAGE[case]
    before = snapshot(store)
    result = run(*filled(arguments, store))
    assert result.code == 2
    assert words is None or words in " ".join(result.err.split())
    assert "Traceback" not in result.err
    assert snapshot(store) == before


def test_errors_as_json(run, store):
    result = run("query", store, "totl", "--json")
    assert (result.code, result.out) == (1, "")
    assert json.loads(result.err) == {
        "error": "NotFoundError",
        "message": "there is no array 'totl' in the store. Did you mean 'total'?",
    }


def test_debug_shows_where(run, store):
    result = run("query", store, "totl", "--debug")
    assert result.code == 1
    assert isinstance(result.exception, dslog.NotFoundError)


def test_a_bug_is_one_line_too(run, store, monkeypatch):
    def fail(self):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(dslog.Store, "stats", fail)
    result = run("stats", store)
    assert result.code == 1
    assert result.err == "dslog: oops (an unexpected ZeroDivisionError; --debug shows where)\n"
    assert isinstance(run("stats", store, "--debug").exception, ZeroDivisionError)


GOOD = {"b0": [0, 1, 2], "a0": [0, 1, 2], "a1": [0, 0, 0]}
RELATIONS = {
    "shape redefined": (GOOD, ["total", "image", "--in-shape", "2,3"], "can't be defined with"),
    "shape redefined, output new": (
        GOOD,
        ["new", "image", "--out-shape", "3", "--in-shape", "2,3"],
        "can't be defined with",
    ),
    "output unknown": (GOOD, ["totl", "image"], "Did you mean 'total'?"),
    "output new, no shape": (GOOD, ["fresh", "image"], "give its shape: --out-shape 3,2"),
    "input new, no shape": (GOOD, ["new", "fresh", "--out-shape", "3"], "--in-shape 3,2"),
    "wrong columns": ({"b0": [0], "a0": [0]}, ["total", "image"], "['b0', 'a0', 'a1'] are needed"),
    "floats": ({**GOOD, "a0": [0.5, 1, 2]}, ["total", "image"], "column a0"),
    "nan": ({**GOOD, "a0": [float("nan"), 1, 2]}, ["total", "image"], "must be an integer"),
    "nulls": ({**GOOD, "a0": [None, 1, 2]}, ["total", "image"], "1 nulls"),
    "out of range": ({**GOOD, "a1": [0, 1, 2]}, ["total", "image"], "from 0 to 2, but that axis"),
    "negative": ({**GOOD, "a1": [0, -1, 0]}, ["total", "image"], "from -1 to 0"),
    "out of range, new arrays": (
        GOOD,
        ["n", "m", "--out-shape", "3", "--in-shape", "2,2"],
        "relation.parquet has values from 0 to 2, but that axis has 2 cells",
    ),
}


@pytest.mark.parametrize("case", RELATIONS)
def test_bad_relation(run, store, snapshot, relation, case):
    columns, (out, in_, *options), words = RELATIONS[case]
    before = snapshot(store)
    result = run("ingest", store, out, in_, relation(columns), *options)
    assert result.code == 1
    assert words in result.err
    assert snapshot(store) == before


@pytest.mark.parametrize("content", [None, b"no parquet at all", "empty directory"])
def test_relation_that_can_not_be_read(run, store, snapshot, tmp_path, content):
    path = tmp_path / "bad.parquet"
    if content == "empty directory":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    before = snapshot(store)
    result = run("ingest", store, "total", "image", path)
    assert result.code == 1
    assert str(path) in result.err
    assert snapshot(store) == before


def test_no_store(run, tmp_path):
    for name in ("ls", "stats", "verify", "gc"):
        result = run(name, tmp_path / "none")
        assert result.code == 1
        assert f"Make one: dslog init {tmp_path / 'none'}" in result.err
    assert run("query", tmp_path / "none", "a").code == 1
    assert not list(tmp_path.iterdir())


def test_places_that_are_no_store(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "data.csv").write_text("1,2")
    for command in ("init", "ls"):
        assert "is a file; a store is a directory" in run(command, tmp_path / "full/data.csv").err
        assert "is no store, and not empty" in run(command, tmp_path / "full").err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["data.csv"]


def test_damaged_file(run, store):
    file = next(store.rglob("*.parquet"))
    file.write_bytes(b"x" * file.stat().st_size)
    result = run("query", store, "sorted", "list", "-c", "0")
    assert result.code == 1
    assert f"{file} is damaged: its checksum differs" in result.err
    assert run("query", store, "total", "image").code == 0
    file.unlink()
    assert "can't read the file" in run("show", store, "sorted").err


def test_damaged_catalog(run, store):
    catalog = store / "catalog.sqlite"
    catalog.write_bytes(b"not a database" * 400)
    for name in ("ls", "verify"):
        result = run(name, store)
        assert result.code == 1
        assert "catalog.sqlite" in result.err + result.out


def test_newer_store(run, store):
    with sqlite3.connect(store / "catalog.sqlite") as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    db.close()
    result = run("ls", store)
    assert result.code == 1
    assert "99" in result.err


def as_nobody(action):
    """Run ``action`` in a child that is not root, to whom every file would be writable."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            action()
        except BaseException as error:  # noqa: BLE001
            os.write(2, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.fixture
def read_only(store):
    """The store, which nobody may write, where everybody may enter; pytest's places are closed."""
    with TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        copy = shutil.copytree(store, Path(top) / "lineage.dslog")
        paths = [copy, *copy.rglob("*")]
        for path in paths:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield copy
        for path in paths:
            path.chmod(0o755)


def test_read_only_directory(run, read_only, relation):
    path = relation(GOOD, read_only.parent / "relation.parquet")

    def action():
        count = run("query", read_only, "total", "image", "--format", "count")
        assert (count.code, count.out) == (0, "6\n"), count.err
        for arguments, words in (
            (["gc", read_only], "open for reading only"),
            (["ingest", read_only, "total", "image", path], "open for reading only"),
            (["init", read_only / "inner"], "can't make a store"),
        ):
            result = run(*arguments)
            assert result.code == 1
            assert words in result.err, result.err

    assert as_nobody(action) == 0
