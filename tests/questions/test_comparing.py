"""``diff`` against what was changed in a pipeline, relation by relation."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import in_memory, pipelines, relation_between

import dslog
from dslog.questions.questions_cost import QuestionsCost


@given(pipelines())
def test_a_run_is_the_same_as_itself(pipeline):
    with pipeline.fill(in_memory()) as one, pipeline.fill(in_memory()) as other:
        found = one.diff(one, other)
        assert not found
        assert found.same == len(pipeline.calls)
        assert "are the same" in str(found)


@given(pipelines(), st.data())
def test_lineage_that_changed(pipeline, data):
    other = copy.deepcopy(pipeline)
    expected = {}
    for *_, found in other.calls:
        for (out, in_), pairs in found.items():
            shapes = other.shapes[out], other.shapes[in_]
            if data.draw(st.booleans()):
                found[out, in_] = data.draw(relation_between(*shapes))
                lost, gained = pairs - found[out, in_], found[out, in_] - pairs
                if lost or gained:
                    expected[out, in_] = (len(lost), len(gained), {b for b, _ in lost | gained})
    with pipeline.fill(in_memory()) as before, other.fill(in_memory()) as after:
        changed = before.diff(before, after).changed
    found = {
        (one.out, one.in_): (
            one.lost, one.gained, {tuple(cell) for cell in one.cells.indices().tolist()}
        )
        for change in changed
        for one in change.lineage
    }  # fmt: skip
    assert found == expected


@given(pipelines(arrays=7), st.data())
def test_calls_that_were_taken_out(pipeline, data):
    gone = data.draw(st.sets(st.integers(0, len(pipeline.calls) - 1)))
    other = copy.deepcopy(pipeline)
    other.calls = [call for k, call in enumerate(other.calls) if k not in gone]
    outputs = [outputs for k, (*_, outputs, _) in enumerate(pipeline.calls) if k in gone]
    with pipeline.fill(in_memory()) as before, other.fill(in_memory()) as after:
        found = before.diff(before, after)
        assert [list(call.outputs) for call in found.removed] == outputs
        assert (found.added, found.changed) == ((), ())
        back = before.diff(after, before)
        assert [list(call.outputs) for call in back.added] == outputs
        assert back.same == found.same == len(other.calls)


def run(values, limit=25, *, extra=False, axis=1):
    store = dslog.open(":memory:")
    points = store.track(np.array(values), "points")
    if extra:
        points = points * 1
    score = points.sum(axis=axis)
    (score[score > limit]).named("passed")
    return store


POINTS = [[9, 7, 8], [3, 9, 14], [10, 6, 7]]


def test_arguments_and_shapes():
    with run(POINTS, 20) as before, run(POINTS, 23) as after:
        found = before.diff(before, after)
        assert str(found.changed[0]).endswith("x2: 20 -> 23")
        assert found.changed[-1].shapes[0].before == (3,)
        assert found.changed[-1].shapes[0].after == (2,)
        assert found.same == 1
        assert found.to_dict()["changed"][0]["arguments"] == {"x2": [20, 23]}


def test_an_operation_in_between_shifts_nothing():
    with run(POINTS) as before, run(POINTS, extra=True) as after:
        found = before.diff(before, after)
        assert [call.name for call in found.added] == ["multiply"]
        assert found.removed == ()
        assert [change.after.name for change in found.changed] == ["sum"]
        assert found.changed[0].inputs == (("points", "points.multiply"),)


def test_lineage_along_another_axis():
    with run(POINTS, axis=1) as before, run(POINTS, axis=0) as after:
        change = before.diff(before, after).changed[0]
        assert change.arguments[0].name == "axis"
        assert (change.lineage[0].lost, change.lineage[0].gained) == (6, 6)
        assert ": made of other cells (6 pairs lost, 6 gained)" in str(change)


def test_a_source_of_another_shape():
    with run(POINTS) as before, run(POINTS[:2]) as after:
        found = before.diff(before, after)
        assert str(found.sources[0]) == "shape of points: 3 x 3 -> 2 x 3"


def test_another_operation_with_the_same_output():
    with dslog.open(":memory:") as before, dslog.open(":memory:") as after:
        for store, function in ((before, np.sum), (after, np.mean)):
            function(store.track(np.array(POINTS), "points"), axis=1).named("score")
        found = before.diff(before, after)
        assert "operation: sum -> mean" in str(found)
        assert (found.added, found.removed) == ((), ())


def test_exact_in_one_run_alone():
    stores = [dslog.open(":memory:") for _ in range(2)]
    for store, exact in zip(stores, (True, False), strict=True):
        store.array("A", (3,))
        store.array("B", (3,))
        pairs = np.array([(i, i) for i in range(3)])
        store.lineage("B", "A", dslog.compress(pairs, (3,), (3,)).with_exact(exact))
    found = stores[0].diff(*stores)
    assert found.changed[0].lineage[0].relabelled
    assert "exact in one run, but not in the other" in str(found)
    for store in stores:
        store.close()


def test_two_parts_of_one_store():
    with dslog.open(":memory:") as store:
        for limit in (20, 23):
            points = store.track(np.array(POINTS), "points")
            score = points.sum(axis=1)
            score[score > limit].sum()
        assert len(store.operations()) == 8
        found = store.diff(slice(0, 4), slice(4, 8))
        assert [change.after.name for change in found.changed] == ["greater", "getitem"]
        assert not store.diff(slice(0, 4), slice(0, 4))
        assert "operations 0:4" in str(found)


def test_stores_by_path(tmp_path):
    for name, axis in (("a", 0), ("b", 1)):
        with dslog.open(tmp_path / name) as store:
            store.track(np.array(POINTS), "points").sum(axis=axis).named("score")
    with dslog.open(tmp_path / "b") as store:
        assert store.diff(tmp_path / "a").changed[0].arguments[0].before == 0
        assert not store.diff(str(tmp_path / "b"), store)
        with pytest.raises(dslog.StoreError):
            store.diff(tmp_path / "c")
        with pytest.raises(dslog.ArgumentError, match=r"3\.5 is no run: give the number"):
            store.diff(3.5)
    assert not (tmp_path / "c").exists()


def test_relations_too_large_to_list():
    with run(POINTS, axis=1) as before, run(POINTS, axis=0) as after, QuestionsCost.using(pairs=5):
        change = before.diff(before, after).changed[0]
        assert change.lineage[0].cells is None
        assert "too large to compare pair by pair" in str(change)
        assert change.to_dict()["lineage"][0]["boxes"] is None
