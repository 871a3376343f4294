"""Code that nobody here wrote, on tracked arrays: same values, and lineage for every change."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from perturbation import changed

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


def through_float(x):
    return np.array([float(v) for v in x.ravel()]) * 2


def through_list(x):
    return np.array(x.tolist()).sum(axis=0)


def through_bytes(x):
    return np.frombuffer(x.tobytes()).reshape(x.shape)[::-1]


def of_ndarrays_only(x):
    return np.ndarray.__add__(x, 1.0)


def drawing(x):
    return x[int(np.random.default_rng(3).integers(3))] + np.random.random() + float(x[0, 0])  # noqa: NPY002


def in_dict(x):
    return {"rows": x.sum(axis=1), "all": [float(x.sum()), "text", None, True]}


A, B = image(4, 5), image(5, 4)
FOLLOWED = {
    "invert": (util.invert, A),
    "gray2rgb": (color.gray2rgb, A),
    "rescale_intensity of a range": (lambda x: exposure.rescale_intensity(x, (0.2, 0.8)), A),
    "adjust_gamma": (lambda x: exposure.adjust_gamma(x, 2), A),
    "adjust_log": (exposure.adjust_log, A),
    "adjust_sigmoid": (exposure.adjust_sigmoid, A),
    "histogram": (lambda x: exposure.histogram(x, 4), A),
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
TRACED_OR_MOVED = {
    "montage": (util.montage, None, image(4, 2, 3)),
    "block_reduce": (lambda x: measure.block_reduce(x, (2, 2)), None, image(4, 4)),
    "view_as_windows": (lambda x: util.view_as_windows(x, 2), None, A),
    "view_as_blocks": (lambda x: util.view_as_blocks(x, (2, 2)), None, image(4, 4)),
    "sklearn softmax": (extmath.softmax, None, A),
    "row_norms": (extmath.row_norms, None, A),
    "cartesian": (lambda x, y: extmath.cartesian([x, y]), None, image(3), image(2)),
    "tolist": (through_list, None, A),
    "C code that takes ndarrays": (of_ndarrays_only, None, A),
    "shift": (ndimage.shift, "input", A, (1, 2), None, 0),
    "zoom": (ndimage.zoom, "input", A, 2, None, 0),
    "rotate": (ndimage.rotate, "input", A, 30, (1, 0), True, None, 0),
    "affine_transform": (
        ndimage.affine_transform, "input", A, np.array([[0.5, 0], [0, 1.5]]), 0.0, None, None, 0,
    ),
}  # fmt: skip


SUPERSET = {
    "float": (through_float, A),
    "tobytes": (through_bytes, A),
    "random": (drawing, A),
    "results in containers": (in_dict, A),
    "distance_transform_edt": (ndimage.distance_transform_edt, A),
}


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


def leaves(result):
    """The arrays and numbers in a result."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in leaves(item)]
    return [result] if isinstance(result, (np.ndarray, np.generic, float, bool)) else []


def changes(function, args, place):
    """The pairs (output cell, input cell) of each result that a small change shows."""
    args = copies(args)

    def run():
        np.random.seed(1)  # noqa: NPY002
        return [dslog.plain(leaf).astype(float) for leaf in leaves(function(*copies(args)))]

    return [pairs for [pairs] in changed(run, [args[place]])]


def copies(args):
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def check(store, function, args, plain=None):
    """Call with tracked arrays: same values; return changes and answers per result and input."""
    plain = plain or function
    np.random.seed(1)  # noqa: NPY002 (what a function may draw from)
    wanted = leaves(plain(*copies(args)))
    tracked = [store.track(a.copy()) if isinstance(a, np.ndarray) else a for a in args]
    names = [one.name for one in tracked if isinstance(one, TrackedArray)]
    np.random.seed(1)  # noqa: NPY002
    results = leaves(function(*tracked))
    places = [k for k, arg in enumerate(args) if isinstance(arg, np.ndarray)]
    for mine, theirs in zip(results, wanted, strict=True):
        assert same(mine, theirs)
    found = []
    for place, name in zip(places, names, strict=True):
        for result, pairs in zip(results, changes(plain, args, place), strict=True):
            found.append((pairs, *answer(store, result, name)))
    return found


def same(mine, theirs):
    mine, theirs = (dslog.plain(each) if is_tracked(each) else each for each in (mine, theirs))
    if isinstance(theirs, (np.ndarray, np.generic)):
        alike = type(mine) is type(theirs) and mine.dtype == theirs.dtype
        return alike and mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()
    return type(mine) is type(theirs) and mine == theirs


def answer(store, result, source):
    """The pairs of a result and an input, and whether they are called exact."""
    name = store.name_of(result)
    if name is None:
        return set(), True
    cells = store.backward(name, ..., to=source)
    found = set()
    for cell in np.ndindex(np.shape(dslog.plain(result))):
        where = [cell] if cell else np.ones((), bool)
        back = store.backward(name, where, to=source)
        found |= {(*cell, *map(int, one)) for one in back.indices()}
    return found, cells.exact


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_numpy_and_python_do_is_followed(store, name):
    function, *args = FOLLOWED[name]
    for shown, found, exact in check(store, foreign(function), args, plain=function):
        assert exact
        assert shown <= found
    assert found


@pytest.mark.parametrize("name", TRACED_OR_MOVED)
def test_what_moves_cells_is_run_on_positions_or_traced(store, name):
    function, moves, *args = TRACED_OR_MOVED[name]
    for shown, found, exact in check(store, foreign(function, moves), args, plain=function):
        assert exact
        assert found == shown or (name == "montage" and shown <= found)  # filled with the mean


@pytest.mark.parametrize("name", SUPERSET)
def test_what_cannot_be_followed_is_labelled(store, name):
    function, *args = SUPERSET[name]
    for shown, found, exact in check(store, foreign(function), args, plain=function):
        assert not exact or name == "results in containers"
        assert shown <= found
        assert found or not shown
    assert not [leak for leak in store.leaks() if leak.loses]


def test_libraries_are_followed_where_they_are_reached_by_a_link(tmp_path):
    real = Path(np.__file__).parents[1]
    (tmp_path / "site-packages").symlink_to(real, target_is_directory=True)
    code = """if True:
        import numpy as np, scipy.stats, dslog
        with dslog.open(":memory:") as store:
            y = dslog.foreign(scipy.stats.zscore)(store.track(np.arange(4.0), "x"))
            print(np.__file__, store.backward(store.name_of(y), [1], to="x").exact)
        """
    paths = [tmp_path / "site-packages", *filter(None, map(str, sys.path))]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    file, exact = ran.stdout.split()
    assert file.startswith(str(tmp_path))
    assert exact == "True"


@pytest.mark.parametrize("result", [True, "a text", [1.0, False]])
def test_truths_and_texts_are_noted(store, result):
    x = store.track(image(3), "x")

    def looks(values):
        values.tobytes()
        return result

    assert foreign(looks)(x) == result
    assert {leak.loses for leak in store.leaks()} == {False}


def test_slices_hold_values(store):
    x = store.track(np.eye(4, dtype=int), "x")
    ((rows, _),) = foreign(ndimage.find_objects)(x)
    assert type(rows) is slice
    assert (rows.start, rows.stop) == (0, 4)
    cells = store.backward((image(4) * rows.stop).name, [(0,)], to="x")
    assert cells.count == 16
    assert not cells.exact


@pytest.mark.filterwarnings("ignore::dslog.capture.leaks.LeakWarning")
def test_bytes_are_values(store):
    x = store.track(image(3), "x")
    assert foreign(lambda values: np.asarray(values).tobytes())(x) == image(3).tobytes()
    assert any(leak.loses for leak in store.leaks())


def test_positions_are_not_believed_where_values_say_otherwise(store):
    def shuffles(x):
        return x[::-1] if x.dtype == np.int64 else x[[1, 0, *range(2, len(x))]]

    ((shown, found, exact),) = check(store, foreign(shuffles, "x"), [image(4)], plain=shuffles)
    assert exact  # it is followed instead
    assert found == shown


def test_what_is_said_of_one_call_holds_for_that_call(store):
    def picks(x, at):
        return x[at]

    x = store.track(image(3), "x")
    for at in (0, 2, 1):
        found = foreign(picks, "x")(x, at)
        assert store.backward(store.name_of(found), ..., to="x").indices().tolist() == [[at]]


@pytest.mark.parametrize("leaves_values", [False, True])
def test_what_a_function_writes_is_seen(store, leaves_values):
    def fills(x, out):
        out[0] = float(x.sum()) if leaves_values else x.sum()
        out[1] = 7
        return out

    x = store.track(image(3), "x")
    out = store.track(np.zeros(3), "out")
    assert foreign(fills)(x, out) is out
    assert out[1] == 7
    cells = store.backward(out.name, [(0,)], to="x")
    assert cells.count == 3
    assert cells.exact is not leaves_values
    if not leaves_values:
        assert store.backward(out.name, [(2,)], to="out").indices().tolist() == [[2]]


@pytest.mark.parametrize("named", [False, True])
def test_an_output_that_held_the_same_values_before_is_written(store, named):
    x = store.track(np.zeros((4, 7), bool), "x")
    out = np.zeros((4, 7), bool)
    with dslog.watch(ndimage):
        for source in (x, out):
            copy = source.copy()
            if named:
                ndimage.binary_dilation(copy, np.ones((1, 3)), output=out)
            else:
                ndimage.binary_dilation(copy, np.ones((1, 3)), 1, None, out)
    found = store.backward(out.name, [(1, 3)], to="x").indices().tolist()
    assert found == [[1, j] for j in range(1, 6)]


def test_what_it_writes_into_arrays_that_it_was_not_given_leaks(store):
    x = store.track(image(3), "x")
    hidden = np.zeros(3)

    def fills(x):
        hidden[:] = x * 2
        return np.array([float(v) for v in x])

    with pytest.warns(dslog.LeakWarning):
        y = foreign(fills)(x)
    assert not store.backward(y.name, [(0,)], to="x").exact
    (hidden + x).named("after")
    assert dslog.plain(hidden).tolist() == (image(3) * 2).tolist()
    assert not store.backward("after", [(0,)], to="x").complete


def test_an_array_that_escapes_from_a_function_that_could_not_be_followed(store):
    kept = []

    def keeps(x):
        kept.append(x[::-1] * 2)
        return float(x.sum())

    x = store.track(image(3), "x")
    foreign(keeps)(x)
    found = [store.backward(store.name_of(each + 1), [(0,)], to="x") for each in kept[:1]]
    assert [(2,) in map(tuple, each.indices().tolist()) for each in found] == [True]


def test_a_filled_array_of_which_only_a_view_was_written_is_a_result(store):
    def through_a_view(x):
        made = np.zeros((2, 2))
        np.diag(made).flags.writeable = True
        view = made[0]
        view[:] = x[:2] * 2
        return made

    x = store.track(image(3), "x")
    y = foreign(through_a_view)(x)
    assert [op.name.endswith("through_a_view") for op in store.operations()] == [True]
    assert store.backward(y.name, [(0, 1)], to="x").indices().tolist() == [[1]]
    assert store.backward(y.name, [(1, 1)], to="x").indices().tolist() == []


def test_a_later_use_of_what_only_a_view_of_was_written(store):
    def through_a_view(x):
        made = np.zeros((2, 2))
        made[0][:] = x[:2] * 2
        return [lambda: made]

    x = store.track(image(3), "x")
    with dslog.operation("block", store) as op:
        (get,) = through_a_view(x)
        op.keep(x)
    assert store.operations() == []
    assert store.backward(store.name_of(get()), [(0, 1)], to="x").indices().tolist() == [[1]]


@pytest.mark.parametrize("scaler", ["MinMaxScaler", "StandardScaler", "MaxAbsScaler"])
def test_estimators_inside_of_a_followed_function(store, scaler):
    def scaled(x):
        return getattr(preprocessing, scaler)().fit_transform(x)

    x = store.track(image(5, 2), "x")
    with dslog.watch(preprocessing):
        y = foreign(scaled)(x)
    assert np.array_equal(dslog.plain(y), scaled(image(5, 2)))
    cells = store.backward(y.name, [(0, 0)], to="x")
    assert {(k, 0) for k in range(5)} <= set(map(tuple, cells.indices().tolist()))


def test_an_image_moment_is_followed(store):
    x = store.track(image(6, 6), "x")
    moments = __import__("skimage.measure._moments", fromlist=["inertia_tensor"])
    y = foreign(moments.inertia_tensor)(x)
    assert store.backward(y.name, [(0, 1)], to="x").count == 36


def test_what_it_writes_into_plain_memory_leaks(store):
    x = store.track(image(3), "x")
    plain = dslog.plain(np.random.default_rng(0).random(3))
    with pytest.warns(dslog.LeakWarning):
        foreign(np.ndarray.__iadd__)(plain, x)
    assert [leak for leak in store.leaks() if leak.loses]


def test_errors_are_those_of_the_function_and_nothing_is_left(store):
    def fails(x):
        x[0] = 5
        raise RuntimeError("no")

    x = store.track(image(3), "x")
    with pytest.raises(RuntimeError, match="no"):
        foreign(fails)(x)
    assert x[0] == 5  # as it would be without DSLog
    assert store.backward(x.name, [(1,)], to="x").indices().tolist() == [[1]]


def test_without_tracked_arrays_a_foreign_function_is_itself():
    shifted = foreign(ndimage.shift, "input")
    assert not isinstance(shifted(A, 1), TrackedArray)
    assert shifted.__name__ == "shift"


def test_a_call_is_one_operation_under_the_functions_name(store):
    x = store.track(A, "A")
    y = foreign(exposure.rescale_intensity)(x, (0.2, 0.8)).named("y")
    assert [op.name for op in store.operations()] == ["skimage.exposure.exposure.rescale_intensity"]
    assert store.backward("y", [(2, 3)], to="A").indices().tolist() == [[2, 3]]
    z = foreign(ndimage.shift, "input")(x, (0, 1), order=0).named("z")
    assert store.operations()[-1].name.endswith("shift")
    assert store.backward("z", [(2, 3)], to="A").indices().tolist() == [[2, 2]]
    assert y.shape == z.shape


def test_results_with_attributes_hold_values(store):
    stats = pytest.importorskip("scipy.stats")
    a, b = np.array([0.3, 1.2, 0.7]), np.array([0.5, 0.1, 0.9, 1.4])
    plain = stats.cramervonmises_2samp(a, b)
    made = foreign(stats.cramervonmises_2samp)(store.track(a, "a"), store.track(b, "b"))
    assert type(made) is type(plain)
    assert (made.statistic, made.pvalue) == (plain.statistic, plain.pvalue)
    assert store.backward(store.name_of(made.statistic), np.ones((), bool), to="b").count == 4
