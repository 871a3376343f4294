"""D-RISE finds what a detector needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage import data
from skimage.feature import Cascade

import dslog
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.models.drise import _masks, read_boxes, similarity


def find_bright(image):
    """Find the rectangle around bright cells; a class for each of two halves of the image."""
    found = []
    for kind, columns in enumerate((slice(0, 30), slice(30, 60))):
        bright = np.argwhere(image[:, columns] > 128)
        if len(bright):
            (top, left), (bottom, right) = bright.min(axis=0), bright.max(axis=0) + 1
            start = columns.start
            found.append((top, left + start, bottom, right + start, len(bright) / 100, kind))
    return found


@pytest.fixture
def image():
    image = np.full((40, 60), 50, np.uint8)
    image[5:15, 10:20] = 250
    image[25:35, 40:50] = 250
    return image


def test_each_detection_is_made_of_its_own_cells(image):
    found = dslog.explain.drise(find_bright, image, samples=400, seed=0)
    assert found.contributions.shape == (2, 40, 60)
    assert found.out_shape == (2,)
    for one, (rows, columns) in zip(
        found.mask(0.6),
        [(slice(5, 15), slice(10, 20)), (slice(25, 35), slice(40, 50))],
        strict=True,
    ):
        inside = np.zeros((40, 60), bool)
        inside[rows, columns] = True
        assert one[inside].mean() > 0.5
        assert one[:, :30].any() == (columns.start < 30)
        assert one[~inside].mean() < 0.15
    assert found.settings == {"grid": 8, "visible": 0.5}


def test_a_colour_image_has_lineage_in_all_colours(image):
    colours = np.repeat(image[..., None], 3, axis=2)

    def detector(sample):
        assert sample.dtype == np.uint8
        return [box[:4] for box in find_bright(sample[..., 0])]

    lineage = dslog.explain.drise(detector, colours, samples=60).lineage(0.5)
    cells = lineage.backward(dslog.CellSet.from_indices((2,), [[0]]))
    assert (cells.mask().sum(axis=2) % 3 == 0).all()
    assert not lineage.exact


def test_the_face_of_an_astronaut():
    """The cascade needs the face; the background beside it does not matter."""
    photo = data.astronaut()[20:240, 110:330][::2, ::2]
    cascade = Cascade(data.lbp_frontal_face_cascade_filename())

    def detector(image):
        faces = cascade.detect_multi_scale(
            img=image, scale_factor=1.3, step_ratio=1, min_size=(30, 30), max_size=(60, 60)
        )
        return [(f["r"], f["c"], f["r"] + f["height"], f["c"] + f["width"]) for f in faces]

    boxes = detector(photo)
    assert len(boxes) == 1
    found = dslog.explain.drise(detector, photo, samples=60, seed=0, grid=5, visible=0.6)
    top, left, bottom, right = boxes[0]
    face = found.contributions[0, top:bottom, left:right].mean()
    assert face > found.contributions[0].mean() + 0.01
    row, column = np.unravel_index(found.contributions[0].argmax(), photo.shape[:2])
    assert top - 10 <= row < bottom + 10
    assert left - 10 <= column < right + 10
    with dslog.open(":memory:") as store:
        found.register(store, "astronaut", "faces", threshold=0.7)
        assert store.backward("faces", 0, to="astronaut").count > 0
        assert store.operations()[0].args["samples"] == 60


BOXES = st.tuples(*[st.integers(0, 6)] * 4).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]) + 1, max(c[1], c[3]) + 1)
)
DETECTIONS = st.lists(
    st.tuples(BOXES, st.sampled_from([0.5, 1.0]), st.integers(0, 1)).map(
        lambda parts: (*parts[0], *parts[1:])
    ),
    max_size=4,
)


@given(DETECTIONS, DETECTIONS)
def test_similarity_is_that_of_painted_boxes(targets, found):
    def painted(box):
        mask = np.zeros((8, 8), bool)
        mask[box[0] : box[2], box[1] : box[3]] = True
        return mask

    expected = []
    for a in targets:
        scores = [0.0]
        for b in found:
            both, either = painted(a) & painted(b), painted(a) | painted(b)
            scores.append(both.sum() / either.sum() * b[4] * (a[5] == b[5]))
        expected.append(max(scores))
    got = similarity(read_boxes(targets), read_boxes(found))
    np.testing.assert_allclose(got, np.array(expected).reshape(len(targets)))


@pytest.mark.parametrize("shape", [(8, 8), (37, 61), (5, 200), (1, 1)])
def test_masks_fit_and_are_as_visible_as_asked(shape):
    drawn = np.concatenate(list(_masks(shape, 400, 4, 0.3, seed=5)))
    assert drawn.shape == (400, *shape)
    assert 0 <= drawn.min() <= drawn.max() <= 1
    assert drawn.mean() == pytest.approx(0.3, abs=0.05)


def test_masks_do_not_depend_on_the_batch(choose):
    whole = np.concatenate(list(_masks((9, 9), 5, 3, 0.5, seed=1)))
    again = np.concatenate(list(_masks((9, 9), 5, 3, 0.5, seed=1)))
    np.testing.assert_array_equal(whole, again)
    choose(CaptureCost, masks_at_once=1)
    split = np.concatenate(list(_masks((9, 9), 5, 3, 0.5, seed=1)))
    assert split.shape == whole.shape


def nothing(image):
    return []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda image: dslog.explain.drise(nothing, image), "the detector finds nothing"),
        (lambda image: dslog.explain.drise(find_bright, image, samples=0), "samples=0 is too few"),
        (lambda image: dslog.explain.drise(find_bright, image, grid=0), "grid=0"),
        (lambda image: dslog.explain.drise(find_bright, image, visible=1.0), "visible=1.0"),
        (lambda image: dslog.explain.drise(find_bright, image[0]), "at least 2 axes"),
        (lambda image: dslog.explain.drise(lambda i: [(1, 2, 3)], image), r"shape \(1, 3\)"),
        (lambda image: dslog.explain.drise(lambda i: [1, 2], image), r"shape \(2,\)"),
    ],
)
def test_bad_input(image, call, words):
    with pytest.raises(dslog.CaptureError, match=words):
        call(image)
