"""Code that nobody here wrote, on tracked arrays: same values, and lineage for every change."""

import itertools
import warnings

import numpy as np
import pytest
from numpy_oracles import influence, make_call

import dslog
from dslog import foreign
from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.memory import is_tracked

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ndimage = pytest.importorskip("scipy.ndimage")
    special = pytest.importorskip("scipy.special")
    stats = pytest.importorskip("scipy.stats")
    skimage = pytest.importorskip("skimage")
    color = pytest.importorskip("skimage.color")
    exposure = pytest.importorskip("skimage.exposure")
    filters = pytest.importorskip("skimage.filters")
    measure = pytest.importorskip("skimage.measure")
    transform = pytest.importorskip("skimage.transform")
    util = pytest.importorskip("skimage.util")
    extmath = pytest.importorskip("sklearn.utils.extmath")
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
from numpy.polynomial import chebyshev, legendre, polynomial


def image(*shape):
    return np.random.default_rng([3, *shape]).random(shape)


A, B = image(4, 5), image(5, 4)
THROUGH = {
    "invert": (util.invert, A),
    "gray2rgb": (color.gray2rgb, A),
    "rescale_intensity of a range": (lambda x: exposure.rescale_intensity(x, (0.2, 0.8)), A),
    "adjust_gamma": (lambda x: exposure.adjust_gamma(x, 2), A),
    "adjust_log": (exposure.adjust_log, A),
    "adjust_sigmoid": (exposure.adjust_sigmoid, A),
    "histogram": (lambda x: exposure.histogram(x, 4), A),
    "cumulative_distribution": (lambda x: exposure.cumulative_distribution(x, 4), A),
    "equalize_hist": (lambda x: exposure.equalize_hist(x, 8), A),
    "match_histograms": (exposure.match_histograms, A, image(4, 5) ** 2),
    "is_low_contrast": (exposure.is_low_contrast, A),
    "integral_image": (transform.integral_image, A),
    "threshold_mean": (filters.threshold_mean, A),
    "threshold_otsu": (lambda x: filters.threshold_otsu(x, 8), A),
    "threshold_yen": (lambda x: filters.threshold_yen(x, 8), A),
    "threshold_isodata": (lambda x: filters.threshold_isodata(x, 8), A),
    "threshold_triangle": (lambda x: filters.threshold_triangle(x, 8), A),
    "threshold_li": (filters.threshold_li, A),
    "window": (lambda x: filters.window("hann", x.shape) * x, A),
    "moments": (measure.moments, A),
    "moments_central": (measure.moments_central, A),
    "centroid": (measure.centroid, A),
    "expit": (special.expit, A),
    "xlogy": (special.xlogy, A, image(5)),
    "logsumexp": (lambda x: special.logsumexp(x, axis=0), A),
    "zscore": (stats.zscore, A),
    "safe_sparse_dot": (extmath.safe_sparse_dot, A, B),
    "svd_flip": (extmath.svd_flip, image(3, 2), image(2, 3)),
    "squared_norm": (extmath.squared_norm, A),
    "fast_logdet": (extmath.fast_logdet, np.eye(3) + image(3, 3) / 9),
    "make_nonnegative": (extmath.make_nonnegative, image(3, 2) - 0.5),
    "polynomial.polyval": (lambda x: polynomial.polyval(x, [1.0, 2, 3]), A),
    "polynomial.polyval2d": (lambda x, y: polynomial.polyval2d(x, y, np.eye(2)), A, image(4, 5)),
    "chebyshev.chebval": (lambda x: chebyshev.chebval(x, [1.0, 2, 3]), A),
    "legendre.legval": (lambda x: legendre.legval(x, [1.0, 2, 3]), A),
}
FOLLOWED = {
    "montage": (util.montage, None, image(4, 2, 3)),
    "block_reduce": (lambda x: measure.block_reduce(x, (2, 2)), None, image(4, 4)),
    "view_as_windows": (lambda x: util.view_as_windows(x, 2), None, A),
    "view_as_blocks": (lambda x: util.view_as_blocks(x, (2, 2)), None, image(4, 4)),
    "sklearn softmax": (extmath.softmax, None, A),
    "row_norms": (extmath.row_norms, None, A),
    "cartesian": (lambda x, y: extmath.cartesian([x, y]), None, image(3), image(2)),
    "shift": (ndimage.shift, "input", A, (1, 2), None, 0),
    "zoom": (ndimage.zoom, "input", A, 2, None, 0),
    "rotate": (ndimage.rotate, "input", A, 30, (1, 0), True, None, 0),
    "affine_transform": (
        ndimage.affine_transform, "input", A, np.array([[0.5, 0], [0, 1.5]]), 0.0, None, None, 0,
    ),
}  # fmt: skip
SUPERSET = {
    "distance_transform": (ndimage.distance_transform_edt, A > 1),
    "meijering": (lambda x: filters.meijering(x, [1]), A),
    "euclidean_distances": (pairwise.euclidean_distances, image(3, 2), image(4, 2)),
    "cosine_similarity": (pairwise.cosine_similarity, image(3, 2), image(4, 2)),
    "rbf_kernel": (pairwise.rbf_kernel, image(3, 2), image(4, 2)),
    "scale": (preprocessing.scale, image(5, 2)),
    "normalize": (preprocessing.normalize, image(5, 2)),
    "minmax_scale": (preprocessing.minmax_scale, image(5, 2)),
}


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


def flattened(result):
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in flattened(item)]
    return [result] if isinstance(result, (np.ndarray, np.generic)) else []


def followed(store, result, source):
    """The pairs of a result and an input, over however many operations."""
    if not is_tracked(result) or result.name is None:
        return set()
    found = set()
    for cell in itertools.product(*map(range, result.shape)):
        where = [cell] if cell else np.ones((), bool)
        try:
            back = store.backward(result.name, where, to=source)
        except dslog.PathError:  # nothing leads there
            return set()
        found |= {(*cell, *map(int, one)) for one in back.indices()}
    return found


def run(store, function, *args, plain=None):
    """Run a function on tracked arrays; return what changes, and the lineage that is recorded."""
    call = make_call(plain or function, args, {})
    tracked = [store.track(arg.copy()) if isinstance(arg, np.ndarray) else arg for arg in args]
    names = [one.name for one in tracked if isinstance(one, TrackedArray)]  # before it writes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = flattened(function(*tracked))
    outputs = [output for output in call.outputs if not isinstance(output, bool)]
    for result, output in zip(results, outputs, strict=True):
        assert dslog.plain(result).dtype == output.dtype
        assert dslog.plain(result).tobytes() == output.tobytes()
    found = [[followed(store, result, name) for name in names] for result in results]
    return influence(call, 1e-9, "f"), found


@pytest.mark.parametrize("name", THROUGH)
def test_tracked_arrays_go_through(store, name):
    changed, found = run(store, *THROUGH[name])
    assert any(pairs for row in found for pairs in row)
    for per_output, per_changed in zip(found, changed, strict=True):
        for mine, theirs in zip(per_output, per_changed, strict=True):
            assert theirs <= mine
    assert all(one.exact for one in store.lineages())


@pytest.mark.parametrize("name", FOLLOWED)
def test_other_functions_are_followed(store, name):
    function, moves, *args = FOLLOWED[name]
    changed, found = run(store, foreign(function, moves), *args, plain=function)
    assert all(one.exact for one in store.lineages())
    if name == "montage":  # it fills up with the mean, which reads everything
        assert changed[0][0] <= found[0][0]
    else:
        assert found == changed


@pytest.mark.parametrize("name", SUPERSET)
def test_what_cannot_be_followed_is_labelled(store, name):
    function, *args = SUPERSET[name]
    changed, found = run(store, foreign(function), *args, plain=function)
    assert not any(one.exact for one in store.lineages())
    for per_output, per_changed in zip(found, changed, strict=True):
        for mine, theirs in zip(per_output, per_changed, strict=True):
            assert theirs <= mine


def test_values_that_leave_numpy_are_not_followed(store):
    """The range of the image goes through Python's floats, so it does not count as read."""
    changed, found = run(store, exposure.rescale_intensity, A)
    assert found == [[{(*cell, *cell) for cell in np.ndindex(*A.shape)}]]
    assert len(changed[0][0]) > len(found[0][0])


def test_without_tracked_arrays_a_foreign_function_is_itself():
    shifted = foreign(ndimage.shift, "input")
    assert isinstance(shifted(A, 1), np.ndarray)
    assert not isinstance(shifted(A, 1), TrackedArray)
    assert shifted.__name__ == "shift"


def test_a_foreign_function_keeps_its_name_in_the_store(store):
    x = store.track(A, "A")
    y = foreign(ndimage.shift, "input")(x, (0, 1), order=0)
    (operation,) = [one for one in store.operations() if "shift" in one.name]
    assert operation.name.endswith("shift")
    cells = store.backward(y.name, [(2, 3)], to="A")
    assert cells.indices().tolist() == [[2, 2]]
