"""What was predicted on the way shows in every answer, in Python and on the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dslog
from dslog.cells.cellset import CellSet, Labels
from dslog.cli.main import app


def first_half(n):
    return lambda cell: [cell] if cell[0] < n else []


@pytest.fixture
def path(tmp_path):
    """The arrays x -> y (predicted) -> z (captured), beside it x -> w (captured); a directory."""
    directory = tmp_path / "labels.dslog"
    with dslog.open(directory) as store:
        for n in (40, 47):
            store.array(f"a{n}", (2 * n,))
            store.array(f"b{n}", (n,))
            store.register_operation("half", [f"a{n}"], [f"b{n}"], first_half(n))
        x = store.track(np.array([1.0, -1.0] * 3000), "x", keep_values=True)
        store.array("y", (3000,))
        store.register_operation("half", ["x"], ["y"], first_half(3000))
        store.array("z", (3000,))
        store.register_operation("copy", ["y"], ["z"], np.stack([np.arange(3000)] * 2, 1))
        with np.errstate(invalid="ignore"):
            np.sqrt(x).named("w")
    return directory


@pytest.fixture
def store(path):
    with dslog.open(path) as opened:
        yield opened


def ran(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


PREDICTED = {
    "prov_query": lambda store: store.prov_query(["z", "y", "x"], 3),
    "without merging": lambda store: store.prov_query(["z", "y", "x"], 3, merge=False),
    "forward on a path": lambda store: store.prov_query(["x", "y"], 3),
    "backward": lambda store: store.backward("z", 3, to="x"),
    "forward": lambda store: store.forward("x", 3, to="z"),
    "explain": lambda store: store.explain(["z", "y", "x"], 3),
    "explain without merging": lambda store: store.explain(["z", "y", "x"], 3, merge=False),
    "why": lambda store: store.why("z", 3),
    "impact": lambda store: store.impact("x", 3),
    "dropped": lambda store: store.dropped("x", 4500),
    "not dropped": lambda store: store.dropped("x", 3),
    "nothing found": lambda store: store.prov_query(["x", "y"], 4500),
    "nothing found on any path": lambda store: store.forward("x", 4500, to="z"),
    "asked with a predicted answer": lambda store: store.prov_query(
        ["x", "w"], store.backward("z", 3, to="x")
    ),
    "diff": lambda store: store.diff(store, store),
}


@pytest.mark.parametrize("verb", PREDICTED)
def test_every_verb_says_so(store, verb):
    found = PREDICTED[verb](store)
    assert (found.exact, found.predicted) == (True, True)
    assert "predicted" in (repr(found) if isinstance(found, CellSet) else str(found))
    if not isinstance(found, CellSet):
        assert found.to_dict()["predicted"] is True


CAPTURED = {
    "prov_query": lambda store: store.prov_query(["z", "y"], 3),
    "backward": lambda store: store.backward("w", 3, to="x"),
    "explain": lambda store: store.explain(["z", "y"], 3),
    "why": lambda store: store.why("w", 3),
    "impact": lambda store: store.impact("y", 3),
    "dropped": lambda store: store.dropped("y", 3),
    "first_nan": lambda store: store.first_nan("w"),
}


@pytest.mark.parametrize("verb", CAPTURED)
def test_what_was_captured_is_not_labelled(store, verb):
    found = CAPTURED[verb](store)
    assert (found.exact, found.predicted) == (True, False)
    assert "predicted" not in (repr(found) if isinstance(found, CellSet) else str(found))


def test_each_array_has_its_own_label(store):
    found = store.impact("x", 3)
    assert {one.array: one.cells.predicted for one in found} == {"y": True, "z": True, "w": False}
    assert "3 ~" in str(found)


def test_an_explanation_says_which_step(store):
    whole = store.explain(["z", "y", "x"], 3)
    assert [step.predicted for step in whole.steps] == [False, True]
    assert [step["predicted"] for step in whole.to_dict()["steps"]] == [False, True]


def test_first_nan_goes_back_through_a_prediction():
    with dslog.open(":memory:") as store:
        x = store.track(np.array([1.0, np.nan] * 30), "x", keep_values=True)
        for n in (40, 47):
            store.array(f"a{n}", (n,))
            store.array(f"b{n}", (n,))
            store.register_operation("copy", [f"a{n}"], [f"b{n}"], lambda cell: [cell])
        y = store.track(np.asarray(x).copy(), "y", keep_values=True)
        store.register_operation("copy", ["x"], ["y"], lambda cell: [cell])
        found = store.first_nan("y")
        assert found.array == "x"
        assert (found.exact, found.predicted) == (True, True)
        assert found.to_dict()["predicted"] is True
        assert "predicted" in str(found)
        assert y.shape == (60,)


def test_one_prediction_of_two_operations_that_share_a_lineage_is_enough():
    with dslog.open(":memory:") as store:
        for n in (40, 47, 60):
            store.array(f"a{n}", (n,))
            store.array(f"b{n}", (n,))
            store.register_operation("copy", [f"a{n}"], [f"b{n}"], np.stack([np.arange(n)] * 2, 1))
        assert not store.prov_query(["b60", "a60"], 3).predicted
        assert store.register_operation("copy", ["a60"], ["b60"]).predicted
        assert len(store.stored("b60", "a60")) == 1
        assert store.prov_query(["b60", "a60"], 3).predicted
        assert store.backward("b60", 3, to="a60").predicted


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "z", "y", "x", "-c", "3"),
        ("query", "z", "x", "--backward", "-c", "3"),
        ("explain", "z", "y", "x", "-c", "3"),
        ("why", "z", "-c", "3"),
        ("impact", "x", "-c", "3"),
        ("dropped", "x", "4500"),
    ],
)
def test_commands_say_so(path, arguments):
    command, *rest = arguments
    assert "predicted" in ran(command, path, *rest)
    found = json.loads(ran(command, path, *rest, "--json"))
    assert (found["exact"], found["predicted"]) == (True, True)


def test_ls_show_and_stats_say_so(path):
    lines = {line.split()[0]: line for line in ran("ls", path).splitlines() if line}
    assert "half() of x (exact, predicted)" in lines["y"]
    assert "predicted" not in lines["z"]
    listed = json.loads(ran("ls", path, "--json"))
    made = {one["outputs"][0]: (one["predicted"], one["compared"]) for one in listed["operations"]}
    assert made["y"] == (True, 8)
    assert made["z"] == made["b40"] == (False, None)
    assert {one["out"]: one["predicted"] for one in listed["lineages"]}["y"]
    shown = ran("show", path, "y")
    assert "compared on 8 cells" in shown
    assert "exact, predicted" in shown
    (lineage,) = json.loads(ran("show", path, "y", "x", "--json"))["lineages"]
    assert (lineage["exact"], lineage["predicted"]) == (True, True)
    assert "0 supersets and 1 predicted" in ran("stats", path)


def test_diff_says_which_change_may_be_a_prediction(path, tmp_path):
    with dslog.open(tmp_path / "other") as other, dslog.open(path) as store:
        for name, n in {"a40": 80, "b40": 40, "a47": 94, "b47": 47, "x": 6000, "y": 3000}.items():
            other.array(name, (n,))
        for n in (40, 47):
            other.register_operation("half", [f"a{n}"], [f"b{n}"], first_half(n))
        other.register_operation("half", ["x"], ["y"], np.stack([np.arange(3000)] * 2, 1)[1:])
        found = store.diff(store, other)
        (changed,) = found.changed
        assert changed.lineage[0].predicted
        assert changed.to_dict()["lineage"][0]["predicted"] is True
        assert "predicted in one run or both" in str(found)


def test_labels_join():
    plain, loose, guessed = Labels(), Labels(exact=False), Labels(predicted=True)
    assert plain.joined(loose, guessed) == guessed.joined(plain).joined(loose)
    assert loose.joined(guessed) == Labels(exact=False, predicted=True)
    assert plain.joined(plain) == plain
    cells = CellSet.full((3,))
    both = cells.with_labels(guessed) | cells.with_exact(False)
    for found in (both, both & cells, cells - both, both.with_exact(False)):
        assert (found.exact, found.predicted) == (False, True)
    assert both.with_exact(True).predicted
    assert both == cells
    assert repr(both).endswith("boxes=1, superset, predicted)")
    assert cells.with_labels(Labels()) is cells
