"""Rules for scipy.ndimage."""

import numpy as np
import pytest
from rule_examples import Plain, bits, check, equal, extreme, image, loose, whole, within

ndimage = pytest.importorskip("scipy.ndimage")
from dslog.capture.foreign.rules import ndimage as rules  # noqa: E402, F401

A, W = image(5, 6), whole(5, 6)
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
CROSS = Plain(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]))
HOOK = Plain(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 1]]))
EVEN = Plain(np.array([[1, 1], [0, 1]]))
KERNEL = Plain(np.array([[0.0, 1, 2], [0, 0.5, 0], [3, 1, 0]]))
LINE = Plain(np.array([2.0, 0, 1, -1]))
LABELS = Plain(np.array([[0, 1, 1, 2, 2, 2], [0, 1, 0, 0, 2, 3]] * 2 + [[3] * 6]))


def twice(x):
    return x.sum()


def halved(at):
    return tuple(0.5 * k for k in at)


MORPHOLOGY = [
    *("grey_erosion", "grey_dilation", "grey_opening", "grey_closing"),
    *("white_tophat", "black_tophat", "morphological_gradient", "morphological_laplace"),
]
BINARY = ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"]
MEASURES = ["sum", "sum_labels", "mean", "variance", "standard_deviation", "center_of_mass"]
CASES = [
    *(equal(ndimage.gaussian_filter, A, 0.4, mode=mode) for mode in MODES),
    *(equal(ndimage.gaussian_filter, A, (0.3, 0.7), order=(1, 0), mode=m) for m in MODES),
    equal(ndimage.gaussian_filter, A, (0.3, 0), mode=("wrap", "mirror")),
    equal(ndimage.gaussian_filter, image(3, 4, 2), 0.4, axes=(0, 2), mode=("wrap", "constant")),
    equal(ndimage.gaussian_filter, image(1, 3), 1, radius=2, mode="mirror"),
    equal(ndimage.gaussian_filter, image(30), 1.0, order=2, mode="wrap"),
    loose(ndimage.gaussian_filter, A, np.array([0.4, 0.5])).but(steps=(1e-3,)),
    *(equal(ndimage.gaussian_filter1d, image(9), 0.8, mode=mode) for mode in MODES),
    equal(ndimage.gaussian_filter1d, A, 0.5, axis=0, order=1, truncate=6),
    equal(ndimage.gaussian_laplace, A, 0.3),
    equal(ndimage.gaussian_laplace, A, 0.3, mode=("wrap", "constant")),
    equal(ndimage.gaussian_laplace, image(3, 4, 3), 0.3, axes=(1, 2)),
    equal(ndimage.gaussian_gradient_magnitude, A, 0.3),
    equal(ndimage.gaussian_gradient_magnitude, A, 0.4, mode=("nearest", "wrap"), truncate=4),
    equal(ndimage.gaussian_gradient_magnitude, image(3, 3, 3), 0.3, axes=(0, 2)),
    *(equal(ndimage.uniform_filter, W, (2, 3), mode=mode, origin=(-1, 1)) for mode in MODES),
    equal(ndimage.uniform_filter, W, 4, mode=("wrap", "mirror")),
    equal(ndimage.uniform_filter, W, 3, axes=1),
    equal(ndimage.uniform_filter, whole(2, 2), 5, mode="reflect"),
    equal(ndimage.uniform_filter1d, W, 2, axis=0, origin=-1),
    *(equal(ndimage.correlate1d, image(9), LINE, mode=mode, origin=1) for mode in MODES),
    *(equal(ndimage.convolve1d, image(9), LINE, mode=mode, origin=-1) for mode in MODES),
    equal(ndimage.convolve1d, A, Plain(np.array([1.0, 0, 2])), axis=0),
    loose(ndimage.convolve1d, image(9), np.array([1.0, 0.5, 2])),
    *(equal(ndimage.correlate, A, KERNEL, mode=mode, origin=(1, 0)) for mode in MODES),
    *(equal(ndimage.convolve, A, KERNEL, mode=mode, origin=(1, 0)) for mode in MODES),
    equal(ndimage.convolve, A, EVEN, origin=(0, -1)),
    equal(ndimage.correlate, image(3, 4, 3), EVEN, axes=(0, 2)),
    equal(ndimage.convolve, A + 1j, KERNEL),
    loose(ndimage.convolve, A, image(2, 3)),
    *(equal(ndimage.sobel, A, axis=k, mode=mode) for k in (0, 1) for mode in MODES),
    equal(ndimage.prewitt, image(3, 4, 3), axis=1, mode=("wrap", "mirror", "constant")),
    equal(ndimage.laplace, A),
    equal(ndimage.laplace, A, mode=("wrap", "constant")),
    equal(ndimage.laplace, image(3, 1, 4), axes=(1, 2)),
    equal(ndimage.generic_gradient_magnitude, A, ndimage.sobel),
    equal(ndimage.generic_gradient_magnitude, A, ndimage.prewitt, mode=("wrap", "mirror")),
    *(extreme(ndimage.minimum_filter, A, (2, 3), mode=m, origin=(0, -1)) for m in MODES),
    *(extreme(ndimage.maximum_filter, A, footprint=HOOK, mode=m, origin=(1, 0)) for m in MODES),
    extreme(ndimage.maximum_filter, A, 3, mode=("wrap", "constant")),
    extreme(ndimage.maximum_filter, image(3, 4, 2), footprint=EVEN, axes=(0, 2)),
    extreme(ndimage.minimum_filter1d, A, 2, axis=0, origin=-1),
    extreme(ndimage.maximum_filter1d, A, 4, mode="mirror"),
    *(equal(ndimage.median_filter, W, 3, mode=m, cval=12.5).but(steps=(0.1,)) for m in MODES),
    equal(ndimage.median_filter, whole(9), 3),
    equal(ndimage.rank_filter, W, 1, footprint=HOOK, mode="wrap", origin=(0, 1)),
    equal(ndimage.rank_filter, W, 0, 3),
    equal(ndimage.percentile_filter, W, 30, 3, mode="constant", cval=9.5),
    loose(ndimage.median_filter, np.where(A > 1.4, np.nan, A), 3).but(steps=(0.1,)),
    *(within(getattr(ndimage, f), A, 3) for f in MORPHOLOGY),
    *(within(getattr(ndimage, f), A, (2, 3), mode=m) for f in MORPHOLOGY for m in MODES[::2]),
    *(within(getattr(ndimage, f), A, footprint=HOOK, mode=m, origin=(1, 0))
      for f in MORPHOLOGY for m in MODES[1:4]),
    *(within(getattr(ndimage, f), A, structure=Plain(image(2, 3)), origin=(0, -1))
      for f in MORPHOLOGY),
    *(extreme(ndimage.grey_erosion, A, (2, 3), mode=m, origin=(0, -1)) for m in MODES),
    *(extreme(ndimage.grey_dilation, A, (2, 3), mode=m, origin=(0, -1)) for m in MODES),
    *(extreme(ndimage.grey_dilation, A, footprint=HOOK, mode=m) for m in MODES),
    *(within(getattr(ndimage, f), bits(5, 6)) for f in BINARY),
    *(within(getattr(ndimage, f), bits(5, 6), structure=HOOK, origin=(0, 1)) for f in BINARY),
    *(within(getattr(ndimage, f), bits(7, 7), structure=EVEN, iterations=2) for f in BINARY),
    *(within(getattr(ndimage, f), bits(7, 7), iterations=2) for f in BINARY),
    *(within(getattr(ndimage, f), bits(7, 7), structure=CROSS, iterations=2, origin=(0, 1))
      for f in BINARY[:2]),
    *(loose(getattr(ndimage, f), bits(7, 7), structure=CROSS, iterations=2, origin=(0, 1))
      for f in BINARY[2:]),
    loose(ndimage.grey_opening, image(3, 4, 4), footprint=Plain(bits(2, 4, 5)), origin=(0, -1, 2)),
    equal(ndimage.gaussian_filter, A, (0.01, 0.5), order=1, radius=1),
    loose(ndimage.binary_erosion, bits(5, 6), mask=Plain(bits(5, 6))),
    loose(ndimage.binary_dilation, bits(5, 6), iterations=0),
    within(ndimage.binary_hit_or_miss, bits(5, 6)),
    within(ndimage.binary_hit_or_miss, bits(5, 6), CROSS, EVEN, origin2=(-1, 0)),
    loose(ndimage.generic_filter, A, twice, 3),
    loose(ndimage.generic_filter1d, A, lambda line, out: np.copyto(out, line[1:-1]), 3),
    *(equal(getattr(ndimage, f"fourier_{f}"), A + 1j, 1.5)
      for f in ("gaussian", "uniform", "ellipsoid", "shift")),
    equal(ndimage.spline_filter, image(3, 4)),
    equal(ndimage.spline_filter1d, image(3, 4), order=1),
    equal(ndimage.spline_filter1d, image(3, 4), axis=0),
    *(equal(ndimage.shift, A, (1.3, -0.5), order=1, mode=m)
      for m in (*MODES, "grid-wrap", "grid-mirror", "grid-constant")),
    *(equal(ndimage.zoom, A, (1.5, 0.7), order=k, mode=m, grid_mode=g)
      for k in (0, 1) for m in ("grid-wrap", "grid-constant", "nearest") for g in (True, False)),
    equal(ndimage.zoom, image(40), 0.6, order=1),
    equal(ndimage.zoom, A, 2, order=3, prefilter=False),
    equal(ndimage.shift, image(20), 0.4, order=3, prefilter=False),
    # both ends of a line joined, where cells of a colour meet with equal weights
    *(equal(ndimage.shift, image(n), 0.5, order=1, mode="grid-wrap") for n in range(2, 14)),
    *(equal(ndimage.shift, image(n), 0.5, order=1, mode="reflect") for n in range(2, 9)),
    equal(ndimage.zoom, image(7, 9), 0.8, order=1, mode="grid-wrap", grid_mode=True),
    loose(ndimage.zoom, A, 2),
    loose(ndimage.shift, A, 0.5),
    *(equal(ndimage.rotate, A, 30, order=k, mode="nearest") for k in (0, 1)),
    equal(ndimage.rotate, image(3, 2, 4), 30, axes=(2, 0), order=1, reshape=False, cval=3.0),
    loose(ndimage.rotate, A, 30),
    *(equal(ndimage.affine_transform, A, Plain(np.array([[0.9, 0.2], [-0.1, 0.8]])), order=k)
      for k in (0, 1)),
    loose(ndimage.affine_transform, A, np.array([[0.9, 0.2], [-0.1, 0.8]]), order=1),
    equal(ndimage.affine_transform, A, Plain(np.diag([0.9, 0.8])), order=2, prefilter=False),
    equal(ndimage.geometric_transform, A, halved, order=1),
    loose(ndimage.geometric_transform, A, halved),
    equal(ndimage.map_coordinates, A, Plain(image(2, 3) * 2), order=1),
    equal(ndimage.map_coordinates, image(10, 11), Plain(image(2, 3) * 4), order=1, mode="wrap"),
    equal(ndimage.map_coordinates, A, image(2, 3) * 2, order=1),
    loose(ndimage.map_coordinates, A, image(2, 3) * 2),
    *(equal(getattr(ndimage, f), A, LABELS, index=[2, 1, 3]) for f in MEASURES),
    *(equal(getattr(ndimage, f), A, LABELS) for f in MEASURES),
    *(equal(getattr(ndimage, f), A) for f in MEASURES),
    *(extreme(getattr(ndimage, f), A, LABELS, index=[2, 1, 3]) for f in ("minimum", "maximum")),
    within(ndimage.minimum, A, LABELS, index=2),
    within(ndimage.extrema, A, LABELS, index=[2, 1, 3]),
    within(ndimage.minimum_position, A, LABELS, index=2),
    within(ndimage.maximum_position, A),
    loose(ndimage.median, A, LABELS, index=[2, 1, 3]),
]  # fmt: skip


@pytest.mark.parametrize("example", CASES, ids=str)
def test_rule(example):
    check(example)
