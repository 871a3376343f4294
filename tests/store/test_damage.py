"""Whatever is damaged, an answer is right or an error: random damage to every file and table."""

import random
import shutil

import numpy as np
import pytest

import dslog
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.part_files import read_footer
from dslog.store.files import CATALOG

N = 20_000
PAIRS = (("B", "A", 3), ("P", "A", 77), ("G", "P", 5), ("L", "A", 1234), ("G", "A", 7))


@pytest.fixture(scope="module")
def sound(tmp_path_factory, spark):
    """A store with lineage in its catalog, in a file, and in part files, and what it answers."""
    path = tmp_path_factory.mktemp("sound") / "s"
    rng = np.random.default_rng(1)
    with dslog.open(path, leaks="ignore") as store, pytest.MonkeyPatch.context() as patch:
        for name, size in {"A": N, "B": N, "P": N, "G": 40, "L": N}.items():
            store.array(name, (size,))
        store.register_operation("flip", ["A"], ["B"], np.c_[np.arange(N), np.arange(N)[::-1]])
        store.register_operation("sort", ["A"], ["P"], np.c_[np.arange(N), rng.permutation(N)])
        store.lineage("G", "P", np.c_[rng.integers(0, 40, N), np.arange(N)])
        patch.setenv("DSLOG_COLLECT_ROWS", "1000")
        patch.setenv("DSLOG_PARTITION_ROWS", "8192")
        with LineageCost.using(group_rows=2048):
            rows = np.c_[np.arange(N), rng.permutation(N)]
            store.lineage("L", "A", rows, engine="spark")
        x = store.track(np.arange(6.0), "x", keep_values=True)
        for at in range(40):
            x = (x + 1).named(f"x{at}")
        float(x[0])
    return path, answers(path)


QUESTIONS = (
    *(
        lambda s, out=out, in_=in_, cell=cell: s.prov_query([out, in_], [(cell,)]).indices()
        for out, in_, cell in PAIRS[:4]
    ),
    *(
        lambda s, out=out, in_=in_, cell=cell: s.backward(out, cell, in_).indices()
        for out, in_, cell in PAIRS
    ),
    lambda s: sorted(one.array for one in s.impact("A", 5)),
    lambda s: [one.values for one in s.why("x39", 2)],
    lambda s: s.backward("x39", 1, "x"),
    lambda s: s.arrays(),
    lambda s: s.operations(),
    lambda s: s.lineages(),
    lambda s: s.leaks(),
    lambda s: s.values("x7").tolist(),
)


def answers(path):
    """What a store says to each question: as text, with the labels, or that there is an error."""
    read_footer.cache_clear()
    found = []
    try:
        with dslog.open(path, "r") as store:
            for ask in QUESTIONS:
                try:
                    found.append(repr(ask(store)))
                except dslog.DslogError:
                    found.append("error")
    except dslog.DslogError:
        return ["error"] * len(QUESTIONS)
    return found


def damage(path, files, rng):
    kind = rng.choice(["flip", "flip", "flip", "zero", "cut", "swap", "tail"])
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    if kind == "flip":
        content[at] ^= 1 << rng.randrange(8)
    elif kind == "zero":
        content[at : at + 200] = bytes(len(content[at : at + 200]))
    elif kind == "cut":
        del content[at:]
    elif kind == "tail":
        content[-min(rng.randrange(1, 300), len(content))] ^= 255
    else:
        other = rng.choice([file for file in files if file.suffix == path.suffix])
        content, there = other.read_bytes(), bytes(content)
        other.write_bytes(there)
    path.write_bytes(content)
    return kind


@pytest.mark.parametrize("seed", range(4))
def test_random_damage(sound, tmp_path, seed, request):
    """Right or an error; and a store that answers all is one in which nothing was hit."""
    path, expected = sound
    assert "error" not in expected
    rng = random.Random(seed)
    rounds = 25 if request.config.getoption("--hypothesis-profile", None) is None else 500
    for _ in range(rounds):
        copy = shutil.copytree(path, tmp_path / "copy")
        files = sorted(file for file in copy.rglob("*") if file.is_file() and file.stat().st_size)
        catalog = [copy / CATALOG] * len(files)  # where most can go wrong
        hit = rng.choice([*files, *catalog])
        kind = damage(hit, files, rng)
        for question, (found, right) in enumerate(zip(answers(copy), expected, strict=True)):
            assert found in (right, "error"), (kind, hit.name, question, found[:300], right[:300])
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM lineages WHERE id = 2",
        "DELETE FROM operation_arrays WHERE operation = 2 AND role = 0",
        "DELETE FROM operations WHERE id = 2",
        "DELETE FROM bodies WHERE id = 2",
        "DELETE FROM leaks",
        "DELETE FROM arrays WHERE name = 'P'",
        "UPDATE lineages SET body = 1 WHERE id = 2",
        "UPDATE lineages SET input = output WHERE id = 2",
        "UPDATE arrays SET name = 'Q' WHERE name = 'P'",
        "UPDATE arrays SET shape = '[7]' WHERE name = 'P'",
        "UPDATE operations SET predicted = 1",
        "UPDATE operations SET args = '{}', name = 'other'",
        "UPDATE bodies SET exact = 1 - exact",
        "UPDATE bodies SET num_rows = num_rows + 1",
        "UPDATE leaks SET loses = 0",
        "UPDATE files SET name = (SELECT min(name) FROM files)",
        "UPDATE meta SET value = '1 2 3 4 5 6' WHERE key = 'rows'",
    ],
)
def test_rows_that_are_changed_or_gone(sound, tmp_path, change, sql):
    path, expected = sound
    copy = shutil.copytree(path, tmp_path / "copy")
    change(copy, sql)
    found = answers(copy)
    assert all(one in (right, "error") for one, right in zip(found, expected, strict=True))
    with dslog.open(copy, "r") as store:
        assert not store.verify().ok
    assert "error" in found


def test_an_error_names_the_arrays(sound, tmp_path):
    copy = shutil.copytree(sound[0], tmp_path / "copy")
    for file in (copy / "lineage").rglob("*.parquet"):
        file.write_bytes(b"x" * file.stat().st_size)
    read_footer.cache_clear()
    with dslog.open(copy, "r") as store:
        for out, in_ in (("P", "A"), ("L", "A")):
            with pytest.raises(dslog.CorruptError, match=rf"'{out}' and '{in_}'.*checksum differs"):
                store.prov_query([out, in_], [(3,)])


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM lineages WHERE id = 2",
        "DELETE FROM lineages WHERE output = (SELECT id FROM arrays WHERE name = 'x20')",
        "UPDATE lineages SET body = 1 WHERE id = 2",
        "UPDATE arrays SET name = 'Q' WHERE name = 'P'",
        "UPDATE operations SET args = '{}' WHERE id = 5",
        "UPDATE leaks SET loses = 0",
        "UPDATE bodies SET header = replace(header, '1', '2') WHERE id = 1",
        "SELECT 1",
    ],
)
def test_repair_keeps_what_is_sound(sound, tmp_path, change, sql):
    """What is left answers right, or says that it may be incomplete."""
    path, _ = sound
    copy = shutil.copytree(path, tmp_path / "copy")
    change(copy, sql)
    broken = answers(copy)
    report = dslog.repair(copy)
    assert bool(report.lost) == (sql != "SELECT 1")
    with dslog.open(copy) as store:
        assert store.verify().ok
        for out, in_, cell in PAIRS:
            try:
                found = store.backward(out, cell, in_)
            except dslog.DslogError:
                continue
            with dslog.open(path, "r") as old:
                right = old.backward(out, cell, in_)
            assert found.indices().tolist() == right.indices().tolist() or not found.complete
        assert store.array("new", (3,)).shape == (3,)
    if report.lost:
        assert (copy / report.kept).exists()
        assert answers(copy).count("error") <= broken.count("error")
        assert not dslog.repair(copy).lost


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_repair_of_damaged_pages(sound, tmp_path, at):
    copy = shutil.copytree(sound[0], tmp_path / "copy")
    content = bytearray((copy / CATALOG).read_bytes())
    start = int(len(content) * at) // 4096 * 4096
    content[start : start + 4096] = b"\xa5" * 4096
    (copy / CATALOG).write_bytes(content)
    assert dslog.repair(copy).lost
    with dslog.open(copy) as store:
        assert store.verify().ok
        names = {array.name for array in store.arrays()}
        if {"x", "x39"} <= names:
            right = [[2]]
            found = store.backward("x39", 2, "x")
            assert found.indices().tolist() == right or not found.complete
