"""Contributions above a threshold become lineage, labelled as the estimate it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dslog
from dslog.capture.models.attribution import Attribution


def attribution(contributions, in_shape=None, outputs=None, out_shape=None):
    contributions = np.asarray(contributions, dtype=float)
    count = len(contributions)
    return Attribution(
        method="lime",
        contributions=contributions,
        outputs=tuple(range(count)) if outputs is None else outputs,
        out_shape=(count,) if out_shape is None else out_shape,
        in_shape=contributions.shape[1:] if in_shape is None else in_shape,
        samples=100,
        seed=7,
        settings={"segments": 4},
    )


@st.composite
def maps(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    count = draw(st.integers(1, 3))
    numbers = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0])
    size = count * int(np.prod(shape))
    return np.reshape(draw(st.lists(numbers, min_size=size, max_size=size)), (count, *shape))


@given(maps(), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 3))
def test_lineage_is_every_cell_above_the_threshold(contributions, threshold, colours):
    in_shape = contributions.shape[1:] + ((colours,) if colours else ())
    found = attribution(contributions, in_shape).lineage(threshold)
    expected = set()
    for output, one in enumerate(contributions):
        for cell in np.ndindex(*one.shape):
            if one[cell] > 0 and one[cell] >= threshold * one.max():
                expected |= {(output, *cell, c) for c in range(colours)} or {(output, *cell)}
    assert set(map(tuple, found.to_relation().tolist())) == expected
    assert (found.out_shape, found.in_shape) == (contributions.shape[:1], in_shape)
    assert not found.exact


def test_some_outputs_of_many_and_a_single_score():
    some = attribution([[1.0, 0.0]], outputs=(3,), out_shape=(5,))
    assert some.lineage().to_relation().tolist() == [[3, 0]]
    score = attribution([[1.0, 0.0]], out_shape=())
    assert score.lineage().to_relation().tolist() == [[0]]


def test_registered_with_its_label():
    with dslog.open(":memory:") as store:
        image = store.track(np.arange(4.0).reshape(2, 2), "image")
        (image * 2).named("double")
        operation = attribution([[[1.0, 0.0], [0.6, -1.0]]]).register(store, "double", "what", 0.55)
        assert (operation.name, operation.exact) == ("lime", False)
        assert operation.args == {
            "estimate": True, "threshold": 0.55, "samples": 100, "seed": 7, "segments": 4,
        }  # fmt: skip
        found = store.backward("what", 0, to="image")
        assert found.indices().tolist() == [[0, 0], [1, 0]]
        assert not found.exact
        why = store.why("what", 0)
        assert not why.exact
        assert "* not exact: some lineage on the way is a superset, or an estimate" in str(why)
        assert store.backward("double", (0, 1), to="image").exact


def test_the_command_line_calls_it_an_estimate(tmp_path):
    from typer.testing import CliRunner

    from dslog.cli.main import app

    with dslog.open(tmp_path / "s") as store:
        attribution([[[1.0, 0.0]]]).register(store, "image", "what")
    listed = CliRunner().invoke(app, ["ls", str(tmp_path / "s")]).stdout
    assert "samples=100" in listed
    assert "seed=7" in listed
    assert listed.rstrip().endswith("of image (estimate)")
    answer = CliRunner().invoke(app, ["query", str(tmp_path / "s"), "what", "image"]).stdout
    assert "not exact" in answer


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan")])
def test_a_threshold_that_is_no_share(threshold):
    with pytest.raises(dslog.CaptureError, match="not between 0 and 1"):
        attribution([[1.0]]).lineage(threshold)


def test_another_shape_in_the_store_is_an_error():
    with dslog.open(":memory:") as store:
        store.array("image", (3,))
        with pytest.raises(dslog.ShapeError, match="'image' has shape"):
            attribution([[1.0]]).register(store, "image", "what")
        assert store.operations() == []
