"""Objects that are made of arrays and asked later: interpolators, distributions, search trees."""

import copy
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")
from scipy import integrate, interpolate, signal, spatial, stats

import dslog
from dslog.capture.foreign import recipe

TIMES = np.array([0.0, 0.7, 1.1, 2.3, 2.9, 4.2, 5.0])
VALUES = np.array([0.3, 1.7, -0.4, 0.9, 2.1, 0.2, 1.3])
PLACES = np.array([0.4, 1.9, 3.3, 4.7])
GRID = np.random.default_rng(3).random((4, 5))
POINTS = np.random.default_rng(4).random((9, 2))
ASKED = POINTS.mean(axis=0) * 0.7 + POINTS[:3] * 0.3
HEIGHTS = np.random.default_rng(5).random(9)
AXES = np.arange(4.0), np.arange(5.0)
ALPHA = np.array([1.2, 2.3, 0.7, 3.1])

EXACT = {
    "interp1d": (lambda x, y, at: interpolate.interp1d(x, y)(at), TIMES, VALUES, PLACES),
    "cubic": (lambda x, y, at: interpolate.interp1d(x, y, "cubic")(at), TIMES, VALUES, PLACES),
    "CubicSpline": (lambda x, y, at: interpolate.CubicSpline(x, y)(at), TIMES, VALUES, PLACES),
    "derivative": (
        lambda x, y: interpolate.CubicSpline(x, y).derivative()(PLACES), TIMES, VALUES
    ),
    "integral": (lambda y: interpolate.CubicSpline(TIMES, y).integrate(0.2, 3.0), VALUES),
    "Hermite": (
        lambda y, d: interpolate.CubicHermiteSpline(TIMES, y, d)(PLACES), VALUES, VALUES[::-1] / 2
    ),
    "make_interp_spline": (
        lambda x, y, at: interpolate.make_interp_spline(x, y, k=1)(at), TIMES, VALUES, PLACES
    ),
    "set_yi": (
        lambda y: _with_values(interpolate.BarycentricInterpolator(TIMES, rng=0), y), VALUES
    ),
    "RegularGrid": (
        lambda v, at: interpolate.RegularGridInterpolator(AXES, v)(at), GRID, ASKED * 3
    ),
    "outside": (
        lambda v: interpolate.RegularGridInterpolator(AXES, v, bounds_error=False)(
            [[1.5, 9], [1, 2.5]]
        ),
        GRID,
    ),
    "RectBivariate": (
        lambda v: interpolate.RectBivariateSpline(*AXES, v, kx=1, ky=1).ev([1.5], [2.2]), GRID
    ),
    "LinearND": (
        lambda p, v, at: interpolate.LinearNDInterpolator(p, v)(at), POINTS, HEIGHTS, ASKED
    ),
    "PPoly": (lambda c, at: interpolate.PPoly(c, np.arange(6.0))(at), GRID, PLACES),
    "norm": (lambda x, m, s: stats.norm.cdf(x, m, scale=s), PLACES, ALPHA[:, None], np.array(0.7)),
    "frozen": (lambda a, b: stats.beta(a, b).ppf(0.3), ALPHA, ALPHA[::-1] + 1),
    "moments": (lambda m, s: stats.norm(m, scale=s).interval(0.9), ALPHA, ALPHA[::-1]),
    "discrete": (lambda m: stats.poisson.pmf(2, m), ALPHA),
    "two columns": (
        lambda y, at: interpolate.RBFInterpolator(POINTS, y)(at), POINTS[:, ::-1] ** 2, ASKED
    ),
}  # fmt: skip
LOOSE = {
    "pchip": (lambda y: interpolate.PchipInterpolator(TIMES, y)(PLACES), VALUES),
    "smooth": (lambda y: interpolate.UnivariateSpline(TIMES, y, s=0.5)(PLACES), VALUES),
    "centres": (lambda p: interpolate.RBFInterpolator(p, HEIGHTS)(ASKED), POINTS),
    "draws": (lambda x: stats.norm.rvs(x, size=(2, 9), random_state=0), HEIGHTS),
    "tree": (lambda p, at: spatial.KDTree(p).query(at)[0], POINTS, ASKED),
    "stft": (lambda x: signal.ShortTimeFFT(np.ones(4), 2, 1.0).stft(x), HEIGHTS),
}


def _with_values(spline, values):
    spline.set_yi(values)
    return spline(PLACES)


@pytest.fixture(autouse=True)
def _watched():
    with dslog.watch("scipy"):
        yield


def leaves(result):
    return list(result) if type(result) is tuple else [result]


def check(store, function, arrays):
    """Give, for each result and array, cells that change, those found, and if that is exact."""
    plain = [np.asarray(leaf) for leaf in leaves(function(*arrays))]
    tracked = [store.track(array.copy(), f"in{k}") for k, array in enumerate(arrays)]
    results = leaves(function(*tracked))
    for leaf, result in zip(plain, results, strict=True):
        assert np.asarray(dslog.plain(result)).tobytes() == leaf.tobytes()
    for place, array in enumerate(arrays):
        moved = [set() for _ in plain]
        for cell in np.ndindex(array.shape):
            other = array.copy()
            other[cell] += 1e-4
            again = leaves(function(*arrays[:place], other, *arrays[place + 1 :]))
            for one, before, after in zip(moved, plain, again, strict=True):
                far = ~np.isclose(before, after, rtol=1e-12, atol=1e-13, equal_nan=True)
                one |= {(*map(int, out), *cell) for out in np.argwhere(far)}
        for k, result in enumerate(results):
            found, exact = set(), True
            for out in np.ndindex(plain[k].shape):
                asked = [out] if out else np.ones((), bool)
                answer = store.backward(store.name_of(result), asked, to=f"in{place}")
                exact &= answer.exact
                assert answer.complete
                found |= {(*out, *map(int, cell)) for cell in answer.indices()}
            yield moved[k], found, exact


@pytest.mark.parametrize("name", EXACT)
def test_what_an_object_gives_is_from_what_it_was_made_of(store, name):
    function, *arrays = EXACT[name]
    for moved, found, exact in check(store, function, arrays):
        assert exact
        assert found == moved


@pytest.mark.parametrize("name", LOOSE)
def test_what_is_not_known_is_labelled(store, name):
    function, *arrays = LOOSE[name]
    results = list(check(store, function, arrays))
    assert all(moved <= found for moved, found, _ in results)
    assert not all(exact for _, _, exact in results)


def test_a_later_write_does_not_change_what_was_made(store):
    y = store.track(VALUES.copy(), "y")
    spline = interpolate.interp1d(TIMES, y)
    other = store.track(np.array([5.0]), "other")
    y[0] = other[0]
    found = spline(0.4).named("found")
    assert store.backward("found", np.ones((), bool), to="other").count == 0
    assert dslog.plain(found) == interpolate.interp1d(TIMES, VALUES)(0.4)


def test_what_is_read_of_an_object_is_a_leak(store):
    y = store.track(VALUES.copy(), "y")
    spline = interpolate.CubicSpline(TIMES, y)
    assert spline.c.tobytes() == interpolate.CubicSpline(TIMES, VALUES).c.tobytes()
    assert {leak.way for leak in store.leaks()} == {"CubicSpline.c"}
    assert not store.leaks()[0].array.startswith("y.CubicSpline")


def test_an_object_given_to_another_is_a_leak(store):
    trees = [spatial.KDTree(store.track(POINTS.copy(), name)) for name in ("p", "q")]
    trees[0].count_neighbors(trees[1], 0.3)
    assert {leak.array.partition(".")[0] for leak in store.leaks()} >= {"q"}


def test_a_callback_is_followed(store):
    spline = copy.deepcopy(interpolate.interp1d(TIMES, store.track(VALUES.copy(), "y")))
    area = integrate.quad(spline, 0.0, 1.0)[0]
    assert area == integrate.quad(interpolate.interp1d(TIMES, VALUES), 0.0, 1.0)[0]
    assert not store.backward((store.track(VALUES, "z") * area).name, [(0,)], "z").exact or any(
        leak.loses for leak in store.leaks()
    )


def test_nothing_is_kept_of_plain_values(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spline = interpolate.CubicSpline(TIMES, VALUES)
        assert type(spline(PLACES)) is np.ndarray
    assert list(vars(spline)) == list(vars(interpolate.CubicSpline(TIMES, VALUES)))
    assert not store.leaks()


def test_classes_are_as_before_afterwards():
    kinds = [interpolate.PPoly, interpolate.CubicSpline, stats.rv_continuous, spatial.KDTree]
    watched = [recipe.is_watched(kind) for kind in kinds]
    assert watched == [True] * 4


def test_the_end_of_watching():
    with dslog.watch("all"):
        pass
    before = dict(vars(interpolate.Akima1DInterpolator))
    with dslog.watch("scipy.interpolate"):
        pass
    assert dict(vars(interpolate.Akima1DInterpolator)) == before
