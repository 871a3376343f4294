"""``why``, ``impact`` and ``dropped`` against joins over the raw relations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import all_cells, as_set, in_memory, pipelines

import dslog
from dslog.testing import naive


@st.composite
def questions(draw):
    pipeline = draw(pipelines())
    array = draw(st.sampled_from(list(pipeline.shapes)))
    cells = draw(st.lists(st.sampled_from(all_cells(pipeline.shapes[array])), min_size=1))
    return pipeline, array, set(cells)


@given(questions())
def test_why_is_all_that_a_join_gives(question):
    pipeline, array, cells = question
    with pipeline.fill(in_memory()) as store:
        found = store.why(array, sorted(cells))
        made = {out for *_, outputs, _ in pipeline.calls for out in outputs}
        assert as_set(found) == pipeline.reach(array, cells, backward=True) - {
            (array, cell) for cell in cells
        }
        assert {one.array for one in found.sources} == {one.array for one in found} - made
        assert found.exact
        assert found.asked.values is None
        for one in found:
            assert found[one.array] == store.backward(array, sorted(cells), to=one.array)
            assert str(one) in str(found) or one.cells.num_boxes > 2 or one.array in str(found)


@given(questions())
def test_impact_is_all_that_a_join_gives(question):
    pipeline, array, cells = question
    with pipeline.fill(in_memory()) as store:
        found = store.impact(array, sorted(cells))
        asked = {(array, cell) for cell in cells}
        assert as_set(found) == pipeline.reach(array, cells, backward=False) - asked
        used = {in_ for _, in_, pairs in pipeline.edges}
        assert set(found.ends) == {one.array for one in found} - used
        assert ("none" in str(found)) == (not found.arrays)


def endings_by_brute_force(pipeline, reached):
    for number, (name, inputs, outputs, found) in enumerate(pipeline.calls):
        for in_ in inputs:
            here = {cell for array, cell in reached if array == in_}
            pairs = [(out, found[out, in_]) for out in outputs]
            takes = tuple(out for out, some in pairs if some)
            gives = any(naive.forward(some, here) for _, some in pairs)
            if here and takes and not gives:
                yield number, name, in_, takes


@given(questions())
def test_dropped_is_where_nothing_comes_out(question):
    pipeline, array, cells = question
    # lineage without an operation is one call per pair, so each of its pairs stands alone
    with pipeline.fill(in_memory()) as store:
        found = store.dropped(array, sorted(cells))
        reached = pipeline.reach(array, cells, backward=False)
        expected = list(endings_by_brute_force(pipeline, reached))
        assert [(e.cells.array, e.outputs) for e in found.endings] == [
            (in_, takes) for *_, in_, takes in expected
        ]
        names = [e.operation.name if e.operation else None for e in found.endings]
        assert names == [name for _, name, *_ in expected]
        assert as_set(found.reached) == {one for one in reached if one[0] != array}
        assert bool(found) == bool(expected)
        assert found.operation == (found.endings[0].operation if expected else None)


@pytest.fixture
def grades():
    with dslog.open(":memory:") as store:
        points = store.track(np.array([[9, 7], [3, 9], [10, 6]]), "points")
        score = points.sum(axis=1).named("score")
        yield store, points, score, score[np.array([True, False, True])].named("passed")


def test_values_of_arrays_that_are_held_are_shown(grades):
    store, *_ = grades
    found = store.why("passed", 1)
    assert found.asked.values == (16,)
    assert [(one.array, one.values) for one in found] == [("score", (16,)), ("points", (10, 6))]
    assert str(found).splitlines() == [
        "why passed[1]?",
        "  array   cells  values  made by",
        "  passed  1      16      getitem(key=[True, False, True]) of score",
        "  score   2      16      sum(axis=1) of points",
        "  points  2, :   10, 6   given",
    ]
    assert found.to_dict()["arrays"][1]["values"] == [10, 6]


def test_values_that_were_overwritten_are_not_shown(grades):
    store, points, *_ = grades
    points[2, 0] = 0
    assert [one.values for one in store.why("passed", 1)] == [(16,), None]


def test_a_row_is_dropped_by_the_filter(grades):
    store, *_ = grades
    found = store.dropped("points", 1)
    assert found.operation.name == "getitem"
    assert [ending.outputs for ending in found.endings] == [("passed",)]
    assert found.left == ()
    assert "takes nothing of score[1] into passed" in str(found)
    assert not store.dropped("points", 0)
    assert "and is still in passed" in str(store.dropped("points", 0))
    assert "was not used" in str(store.dropped("passed", 0))


def test_a_superset_on_the_way_shows():
    with dslog.open(":memory:") as store:
        for name in "ABC":
            store.array(name, (4,))
        every = np.array([(i, j) for i in range(4) for j in range(4)])
        store.lineage("B", "A", dslog.compress(every, (4,), (4,)).with_exact(False))
        store.lineage("C", "A", np.array([(i, i) for i in range(4)]))
        found = store.impact("A", 1)
        assert not found.exact
        assert found["C"].exact
        assert not found["B"].exact
        assert "* not exact" in str(found)
        assert not store.dropped("A", 1).exact


def test_sixty_thousand_cells_carry_a_thousand_values():
    with dslog.open(":memory:") as store:
        big = store.track(np.arange(60_000).reshape(200, 300), "big")
        total = big[:, 1:].sum().named("total")
        found = store.why("total", ())
        assert found.asked.values == (total,)
        assert found["big"].count == 200 * 299
        (source,) = found.sources
        assert len(source.values) == 1000
        assert source.values[:3] == (1, 2, 3)
        assert "1, 2, 3, 4, ..." in str(found)


def test_a_cycle_is_gone_round_once():
    with dslog.open(":memory:") as store:
        store.array("A", (5,))
        store.lineage("A", "A", np.array([(i + 1, i) for i in range(4)]))
        assert store.why("A", 3)["A"].indices().tolist() == [[0], [1], [2]]


@pytest.mark.parametrize("question", ["why", "impact", "dropped"])
def test_bad_input(grades, question):
    store, *_ = grades
    ask = getattr(store, question)
    with pytest.raises(dslog.NotFoundError, match=r"no array 'scores'.*mean 'score'"):
        ask("scores", 0)
    with pytest.raises(dslog.SelectionError):
        ask("score", 3)
    with pytest.raises(dslog.SelectionError, match="no column 'price' in 'points'"):
        ask("points", (0, "price"))
    with pytest.raises(dslog.EngineError, match="engine 'gpu' is unknown"):
        ask("score", 0, engine="gpu")


def test_an_array_that_is_not_in_the_answer(grades):
    store, *_ = grades
    with pytest.raises(dslog.NotFoundError, match=r"no cell of 'score' is in this answer"):
        store.why("score", 0)["score"]


def test_columns_of_a_table_by_name():
    with dslog.open(":memory:") as store:
        store.array("orders", (3, 2))
        store.array("dear", (1, 2))
        pairs = np.array([(0, c, 2, c) for c in range(2)])
        args = {"columns": ["id", "price"]}
        store.register_operation("track", [], ["orders"], [], op_args=args)
        store.register_operation("filter", ["orders"], ["dear"], pairs, op_args=args)
        found = store.why("dear", (0, "price"))
        assert found["orders"].indices().tolist() == [[2, 1]]
        assert "orders  2, price  given" in str(found)
        assert store.impact("orders", [(2, "price"), (2, "id")])["dear"].count == 2
        assert store.dropped("orders", 0).operation.name == "filter"
        assert store.why("dear", "0, price") == store.why("dear", "(0, 1)") == found
        assert store.why("dear", "0, price; 0, id")["orders"].count == 2
        assert store.dropped("orders", "0") == store.dropped("orders", 0)
        with pytest.raises(dslog.SelectionError, match=r"no column 'prize'.*mean 'price'"):
            store.why("dear", (0, "prize"))
