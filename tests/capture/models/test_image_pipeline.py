"""The paper's image pipeline on a photo: resize, luminosity, rot90, flip, LIME on a classifier.

What lineage says of the whole is compared with index arithmetic done by hand.
"""

import numpy as np
import pytest
from sklearn.datasets import load_sample_image
from sklearn.linear_model import LogisticRegression

import dslog

SIDE = 416
BLOCKS = 16
COLOURS = np.array([0.21, 0.72, 0.07])


def resize(image, side):
    """Make each cell the mean of the cells it covers."""
    for axis in (0, 1):
        first = np.arange(side) * image.shape[axis] // side
        counts = np.diff(first, append=image.shape[axis])
        shape = [-1 if k == axis else 1 for k in range(image.ndim)]
        image = np.add.reduceat(image, first, axis=axis) / counts.reshape(shape)
    return image


def shrink(batch):
    """Return the means of blocks, as features."""
    side = batch.shape[1] // BLOCKS
    return batch.reshape(len(batch), BLOCKS, side, BLOCKS, side).mean(axis=(2, 4)).reshape(
        len(batch), -1
    )  # fmt: skip


def prepare(photo):
    luminosity = (resize(photo, SIDE) * COLOURS).sum(axis=2)
    return np.fliplr(np.rot90(luminosity))


@pytest.fixture(scope="module")
def classifier():
    """Tells two photos apart, by random parts of them."""
    random = np.random.default_rng(0)
    features, labels = [], []
    for label, name in enumerate(("china.jpg", "flower.jpg")):
        whole = prepare(load_sample_image(name).astype(float))
        for _ in range(20):
            top, left = random.integers(0, SIDE - 320, 2)
            features.append(shrink(whole[None, top : top + 320, left : left + 320])[0])
            labels.append(label)
    model = LogisticRegression(max_iter=200).fit(np.stack(features) / 255, labels)
    return lambda batch: model.predict_proba(shrink(batch) / 255)


def spans(length):
    """Return the first and last row that each row of the small image reads."""
    first = np.arange(SIDE) * length // SIDE
    return first, np.append(first[1:], length) - 1


def by_hand(photo_shape, mask):
    """Return the cells of the photo behind the cells of the last image."""
    order = np.fliplr(np.rot90(np.arange(SIDE * SIDE).reshape(SIDE, SIDE)))
    found = np.zeros(photo_shape, bool)
    (top, bottom), (left, right) = (spans(length) for length in photo_shape[:2])
    for row, column in zip(*np.divmod(order[mask], SIDE), strict=True):
        found[top[row] : bottom[row] + 1, left[column] : right[column] + 1] = True
    return found


def test_the_whole_pipeline_forward_and_backward(classifier):
    photo = load_sample_image("china.jpg").astype(float)
    with dslog.open(":memory:") as store:
        final = prepare(store.track(photo, "photo")).named("final")
        np.testing.assert_array_equal(dslog.plain(final), prepare(photo))
        segments = np.add.outer(np.arange(SIDE) // 52 * 8, np.arange(SIDE) // 52)
        found = dslog.explain.lime(classifier, final, segments=segments, samples=120, seed=0)
        operation = found.register(store, final.name, "class", threshold=0.4)
        assert operation.args["threshold"] == 0.4

        backward = store.backward("class", 0, to="photo")
        assert not backward.exact
        mask = found.mask(0.4)[0]
        assert 0 < mask.sum() < mask.size
        np.testing.assert_array_equal(backward.mask(), by_hand(photo.shape, mask))

        behind = [by_hand(photo.shape, one) for one in found.mask(0.4)]
        random = np.random.default_rng(1)
        for _ in range(100):
            cell = tuple(int(i) for i in random.integers(0, photo.shape))
            touched = store.forward("photo", cell, to="class").indices()[:, 0].tolist()
            assert touched == [label for label, one in enumerate(behind) if one[cell]]
        why = store.why("class", 0)
        assert [source.array for source in why.sources] == ["photo"]
        assert why["final"].count == mask.sum()
