"""LIME finds what a model looks at, the same for the same seed, as the reference fits it."""

import sys

import numpy as np
import pytest
from lime.lime_base import LimeBase
from sklearn.datasets import load_digits, load_sample_image
from sklearn.linear_model import LogisticRegression, Ridge

import dslog
from dslog.capture.models.lime import fit


@pytest.mark.parametrize(
    ("samples", "segments", "outputs"), [(50, 6, 1), (200, 30, 3), (10, 40, 2)]
)
def test_the_fit_is_that_of_scikit_learn_and_of_lime(samples, segments, outputs):
    random = np.random.default_rng(samples)
    chosen = random.random((samples, segments)) < 0.5
    chosen[0] = True
    scores = random.random((samples, outputs))
    distance = 1 - np.sqrt(chosen.mean(axis=1))
    nearness = np.sqrt(np.exp(-(distance**2) / 0.25**2))
    ridge = Ridge(alpha=1).fit(chosen, scores, sample_weight=nearness)
    found = fit(chosen, scores)
    np.testing.assert_allclose(found, np.reshape(ridge.coef_, (outputs, segments)).T, atol=1e-9)

    def kernel(distances):
        return np.sqrt(np.exp(-(distances**2) / 0.25**2))

    reference = LimeBase(kernel, random_state=0).explain_instance_with_data(
        chosen.astype(float), scores, distance, 0, segments, feature_selection="none"
    )
    weights = dict(reference[1])
    np.testing.assert_allclose(found[:, 0], [weights[k] for k in range(segments)], atol=1e-9)


def test_a_planted_cell_is_found():
    def model(batch):
        return batch[:, 3, 5] * 2.0 - batch[:, 0, 0]

    x = np.ones((8, 8))
    found = dslog.explain.lime(model, x, samples=400, seed=1, fill=0.0)
    assert found.contributions.shape == (1, 8, 8)
    assert found.lineage(0.5).to_relation().tolist() == [[3, 5]]
    assert found.contributions[0, 3, 5] == pytest.approx(2.0, rel=0.1)
    assert found.contributions[0, 0, 0] == pytest.approx(-1.0, rel=0.1)
    assert (found.out_shape, found.samples, found.seed) == ((), 400, 1)


def test_a_planted_segment_of_a_colour_image_is_found():
    segments = np.repeat(np.repeat(np.arange(16).reshape(4, 4), 10, 0), 10, 1)
    x = np.full((40, 40, 3), 200, np.uint8)

    def model(batch):
        assert batch.dtype == np.uint8
        here = batch[:, 20:30, 10:20, 1].mean(axis=(1, 2)) / 255
        return np.stack([here, 1 - here], axis=1)

    found = dslog.explain.lime(model, x, segments=segments + 100, samples=300, fill=0, batch=7)
    assert found.settings == {"segments": 16}
    lineage = found.lineage(0.5)
    assert (lineage.out_shape, lineage.in_shape) == ((2,), (40, 40, 3))
    first = lineage.backward(dslog.CellSet.from_indices((2,), [[0]]))
    assert first.boxes.tolist() == [[[20, 29], [10, 19], [0, 2]]]


def test_the_same_seed_gives_the_same_and_another_does_not():
    def model(batch):
        return batch.sum(axis=1) ** 2

    x = np.linspace(0, 1, 12)
    one, same, other = (
        dslog.explain.lime(model, x, samples=30, seed=seed).contributions for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_classifier_of_digits():
    """Without the cells it finds the classifier changes its mind; without as many others not."""
    digits = load_digits()
    some = slice(0, 600)
    classifier = LogisticRegression(max_iter=100).fit(digits.data[some] / 16, digits.target[some])

    def model(batch):
        return classifier.predict_proba(batch.reshape(len(batch), -1) / 16)

    image = digits.images[0]
    found = dslog.explain.lime(model, image, samples=500, outputs=[0])
    assert found.out_shape == (10,)
    lineage = found.lineage(0.25)
    cells = lineage.backward(dslog.CellSet.from_indices((10,), [[0]])).mask()
    assert not lineage.backward(dslog.CellSet.from_indices((10,), [[1]]))
    assert 3 <= cells.sum() <= 32
    without = np.where(cells, image.mean(), image)
    rest = np.argwhere(~cells)[: cells.sum()]
    others = image.copy()
    others[tuple(rest.T)] = image.mean()
    before, after, control = model(np.stack([image, without, others]))[:, 0]
    assert before > 0.9
    assert after < 0.5 < control


def test_a_photo_is_cut_by_scikit_image():
    photo = load_sample_image("flower.jpg")[::4, ::4]

    def redness(batch):
        return batch[..., 0].mean(axis=(1, 2)) - batch[..., 1].mean(axis=(1, 2))

    found = dslog.explain.lime(redness, photo, segments=40, samples=150, fill=0)
    assert 10 < found.settings["segments"] <= 60
    inside = found.mask(0.5)[0]
    red = photo[..., 0].astype(int) - photo[..., 1]
    assert red[inside].mean() > red[~inside].mean() + 50


def test_tracked_arrays_are_taken_as_they_are():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(6.0), "x")
        found = dslog.explain.lime(lambda batch: batch[:, 5], x, samples=60)
        assert [operation.name for operation in store.operations()] == []
        found.register(store, x.name, "score")
        assert store.backward("score", (), to="x").indices().tolist() == [[5]]


HALVES = np.repeat([0, 1], 800).reshape(40, 40)


def many(batch):
    return np.ones((len(batch), 100_000))


def ones(batch):
    return np.ones(len(batch))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dslog.explain.lime(ones, np.array(["a"])), "give numbers"),
        (lambda: dslog.explain.lime(ones, np.zeros((0, 3))), "and some cells"),
        (lambda: dslog.explain.lime(ones, [1.0], samples=1), "samples=1 is too few"),
        (lambda: dslog.explain.lime(ones, [1.0, 2.0], segments=[0.5, 1]), "don't fit an input"),
        (lambda: dslog.explain.lime(ones, [1.0, 2.0], segments=[0, 1, 2]), "don't fit an input"),
        (lambda: dslog.explain.lime(ones, [1.0, 2.0], segments=2), "can't be cut into 2 segments"),
        (lambda: dslog.explain.lime(ones, [1.0, 2.0], fill=[1, 2, 3]), "fill of shape"),
        (lambda: dslog.explain.lime(ones, [1.0, 2.0], outputs=[1]), "outputs=.* model with 1"),
        (lambda: dslog.explain.lime(lambda b: 3.0, [1.0]), r"scores of shape \(\) for a batch"),
        (lambda: dslog.explain.lime(lambda b: ones(b) * np.nan, [1.0]), "NaN or infinite"),
        (
            lambda: dslog.explain.lime(many, np.ones((40, 40)), segments=HALVES, samples=2),
            "too many",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(dslog.CaptureError, match=words):
        call()


def test_without_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(dslog.CaptureError, match=r"pip install 'dslog\[explain\]'"):
        dslog.explain.lime(ones, np.zeros((40, 40)))
    assert dslog.explain.lime(ones, np.zeros((4, 4)), samples=4).contributions.shape == (1, 4, 4)
