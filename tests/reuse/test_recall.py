"""Slow numpy captures are remembered by a session."""

from itertools import count

import numpy as np
import pytest

import dslog
from dslog.capture.numpy import call_reuse as recall


@pytest.fixture
def slow(monkeypatch):
    """Every capture takes a second."""
    seconds = count()
    monkeypatch.setattr(recall.Recall, "clock", lambda _: next(seconds))


def lineage(store, array):
    out = array.name
    (source,) = {info.in_ for info in store.lineages() if info.out == out}
    return store.load(out, source)[0]


def test_the_same_call_on_the_same_array(store, slow, monkeypatch):
    x = store.track(np.random.default_rng(0).random(50), "x")
    first = np.sort(x)
    with monkeypatch.context() as patch:
        patch.setattr(recall, "find_lineages", lambda *_, **__: pytest.fail("captured again"))
        second = np.sort(x)
    assert lineage(store, first) == lineage(store, second)
    assert store.session.recall.hits == 1
    assert [one.reused for one in store.operations()] == [None, "base_sig"]
    (stats,) = store.reuse_stats()
    assert (stats.name, stats.hits) == ("sort", 1)
    assert stats.saved == 1.0


def test_a_changed_array_is_another_one(store, slow):
    x = store.track(np.array([3.0, 1.0, 2.0]), "x")
    first = np.sort(x)
    x[0] = 0.0
    second = np.sort(x)
    assert lineage(store, first).to_relation().tolist() == [[0, 1], [1, 2], [2, 0]]
    assert lineage(store, second).to_relation().tolist() == [[0, 0], [1, 1], [2, 2]]


def test_other_arguments_are_another_call(store, slow):
    x = store.track(np.arange(6.0).reshape(2, 3)[:, ::-1].copy(), "x")
    rows, columns = np.sort(x, axis=1), np.sort(x, axis=0)
    assert not np.array_equal(
        lineage(store, rows).to_relation(), lineage(store, columns).to_relation()
    )


def test_values_never_count_by_shape(store, slow):
    rng = np.random.default_rng(0)
    for k in range(4):
        values = rng.random(9)
        done = np.sort(store.track(values, f"x{k}"))
        order = lineage(store, done).to_relation()[:, 1]
        assert order.tolist() == np.argsort(values).tolist()
    assert store.session.recall.hits == 0


def test_moves_follow_a_formula(store, slow):
    """ravel in Fortran order runs on positions: once known, at any shape."""
    found = []
    for n, m in ((9, 14), (12, 8), (16, 21), (10, 13), (30, 7), (40, 50)):
        x = store.track(np.random.default_rng(n).random((n, m)), f"x{n}")
        before = store.session.recall.hits
        flat = x.ravel(order="F")
        found.append(store.session.recall.hits - before)
        expected = np.arange(n * m).reshape(n, m).ravel(order="F")
        pairs = lineage(store, flat).to_relation()
        assert (pairs[:, 1] * m + pairs[:, 2]).tolist() == expected.tolist()
    assert sum(found) >= 1
    assert [one.reused for one in store.operations()].count("gen_sig") == sum(found)
    (stats,) = store.reuse_stats()
    assert (stats.name, stats.hits) == ("ravel", sum(found))
    (signature,) = stats.signatures
    assert signature.args == {"order": "F"}
    assert signature.formulas == ("out[i] <- in[i%D0, i//D0]",)


def test_steps_of_a_group_are_one_operation(store, slow):
    x = store.track(np.random.default_rng(0).random(50), "x")
    kept = []
    for _ in range(2):
        with dslog.operation("twice", store):
            kept.append(np.sort(np.sort(x)))
    assert [one.reused for one in store.operations()] == [None, None]


def test_memory_order_is_part_of_a_call(store, slow):
    values = np.random.default_rng(0).random((5, 4))
    for k, array in enumerate((values, np.asfortranarray(values), values)):
        flat = store.track(array, f"x{k}").ravel(order="K")
        pairs = lineage(store, flat).to_relation()
        assert np.array_equal(values[pairs[:, 1], pairs[:, 2]], np.asarray(flat))


def test_quick_functions_are_not_looked_up(store):
    x = store.track(np.arange(9.0), "x")
    for _ in range(3):
        x = x + 1
    assert store.session.recall.hits == 0
    assert not store.session.recall._slow


def test_written_outputs_are_captured(store, slow):
    x = store.track(np.array([3.0, 1.0, 2.0]), "x")
    y = store.track(np.zeros(3), "y")
    for _ in range(2):
        np.take(x, [2, 0, 1], out=y)
    assert dslog.CellSet.full((3,)) == store.backward(y.name, np.s_[:], to="x")
