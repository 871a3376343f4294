"""Rules for ``scipy.stats`` and ``scipy.integrate``: statistics and integrals along an axis."""

from __future__ import annotations

from dslog.algebra.product import all_to_all, elementwise, follow, free, part, product, row
from dslog.capture.foreign.data_rule import (
    axes_given,
    data_rule,
    names_of,
    on_axes,
    option,
    place_of,
)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.window import trapezoid
from dslog.lineage.lineage import Lineage
from dslog.types import Array

_SAMPLES = "a b x y u_values v_values samples data data1 data2 values pk qk weights f_obs f_exp"


@data_rule(
    *names_of("scipy.stats", "zscore gzscore gmean hmean pmean skew kurtosis sem variation moment"),
    *names_of("scipy.stats", "tmean tvar tstd tsem tmin tmax circmean circstd circvar gstd"),
    *names_of("scipy.stats", "kstat kstatvar entropy differential_entropy rankdata describe"),
    *names_of("scipy.stats", "normaltest skewtest kurtosistest jarque_bera shapiro chisquare"),
    *names_of("scipy.stats", "power_divergence f_oneway kruskal levene bartlett ks_2samp"),
    *names_of("scipy.stats", "ttest_ind ttest_rel ttest_1samp mannwhitneyu wilcoxon kendalltau"),
    *names_of("scipy.stats", "pearsonr linregress fligner mood ansari cramervonmises_2samp"),
    data=_SAMPLES, note="each cell from all cells on the axis",
)  # fmt: skip
def statistic(call: Call, data: Array, out: Array) -> Lineage | None:
    """Those that compare read all of them too; where NaN is left out, not all of them."""
    if call.func.__name__ == "describe" and place_of(call, out) == 0:
        return None  # how many there are
    main = next((one for one in call.inputs if one.ndim > data.ndim), data)
    axis = option(call, "axis")
    if main.ndim != data.ndim:  # weights along the axis
        return all_to_all(out.shape, data.shape, exact=main.ndim == 1)
    axes = axes_given(call, data) if axis is not None else tuple(range(data.ndim))
    exact = option(call, "nan_policy") != "omit"
    return on_axes(out, data, axes, exact=exact)


@data_rule("scipy.stats.zmap", data="scores compare", note="a score and all it is compared with")
def zmap(call: Call, data: Array, out: Array) -> Lineage:
    """Standard scores by another sample's mean and deviation."""
    if data is option(call, "scores"):
        return elementwise(out.shape, data.shape)
    return on_axes(out, data, axes_given(call, data))


@data_rule(
    *names_of("scipy.stats", "boxcox yeojohnson"),
    data="x", note="each cell from its cell; from all cells where they set the power",
)  # fmt: skip
def power_transform(call: Call, data: Array, out: Array) -> Lineage:
    """A power that is given is not estimated."""
    if option(call, "lmbda") is not None and out.shape == data.shape:
        return elementwise(out.shape, data.shape)
    return all_to_all(out.shape, data.shape)


rule("scipy.integrate.trapezoid", note="each cell from all cells on the axis")(trapezoid)


@data_rule(
    *names_of("scipy.integrate", "simpson romb cumulative_simpson"),
    data="y x", note="each cell from all cells on the axis",
)  # fmt: skip
def integral(call: Call, data: Array, out: Array) -> Lineage:
    """An integral reads the axis and the places of its points; a running one, some of it."""
    exact = call.func.__name__ != "cumulative_simpson"
    if data is option(call, "x") and data.ndim == 1:
        return all_to_all(out.shape, data.shape, exact=exact)
    return on_axes(out, data, axes_given(call, data), exact=exact)


@data_rule(
    "scipy.integrate.cumulative_trapezoid",
    data="y x", note="each cell from the cells up to the next on the axis",
)  # fmt: skip
def running_integral(call: Call, data: Array, out: Array) -> Lineage | None:
    """An initial value is from nothing."""
    axis = int(option(call, "axis")) % out.ndim
    at = 0 if data.ndim < out.ndim else axis
    first, size = int(option(call, "initial") is not None), data.shape[at]
    if size < 2:
        return None
    steps = row([(first, first)], [(0, 1)], [-1], (size - 1, [(1, 1)], [(0, 1)]))
    others = [
        free(k, n) if data.ndim < out.ndim else follow(k, k, n)
        for k, n in enumerate(out.shape)
        if k != axis
    ]
    return product(out.shape, data.shape, part([axis], [at], steps), *others)
