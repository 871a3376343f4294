import json
from itertools import count

import numpy as np
import pytest

import dslog
from dslog.query import explanation


@pytest.fixture
def store():
    """Sum over axis 1, then a permutation that does not compress."""
    with dslog.open(":memory:") as opened:
        opened.array("A", (200, 3))
        opened.array("B", (200,))
        opened.array("C", (200,))
        opened.lineage("B", "A", lambda i: [(i[0], j) for j in range(3)])
        order = np.random.default_rng(0).permutation(200)
        opened.lineage("C", "B", np.stack([np.arange(200), order], axis=1))
        yield opened


def test_each_step_is_reported(store, monkeypatch):
    ticks = count()
    monkeypatch.setattr(explanation, "perf_counter", lambda: next(ticks))
    found = store.explain(["C", "B", "A"], np.s_[10:20])
    assert found.path == ("C", "B", "A")
    assert [(s.source, s.target, s.direction, s.engine) for s in found.steps] == [
        ("C", "B", "backward", "local"),
        ("B", "A", "backward", "local"),
    ]
    first, second = found.steps
    assert first.rows >= first.scanned >= first.matched >= first.boxes_merged > 0
    assert first.cells == 10
    assert second.rows == 1
    assert second.cells == found.cells == 30
    assert found.boxes == second.boxes_merged
    assert found.exact
    assert (first.seconds, second.seconds, found.seconds) == (1, 1, 5)


def test_a_point_touches_few_rows(store):
    (step,) = store.explain(["C", "B"], 5).steps
    assert step.matched == 1
    assert step.scanned < step.rows / 10


def test_without_merge_the_boxes_stay(store):
    (_, second) = store.explain(["C", "B", "A"], ..., merge=False).steps
    assert second.boxes_merged == second.boxes_joined > 1
    (_, merged) = store.explain(["C", "B", "A"], ...).steps
    assert merged.boxes_merged == 1
    assert second.cells == merged.cells == 600


def test_as_text(store):
    text = str(store.explain(["C", "B", "A"], 5))
    head, columns, *steps = text.splitlines()
    assert head.startswith("C -> B -> A: 3 cells in 1 box, exact, ")
    assert columns.split()[:4] == ["step", "direction", "engine", "rows"]
    assert [line.split()[:3] for line in steps] == [["C", "->", "B"], ["B", "->", "A"]]


def test_as_json(store):
    found = store.explain(["A", "B"], (0, 0))
    loaded = json.loads(json.dumps(found.to_dict()))
    assert loaded["path"] == ["A", "B"]
    assert loaded["steps"][0]["direction"] == "forward"
    assert loaded["cells"] == 1


def test_an_unknown_engine_is_an_error(store):
    engine = "fast"
    for call in (
        lambda: store.explain(["B", "A"], 0, engine=engine),
        lambda: store.prov_query(["B", "A"], 0, engine=engine),
        lambda: store.backward("B", 0, to="A", engine=engine),
        lambda: store.forward("A", (0, 0), to="B", engine=engine),
        lambda: store.lineage("B", "A", np.zeros((0, 3), int), engine=engine),
    ):
        with pytest.raises(dslog.EngineError, match=engine):
            call()
    assert store.prov_query(["B", "A"], 0, engine="local").count == 3
