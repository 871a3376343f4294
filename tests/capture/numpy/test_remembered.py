"""The lineage of calls on large arrays is remembered while these stay as they are."""

import numpy as np
import pytest

import dslog
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy import registry as resolve


@pytest.fixture
def store():
    with dslog.open(":memory:") as store:
        yield store


@pytest.fixture
def large():
    """Every array counts as large."""
    with CaptureCost.using(reuse_cells=0):
        yield


def lineage(store, array):
    out = array.name
    (source,) = {info.in_ for info in store.lineages() if info.out == out}
    return store.load(out, source)[0]


def test_the_same_call_on_the_same_array(store, large, monkeypatch):
    x = store.track(np.random.default_rng(0).random(50), "x")
    first = np.sort(x)
    with monkeypatch.context() as patch:
        patch.setattr(resolve, "resolve", lambda *_, **__: pytest.fail("captured again"))
        second = np.sort(x)
    assert lineage(store, first) == lineage(store, second)
    assert [one.reused for one in store.operations()] == [None, "base_sig"]


def test_a_changed_array_is_another_one(store, large):
    x = store.track(np.array([3.0, 1.0, 2.0]), "x")
    first = np.sort(x)
    x[0] = 0.0
    second = np.sort(x)
    assert lineage(store, first).to_relation().tolist() == [[0, 1], [1, 2], [2, 0]]
    assert lineage(store, second).to_relation().tolist() == [[0, 0], [1, 1], [2, 2]]


def test_other_arguments_are_another_call(store, large):
    x = store.track(np.arange(6.0).reshape(2, 3)[:, ::-1].copy(), "x")
    rows, columns = np.sort(x, axis=1), np.sort(x, axis=0)
    assert not np.array_equal(
        lineage(store, rows).to_relation(), lineage(store, columns).to_relation()
    )


def test_values_never_count_by_shape(store, large):
    rng = np.random.default_rng(0)
    for k in range(4):
        values = rng.random(9)
        done = np.sort(store.track(values, f"x{k}"))
        order = lineage(store, done).to_relation()[:, 1]
        assert order.tolist() == np.argsort(values).tolist()
    assert not any(one.reused for one in store.operations())


def test_steps_of_a_group_are_one_operation(store, large):
    x = store.track(np.random.default_rng(0).random(50), "x")
    kept = []
    for _ in range(2):
        with dslog.operation("twice", store):
            kept.append(np.sort(np.sort(x)))
    assert [one.reused for one in store.operations()] == [None, None]


def test_memory_order_is_part_of_a_call(store, large):
    values = np.random.default_rng(0).random((5, 4))
    for k, array in enumerate((values, np.asfortranarray(values), values)):
        flat = store.track(array, f"x{k}").ravel(order="K")
        pairs = lineage(store, flat).to_relation()
        assert np.array_equal(values[pairs[:, 1], pairs[:, 2]], dslog.plain(flat))


def test_calls_of_the_same_form_have_the_same_lineage(store):
    """Formulas over shapes are found once; other shapes, arguments or layouts are other forms."""
    x = store.track(np.arange(6.0).reshape(2, 3), "x")
    first, second = x.sum(axis=0), (x + 0).sum(axis=0)
    assert store.load(first.name, "x")[0] == store.load(second.name, "x.add")[0]
    for array, axis, shape in ((x, 1, (2,)), (x.T, 0, (2,)), (x[:1], 0, (3,))):
        other = array.sum(axis=axis)
        assert store.load(other.name, array.name)[0].out_shape == shape
    assert not any(one.reused for one in store.operations())


def test_written_outputs_are_captured(store, large):
    x = store.track(np.array([3.0, 1.0, 2.0]), "x")
    y = store.track(np.zeros(3), "y")
    for _ in range(2):
        np.take(x, [2, 0, 1], out=y)
    assert dslog.CellSet.full((3,)) == store.backward(y.name, np.s_[:], to="x")
