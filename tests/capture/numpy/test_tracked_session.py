"""What reaches the store, when, and under which names."""

import gc
import multiprocessing
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest
from tracked_shadow import cell, cells

import dslog
from dslog.capture.capture_cost import CaptureCost
from dslog.store.commit import Commit
from dslog.store.sqlite import SqliteTransaction


@pytest.fixture
def store(tmp_path):
    with dslog.open(tmp_path / "store") as opened:
        yield opened


def array_names(store):
    return [array.name for array in store.arrays()]


# names


def test_results_have_readable_names(store):
    x = store.track(np.arange(4.0), "A")
    assert [x.name, x.sum().name, x.sum().name, (x + 1).name] == ["A", "A.sum", "A.sum_2", "A.add"]
    assert np.linalg.norm(x).name == "A.norm"
    assert np.add.reduce(x).name == "A.add_reduce"
    assert x.sum().reshape(1).name == "A.reshape"
    x[0] = 1
    assert x.name == "A.1"
    x += 1
    assert x.name == "A.2"
    assert (x * 2).name == "A.multiply"
    assert store.track([1, 2]).name == "array"
    assert store.track([1, 2]).name == "array_2"
    assert store.track(np.zeros(2), name="N").name == "N"


def test_naming_a_result(store):
    x = store.track(np.arange(4.0), "A")
    y = x.sum().named("B").named("B")
    assert y.name == "B"
    assert "A.sum" not in array_names(store)
    assert (y + 1).name == "B.add"
    assert cells(store, y, "A") == [(0,), (1,), (2,), (3,)]


def test_naming_a_result_that_is_stored_already(store):
    x = store.track(np.arange(4.0), "A")
    y = x * 2
    view = y[1:]
    store.flush()
    y.named("B")
    view.named("V")
    assert {"A.multiply", "B", "V"} <= set(array_names(store))
    assert cell(store, y, (2,), "A") == [(2,)]
    assert cell(store, view, (0,), "A") == [(1,)]
    y[0] = 1
    assert y.name == "B.1"
    assert x.named("A") is x


def test_names_that_are_taken_get_versions(store):
    x = store.track(np.arange(4.0), "A")
    store.array("B", (4,))
    (x + 1).named("B")
    assert store.backward("B", 2, to="A").count == 1
    again = (x * 2).named("A")
    assert (again.name, x.name) == ("A", "A@1.1")
    assert store.backward("A", 2, to="A@1.1").indices().tolist() == [[2]]
    assert store.track(np.zeros(3), "A").name == "A"
    assert again.name == "A@1.2"
    with pytest.raises(dslog.CaptureError, match="not tracked"):
        np.zeros(3).view(dslog.TrackedArray).named("Z")
    with pytest.raises(dslog.DslogError):
        (x + 1).named("")


def test_tracking_a_stored_array_goes_on_from_it(tmp_path):
    with dslog.open(tmp_path / "s") as store:
        (store.track(np.arange(3.0), "A") + 1).named("B")
    with dslog.open(tmp_path / "s") as store:
        y = store.track(np.arange(3.0), "B") * 2
        assert y.name == "B.multiply"
        assert cell(store, y, (1,), "A") == [(1,)]
        assert store.track(np.arange(3.0), "B").name == "B"


# commits


def test_calls_wait_and_are_committed_together(store, monkeypatch):
    commits = []
    monkeypatch.setattr(Commit, "operations", _counting(Commit.operations, commits))
    x = store.track(np.arange(4.0), "A")
    y = ((x + 1) * 2).sum()
    assert commits == []
    assert [op.name for op in store.operations()] == ["add", "multiply", "sum"]
    assert commits == [3]
    assert store.load(y.name, "A.multiply")
    assert commits == [3]


def _counting(commit, commits):
    def counted(self, drafts, *rest):
        commits.append(len(drafts))
        return commit(self, drafts, *rest)

    return counted


def test_many_calls_are_committed_on_the_way(store):
    x = store.track(np.arange(2.0), "A")
    with CaptureCost.using(waiting_steps=10):
        for _ in range(25):
            x = x + 1
    with dslog.open(store.path, "r") as other:
        assert len(other.operations()) == 20
    x.named("last")
    assert len(store.operations()) == 25


def test_every_way_to_read_sees_what_was_captured(store):
    x = store.track(np.arange(3.0), "A")
    reads = [
        lambda y: store.prov_query([y.name, "A"], [(0,)]),
        lambda y: store.backward(y.name, [(0,)], "A"),
        lambda y: store.forward("A", [(0,)], y.name),
        lambda y: store.explain([y.name, "A"], [(0,)]),
        lambda y: store.load(y.name, "A"),
        lambda y: store.array(y.name, (3,)),
        lambda y: store.lineage(y.name, "A", [[0, 0]]),
        lambda y: store.register_operation("more", ["A"], [y.name], [np.array([[0, 0]])]),
        lambda y: next(a for a in store.arrays() if a.name == y.name),
        lambda y: next(o for o in store.operations() if o.outputs == (y.name,)),
        lambda y: next(i for i in store.lineages() if i.out == y.name),
        lambda _: store.verify().problems == [],
    ]
    for read in reads:
        assert read(x + 1) is not None
    arrays = store.stats()["arrays"]
    _ = x * 2
    assert store.stats()["arrays"] == arrays + 1


def test_a_failed_commit_loses_nothing(store, monkeypatch):
    x = store.track(np.arange(3.0), "A")
    y = x + 1
    with monkeypatch.context() as patch:
        patch.setattr(Commit, "operations", _fail)
        with pytest.raises(OSError, match="no space"):
            store.flush()
    assert cell(store, y, (1,), "A") == [(1,)]


def _fail(*_):
    raise OSError("no space left on device")


def test_large_lineage_goes_to_files(store, monkeypatch):
    x = store.track(np.random.default_rng(0).random(5000), "A")
    y = np.sort(x)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "add_operation", _fail)
        with pytest.raises(OSError, match="no space"):
            store.flush()
    assert store.gc(force=True).files == 0  # what was written went with the commit
    smallest = int(dslog.plain(x).argmin())
    assert cell(store, y, (0,), "A") == [(smallest,)]
    (stored,) = [info for info in store.lineages() if info.out == y.name]
    assert stored.where == "files"
    assert store.verify().ok


def test_a_store_that_is_never_closed_is_complete_at_the_end(tmp_path):
    code = f"""
        import numpy as np, dslog
        store = dslog.open({str(tmp_path / "s")!r})
        y = (store.track(np.arange(3.0), "A") + 1).named("B")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    with dslog.open(tmp_path / "s", "r") as store:
        assert store.backward("B", [(1,)], "A").indices().tolist() == [[1]]


def test_read_only_stores_do_not_track(store):
    store.array("A", (3,))
    with dslog.open(store.path, "r") as other, pytest.raises(dslog.StoreError):
        other.track(np.zeros(3), "A")


def _work(path, number):
    with dslog.open(path) as store:
        x = store.track(np.arange(4.0), "A")
        for _ in range(5):
            y = x[number:] * 2
            assert store.backward(y.name, [(0,)], "A").indices().tolist() == [[number]]


def test_processes_do_not_take_each_others_names(tmp_path):
    dslog.open(tmp_path / "s").close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(tmp_path / "s", n)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with dslog.open(tmp_path / "s", "r") as store:
        assert len(store.operations()) == 20
        assert store.verify().ok


def test_a_name_taken_before_the_commit(store):
    x = store.track(np.arange(4.0), "A")
    store.flush()
    y = x + 1
    with dslog.open(store.path) as other:
        other.array("A.add", (7,))
    assert cell(store, y, (1,), "A") == [(1,)]
    assert y.name == "A.add_2"


def test_threads(store):
    x = store.track(np.arange(4.0), "A")
    found = []

    def work(number):
        for _ in range(20):
            y = (x + number)[number:]
            found.append((y.name, number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({name for name, _ in found}) == 60
    for name, number in found[::7]:
        assert store.backward(name, [(0,)], "A").indices().tolist() == [[number]]


def test_a_thread_asks_while_another_captures(store):
    """A question reads the catalog several times: none of those may commit what came meanwhile."""
    x = store.track(np.arange(4.0), "A")
    done = threading.Event()

    def work():
        try:
            for _ in range(300):
                x + 1
        finally:
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    asked = 0
    while not done.is_set() or asked < 3:
        assert store.verify().ok
        assert all(operation.inputs for operation in store.operations())
        assert store.impact("A", (0,)).exact
        asked += 1
    thread.join()
    assert len(store.operations()) == 300


# values


def test_values_die_with_their_arrays(store):
    x = store.track(np.arange(1000.0), "A")
    y = x + 1
    view = y[10:]
    gone = weakref.ref(y)
    base = weakref.ref(dslog.plain(y))
    del y, view
    gc.collect()
    assert gone() is None
    assert base() is None
    assert store.backward("A.getitem", [(0,)], "A").indices().tolist() == [[10]]


def test_results_are_freed_without_the_collector(store):
    x = store.track(np.arange(1000.0), "A")
    gc.disable()
    try:
        y = (x + 1)[::2] * 2
        gone = weakref.ref(y)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_values_are_kept_on_demand(store):
    x = store.track(np.arange(3.0), "A", keep_values=True)
    y = (x * 2).named("B")
    view = y[1:]
    x[0] = 7
    assert store.values("A").tolist() == [0, 1, 2]
    assert store.values("B").tolist() == [0, 2, 4]
    assert store.values(view.name).tolist() == [2, 4]
    assert store.values(x.name).tolist() == [7, 1, 2]
    z = store.track(np.zeros(2), "Z") + 1
    with pytest.raises(dslog.NotFoundError, match="keep_values"):
        store.values(z.name)
    with dslog.operation("twice", store) as op:
        inside = x * 3
        outside = inside + 1
        op.keep(outside)
    assert store.values(outside.name).tolist() == [22, 4, 7]
    with dslog.open(store.path, "r") as other:
        assert other.values("B").tolist() == [0, 2, 4]
    with dslog.open(":memory:") as memory:
        memory.track(np.zeros(2), "A/1", keep_values=True)
        memory.track(np.array([{}]), "O", keep_values=True)  # no pickles
        assert memory.values("A/1").tolist() == [0, 0]
        with pytest.raises(dslog.NotFoundError):
            memory.values("O")


def test_two_who_bring_the_same_array_at_once(store):
    x = store.track(np.arange(4.0), "A")
    with dslog.open(store.path) as other:
        y = other.track(np.arange(4.0), "A") + 1
        assert y.name == "A.add"
    assert cell(store, x * 2, (1,), "A") == [(1,)]
    assert [array.name for array in store.arrays()] == ["A", "A.add", "A.multiply"]


# what others make of numpy's functions while a store tracks

COMPILED = """
import numpy as np, numba, dslog

@numba.njit(cache=False)
def early(x):
    return np.zeros_like(x) + np.sum(x) + np.ones(3) + np.asarray(x)

with dslog.open(":memory:") as store:
    store.track(np.zeros(3))
    values = dslog.plain(np.ones(3))
    assert early(values).tolist() == [5, 5, 5]

    @numba.njit(cache=False)
    def while_tracking(x):
        return np.cumsum(x) + np.full_like(x, 1)

    assert while_tracking(values).tolist() == [2, 3, 4]

@numba.njit(cache=False)
def late(x):
    return np.cumsum(x) + np.full_like(x, 1)

assert late(np.ones(3)).tolist() == [2, 3, 4]
"""


@pytest.mark.compiled
def test_numba_compiles_while_a_store_tracks():
    subprocess.run([sys.executable, "-c", COMPILED], check=True)


HULL = """
import numpy as np, dslog
from scipy.spatial import ConvexHull

def hull(x):
    points = np.ascontiguousarray(x)
    return ConvexHull(points).volume

values = np.random.default_rng(0).random((9, 2))
with dslog.open(":memory:", leaks="ignore") as store:
    assert hull(store.track(values)) == hull(values)
    assert len(store.leaks()) == 1
"""


def test_compiled_code_gets_arrays_whatever_its_caller_says():
    """It calls np.ascontiguousarray too, and reads the memory of what that gives."""
    pytest.importorskip("scipy.spatial")
    subprocess.run([sys.executable, "-c", HULL], check=True)
