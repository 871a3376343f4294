"""Order statistics, NaN left out, phases unwrapped."""

import math

import numpy as np
import pytest
from numpy_oracles import Untracked, apart, case, check, contains, floats, traced

Y = apart(2, 3, 4)
GAPS = Y.copy()
GAPS[0, 1, 2] = GAPS[1, 0, 0] = GAPS[1, 0, 1] = np.nan
GAPS[0, :, 0] = np.nan
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
]  # fmt: skip


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2)])
def test_quantiles(axis, keepdims):
    check(case(np.median, Y, axis=axis, keepdims=keepdims).but(kind="value"))
    check(case(np.quantile, Y, 0.3, axis=axis, keepdims=keepdims))
    check(case(np.percentile, Y, [11.0, 35, 70], axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    check(case(np.quantile, apart(7), [0.13, 0.41, 0.77], method=method))
    check(case(np.quantile, apart(3, 8), 0.37, axis=1, method=method))
    check(contains(np.quantile, apart(5), [0, 0.5, 1], method=method))


ORDER = [3, 0, 2, 1]  # of the values below
LINE = np.array([2.0, 9, 5, 1])


def by_rank(*ranks):
    return lambda b, a: a[0] in [ORDER[rank] for rank in ranks]


MORE = [
    contains(np.median, LINE).but(expect=by_rank(1, 2)),
    contains(np.median, np.array([2.0, 9, 5])).but(expect=lambda b, a: a[0] == 2),
    contains(np.quantile, LINE, 0).but(expect=by_rank(0)),
    contains(np.quantile, LINE, 1).but(expect=by_rank(3)),
    contains(np.quantile, np.append(LINE, 7.0), np.array([0.25, 0.3])).but(
        expect=[[lambda b, a: a[0] in ((0,), (0, 2))[b[0]], lambda b, a: a == b]]
    ),
    contains(np.median, np.array([2, np.nan, 5])).but(nudge="", expect=lambda b, a: a[0] == 1),
    contains(np.median, floats(0, 3), axis=1),
    contains(np.median, np.array([3, 1, 2])),
    contains(np.quantile, np.array([3, 3, 3, 1.0]), 0.5).but(
        nudge="", expect=lambda b, a: a[0] in (0, 1)
    ),
    contains(np.quantile, LINE, 0.6, weights=floats(4), method="inverted_cdf"),
    contains(np.quantile, apart(3, 7), np.array([0.41, 0.7]), weights=floats(7), axis=1,
             method="inverted_cdf"),
    contains(np.percentile, apart(3, 7), [41, 70.0], weights=floats(3, 7), axis=0,
             method="inverted_cdf", keepdims=True),
    *(case(np.nanmedian, GAPS, axis=axis) for axis in (None, 1, 2)),
    case(np.nanquantile, GAPS, [0.21, 0.6], axis=2),
    case(np.nanpercentile, GAPS, 33.0, axis=1),
    contains(np.nanmedian, np.array([[np.nan, np.nan], [1, np.nan]]), axis=1).but(
        nudge="", expect=lambda b, a: b[0] == 1 and a == (1, 0)
    ),
]  # fmt: skip


@pytest.mark.parametrize("one", MORE, ids=str)
def test_more_quantiles(one):
    check(one.but(kind="value"))


SUMS = [np.nansum, np.nanprod, np.nanmean]
SPREADS = [np.nanvar, np.nanstd]


@pytest.mark.parametrize("func", SUMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (1, 2)])
@pytest.mark.parametrize("values", [Y, GAPS], ids=["all", "gaps"])
def test_reductions_without_nan(func, axis, values):
    ((lineage,),) = check(case(func, values, axis=axis).but(size=1e-4, kind="value"))
    assert values is GAPS or lineage.num_rows == 1


def left_in(axes):
    def test(b, a):
        return not np.isnan(GAPS[a]) and list(b) == [x for k, x in enumerate(a) if k not in axes]

    return test


@pytest.mark.parametrize(
    "func",
    [*SPREADS, np.nanmax, np.nanmin, np.nanargmax, np.nanargmin],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("axis", [None, 1, 2])
def test_other_reductions_without_nan(func, axis):
    axes = range(3) if axis is None else (axis,)
    if func in (np.nanargmax, np.nanargmin) and axis == 1:
        return  # a line of NaN alone is an error
    check(contains(func, GAPS, axis=axis).but(expect=left_in(axes), kind="value"))


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("values", [Y, GAPS], ids=["all", "gaps"])
def test_scans_without_nan(axis, values):
    check(case(np.nancumsum, values, axis=axis).but(kind="value"))
    check(case(np.nancumprod, values / 9, axis=axis).but(size=1e-2))


def test_scans_of_lines():
    check(case(np.nancumsum, np.array([np.nan, 1, 2, np.nan, np.nan, 3])))
    check(case(np.nancumsum, np.array([np.nan, np.nan])))
    check(case(np.nancumsum, floats(), axis=0))
    check(case(np.nancumsum, np.array([1, 2, 3])).but(nudge="i"))


PHASES = np.array([0, 3.0, 3.5, 7.0, 7.2, 0.3, 10])
TWO = np.stack([PHASES, PHASES[::-1]])


@pytest.mark.parametrize(
    "kwargs", [{}, {"discont": 5.0}, {"discont": 0.4, "period": 1.0}, {"period": 2.0}], ids=str
)
def test_unwrapping(kwargs):
    check(traced(np.unwrap, PHASES, **kwargs).but(kind="value"))
    check(traced(np.unwrap, TWO, axis=1, **kwargs))
    check(traced(np.unwrap, TWO, axis=0, **kwargs))


def test_unwrapping_a_smooth_phase_changes_nothing():
    ((lineage,),) = check(case(np.unwrap, np.linspace(0, math.pi, 5)))
    assert lineage.num_rows == 1
    check(case(np.unwrap, floats(0)))


def test_a_level_that_is_not_tracked():
    check(case(np.quantile, apart(5), Untracked(np.array([0.3, 0.9]))))
