"""Rules for scipy's transforms, matrices, statistics, interpolation and distances."""

import numpy as np
import pytest
from rule_examples import Plain, bits, check, equal, image, loose, within, words

fft = pytest.importorskip("scipy.fft")
from scipy import integrate, interpolate, linalg, stats  # noqa: E402
from scipy.cluster import vq  # noqa: E402
from scipy.spatial import distance  # noqa: E402

from dslog.capture.foreign.rules import (  # noqa: E402, F401
    distances,
    interpolation,
    scipy_fft,
    scipy_linalg,
    scipy_stats,
)

X, A, B = image(7), image(4, 5), image(4, 3)
M = image(3, 3) + 2 * np.eye(3)
N = image(3, 3)[::-1].copy() + 2 * np.eye(3)
S = M @ M.T
STACK = np.stack([M, N])
TALL = image(4, 3)


def noisy(examples):
    return [one.but(noise=1e-11, steps=(0.3,)) for one in examples]


def chosen(func, *args):
    """Values decide which cells are read: a change that turns no decision around is among them."""
    return within(func, *args).but(steps=(1e-6,))


ONE = words("fft ifft rfft irfft hfft ihfft dct idct dst idst")
SEVERAL = words(
    "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn dctn idctn "
    "dstn idstn"
)
FFT = [
    *(within(getattr(fft, f), A, axis=0) for f in ONE),
    *(within(getattr(fft, f), X, n=5) for f in ONE),
    *(within(getattr(fft, f), X, n=9) for f in ONE),
    *(within(getattr(fft, f), image(2, 3, 4), axes=(0, 2)) for f in SEVERAL),
    *(within(getattr(fft, f), A) for f in SEVERAL),
    *(within(getattr(fft, f), A, s=(3, 4)) for f in SEVERAL),
    *(within(getattr(fft, f), image(2, 3, 4), s=(3, 6)) for f in SEVERAL if f[-1] == "n"),
    equal(fft.fft, X),
    within(fft.dct, X),
    within(fft.fht, A, 0.1, 0.5),
    within(fft.ifht, A, 0.1, 0.5),
]
SHIFTS = [
    *(equal(f, a) for f in (fft.fftshift, fft.ifftshift) for a in (X, A)),
    equal(fft.fftshift, A, axes=1),
    equal(fft.ifftshift, A, axes=(0, 1)),
]

WHOLE = words(
    "det inv pinv expm logm sqrtm sinm cosm tanm sinhm coshm tanhm signm svd svdvals qr rq lu "
    "lu_factor schur hessenberg polar eig eigvals"
)
LINALG = [
    *(within(getattr(linalg, f), M).but(steps=(1e-3,)) for f in WHOLE),
    *(within(getattr(linalg, f), STACK).but(steps=(1e-3,)) for f in ("det", "inv", "svd", "qr")),
    equal(linalg.inv, STACK),
    within(linalg.fractional_matrix_power, S, 0.5).but(steps=(1e-3,)),
    within(linalg.qz, M, N).but(steps=(1e-3,)),
    within(linalg.eig, M, N).but(steps=(1e-3,)),
    within(linalg.orth, M).but(steps=(1e-3,)),
    within(linalg.null_space, image(2, 3)).but(steps=(1e-3,)),
    *(within(f, S, lower=low).but(steps=(1e-3,))
      for f in (linalg.cholesky, linalg.eigh, linalg.eigvalsh, linalg.pinvh)
      for low in (True, False)),
    equal(linalg.solve, M, TALL[:3]),
    equal(linalg.solve, M, TALL[:3, 0].copy()),
    loose(linalg.solve, S, TALL[:3], assume_a="pos").but(steps=(1e-3,)),
    loose(linalg.solve_triangular, M, TALL[:3]),
    loose(linalg.solve_triangular, M, image(3), lower=True),
    loose(linalg.solve_banded, (1, 1), image(3, 4) + 1, image(4, 2)),
    loose(linalg.solveh_banded, Plain(np.array([[0, 1, 1.0], [4, 4, 4]])), image(3)).but(
        exact=True),
    loose(linalg.solveh_banded, np.array([[0, 1, 1.0], [4, 4, 4]]), Plain(image(3))).but(
        steps=(1e-3,)),
    within(linalg.solve_toeplitz, image(3) + np.array([3, 0, 0]), image(3, 2)).but(steps=(1e-3,)),
    loose(linalg.lu_solve, Plain(linalg.lu_factor(M)), image(3, 2)).but(exact=True),
    loose(linalg.cho_solve, Plain(linalg.cho_factor(S)), image(3)).but(exact=True),
    loose(linalg.cho_solve_banded, (Plain(linalg.cholesky_banded(
        np.array([[0, 1, 1.0], [4, 4, 4]]))), False), image(3)).but(exact=True),
    loose(linalg.lstsq, TALL, image(4, 2)).but(steps=(1e-3,), exact=True),
    loose(linalg.lstsq, TALL, image(4)).but(steps=(1e-3,), exact=True),
    *(equal(linalg.norm, A, **k) for k in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True})),
    equal(linalg.solve_sylvester, M, N, TALL[:3]),
    within(linalg.subspace_angles, TALL[:, :2].copy(), image(5, 2)[1:]).but(steps=(1e-3,)),
    equal(linalg.block_diag, M, A, X),
    equal(linalg.toeplitz, X),
    equal(linalg.toeplitz, X, image(4)),
    equal(linalg.hankel, X),
    equal(linalg.hankel, X, image(4)),
    equal(linalg.circulant, X),
    equal(linalg.leslie, X, image(6)),
    equal(linalg.convolution_matrix, X, 3),
    equal(linalg.diagsvd, image(3), 3, 4),
]  # fmt: skip

SMOOTH = words(
    "zscore gzscore gmean hmean skew kurtosis sem variation tmean tvar tstd tsem circmean "
    "circstd circvar gstd entropy"
)
STATS = [
    *(within(getattr(stats, f), A, axis=k) for f in SMOOTH for k in (0, 1)),
    *(equal(getattr(stats, f), A, axis=0) for f in ("gmean", "skew", "sem", "tvar", "zscore")),
    *(within(getattr(stats, f), A) for f in SMOOTH),
    equal(stats.gmean, A, axis=1, weights=image(5, 4).T.copy()),
    within(stats.hmean, A, axis=None, keepdims=True),
    loose(stats.gmean, np.where(A > 1.3, np.nan, A), nan_policy="omit"),
    equal(stats.pmean, A, 3),
    equal(stats.moment, A, 2, axis=1),
    equal(stats.kstat, A, axis=0),
    equal(stats.kstatvar, X),
    within(stats.tmin, A),
    within(stats.tmax, A),
    within(stats.describe, A),
    within(stats.differential_entropy, A, axis=1),
    within(stats.rankdata, A),
    within(stats.rankdata, A, axis=0),
    *(within(getattr(stats, f), image(9, 2)) for f in ("normaltest", "skewtest")),
    within(stats.kurtosistest, image(21)),
    within(stats.jarque_bera, image(9)),
    within(stats.shapiro, image(9)),
    within(stats.chisquare, X, Plain(np.full(7, X.mean())), sum_check=False),
    within(stats.power_divergence, X),
    *(within(getattr(stats, f), image(6, 2), image(5, 2))
      for f in ("f_oneway", "kruskal", "levene", "bartlett", "ks_2samp", "ttest_ind",
                "mannwhitneyu", "fligner", "mood", "ansari")),
    within(stats.cramervonmises_2samp, image(5), image(6)),
    within(stats.ttest_rel, A, image(5, 4).T.copy()),
    equal(stats.ttest_rel, A, image(5, 4).T.copy()),
    within(stats.ttest_1samp, A, 1.0),
    within(stats.wilcoxon, image(8), image(2, 8)[0]),
    *(within(f, image(8), image(2, 8)[0])
      for f in (stats.kendalltau, stats.pearsonr, stats.linregress)),
    equal(stats.pearsonr, A, image(5, 4).T.copy(), axis=1),
    *(chosen(getattr(stats, f), A) for f in ("iqr", "mode", "median_abs_deviation")),
    *(chosen(getattr(stats, f), A, 0.25) for f in ("trim_mean", "trimboth", "trim1")),
    chosen(stats.quantile, A, 0.3),
    chosen(stats.theilslopes, X),
    loose(stats.siegelslopes, X),
    chosen(stats.scoreatpercentile, A, 30),
    equal(stats.zmap, A, image(6, 5)),
    equal(stats.boxcox, X, 0.5),
    equal(stats.yeojohnson, X, 0.5),
    within(stats.boxcox, X).but(steps=(1e-3,)),
    within(stats.yeojohnson, X).but(steps=(1e-3,)),
    equal(integrate.trapezoid, A, axis=0),
    equal(integrate.trapezoid, A, x=np.array([0, 1, 3, 4.5, 7])),
    within(integrate.simpson, A, axis=0),
    equal(integrate.simpson, A, x=np.array([0, 1, 2.5, 4.7, 7])),
    equal(integrate.romb, A, axis=1),
    loose(integrate.cumulative_simpson, A, axis=1),
    *(equal(integrate.cumulative_trapezoid, A, axis=k, initial=i)
      for k in (0, 1) for i in (None, 0)),
    equal(integrate.cumulative_trapezoid, A, x=np.array([0, 1, 3, 4.5, 7])),
    equal(integrate.cumulative_trapezoid, A, x=np.cumsum(A, 1), initial=0),
]  # fmt: skip

NODES = Plain(np.array([0.0, 1, 2.5, 3, 4]))
PLACES = np.array([0.3, 1.0, 3.4])
GRID = (Plain(np.arange(4.0)), Plain(np.arange(5.0)))
POINTS = Plain(np.random.default_rng(1).random((8, 2)))
SPLINE = interpolate.splrep(NODES.array, image(5))
WAVE = interpolate.splrep(NODES.array, np.array([1.0, -1, 1, -1, 1]))
INTERPOLATION = [
    *(equal(f, NODES, image(5), PLACES)
      for f in (interpolate.barycentric_interpolate, interpolate.krogh_interpolate)),
    loose(interpolate.barycentric_interpolate, NODES, image(5, 2), Plain(PLACES)),
    within(interpolate.krogh_interpolate, np.arange(5.0), image(5), Plain(PLACES)).but(
        steps=(1e-3,)),
    equal(interpolate.interpn, GRID, A, image(3, 2)),
    equal(interpolate.interpn, GRID, A, Plain(image(3, 2)), method="nearest"),
    loose(interpolate.interpn, GRID, A, Plain(image(3, 2)), method="pchip"),
    equal(interpolate.griddata, POINTS, image(8), image(3, 2) / 2),
    equal(interpolate.griddata, POINTS, image(8), Plain(image(3, 2) / 2), method="nearest"),
    loose(interpolate.griddata, POINTS, image(8), Plain(image(3, 2) / 2), method="cubic"),
]  # fmt: skip

FLOAT_PAIRS = words(
    "braycurtis canberra chebyshev cityblock correlation cosine euclidean minkowski sqeuclidean"
)
BIT_PAIRS = words("dice hamming jaccard rogerstanimoto russellrao sokalsneath yule")
U, V = image(5), image(2, 5)[0]
DISTANCES = [
    *(within(getattr(distance, f), U, V) for f in FLOAT_PAIRS),
    *(equal(getattr(distance, f), U, V) for f in ("euclidean", "cosine", "cityblock")),
    equal(distance.euclidean, U, V, image(3, 5)[2]),
    *(within(getattr(distance, f), bits(5), ~bits(5)) for f in BIT_PAIRS),
    equal(distance.seuclidean, U, V, image(3, 5)[2]),
    within(distance.mahalanobis, U[:3].copy(), V[:3].copy(), S).but(steps=(1e-3,)),
    equal(distance.cdist, A, image(3, 5)),
    equal(distance.cdist, A, image(3, 5), "cosine"),
    equal(distance.cdist, A, image(3, 5), "seuclidean"),
    loose(distance.cdist, A, A),
    equal(distance.pdist, image(5, 3)),
    equal(distance.pdist, image(2, 3)),
    within(distance.pdist, image(5, 3), "seuclidean"),
    equal(distance.squareform, image(6)),
    equal(distance.squareform, A[:, :4] * 0, checks=False),
    equal(distance.jensenshannon, A, image(5, 4).T.copy()),
    equal(vq.whiten, A),
    within(vq.vq, A, image(3, 5)),
]
CASES = [*noisy(FFT), *SHIFTS, *LINALG, *STATS, *INTERPOLATION, *DISTANCES]


@pytest.mark.parametrize("example", CASES, ids=str)
def test_rule(example):
    check(example)
