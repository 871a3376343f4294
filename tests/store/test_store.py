import os
import threading

import numpy as np
import pytest

import dslog
from dslog.store import engines
from dslog.store.catalog import ArrayInfo
from dslog.store.files import CATALOG
from dslog.store.store_cost import StoreCost

SUM = np.array([(i, i, j) for i in range(3) for j in range(2)])


def test_the_running_example_survives_a_restart(tmp_path):
    with dslog.open(tmp_path / "deep" / "s") as store:
        assert store.array("A", (3, 2)) == ArrayInfo("A", (3, 2))
        store.array("B", 3)
        operation = store.register_operation("sum", ["A"], ["B"], [SUM], op_args={"axis": 1})
        asked = store.prov_query(["B", "A"], [(1,)])
    with dslog.open(str(tmp_path / "deep" / "s")) as store:
        assert store.arrays() == [ArrayInfo("A", (3, 2)), ArrayInfo("B", (3,))]
        assert store.operations() == [operation]
        assert store.prov_query(["B", "A"], [(1,)]) == asked
        assert asked.indices().tolist() == [[1, 0], [1, 1]]
        assert store.forward("A", (2, 0), to="B").indices().tolist() == [[2]]
        (info,) = store.lineages()
        assert (info.out, info.in_, info.op, info.num_rows) == ("B", "A", operation.id, 1)
        assert info.where == "catalog"


def test_large_lineage_goes_to_a_file(large, permutation):
    with dslog.open(large, mode="r") as store:
        (info,) = store.lineages()
        assert info.where == "files"
        assert store.stats()["files"] == len(list((large / "lineage").iterdir())) > 0
        relation = permutation(4000)
        assert store.prov_query(["B", "A"], 17).indices().tolist() == [[relation[17, 1]]]
        (lineage,) = store.load("B", "A")
        assert np.array_equal(lineage.to_relation(), relation)


def test_in_memory_leaves_nothing_behind(permutation, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with dslog.open(":memory:") as store:
        assert store.path is None
        store.array("A", (4000,))
        store.lineage("A", "A", permutation(4000))
        assert store.lineages()[0].where == "files"
        assert store.backward("A", 3, to="A")
        assert store.verify().ok
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_same_array_again_is_fine():
    with dslog.open(":memory:") as store:
        store.array("A", (3, 2))
        store.array("A", [np.int64(3), 2])
        assert len(store.arrays()) == 1


@pytest.mark.parametrize("shape", [(), (0,), (5, 0, 2), (10**9, 10**9), 7])
def test_shapes(shape):
    with dslog.open(":memory:") as store:
        info = store.array("A", shape)
        assert info.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert store.prov_query(["A"], ...).count == int(np.prod(info.shape, dtype=object))


def test_an_operation_with_several_arrays():
    """Captures come one per pair, outputs outermost; None is a pair without lineage."""
    same = np.stack([np.arange(4)] * 2, axis=1)
    flip = np.stack([np.arange(4), np.arange(4)[::-1]], axis=1)
    with dslog.open(":memory:") as store:
        for name in ("A1", "A2", "B1", "B2"):
            store.array(name, (4,))
        captures = [same, flip, None, lambda i: [i]]
        operation = store.register_operation("f", ["A1", "A2"], ["B1", "B2"], captures)
        assert (operation.inputs, operation.outputs) == (("A1", "A2"), ("B1", "B2"))
        assert store.prov_query(["B1", "A1"], 0).indices().tolist() == [[0]]
        assert store.prov_query(["B1", "A2"], 0).indices().tolist() == [[3]]
        assert store.prov_query(["B2", "A2"], 1).indices().tolist() == [[1]]
        assert not store.prov_query(["B2", "A1"], 0)  # it was taken, and is from nothing
        assert [(i.out, i.in_) for i in store.lineages()] == [
            ("B1", "A1"),
            ("B1", "A2"),
            ("B2", "A2"),
        ]


def test_an_operation_without_inputs_needs_no_capture():
    with dslog.open(":memory:") as store:
        store.array("A", (4,))
        operation = store.register_operation("zeros", [], ["A"], op_args={"shape": (4,)})
        assert operation.inputs == ()
        assert store.operations() == [operation]


def test_one_name_may_come_bare():
    with dslog.open(":memory:") as store:
        store.array("long name", (4,))
        operation = store.register_operation("f", "long name", "long name", lambda i: [i])
        assert operation.inputs == operation.outputs == ("long name",)


def test_an_array_may_come_from_several_operations_and_be_used_twice():
    with dslog.open(":memory:") as store:
        store.array("A", (5,))
        store.array("B", (5,))
        store.register_operation("add", ["A", "A"], ["B"], [lambda i: [i], lambda i: [i]])
        store.register_operation("last", ["A"], ["B"], lambda i: [4])
        assert store.prov_query(["B", "A"], 1).indices().ravel().tolist() == [1, 4]
        assert store.stats()["lineages"] == 3
        assert store.stats()["stored_lineages"] == 2


def test_a_superset_labels_its_operation():
    lineage = dslog.compress(SUM, (3,), (3, 2)).with_exact(False)
    with dslog.open(":memory:") as store:
        store.array("A", (3, 2))
        store.array("B", (3,))
        assert not store.register_operation("f", ["A"], ["B"], lineage).exact
        assert not store.operations()[0].exact
        assert not store.lineages()[0].exact
        assert store.stats()["superset_lineages"] == 1


def test_the_same_lineage_again_changes_nothing(tmp_path, snapshot, permutation):
    with dslog.open(tmp_path / "s") as store:
        store.array("A", (4000,))
        store.array("B", (4000,))
        relations = [permutation(4000), np.stack([np.arange(4000)] * 2, axis=1)]
        for relation in relations:
            store.lineage("B", "A", relation)
        before = snapshot(tmp_path / "s")
        infos = [store.lineage("B", "A", relation) for relation in relations]
        assert snapshot(tmp_path / "s") == before
        assert [info.where for info in infos] == ["files", "catalog"]
        store.register_operation("f", ["A"], ["B"], relations[0])
        assert snapshot(tmp_path / "s")[1] == before[1] != {}
        assert store.stats()["stored_lineages"] == 2


def test_lineage_is_loaded_once(large, monkeypatch):
    calls = []
    read = engines.unpack_body
    monkeypatch.setattr(engines, "unpack_body", lambda *a: calls.append(a) or read(*a))
    with dslog.open(large) as store:
        for _ in range(3):
            store.prov_query(["B", "A"], 5)
        assert len(calls) == 1


def test_the_cache_drops_what_was_used_longest_ago(tmp_path, permutation, monkeypatch):
    loaded = []
    read = engines.unpack_body
    monkeypatch.setattr(engines, "unpack_body", lambda n, *a: loaded.append(n) or read(n, *a))
    two = StoreCost.using(cache_bytes=400_000)  # two lineages of 4000 rows
    with two, dslog.open(tmp_path) as store:
        store.array("A", (4000,))
        for at, name in enumerate("BCD"):
            store.array(name, (4000,))
            store.lineage(name, "A", permutation(4000, seed=at))
        for name in "BCBDBC":
            store.prov_query([name, "A"], 0)
        assert len(loaded) == 4
        assert loaded[-1] == loaded[1]


def test_a_store_used_by_threads(tmp_path):
    failures = []

    def work(name):
        try:
            for at in range(10):
                array = f"{name}{at}"
                store.array(array, (100,))
                store.register_operation("f", ["A"], [array], lambda i: [i])
                assert store.backward(array, 7, to="A").indices().tolist() == [[7]]
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    with dslog.open(tmp_path / "s") as store:
        store.array("A", (100,))
        threads = [threading.Thread(target=work, args=(name,)) for name in "bcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.stats()["operations"] == 50
        assert store.verify().ok


def test_two_stores_on_one_directory_see_each_other(tmp_path):
    with dslog.open(tmp_path) as one, dslog.open(tmp_path) as two, dslog.open(tmp_path, "r") as r:
        one.array("A", (4,))
        two.register_operation("f", ["A"], ["A"], lambda i: [0])
        assert one.backward("A", 3, to="A").count == 2
        assert r.forward("A", 0, to="A").count == 4


def test_growth_per_operation(tmp_path):
    """A registered operation with one output, one input and small lineage costs at most 1 KB."""

    def size():
        return sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())

    def grow(first, count):
        with dslog.open(tmp_path) as store:
            store.array("image_0000", (1080, 1920))
            for at in range(first, first + count):
                before, after = f"image_{at:04}", f"image_{at + 1:04}"
                store.array(after, (1080, 1920))
                cells = [(i, j, (i + at) % 1080, j) for i in (0, 500) for j in range(20)]
                lineage = dslog.compress(cells, (1080, 1920), (1080, 1920))
                args = {"shift": at, "axis": 0}
                store.register_operation("roll", [before], [after], lineage, op_args=args)

    grow(0, 10)
    before = size()
    grow(10, 400)
    assert (size() - before) / 400 <= 1024
    assert sorted(path.name for path in tmp_path.iterdir()) == [CATALOG]


def test_stats(large):
    with dslog.open(large) as store:
        stats = store.stats()
        assert stats["path"] == str(large)
        assert (stats["arrays"], stats["operations"], stats["lineages"]) == (2, 1, 1)
        on_disk = sum(path.stat().st_size for path in (large / "lineage").iterdir())
        assert stats["file_bytes"] == on_disk
        assert stats["store_bytes"] == stats["catalog_bytes"] + on_disk
        assert stats["lineage_bytes"] > on_disk


def test_closing(tmp_path):
    store = dslog.open(tmp_path)
    assert repr(store) == f"Store({str(tmp_path)!r})"
    store.close()
    store.close()
    with pytest.raises(dslog.StoreError, match="closed"):
        store.arrays()


def test_a_forked_child_has_its_own_connection(tmp_path):
    with dslog.open(tmp_path) as store:
        store.array("A", (1,))
        child = os.fork()
        if child == 0:
            try:
                store.array("B", (2,))
                os._exit(len(store.arrays()))
            finally:
                os._exit(99)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 2
        store.array("C", (1,))
        assert [array.name for array in store.arrays()] == ["A", "B", "C"]
        assert store.verify().ok
