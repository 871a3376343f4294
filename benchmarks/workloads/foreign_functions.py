"""Calls of functions of installed libraries, one a line, on small arrays that have names.

Each line is an expression that anybody might write; the arrays in it are those of :data:`ARRAYS`.
Values are generic: none are equal, and none so near to each other, or to a threshold, that a tiny
change would turn an order or a decision around.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

import numba
import numpy as np

from benchmarks.workloads.foreign_arguments import MORE
from benchmarks.workloads.foreign_tables import TABLES
from dslog.types import Array

MODULES = {
    **{
        name: name
        for name in (
            *("array", "asyncio", "base64", "bisect", "calendar", "cmath", "collections"),
            *("colorsys", "contextvars", "copy", "csv", "ctypes", "dataclasses", "datetime"),
            *("decimal", "fractions", "functools", "hashlib", "heapq", "inspect", "io"),
            *("ipaddress", "itertools", "json", "math", "numbers", "operator", "pickle", "pprint"),
            *(
                "cv2",
                "einops",
                "random",
                "re",
                "sqlite3",
                "statistics",
                "string",
                "struct",
                "textwrap",
                "time",
                "types",
            ),
            *("uuid", "weakref", "zlib"),
        )
    },
    "futures": "concurrent.futures",
    "np": "numpy",
    "pa": "pyarrow",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "csgraph": "scipy.sparse.csgraph",
    "hierarchy": "scipy.cluster.hierarchy",
    "sparse_io": "scipy.io",
    "sklearn_utils": "sklearn.utils",
    "vq": "scipy.cluster.vq",
    "distance": "scipy.spatial.distance",
    **{
        name: f"scipy.{name}"
        for name in (
            *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
            *("sparse", "spatial", "special", "stats"),
        )
    },
    **{
        name: f"skimage.{name}"
        for name in (
            *("color", "exposure", "feature", "filters", "measure", "morphology", "restoration"),
            *("segmentation", "transform", "util"),
        )
    },
    "skimage_metrics": "skimage.metrics",
    **{
        name: f"sklearn.{name}"
        for name in (
            *("calibration", "cluster", "compose", "covariance", "cross_decomposition"),
            *("decomposition", "discriminant_analysis", "dummy", "ensemble", "feature_extraction"),
            *("feature_selection", "gaussian_process", "impute", "inspection", "isotonic"),
            *("kernel_approximation", "kernel_ridge", "linear_model", "manifold", "metrics"),
            *("mixture", "model_selection", "multiclass", "multioutput", "naive_bayes"),
            *("neighbors", "neural_network", "pipeline", "preprocessing", "random_projection"),
            *("semi_supervised", "svm", "tree"),
        )
    },
    "pairwise": "sklearn.metrics.pairwise",
    "extmath": "sklearn.utils.extmath",
    "filters_rank": "skimage.filters.rank",
}
"""What a line calls a module."""


def make_arrays() -> dict[str, Array]:
    """Make the arrays that lines take, each by its name."""
    draw = np.random.default_rng(7)

    def apart(*shape: int, low: float = 0.05, high: float = 0.95) -> Array:
        """Values in random order, evenly spaced but for a bit of noise."""
        size = int(np.prod(shape))
        steps = draw.permutation(size) + draw.uniform(0.2, 0.8, size)
        return (low + (high - low) * steps / size).reshape(shape)

    square = apart(4, 4, low=-1, high=1)
    groups = np.repeat([0, 1, 2], 4)
    points = apart(12, 3, low=-1, high=1) + np.eye(3)[groups] * 2
    blobs = np.zeros((7, 8), bool)
    blobs[1:4, 1:4] = blobs[4:6, 5:7] = blobs[0, 6] = True
    return {
        "image": apart(6, 7),
        "picture": apart(6, 7),
        "colours": apart(4, 5, 3),
        "pixels": (draw.permutation(42) * 6 + 3).reshape(6, 7).astype(np.uint8),
        "blobs": blobs,
        "regions": np.where(blobs, 1, 0) + np.where(blobs & (np.arange(8) > 4), 1, 0),
        "window": apart(3, 3),
        "signal1": apart(16, low=-1, high=1),
        "signal2": apart(16, low=-1, high=1),
        "kernel": apart(4),
        "times": np.sort(apart(8)),
        "heights": apart(8),
        "places": apart(5, low=0.2, high=0.7),
        "square": square,
        "matrix": apart(5, 3, low=-1, high=1),
        "spd": square @ square.T + 4 * np.eye(4),
        "side": apart(4),
        "complexes": apart(4, 4) + 1j * apart(4, 4),
        "X": points,
        "y": points @ np.array([1.0, -2.0, 0.5]) + apart(12),
        "c": groups.copy(),
        "Z": apart(5, 3, low=-1, high=1) + np.eye(3)[[0, 1, 2, 1, 0]] * 2,
        "truth": draw.integers(0, 3, 12),
        "scores": apart(12),
        "binary": (groups % 2).copy(),
        "counts": draw.integers(1, 60, (6, 4)) * 3,
        "gaps": np.where(draw.random((8, 3)) < 0.2, np.nan, apart(8, 3)),
        "table": draw.integers(5, 40, (3, 4)),
        "a": apart(10),
        "b": apart(10) + 0.013,
        "words": draw.integers(0, 3, (8, 2)),
        "thick": apart(3, 4, 4),
    }


CALLS: Mapping[str, str] = {
    "numpy": """
np.cov(X.T)
np.histogram(a, 4)
np.percentile(image, [25, 50], axis=0)
np.linalg.svd(matrix)
np.apply_along_axis(np.sort, 1, image)
np.polyfit(times, heights, 2)
np.vectorize(math.hypot)(a, b)
np.fromiter((v * 2 for v in a), float)
np.einsum("ij,jk->i", square, square)
np.array([row.max() - row.min() for row in image])
np.linalg.lstsq(X, y)[0]
np.array2string(a)
np.interp(places, times, heights)
np.ma.masked_less(image, 0.5).mean(axis=0)
np.frombuffer(a.tobytes()) + 1
np.linalg.cholesky(square)
np.float32(a[0]) * 2
np.int64(counts[0, 0]) * 2
np.array(a[0]) * 2
np.frombuffer(bytearray(a))
np.ndarray(a.shape, a.dtype, buffer=a) + 1
np.loadtxt(io.StringIO("\\n".join(a.astype(str))))
np.nditer([a, b]).operands[0] * 2
[v * 2 for v in np.nditer(a)]
[v for _, v in np.ndenumerate(image)]
np.array([image[i] for i in np.ndindex(6, 7)])
np.r_[a, 0, b]
np.c_[a, b]
image[np.ix_(words[:2, 0], words[:2, 1])]
np.matrix(square) * np.matrix(square)
np.frompyfunc(lambda p, q: p * q, 2, 1)(a, b)
np.piecewise(a, [a < 0.5, a >= 0.5], [lambda v: v * 2, 1])
np.fromfunction(lambda i, j: image[i.astype(int), j.astype(int)] * 2, (3, 3))
np.rec.fromarrays([a, b], names="p,q").p * 2
np.lib.stride_tricks.as_strided(a, (8, 3), (8, 8)).sum(axis=1)
np.poly1d(side)(a)
np.roots(side)
np.polynomial.Polynomial.fit(times, heights, 2)(places)
np.random.default_rng(0).normal(a, b)
np.random.default_rng(0).integers(0, counts[0, 0] + 5, 4)
np.random.default_rng(0).choice(5, p=a[:5] / a[:5].sum(), size=20)
np.random.default_rng(0).multivariate_normal(side, spd)
np.random.RandomState(0).permutation(a)
a[a.argmax()]
image[np.unravel_index(image.argmax(), image.shape)]
a.mean().real
a.sum().astype(np.float32) * 2
""",
    "scipy.ndimage": """
ndimage.gaussian_filter(image, 0.5)
ndimage.gaussian_filter1d(image, 0.6, axis=0)
ndimage.uniform_filter(image, 3)
ndimage.median_filter(image, 3)
ndimage.minimum_filter(image, 3)
ndimage.maximum_filter(image, (1, 3))
ndimage.percentile_filter(image, 30, 3)
ndimage.rank_filter(image, 2, 3)
ndimage.sobel(image)
ndimage.prewitt(image, axis=0)
ndimage.laplace(image)
ndimage.gaussian_laplace(image, 0.5)
ndimage.gaussian_gradient_magnitude(image, 0.4)
ndimage.convolve(image, window)
ndimage.correlate(image, window, mode="constant")
ndimage.convolve1d(image, kernel)
ndimage.generic_filter(image, np.ptp, 3)
ndimage.shift(image, (1, -2), order=0)
ndimage.shift(image, 0.4, order=1)
ndimage.zoom(image, 2, order=1)
ndimage.zoom(image, 0.6, order=3)
ndimage.rotate(image, 20, order=1)
ndimage.affine_transform(image, np.diag([0.7, 1.2]), order=1)
ndimage.map_coordinates(image, [[0.5, 2.2], [1.4, 3]], order=1)
ndimage.geometric_transform(image, lambda p: (p[0], p[1] / 2), order=1)
ndimage.spline_filter(image)
ndimage.binary_erosion(blobs)
ndimage.binary_dilation(blobs)
ndimage.binary_opening(blobs)
ndimage.binary_fill_holes(blobs)
ndimage.grey_erosion(image, 3)
ndimage.grey_dilation(image, size=(3, 3))
ndimage.morphological_gradient(image, 3)
ndimage.white_tophat(image, 3)
ndimage.label(blobs)
ndimage.label(image > 0.6)
ndimage.sum_labels(image, np.arange(42).reshape(6, 7) % 3, [0, 1, 2])
ndimage.mean(image, np.arange(42).reshape(6, 7) // 21, [0, 1])
ndimage.center_of_mass(image)
ndimage.maximum_position(image)
ndimage.extrema(image)
ndimage.find_objects(regions)
ndimage.distance_transform_edt(blobs)
ndimage.fourier_gaussian(image, 1.0)
ndimage.histogram(image, 0, 1, 4)
""",
    "scipy.signal": """
signal.convolve(signal1, kernel)
signal.convolve(signal1, kernel, mode="same", method="direct")
signal.fftconvolve(signal1, kernel, mode="valid")
signal.oaconvolve(signal1, kernel)
signal.correlate(signal1, kernel)
signal.convolve2d(image, window, mode="same")
signal.lfilter([1, 0.5], [1, -0.3], signal1)
signal.lfilter(kernel, 1.0, signal1)
signal.filtfilt([1, 0.5], [1, -0.3], signal1)
signal.sosfilt(signal.butter(2, 0.3, output="sos"), signal1)
signal.savgol_filter(signal1, 5, 2)
signal.medfilt(signal1, 3)
signal.medfilt2d(image, 3)
signal.wiener(signal1, 3)
signal.detrend(signal1)
signal.resample(signal1, 12)
signal.resample_poly(signal1, 3, 2)
signal.decimate(signal1, 2, ftype="fir")
signal.hilbert(signal1)
signal.find_peaks(signal1)
signal.find_peaks(signal1, height=0.2)[1]["peak_heights"]
signal.argrelmax(signal1)
signal.peak_prominences(signal1, signal.find_peaks(signal1)[0])
signal.periodogram(signal1)
signal.welch(signal1, nperseg=8)
signal.stft(signal1, nperseg=8)
signal.spectrogram(signal1, nperseg=8)
signal.csd(signal1, signal2, nperseg=8)
signal.coherence(signal1, signal2, nperseg=8)
signal.lombscargle(times, heights, [1.0, 2.0])
signal.deconvolve(signal1, kernel)
signal.upfirdn(kernel, signal1, 2)
signal.order_filter(image, np.ones((3, 3)), 4)
signal.sepfir2d(image, np.ones(3), np.ones(3))
""",
    "scipy.linalg": """
linalg.inv(square)
linalg.det(square)
linalg.solve(square, side)
linalg.solve_triangular(square + 3 * np.eye(4), side)
linalg.cholesky(spd)
linalg.cho_solve(linalg.cho_factor(spd), side)
linalg.lu(square)
linalg.lu_solve(linalg.lu_factor(square), side)
linalg.qr(matrix)
linalg.svd(matrix)
linalg.svdvals(matrix)
linalg.pinv(matrix)
linalg.eigh(spd)
linalg.eigvals(square)
linalg.expm(square)
linalg.sqrtm(spd)
linalg.norm(image, axis=0)
linalg.norm(image)
linalg.lstsq(matrix, np.arange(5.0))
linalg.block_diag(square, matrix)
linalg.toeplitz(side)
linalg.circulant(side)
linalg.hankel(side)
linalg.null_space(matrix.T)
linalg.orth(matrix)
linalg.hadamard(4) @ square
linalg.khatri_rao(square, square)
linalg.cholesky(square)
linalg.inv(matrix)
""",
    "scipy.fft": """
fft.fft(signal1)
fft.ifft(complexes)
fft.rfft(image, axis=0)
fft.irfft(signal1)
fft.fft2(image)
fft.fftn(thick)
fft.dct(signal1)
fft.idct(image, axis=0)
fft.dctn(image)
fft.dst(signal1)
fft.hfft(signal1)
fft.fftshift(image)
""",
    "scipy.stats": """
stats.zscore(X)
stats.zscore(X, axis=1, ddof=1)
stats.gmean(image, axis=1)
stats.hmean(image)
stats.skew(image, axis=0)
stats.kurtosis(image, axis=0)
stats.sem(image)
stats.describe(X)
stats.pearsonr(a, b)
stats.spearmanr(a, b)
stats.kendalltau(a, b)
stats.linregress(a, b)
stats.theilslopes(a, b)
stats.ttest_ind(a, b)
stats.ttest_1samp(a, 0.5)
stats.ttest_rel(a, b)
stats.f_oneway(a, b, heights)
stats.mannwhitneyu(a, b)
stats.wilcoxon(a, b)
stats.ks_2samp(a, b)
stats.kruskal(a, b)
stats.shapiro(a)
stats.chi2_contingency(table)
stats.rankdata(a)
stats.rankdata(image, axis=1)
stats.iqr(image, axis=0)
stats.median_abs_deviation(X)
stats.trim_mean(image, 0.1)
stats.mode(words)
stats.moment(image, 2)
stats.variation(image)
stats.entropy(image, axis=0)
stats.norm.cdf(image)
stats.norm.pdf(signal1, 0.2, 1.5)
stats.norm.fit(a)
stats.binned_statistic(a, b, "mean", 3)
stats.percentileofscore(a, 0.5)
stats.cumfreq(a, 4)
stats.boxcox(a)
stats.gaussian_kde(a)(places)
stats.mstats.winsorize(a, limits=0.1)
stats.bootstrap((a,), np.mean, n_resamples=20, rng=np.random.default_rng(0)).standard_error
""",
    "scipy.interpolate": """
interpolate.interp1d(times, heights)(places)
interpolate.interp1d(times, heights, kind="nearest")(places)
interpolate.interp1d(times, heights, kind="cubic")(places)
interpolate.CubicSpline(times, heights)(places)
interpolate.PchipInterpolator(times, heights)(places)
interpolate.Akima1DInterpolator(times, heights)(places)
interpolate.UnivariateSpline(times, heights)(places)
interpolate.make_interp_spline(times, heights)(places)
interpolate.splev(places, interpolate.splrep(times, heights))
interpolate.pchip_interpolate(times, heights, places)
interpolate.barycentric_interpolate(times, heights, places, rng=0)
interpolate.RegularGridInterpolator((np.arange(6), np.arange(7)), image)([[1.5, 2.5]])
interpolate.griddata(X[:, :2], y, [[0.3, 0.4]])
interpolate.RBFInterpolator(X, y)(Z)
""",
    "scipy.integrate": """
integrate.trapezoid(heights, times)
integrate.simpson(heights, x=times)
integrate.cumulative_trapezoid(heights, times)
integrate.cumulative_simpson(heights, x=times)
integrate.romb(np.concatenate([heights, heights[:1]]))
integrate.quad(lambda t: t * a[0] + a[1], 0, 1)[0]
integrate.odeint(lambda v, t: -0.5 * v, side, [0, 0.5, 1.0])
integrate.solve_ivp(lambda t, v: -0.5 * v, (0, 1), side).y
""",
    "scipy.spatial.distance": """
distance.cdist(X, Z)
distance.cdist(X, Z, "cityblock")
distance.pdist(X)
distance.squareform(distance.pdist(X))
distance.euclidean(a, b)
distance.cosine(a, b)
distance.cityblock(a, b)
distance.correlation(a, b)
distance.mahalanobis(X[0], X[1], np.eye(3))
distance.jaccard(blobs[1], blobs[2])
distance.hamming(words[0], words[1])
distance.directed_hausdorff(X, Z)
spatial.KDTree(X).query(Z)
spatial.ConvexHull(X[:, :2]).volume
spatial.procrustes(X[:5], Z)
spatial.distance_matrix(X, Z)
""",
    "scipy.cluster.vq": """
vq.whiten(X)
vq.kmeans(X, 2, rng=0)
vq.kmeans2(X, 2, minit="++", rng=0)
vq.vq(Z, X[:3])
""",
    "scipy.special": """
special.expit(signal1)
special.softmax(image, axis=1)
special.log_softmax(image, axis=1)
special.logsumexp(image, axis=0)
special.gamma(image)
special.erf(signal1)
special.xlogy(image, picture)
special.comb(counts, 2)
special.rel_entr(a, b)
special.betainc(a, b, 0.3)
""",
    "scipy, others": """
optimize.minimize(lambda v: ((v - side) ** 2).sum(), np.zeros(4)).x
optimize.curve_fit(lambda t, m, q: m * t + q, times, heights)[0]
optimize.linear_sum_assignment(square)
optimize.nnls(image, picture[:, 0])[0]
sparse.csr_matrix(square) @ side
sparse.csr_matrix(counts).sum(axis=0)
sparse.linalg.spsolve(sparse.csc_matrix(spd), side)
""",
    "skimage.filters": """
filters.gaussian(image, 0.5)
filters.sobel(image)
filters.sobel_h(image)
filters.prewitt(image)
filters.scharr(image)
filters.laplace(image)
filters.roberts(image)
filters.farid(image)
filters.median(image)
filters.unsharp_mask(image, radius=0.5)
filters.difference_of_gaussians(image, 0.4, 0.8)
filters.threshold_otsu(image, 8)
filters.threshold_mean(image)
filters.threshold_li(image)
filters.threshold_local(image, 3)
filters.threshold_niblack(image, 3)
filters.threshold_sauvola(image, 3)
filters.threshold_multiotsu(image, nbins=12)
filters.apply_hysteresis_threshold(image, 0.3, 0.7)
filters.gabor(image, 0.4)
filters.frangi(image, sigmas=[1])
filters.sato(image, sigmas=[1])
filters.hessian(image, sigmas=[1])
filters.butterworth(image)
filters.correlate_sparse(image, np.eye(3))
filters.rank_order(image)
filters_rank.mean(pixels, np.ones((3, 3)))
filters_rank.median(pixels, np.ones((3, 3)))
""",
    "skimage.transform": """
transform.resize(image, (3, 4))
transform.resize(image, (9, 10), order=0)
transform.rescale(image, 2)
transform.rotate(image, 30)
transform.downscale_local_mean(image, (2, 2))
transform.warp(image, transform.AffineTransform(translation=(1, 0.5)))
transform.swirl(image, radius=3)
transform.radon(image, [0, 45], circle=False)
transform.iradon(picture, [0, 20, 40, 60, 80, 100, 120])
transform.integral_image(image)
transform.integrate(image, (0, 1), (2, 3))
transform.pyramid_reduce(image)
transform.pyramid_expand(image)
list(transform.pyramid_gaussian(image, max_layer=1))
transform.warp_polar(image, radius=3, output_shape=(6, 3))
transform.hough_line(blobs)
transform.estimate_transform("affine", X[:4, :2], Z[:4, :2]).params
transform.matrix_transform(X[:, :2], np.diag([2.0, 3, 1]))
""",
    "skimage.morphology": """
morphology.erosion(image)
morphology.dilation(image)
morphology.opening(image)
morphology.closing(image)
morphology.white_tophat(image)
morphology.black_tophat(image)
morphology.skeletonize(blobs)
morphology.thin(blobs)
morphology.medial_axis(blobs, rng=0)
morphology.remove_small_objects(blobs, max_size=3)
morphology.remove_small_holes(blobs, max_size=3)
morphology.convex_hull_image(blobs)
morphology.label(blobs)
morphology.reconstruction(image * 0.6, image)
morphology.local_maxima(image)
morphology.h_maxima(image, 0.1)
morphology.flood_fill(image, (1, 1), 0.5, tolerance=0.2)
morphology.area_opening(pixels, 4)
morphology.max_tree(pixels)
""",
    "skimage.exposure": """
exposure.equalize_hist(image, 8)
exposure.equalize_adapthist(image, 3)
exposure.rescale_intensity(image)
exposure.rescale_intensity(image, (0.2, 0.8))
exposure.adjust_gamma(image, 2)
exposure.adjust_log(image)
exposure.adjust_sigmoid(image)
exposure.histogram(image, 4)
exposure.cumulative_distribution(image, 4)
exposure.match_histograms(image, picture)
exposure.is_low_contrast(image)
exposure.equalize_hist(pixels)
""",
    "skimage.color": """
color.rgb2gray(colours)
color.gray2rgb(image)
color.rgb2hsv(colours)
color.hsv2rgb(colours)
color.rgb2lab(colours)
color.lab2rgb(color.rgb2lab(colours))
color.rgb2xyz(colours)
color.rgb2ycbcr(colours)
color.rgb2yuv(colours)
color.rgb2hed(colours)
color.label2rgb(regions, bg_label=0)
color.deltaE_cie76(colours, colours[::-1])
""",
    "skimage.util": """
util.invert(image)
util.img_as_ubyte(image)
util.img_as_float(pixels)
util.crop(image, 1)
util.montage(thick)
util.view_as_windows(image, 3)
util.view_as_blocks(thick, (1, 2, 2))
util.random_noise(image, rng=0)
util.compare_images(image, picture)
util.unique_rows(words)
util.map_array(regions, np.array([0, 1, 2]), np.array([0.5, 1.5, 2.5]))
util.label_points(words, (4, 4))
""",
    "skimage.measure": """
measure.label(blobs)
[region.area for region in measure.regionprops(regions)]
[region.mean_intensity for region in measure.regionprops(regions[:6, :7], image)]
measure.regionprops_table(regions, properties=("area", "centroid"))
measure.moments(image)
measure.moments_central(image)
measure.moments_hu(measure.moments_normalized(measure.moments_central(image)))
measure.centroid(image)
measure.find_contours(image, 0.5)
measure.profile_line(image, (0, 0), (4, 5))
measure.block_reduce(image, (2, 2))
measure.block_reduce(image, (2, 2), np.max)
measure.shannon_entropy(image)
measure.perimeter(blobs)
measure.euler_number(blobs)
measure.marching_cubes(thick, 0.5)[0]
measure.approximate_polygon(X[:, :2], 0.3)
measure.blur_effect(image)
measure.pearson_corr_coeff(image, picture)
measure.ransac(X[:, :2], measure.LineModelND, 2, 0.5, rng=0)[1]
""",
    "skimage.feature": """
feature.canny(image, 0.4)
feature.corner_harris(image)
feature.corner_peaks(image, min_distance=1)
feature.peak_local_max(image, min_distance=1)
feature.hog(image, pixels_per_cell=(3, 3), cells_per_block=(1, 1))
feature.local_binary_pattern(pixels, 4, 1)
feature.graycomatrix(pixels // 64, [1], [0], levels=4)
feature.graycoprops(feature.graycomatrix(pixels // 64, [1], [0], levels=4), "contrast")
feature.match_template(image, window)
feature.structure_tensor(image)
feature.hessian_matrix(image, use_gaussian_derivatives=False)
feature.blob_log(image, max_sigma=2, num_sigma=2, threshold=0.05)
feature.multiscale_basic_features(image, sigma_max=1)
feature.haar_like_feature(transform.integral_image(image), 0, 0, 4, 4, "type-2-x")
feature.match_descriptors(X, Z)
""",
    "skimage.metrics": """
skimage_metrics.mean_squared_error(image, picture)
skimage_metrics.peak_signal_noise_ratio(image, picture)
skimage_metrics.structural_similarity(image, picture, win_size=3, data_range=1)
skimage_metrics.normalized_root_mse(image, picture)
skimage_metrics.normalized_mutual_information(image, picture, bins=4)
skimage_metrics.hausdorff_distance(blobs, blobs[::-1])
skimage_metrics.variation_of_information(regions, regions[::-1])
skimage_metrics.adapted_rand_error(regions, regions[::-1])
""",
    "skimage.restoration": """
restoration.denoise_tv_chambolle(image)
restoration.denoise_bilateral(image, sigma_spatial=1)
restoration.denoise_nl_means(image, 3, 3)
restoration.richardson_lucy(image, window, num_iter=3)
restoration.wiener(image, window, 0.1)
restoration.unwrap_phase(signal1 * 3)
restoration.inpaint_biharmonic(image, np.arange(42).reshape(6, 7) == 16)
restoration.rolling_ball(image, radius=3)
""",
    "skimage.segmentation": """
segmentation.watershed(image, markers=2)
segmentation.slic(image, 4, channel_axis=None)
segmentation.felzenszwalb(image)
segmentation.find_boundaries(regions)
segmentation.mark_boundaries(image, regions[:6, :7])
segmentation.clear_border(regions)
segmentation.expand_labels(regions)
segmentation.relabel_sequential(regions * 3)
segmentation.join_segmentations(regions, regions[::-1])
segmentation.flood(image, (1, 1), tolerance=0.2)
segmentation.chan_vese(image, max_num_iter=5)
segmentation.random_walker(image, np.pad([[1]], ((0, 5), (0, 6))) + np.eye(6, 7, 6) * 2)
""",
    "sklearn, transformers": """
preprocessing.StandardScaler().fit_transform(X)
preprocessing.StandardScaler().fit(X).transform(Z)
preprocessing.StandardScaler().fit(X).mean_
preprocessing.MinMaxScaler().fit(X).transform(Z)
preprocessing.MaxAbsScaler().fit(X).transform(Z)
preprocessing.RobustScaler().fit(X).transform(Z)
preprocessing.Normalizer().fit(X).transform(Z)
preprocessing.Binarizer(threshold=0.4).fit(X).transform(Z)
preprocessing.PolynomialFeatures(2).fit(X).transform(Z)
preprocessing.PowerTransformer().fit(X).transform(Z)
preprocessing.QuantileTransformer(n_quantiles=5).fit(X).transform(Z)
preprocessing.KBinsDiscretizer(3, encode="ordinal").fit(X).transform(Z)
preprocessing.SplineTransformer(n_knots=3).fit(X).transform(Z)
preprocessing.OneHotEncoder(sparse_output=False).fit_transform(words)
preprocessing.OrdinalEncoder().fit_transform(words)
preprocessing.LabelEncoder().fit_transform(c)
preprocessing.LabelBinarizer().fit_transform(c)
preprocessing.KernelCenterer().fit_transform(spd)
preprocessing.FunctionTransformer(np.log1p).fit_transform(image)
preprocessing.StandardScaler().fit(X).inverse_transform(Z)
impute.SimpleImputer().fit_transform(gaps)
impute.SimpleImputer(strategy="median").fit_transform(gaps)
impute.KNNImputer(n_neighbors=2).fit_transform(gaps)
impute.MissingIndicator().fit_transform(gaps)
decomposition.PCA(2).fit_transform(X)
decomposition.PCA(2).fit(X).transform(Z)
decomposition.PCA(2).fit(X).explained_variance_ratio_
decomposition.TruncatedSVD(2, random_state=0).fit_transform(X)
decomposition.NMF(2, random_state=0, max_iter=500).fit_transform(image)
decomposition.FastICA(2, random_state=0).fit_transform(X)
decomposition.KernelPCA(2).fit(X).transform(Z)
decomposition.FactorAnalysis(1).fit_transform(X)
feature_selection.VarianceThreshold(0.3).fit_transform(X)
feature_selection.SelectKBest(k=2).fit(X, c).transform(Z)
cross_decomposition.PLSRegression(2).fit(X, y).transform(Z)
manifold.MDS(2, random_state=0, n_init=1, max_iter=20, init="random").fit_transform(X)
manifold.Isomap(n_neighbors=5).fit_transform(X)
pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2)).fit(X).transform(Z)
covariance.EmpiricalCovariance().fit(X).covariance_
random_projection.GaussianRandomProjection(2, random_state=0).fit_transform(X)
""",
    "sklearn, predictors": """
linear_model.LinearRegression().fit(X, y).predict(Z)
linear_model.LinearRegression().fit(X, y).coef_
linear_model.LinearRegression().fit(X, y).score(X, y)
linear_model.Ridge(0.5).fit(X, y).predict(Z)
linear_model.Lasso(0.05).fit(X, y).predict(Z)
linear_model.ElasticNet(0.05).fit(X, y).predict(Z)
linear_model.BayesianRidge().fit(X, y).predict(Z)
linear_model.HuberRegressor().fit(X, y).predict(Z)
linear_model.LogisticRegression().fit(X, c).predict_proba(Z)
linear_model.LogisticRegression().fit(X, c).predict(Z)
linear_model.SGDClassifier(random_state=0).fit(X, c).decision_function(Z)
linear_model.SGDRegressor(random_state=0).fit(X, y).predict(Z)
linear_model.Perceptron(random_state=0).fit(X, c).predict(Z)
linear_model.RidgeClassifier().fit(X, c).decision_function(Z)
neighbors.KNeighborsClassifier(3).fit(X, c).predict(Z)
neighbors.KNeighborsClassifier(3, weights="distance").fit(X, c).predict_proba(Z)
neighbors.KNeighborsRegressor(3).fit(X, y).predict(Z)
neighbors.NearestNeighbors(n_neighbors=2).fit(X).kneighbors(Z)
neighbors.NearestCentroid().fit(X, c).predict(Z)
neighbors.KernelDensity().fit(X).score_samples(Z)
neighbors.LocalOutlierFactor(3).fit_predict(X)
tree.DecisionTreeClassifier(random_state=0).fit(X, c).predict(Z)
tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y).predict(Z)
ensemble.RandomForestClassifier(5, random_state=0).fit(X, c).predict_proba(Z)
ensemble.RandomForestRegressor(5, random_state=0).fit(X, y).predict(Z)
ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y).predict(Z)
ensemble.AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, c).predict(Z)
ensemble.IsolationForest(n_estimators=5, random_state=0).fit(X).score_samples(Z)
svm.SVC().fit(X, c).predict(Z)
svm.SVC().fit(X, c).decision_function(Z)
svm.SVR().fit(X, y).predict(Z)
svm.LinearSVC(random_state=0).fit(X, c).decision_function(Z)
naive_bayes.GaussianNB().fit(X, c).predict_proba(Z)
naive_bayes.MultinomialNB().fit(counts, [0, 1, 0, 1, 0, 1]).predict_proba(counts)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, c).transform(Z)
discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, c).predict_proba(Z)
kernel_ridge.KernelRidge(kernel="rbf").fit(X, y).predict(Z)
gaussian_process.GaussianProcessRegressor(optimizer=None).fit(X, y).predict(Z)
neural_network.MLPRegressor(hidden_layer_sizes=3, max_iter=5, random_state=0).fit(X, y).predict(Z)
isotonic.IsotonicRegression().fit(times, heights).predict(places)
cluster.KMeans(2, n_init=1, random_state=0).fit_predict(X)
cluster.KMeans(2, n_init=1, random_state=0).fit(X).cluster_centers_
cluster.MiniBatchKMeans(2, n_init=1, random_state=0).fit(X).transform(Z)
cluster.AgglomerativeClustering(3).fit_predict(X)
cluster.DBSCAN(1.0).fit_predict(X)
cluster.MeanShift(bandwidth=1.5).fit(X).cluster_centers_
cluster.SpectralClustering(2, random_state=0).fit_predict(X)
mixture.GaussianMixture(2, random_state=0).fit(X).predict_proba(Z)
dummy.DummyRegressor().fit(X, y).predict(Z)
model_selection.cross_val_score(linear_model.LinearRegression(), X, y, cv=3)
model_selection.cross_val_predict(linear_model.Ridge(), X, y, cv=3)
model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1]}, cv=2).fit(X, y).predict(Z)
""",
    "sklearn, metrics": """
metrics.accuracy_score(truth, c)
metrics.confusion_matrix(truth, c)
metrics.f1_score(truth, c, average="macro")
metrics.precision_recall_fscore_support(truth, c, zero_division=0)
metrics.balanced_accuracy_score(truth, c)
metrics.cohen_kappa_score(truth, c)
metrics.matthews_corrcoef(truth, c)
metrics.roc_auc_score(binary, scores)
metrics.roc_curve(binary, scores)
metrics.precision_recall_curve(binary, scores)
metrics.average_precision_score(binary, scores)
metrics.log_loss(binary, scores)
metrics.brier_score_loss(binary, scores)
metrics.mean_squared_error(y, scores)
metrics.mean_absolute_error(y, scores)
metrics.median_absolute_error(y, scores)
metrics.r2_score(y, scores)
metrics.explained_variance_score(y, scores)
metrics.max_error(y, scores)
metrics.mean_absolute_percentage_error(y, scores)
metrics.silhouette_score(X, c)
metrics.davies_bouldin_score(X, c)
metrics.calinski_harabasz_score(X, c)
metrics.adjusted_rand_score(truth, c)
metrics.normalized_mutual_info_score(truth, c)
metrics.classification_report(truth, c, output_dict=True, zero_division=0)
metrics.dcg_score(image, picture)
metrics.auc(times, heights)
pairwise.euclidean_distances(X, Z)
pairwise.manhattan_distances(X, Z)
pairwise.cosine_similarity(X, Z)
pairwise.rbf_kernel(X, Z)
pairwise.linear_kernel(X, Z)
pairwise.polynomial_kernel(X, Z)
pairwise.pairwise_distances(X, metric="chebyshev")
metrics.pairwise_distances_argmin(Z, X)
""",
    "sklearn, functions": """
preprocessing.scale(X)
preprocessing.minmax_scale(X)
preprocessing.maxabs_scale(X)
preprocessing.robust_scale(X)
preprocessing.normalize(X)
preprocessing.binarize(image, threshold=0.5)
preprocessing.label_binarize(c, classes=[0, 1, 2])
preprocessing.add_dummy_feature(X)
preprocessing.quantile_transform(X, n_quantiles=5)
preprocessing.power_transform(X)
model_selection.train_test_split(X, y, random_state=0)
extmath.softmax(image)
extmath.randomized_svd(X, 2, random_state=0)
extmath.row_norms(X)
extmath.weighted_mode(words, np.ones((8, 2)))
decomposition.non_negative_factorization(image, n_components=2, random_state=0, max_iter=500)[0]
linear_model.ridge_regression(X, y, 0.5)
linear_model.lars_path(X, y)
feature_selection.f_classif(X, c)
feature_selection.f_regression(X, y)
feature_selection.mutual_info_regression(X, y, random_state=0)
cluster.k_means(X, 2, n_init=1, random_state=0)[0]
covariance.ledoit_wolf(X)
covariance.empirical_covariance(X)
manifold.trustworthiness(X, X[:, :2], n_neighbors=3)
""",
    "pandas": """
pd.DataFrame(X).mean().to_numpy()
pd.DataFrame(X, columns=["p", "q", "r"])["q"].to_numpy() * 2
pd.Series(signal1).rolling(3).mean().to_numpy()
pd.Series(signal1).ewm(alpha=0.3).mean().to_numpy()
pd.DataFrame({"k": c, "v": y}).groupby("k")["v"].sum().to_numpy()
pd.Series(a).rank().to_numpy()
pd.get_dummies(pd.Series(c)).to_numpy()
pd.DataFrame(gaps).fillna(0).to_numpy()
pd.cut(a, 3).codes
pd.Series(a).describe().to_numpy()
pd.DataFrame(X).corr().to_numpy()
pd.factorize(c)
""",
    "numba": """
running_total(signal1)
running_total(signal1 + signal2)
blend(a, b)
blend(a[0], b[0])
cumulate(image)
smallest(tuple(a[:3]))
shift_in_place(a)
""",
    "standard library": """
statistics.mean(a)
statistics.median(a)
statistics.stdev(a.tolist())
statistics.quantiles(a)
statistics.linear_regression(a, b)
statistics.fmean(a, b)
math.fsum(a)
math.dist(a, b)
math.sqrt(a[0])
json.loads(json.dumps(image.tolist()))
json.dumps(a.tolist())
sum(a)
max(a)
sorted(a)
[round(v, 3) for v in a]
list(map(float, a))
bytes(pixels[0])
[f"{v:.2f}" for v in a]
list(zip(a, b))
functools.reduce(lambda p, q: p * q, a)
list(itertools.accumulate(a))
array.array("d", a)
struct.pack("4d", *side)
copy.deepcopy(image)
pickle.loads(pickle.dumps(image)) * 2
random.Random(0).choices(a, k=3)
random.Random(0).sample(list(a), 3)
heapq.nsmallest(3, a)
collections.Counter(c.tolist())
fractions.Fraction(a[0])
decimal.Decimal(a[0])
complex(a[0], a[1])
int(a[0] * 10)
memoryview(a)[2]
ctypes.c_double(a[0]).value
re.findall("[0-9]+", str(a[0]))
float(f"{a[0]:.6f}")
zlib.decompress(zlib.compress(a))
base64.b64encode(a)
list(futures.ThreadPoolExecutor(2).map(np.sqrt, [a, b]))
list(futures.ThreadPoolExecutor(2).map(lambda v: v * 2 + a, [a, b]))
[bisect.bisect([0.1, 0.5], v) * v for v in a]
min(enumerate(a), key=operator.itemgetter(1))
[a[i] for i in sorted(range(10), key=lambda i: a[i])]
{i: v for i, v in enumerate(a)}
collections.deque(a, maxlen=3)
collections.ChainMap({"a": a[0]}, {"b": b[0]})["a"] * 2
sum(1 for v in a if v > 0.5)
len(set(words[:, 0]))
[v for v in a if v > 0.5]
divmod(a[0], 0.3)
int(a[0] * 10) * 0.1
a[0] if a[0] > b[0] else b[0]
[1.5, 2.5, 3.5][counts[0, 0] % 3]
functools.partial(np.add, a)(b)
functools.lru_cache(lambda v: v * 2)(a[0])
types.SimpleNamespace(p=a).p * 2
operator.itemgetter(0, 2)(a)
operator.methodcaller("sum")(image)
[p * q for p, q in itertools.product(a[:2], b[:2])]
list(itertools.accumulate(a, max))
[sum(g) for _, g in itertools.groupby(a, key=lambda v: v > 0.5)]
list(filter(lambda v: v > 0.5, a))
list(itertools.compress(a, a > 0.5))
cmath.exp(a[0])
math.hypot(a[0], b[0]) + math.pi
math.isclose(a[0], b[0])
math.modf(a[0] * 3)
math.gcd(counts[0, 0], counts[0, 1])
datetime.timedelta(seconds=a[0]).total_seconds()
statistics.NormalDist(a[0], b[0]).cdf(0.5)
a[0].as_integer_ratio()
a[0].hex()
json.dumps({"mean": a.mean()})
""",
}
"""Expressions by library; the heading is what the table says."""


@numba.njit
def running_total(values: Any) -> Any:
    """Add up one after the other."""
    total = np.zeros_like(values)
    last = 0.0
    for i in range(len(values)):
        last += values[i]
        total[i] = last
    return total


@numba.vectorize
def blend(one: Any, other: Any) -> Any:
    """Mix two numbers."""
    return one * 0.7 + other * 0.3


@numba.guvectorize(["f8[:],f8[:]"], "(n)->(n)")  # type: ignore[no-untyped-call]
def cumulate(row: Any, out: Any) -> None:
    """Add up each row."""
    last = 0.0
    for i in range(len(row)):
        last += row[i]
        out[i] = last


@numba.njit
def smallest(numbers: Any) -> Any:
    """Find the smallest of some numbers."""
    found = numbers[0]
    for number in numbers:
        found = min(found, number)
    return found


@numba.njit
def shift_in_place(values: Any) -> None:
    """Move each value one place on."""
    for i in range(len(values) - 1, 0, -1):
        values[i] = values[i - 1]


@numba.njit
def masked_sum(values: Any, mask: Any) -> Any:
    """Add up what a mask leaves."""
    total = 0.0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if mask[i, j]:
                total += values[i, j]
    return total


@numba.njit
def fill_out(values: Any, out: Any) -> Any:
    """Write into an array that was given for it."""
    for i in range(len(values)):
        out[i] = values[i] * 2
    return out


@numba.njit(parallel=False, fastmath=False)
def pair_distances(points: Any) -> Any:
    """Measure all distances with three loops."""
    found = np.empty((len(points), len(points)))
    for i in range(len(points)):
        for j in range(len(points)):
            total = 0.0
            for k in range(points.shape[1]):
                total += (points[i, k] - points[j, k]) ** 2
            found[i, j] = total**0.5
    return found


@numba.njit
def scaled_by(values: Any, factor: Any) -> Any:
    """Multiply by a number."""
    return values * factor


@numba.stencil
def neighbours(values: Any) -> Any:
    """Add the two beside each."""
    return values[0, -1] + values[0, 1]


HELPERS: Mapping[str, Any] = {
    "masked_sum": masked_sum,
    "neighbours": neighbours,
    "fill_out": fill_out,
    "pair_distances": pair_distances,
    "scaled_by": scaled_by,
    "running_total": running_total,
    "blend": blend,
    "cumulate": cumulate,
    "smallest": smallest,
    "shift_in_place": shift_in_place,
}


def installed(library: str) -> bool:
    """Whether what a heading of CALLS names can be imported."""
    name = library.partition(",")[0].partition(".")[0]
    return name == "standard library" or importlib.util.find_spec(name) is not None


def calls() -> Iterator[tuple[str, str]]:
    """Give every call, after its heading."""
    for library, lines in itertools.chain(CALLS.items(), MORE.items(), TABLES.items()):
        if installed(library):
            for line in lines.strip().splitlines():
                yield library, line


def compiled(line: str) -> CodeType:
    """Compile a call; where it happens is the call itself."""
    return compile(line, f"<{line}>", "eval")


def names_for(code: CodeType) -> dict[str, Any]:
    """Return the modules and helpers that a call uses, by name."""
    used = set(_names(code))
    found: dict[str, Any] = {
        name: importlib.import_module(path) for name, path in MODULES.items() if name in used
    }
    return found | {name: helper for name, helper in HELPERS.items() if name in used}


def arrays_for(code: CodeType) -> tuple[str, ...]:
    """Return the names of the arrays that a call takes, in order of their first use."""
    return tuple(name for name in dict.fromkeys(_names(code)) if name in _ARRAYS)


def _names(code: CodeType) -> Iterator[str]:
    """The names in an expression, also in functions and comprehensions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


_ARRAYS = frozenset(make_arrays())
