"""``first_nan`` against a search over raw relations, cell by cell."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import all_cells, as_set, in_memory, pipelines, values_with_nan

import dslog


@st.composite
def spoilt(draw):
    pipeline = draw(pipelines())
    known = draw(st.sets(st.sampled_from(list(pipeline.shapes))))
    target = draw(st.sampled_from(list(pipeline.shapes)))
    holes = {
        name: draw(st.sets(st.sampled_from(all_cells(pipeline.shapes[name]))))
        for name in sorted(known | {target})
    }
    return pipeline, target, holes


def origins_by_brute_force(pipeline, target, holes):
    """Known NaN cells behind the target's from which no path, over unknown cells, leads to one."""
    parents = {}
    for out, in_, pairs in pipeline.edges:
        for b, a in pairs:
            parents.setdefault((out, b), set()).add((in_, a))

    def may_be_nan(name, cell):
        return name not in holes or cell in holes[name]

    reached = pipeline.reach(target, holes[target], backward=True, allowed=may_be_nan)

    def is_explained(one):
        for parent in parents.get(one, ()):
            if parent[0] in holes:
                if parent[1] in holes[parent[0]]:
                    return True
            elif is_explained(parent):
                return True
        return False

    return {one for one in reached if one[0] in holes and not is_explained(one)}


@given(spoilt())
def test_origins_are_those_of_a_search(case):
    pipeline, target, holes = case
    with pipeline.fill(in_memory()) as store:
        arrays = [values_with_nan(store, n, pipeline.shapes[n], c) for n, c in holes.items()]
        found = store.first_nan(target)
        expected = origins_by_brute_force(pipeline, target, holes)
        assert as_set(origin.cells for origin in found.origins) == expected
        assert bool(found) == bool(holes[target])
        assert found.exact
        order = list(pipeline.shapes)
        made = {out for *_, outputs, _ in pipeline.calls for out in outputs}
        places = [order.index(o.array) if o.array in made else -1 for o in found.origins]
        assert places == sorted(places)
        for origin in found.origins:
            assert set(origin.hidden) <= set(pipeline.shapes) - set(holes)
            assert (origin.operation is None) == (origin.array not in made)
        del arrays


def test_nan_that_came_in_and_nan_that_was_made():
    with dslog.open(":memory:") as store, np.errstate(invalid="ignore"):
        a = store.track(np.array([1.0, -1.0, 4.0, np.nan]), "a", keep_values=True)
        b = np.log(a).named("b")
        (b * 2).sum().named("c")
        found = store.first_nan("c")
        assert str(found).splitlines() == [
            "c has 1 NaN, which began in",
            "  a[3]: 1 NaN that came with the data",
            "  b[1]: 1 NaN brought in by log() of a, made of a[1] = -1",
        ]
        assert (found.array, found.operation) == ("a", None)
        assert found.cells.indices().tolist() == [[3]]
        assert found.origins[1].operation == "log() of a"
        assert found.to_dict()["origins"][0]["boxes"] == [[[3, 3]]]
        assert str(store.first_nan("a")).endswith("a[3]: 1 NaN that came with the data")


def test_arrays_nobody_kept_are_looked_through():
    with dslog.open(":memory:") as store, np.errstate(invalid="ignore"):
        a = store.track(np.array([1.0, -1.0]), "a")
        b = np.cumsum(np.sqrt(a) + 1).named("b")  # what comes before the sum is gone
        found = store.first_nan("b")
        assert found.array == "b"
        assert found.cells.indices().tolist() == [[1]]
        assert found.first.hidden == ("a.sqrt.add",) or len(found.first.hidden) == 1
        assert "(values not kept)" in str(found)
        del b


def test_kept_values_are_found_by_another_process(tmp_path):
    with dslog.open(tmp_path / "s") as store:
        a = store.track(np.array([[1.0, np.nan], [2.0, 3.0]]), "a", keep_values=True)
        a.sum(axis=1).named("b")
    with dslog.open(tmp_path / "s", "r") as store:
        assert store.first_nan("b").cells.indices().tolist() == [[0, 1]]
        assert store.why("b", 1)["a"].count == 2
        assert store.why("b", 1).sources[0].values == (2.0, 3.0)
        assert "no cell of b" not in str(store.first_nan("b"))


@pytest.mark.parametrize(
    ("values", "holes"),
    [
        (np.array([1, 2]), []),
        (np.array(["a", "b"]), []),
        (np.array([None, 1.5, float("nan"), "x"], dtype=object), [[0], [2]]),
        (np.array(["2020-01-01", "NaT"], dtype="M8[D]"), [[1]]),
        (np.array([1, "NaT"], dtype="m8[s]"), [[1]]),
        (np.array([1j, complex(0, np.nan)]), [[1]]),
        (np.array(np.nan), [[]]),
    ],
)
def test_kinds_of_missing_values(values, holes):
    with dslog.open(":memory:") as store:
        kept = store.track(values, "a")
        found = store.first_nan("a")
        assert found.asked.cells.indices().tolist() == holes
        assert bool(found) == bool(holes)
        assert kept.shape == values.shape


def test_without_values():
    with dslog.open(":memory:") as store:
        store.array("A", (3,))
        with pytest.raises(dslog.NotFoundError, match="no values of 'A' are known"):
            store.first_nan("A")
        with pytest.raises(dslog.NotFoundError, match="no array 'B'"):
            store.first_nan("B")


def test_tables_kept_as_parquet(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Spark stays in the directory where it was started
    table = pd.DataFrame({"k": ["a", "b", "b", None], "x": [1.0, None, 3.0, 4.0]})
    with dslog.open("s") as store:
        frame = store.track(spark.createDataFrame(table), "orders", keep_values=True)
        double = frame.selectExpr("k", "x * 2 as y").named("double")
        double.record()  # the table behind it is kept all the same
        found = store.first_nan("double")
        assert {one.array: one.cells.cells.indices().tolist() for one in found.origins} == {
            "orders": [[1, 1], [3, 0]]
        }
        assert store.why("double", (2, "y")).sources[0].values == (3.0,)
    with dslog.open("s", "r") as store:
        assert store.first_nan("double").array == "orders"
        assert "orders  2, x" in str(store.why("double", (2, "y")))
