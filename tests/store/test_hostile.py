"""A store from a stranger, with checksums that fit: it is read, or refused; nothing else."""

import copy
import json
import os
import resource
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dslog
from dslog.lineage.lineage import Lineage
from dslog.store.files import FILES

HUGE = (1 << 63) - 1
ROWS = {
    "a reference to no axis": '[[[0,9]],["b40"]]',
    "a reference far away": '[[[0,9]],["b1000000"]]',
    "a reference before all": '[[[0,9]],["b-2"]]',
    "a fold without end": f"[[0],[0],[[{HUGE},{{}}]]]",
    "folds that wrap": f'[[0],[0],[[{HUGE},{{"b0":{HUGE}}}]]]',
    "folds that multiply": "[[0],[0],[" + ",".join(['[10,{"b0":1}]'] * 30) + "]]",
    "ends that wrap": f"[[[{HUGE},{-HUGE}]],[0]]",
    "offsets that wrap": f'[[[0,9]],[["b0",{HUGE},{-HUGE}]]]',
    "more than an int64": f"[[{HUGE * 10}],[0]]",
    "too few axes": "[[],[0]]",
    "text": '[["x"],[0]]',
}
FACTORS = {
    "rows without end": {"n": 10**15, "c": {}},
    "rows of nothing": {"n": -1, "c": {}},
    "packed rows without end": {"n": 10**15, "c": {}, "p": {"a0": ["bits", 1, 0, "AAAA"]}},
    "too few bits": {"n": 10, "c": {}, "p": {"a0": ["bits", 8, 0, "AAAA"]}},
    "bits too wide": {"n": 1, "c": {}, "p": {"a0": ["bits", 10**9, 0, "AAAA"]}},
    "values that wrap": {
        "n": 8,
        "c": {"b0": 1},
        "p": {"a0": ["dbits", 8, HUGE // 4, 0, "/////////wA="]},
    },
    "cells that are not all": {
        "n": 5,
        "c": {"cells": "all"},
        "p": {"a0": ["bits", 8, 0, "AAAAAAA="]},
    },
    "an axis that is not there": {"b": [3], "r": [[[0], [0]]]},
    "an axis twice": {"b": [0, 0], "r": [[[0, 0], [0]]]},
    "a blob that is not there": {"n": 5, "c": {}, "w": {"a0": ["bits", 4, 0]}, "blob": 7},
    "levels without end": {"n": 1, "k": 10**9, "c": {}},
    "no rows at all": {},
    "deep": {"r": json.loads("[" * 500 + "]" * 500)},
}


@contextmanager
def bounded(most=2 << 30):
    """Let no more than so much more memory be asked for."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def forge(tmp_path, change):
    """Return a function that makes a store whose only lineage has this header, and asks it."""
    path = tmp_path / "s"
    with dslog.open(path) as store:
        for name in "AB":
            store.array(name, (10,))
        store.lineage("B", "A", np.c_[np.arange(10), np.arange(10)[::-1]])

    def run(header):
        text = header if isinstance(header, str) else json.dumps(header)
        rows, exact = 1, True
        try:
            lineage = Lineage.decode(text)
            rows, exact = lineage.num_rows, lineage.exact
        except Exception:  # noqa: BLE001 (what a forger would say of it)
            pass
        sql = (
            "UPDATE bodies SET header = ?1, checksum = ?2, num_rows = ?3, exact = ?4, "
            "nbytes = length(CAST(?1 AS BLOB))"
        )
        values = text, zlib.crc32(text.encode()), min(rows, HUGE), int(bool(exact))
        change(path, sql, *values, sealed="bodies")
        found = []
        with dslog.open(path, "r") as store:
            for ask in (
                lambda: store.prov_query(["B", "A"], [(3,)]),
                lambda: store.prov_query(["A", "B"], ...),
                lambda: [lineage.describe() for lineage in store.load("B", "A")],
            ):
                try:
                    found.append(ask())
                except dslog.DslogError:
                    found.append(None)
            sound = store.verify().ok
        return found, sound

    return run


def test_what_is_sound_is_read(forge):
    found, sound = forge('{"b":[10],"a":[10],"t":[[{"r":[[[[0,9]],["b0"]]]}]]}')
    assert found[0].indices().tolist() == [[3]]
    assert sound


@pytest.mark.parametrize("name", ROWS)
def test_hostile_rows(forge, name):
    found, sound = forge('{"b":[10],"a":[10],"t":[[{"r":[' + ROWS[name] + "]}]]}")
    assert found == [None] * 3
    assert not sound


@pytest.mark.parametrize("name", FACTORS)
def test_hostile_factors(forge, name):
    with bounded():
        found, sound = forge({"b": [10], "a": [10], "t": [[FACTORS[name]]]})
    assert found == [None] * 3
    assert not sound


GENUINE = [
    dslog.compress(np.c_[np.arange(10), np.arange(10)[::-1]], (10,), (10,)),
    dslog.compress(np.array([(i, j) for i in range(10) for j in range(i + 1)]), (10,), (10,)),
    dslog.compress(np.c_[np.arange(10), np.random.default_rng(1).permutation(10)], (10,), (10,)),
]
STRANGE = st.one_of(
    st.sampled_from(
        [-1, 0, 1, 9, 10, 1 << 31, HUGE, -HUGE, 1 << 70, 0.5, True, None, "b7", "", [], {}]
    ),
    st.integers(-20, 20),
    st.text(max_size=4),
)


def leaves(item, path=()):
    yield path
    pairs = (
        item.items()
        if isinstance(item, dict)
        else enumerate(item)
        if isinstance(item, list)
        else ()
    )
    for key, value in pairs:
        yield from leaves(value, (*path, key))


def test_headers_that_are_changed_anywhere(forge):
    """Fuzzed: a header with strange things in places is read as cells of its arrays, or refused."""

    @given(data=st.data(), which=st.integers(0, len(GENUINE) - 1))
    @settings(max_examples=60)
    def check(data, which):
        header = copy.deepcopy(json.loads(GENUINE[which].encode()[0]))
        for _ in range(data.draw(st.integers(1, 3))):
            *path, last = data.draw(st.sampled_from([p for p in leaves(header) if p]))
            place = header
            for key in path:
                place = place[key]
            place[last] = data.draw(STRANGE)
        with bounded():
            found, _ = forge(header)
        for cells in found[:2]:
            assert cells is None or (cells.indices() >= 0).all()
            assert cells is None or (cells.indices() < 10).all()

    check()


@pytest.mark.parametrize("value", ["../../x.parquet", "/etc/passwd", "a/b/c.parquet", "..", "x\0"])
def test_names_that_lead_out(large, change, tmp_path, value):
    outside = tmp_path / "x.parquet"
    outside.write_text("mine")
    change(large, "UPDATE files SET name = ?", value)
    with dslog.open(large) as store:
        with pytest.raises(dslog.CorruptError):
            store.prov_query(["B", "A"], 3)
        assert not store.verify().ok
        rows = np.c_[np.arange(4000), np.random.default_rng(0).permutation(4000)]
        with pytest.raises(dslog.CorruptError):  # would be moved over it
            store.lineage("B", "A", rows)
        store.gc(force=True)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe", "zero"])
def test_special_files_in_place_of_lineage(large, tmp_path, kind):
    file = next((large / FILES).iterdir())
    moved = file.rename(tmp_path / file.name)
    if kind == "link":
        file.symlink_to(moved)
    elif kind == "zero":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(tmp_path)
    with dslog.open(large, "r") as store:
        with pytest.raises(dslog.CorruptError):
            store.prov_query(["B", "A"], 3)
        assert not store.verify().ok


SHAPES = ["[-1]", "[1e9]", "null", f"[{HUGE},{HUGE}]", "[[]]", "{}", "[true]", "[" * 9999]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_are_none(large, change, shape):
    change(large, "UPDATE arrays SET shape = ? WHERE name = 'A'", shape, sealed="arrays")
    with dslog.open(large, "r") as store:
        for ask in (store.arrays, lambda: store.prov_query(["B", "A"], 3)):
            with pytest.raises(dslog.DslogError):
                ask()
        assert not store.verify().ok
