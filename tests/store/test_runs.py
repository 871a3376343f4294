"""Runs: what a name means, what is one node, and what becomes of a run that ends badly."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import dslog

OLD = Path(__file__).parent.parent / "data" / "stores" / "format-4"


def nightly(store, values, how=np.sum):
    with store.run("nightly", params={"how": how.__name__}) as run:
        how(store.track(values, "sales"), axis=1).named("total")
    return run


@pytest.fixture
def store(tmp_path):
    with dslog.open(tmp_path / "s") as opened:
        yield opened


def test_a_name_means_the_newest_run(store):
    first, other = np.ones((3, 2)), np.zeros((3, 2))
    for values in (first, other, first):
        nightly(store, values)
    assert [(run.number, run.name, run.state) for run in store.runs()] == [
        (1, "nightly", "done"),
        (2, "nightly", "done"),
        (3, "nightly", "done"),
    ]
    names = [array.name for array in store.arrays()]
    assert names == ["sales", "total@1", "sales@2", "total@2", "total"]
    assert store.backward("total", 1, to="sales").count == 2
    assert store.backward("total@2", 1, to="sales").count == 0
    assert store.backward("total@2", 1, to="sales@2").count == 2
    assert store.run(2).backward("total", 1, to="sales").count == 2
    assert store.run(3)["sales"] == store.run(1)["sales"] == "sales"  # the same source
    assert [one.array for one in store.impact("sales", (1, 1))] == ["total", "total@1"]


def test_every_verb_takes_versions(store):
    for values in (np.ones((3, 2)), np.zeros((3, 2))):
        nightly(store, values)
    for path in (["total@1", "sales@1"], ["total@2", "sales@2"]):
        assert store.prov_query(path, 1).count == 2
        assert store.explain(path, 1).cells == 2
        assert [info.out for info in store.lineages() if info.out == path[0]] in ([path[0]], [])
        assert len(store.load(*path)) == 1
        assert store.why(path[0], 1).arrays[0].cells.count == 2
    with pytest.raises(dslog.PathError):
        store.prov_query(["total@1", "sales@2"], 1)
    for name, said in (
        ("total@7", "no run 7"),
        ("totl@2", r"Run 2 has no 'totl'.*did|Did you mean"),
        ("total@2.9", "no array"),
    ):
        with pytest.raises(dslog.NotFoundError, match=said):
            store.backward(name, 1, to="sales")


def test_a_cell_that_is_run_ten_times(store):
    for time in range(10):
        x = store.track(np.full((2, 3), float(time)), "x")
        total = x.sum(axis=1).named("total")
    assert len(store.runs()) == 1
    assert total.name == "total"
    assert store.why("total", 0)["x"].count == 3
    assert store.why("total@1.4", 0)["x@1.4"].count == 3
    assert {f"total@1.{n}" for n in range(1, 10)} < {array.name for array in store.arrays()}
    x = store.track(np.full((2, 3), 4.0), "x")  # as the fifth time: the same source
    assert x.name == "x"
    assert store.forward("x", (0, 0), to="total@1.5").count == 1


def test_three_daily_sorts_are_not_united(store):
    for order in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        with store.run("daily"):
            store.array("scores", (3,))
            store.array("ranked", (3,))
            store.register_operation(
                "sort", ["scores"], ["ranked"], np.c_[np.arange(3), order], reuse=False
            )
    assert store.prov_query(["ranked", "scores"], 0).indices().tolist() == [[1]]
    assert store.prov_query(["ranked@1", "scores"], 0).indices().tolist() == [[2]]
    assert [a.name for a in store.arrays()].count("scores") == 1
    for order in ([0, 0, 0], [1, 1, 1]):
        with store.run("given"):
            store.lineage("ranked", "scores", np.c_[np.arange(3), order])
    assert store.prov_query(["ranked", "scores"], 0).indices().tolist() == [[1]]
    assert store.prov_query(["ranked@4", "scores"], 0).indices().tolist() == [[0]]


def test_a_run_that_fails(store):
    with store.run("good"):
        store.track(np.ones(3), "x").sum().named("total")
    with pytest.raises(ZeroDivisionError), store.run("bad"):  # noqa: PT012
        store.track(np.zeros(3), "x").sum().named("total")
        raise ZeroDivisionError("no sales")
    assert [(run.state, run.error) for run in store.runs()] == [
        ("done", None),
        ("failed", "ZeroDivisionError: no sales"),
    ]
    assert store.run(1)["total"] == "total"
    with store.run("one"), pytest.raises(dslog.StoreError, match="not over"), store.run("two"):
        pass


def start(path, code):
    code = "import os, sys, numpy as np, dslog\n" + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code, str(path)], check=False, env=os.environ)


def test_each_process_has_a_run(tmp_path):
    work = """
    store = dslog.open(sys.argv[1])
    x = store.track(np.arange(6.0).reshape(2, 3), "x")
    (x.sum(axis=1) * float(len(store.runs()))).named("total")
    """
    for end in ("", "store.close()", "raise KeyError('gone')", "store.flush(); os._exit(3)"):
        start(tmp_path / "s", textwrap.dedent(work) + end)
    with dslog.open(tmp_path / "s", "r") as store:
        states = [run.state for run in store.runs()]
        assert states == ["done", "done", "failed", "interrupted"]
        assert store.runs()[2].error == "KeyError: 'gone'"
        assert store.run(2)["total"] == "total"
        about = store.runs()[0].about
        assert {"user", "program", "versions"} <= about.keys()
        assert about["versions"]["numpy"] == np.__version__
        assert len([a for a in store.arrays() if a.name.startswith("x")]) >= 1
        assert store.run(4)["x"] == store.run(1)["x"] == "x"


def test_names_with_an_at_sign(store):
    store.track(np.ones(2), "me@home").sum().named("total")
    assert store.why("total", ())["me@home"].count == 2
    for bad in ("total@1", "total@1.2"):
        with pytest.raises(dslog.DslogError, match="means an array of a run"):
            store.track(np.ones(3), bad)
        with pytest.raises(dslog.DslogError, match="means an array of a run"):
            store.array(bad, (3,))


def test_an_old_store_is_run_1(tmp_path):
    shutil.copytree(OLD, tmp_path / "s")
    with dslog.open(tmp_path / "s") as store:
        (run,) = store.runs()
        assert (run.number, run.state) == (1, "done")
        assert {array.run for array in store.arrays()} == {1}
        assert store.values("x")[5, 9] == 59
        store.track(store.values("x"), "x").sum(axis=0).named("y")
        assert store.backward("y", 4, to="x").count == 6
        assert store.backward("y@1", (4,), to="x").count == 6
        assert [run.number for run in store.runs()] == [1, 2]


def test_definitions_of_another_run(tmp_path):
    path = tmp_path / "s"
    with dslog.open(path) as store:
        with store.run("one"):
            store.array("A", (3,))
            with pytest.raises(dslog.ShapeError):
                store.array("A", (4,))
        with store.run("two"):
            assert store.array("A", (3,)).number == 1
            assert store.array("A", (4,)).shape == (4,)
        assert [(a.name, a.shape) for a in store.arrays()] == [("A@1", (3,)), ("A", (4,))]


def test_kept_values_belong_to_a_version(store):
    for value in (1.0, 2.0, 3.0):
        with store.run("night"):
            store.track(np.full(4, value), "x", keep_values=True).sum().named("total")
    assert [store.values(f"total@{n}").item() for n in (1, 2, 3)] == [4, 8, 12]
    assert store.values("x").tolist() == [3, 3, 3, 3]
    assert store.why("total@2", ()).arrays[0].values == (2.0,) * 4
    assert store.verify().ok
