"""Rules for scikit-image."""

import numpy as np
import pytest
from rule_examples import Plain, bits, check, equal, extreme, image, loose, whole, within, words

pytest.importorskip("skimage")
from skimage import (
    color,
    exposure,
    feature,
    filters,
    measure,
    metrics,
    morphology,
    transform,
    util,
)
from skimage.filters import rank

from dslog.capture.foreign.rules import (  # noqa: F401
    skimage_color,
    skimage_filters,
    skimage_transform,
)

A, W = image(5, 6) / 2, whole(5, 6)
RGB, PIXELS = image(4, 5, 3) / 2, image(2, 2, 3) / 2
TWO_HILLS = np.concatenate([image(12) / 9, 3 + image(12) / 9]).reshape(4, 6)
U8 = (whole(6, 7) * 5 + 10).astype(np.uint8)
MASK, HOOK = Plain(bits(5, 6)), Plain(np.array([[1, 0, 0], [1, 0, 1], [0, 1, 1]]))
EVEN = Plain(np.array([[1, 1], [0, 1]]))
SEQUENCE = Plain([(np.ones((3, 1)), 1), (np.ones((1, 3)), 2)])
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def small(example):
    return example.but(steps=(1e-3,))


EDGES = words("sobel_h sobel_v prewitt_h prewitt_v scharr_h scharr_v farid_h farid_v")
FILTERS = [
    *(equal(filters.gaussian, A, 0.5, mode=m) for m in MODES),
    equal(filters.gaussian, RGB, 0.5, channel_axis=-1),
    equal(filters.gaussian, RGB, (0.5, 0.6, 0), channel_axis=-1),
    equal(filters.unsharp_mask, A, 0.5, preserve_range=True),
    equal(filters.unsharp_mask, RGB, 0.5, channel_axis=2, preserve_range=True),
    equal(filters.difference_of_gaussians, A, 0.4),
    equal(filters.difference_of_gaussians, RGB, (0.3, 0.4), 0.5, mode="wrap", channel_axis=2),
    *(equal(getattr(filters, f), A) for f in EDGES),
    # at a corner two opposite weights read the same cell
    *(within(getattr(filters, f), A) for f in words("roberts roberts_pos_diag roberts_neg_diag")),
    *(equal(f, A, axis=k, mode=m)
      for f in (filters.sobel, filters.prewitt, filters.scharr, filters.farid)
      for k, m in [(None, "reflect"), (0, "mirror"), (1, "wrap"), (-1, "constant")]),
    equal(filters.sobel, image(3, 4, 3), axis=(0, 2)),
    within(filters.sobel, A, mask=MASK),
    loose(filters.laplace, A, mask=MASK),
    equal(filters.laplace, A),
    equal(filters.gabor, A, 0.3, sigma_x=0.6, sigma_y=0.5),
    *(equal(filters.median, W, mode=m) for m in MODES),
    equal(filters.median, W, HOOK),
    *(within(getattr(rank, f), U8, HOOK)
      for f in ("maximum", "minimum", "mean", "sum", "gradient", "geometric_mean")),
    *(loose(getattr(rank, f), U8, HOOK)
      for f in words("autolevel equalize majority subtract_mean median modal enhance_contrast "
                     "threshold noise_filter entropy otsu percentile mean_percentile "
                     "sum_percentile")),
    loose(rank.mean, U8, HOOK, mask=Plain(bits(6, 7))),
    *(equal(filters.threshold_local, A, 3, method="mean", mode=m) for m in MODES),
    equal(filters.threshold_local, A, (3, 5)),
    small(equal(filters.threshold_local, A, 3, method="median")),
    equal(filters.threshold_niblack, A, 3),
    equal(filters.threshold_sauvola, A, (3, 5)),
    *(within(getattr(filters, f"threshold_{f}"), A)
      for f in words("otsu li mean yen isodata triangle")),
    small(within(filters.threshold_minimum, TWO_HILLS)),
    within(filters.threshold_multiotsu, A, 2),
    within(filters.butterworth, A),
    within(filters.butterworth, RGB, channel_axis=-1),
]  # fmt: skip
GRAY = words("erosion dilation opening closing white_tophat black_tophat")
BINARY = words("binary_erosion binary_dilation binary_opening binary_closing")
MORPHOLOGY = [
    *(within(getattr(morphology, f), A, fp, mode=m)
      for f in GRAY for fp, m in [(None, "reflect"), (HOOK, "mirror"), (EVEN, "constant"),
                                  (SEQUENCE, "wrap"), (EVEN, "ignore"), (HOOK, "max")]),
    *(extreme(getattr(morphology, f), A, fp)
      for f in ("erosion", "dilation") for fp in (None, HOOK, EVEN)),
    *(within(getattr(morphology, f), bits(6, 7), fp)
      for f in BINARY for fp in (None, HOOK, EVEN, SEQUENCE)),
]  # fmt: skip
CORNERS = words("corner_harris corner_shi_tomasi corner_foerstner")
FEATURES = [
    *(within(getattr(feature, f), A, sigma=0.4) for f in CORNERS),
    within(feature.corner_kitchen_rosenfeld, A),
    within(feature.corner_kitchen_rosenfeld, A, mode="wrap"),
    equal(feature.structure_tensor, A, 0.7),
    equal(feature.structure_tensor, image(3, 3, 3), 0.5, mode="reflect"),
    equal(feature.structure_tensor, A, 0.7, mode="wrap", order="xy"),
    loose(feature.local_binary_pattern, A, 8, 1),
    loose(feature.local_binary_pattern, A, 8, 1.5, method="uniform"),
    within(feature.match_template, A, image(2, 3)).but(steps=(0.1,), noise=1e-9),
    loose(feature.match_template, A, image(2, 3), pad_input=True).but(steps=()),
    within(feature.peak_local_max, W, exclude_border=False).but(steps=(0.1,)),
    within(feature.corner_peaks, W, exclude_border=False, threshold_rel=0).but(steps=(0.1,)),
]
TRANSFORMS = [
    *(equal(transform.resize, A, (3, 9), order=k, mode=m)
      for k in (0, 1) for m in ("reflect", "symmetric", "edge")),
    equal(transform.resize, image(30), (7,)),
    equal(transform.resize, A, (3, 4), anti_aliasing=False, mode="wrap"),
    equal(transform.resize, A, (3, 4), anti_aliasing_sigma=0.7),
    equal(transform.resize, RGB, (3, 4)),
    equal(transform.resize, bits(4, 4), (3, 6)),
    equal(transform.resize, U8, (3, 3), order=0, preserve_range=True).but(steps=(1.0,)),
    loose(transform.resize, A, (3, 9), order=3),
    equal(transform.rescale, A, 0.6),
    equal(transform.rescale, A, (2, 0.5), order=0, anti_aliasing=False),
    equal(transform.rescale, RGB, 0.5, channel_axis=-1),
    equal(transform.resize_local_mean, A, (3, 4)),
    equal(transform.resize_local_mean, A, (7, 4), grid_mode=False),
    equal(transform.pyramid_reduce, image(9, 7)),
    equal(transform.pyramid_reduce, image(40), mode="wrap", sigma=0.6),
    loose(transform.pyramid_reduce, image(9), mode="constant"),
    equal(transform.pyramid_expand, image(4, 3)),
    equal(transform.pyramid_expand, image(3, 2, 3), channel_axis=2),
    *(equal(transform.rotate, A, 30, order=k, mode=m)
      for k in (0, 1) for m in ("edge", "symmetric")),
    equal(transform.rotate, RGB, 20, resize=True),
    equal(transform.rotate, image(9, 9) / 2, 20, order=3, clip=False),
    equal(transform.swirl, A, radius=5, strength=2),
    equal(transform.warp, A, transform.AffineTransform(scale=0.8, rotation=0.1), mode="edge"),
    equal(transform.warp, A, Plain(np.array([[0.9, 0.1, 0], [0, 1.1, 0.3], [0, 0, 1]])), order=0),
    equal(transform.warp, A, Plain(image(2, 3, 4) * 2)),
    loose(transform.warp, A, Plain(image(2, 3, 4) * 2), order=3),
    equal(transform.warp_polar, A, output_shape=(4, 5)),
    within(transform.warp_polar, A, output_shape=(4, 4)).but(steps=(1e-3,)),
    equal(transform.warp_polar, A, output_shape=(4, 4), clip=False),
    equal(transform.warp_polar, RGB, output_shape=(4, 5), channel_axis=-1),
    equal(transform.integral_image, W),
    equal(transform.downscale_local_mean, A, (2, 4)),
    equal(transform.matrix_transform, image(4, 2), Plain(np.eye(3) + 0.1)),
]  # fmt: skip
THREE = words(
    "rgb2gray rgb2hsv hsv2rgb rgb2hed hed2rgb rgb2lab lab2rgb rgb2luv luv2rgb rgb2xyz xyz2rgb "
    "rgb2rgbcie rgbcie2rgb rgb2ycbcr ycbcr2rgb rgb2ydbdr ydbdr2rgb rgb2yiq yiq2rgb rgb2ypbpr "
    "ypbpr2rgb rgb2yuv yuv2rgb xyz2lab lab2xyz xyz2luv luv2xyz lab2lch lch2lab"
)
LINEAR = words("rgb2gray rgb2rgbcie rgb2yuv yuv2rgb rgb2yiq rgb2ycbcr rgb2xyz")
VALUES = [
    *(small(within(getattr(color, f), PIXELS)) for f in THREE),
    *(small(equal(getattr(color, f), PIXELS)) for f in LINEAR),
    small(within(color.rgb2hsv, image(3, 2, 2) / 2, channel_axis=0)),
    small(within(color.rgb2gray, image(2, 3, 2) / 2, channel_axis=1)),
    small(equal(color.rgba2rgb, image(2, 2, 4) / 2)),
    *(small(within(f, PIXELS, Plain(color.rgb_from_hed)))
      for f in (color.separate_stains, color.combine_stains)),
    equal(color.gray2rgb, A),
    *(small(equal(getattr(exposure, f), A)) for f in words("adjust_gamma adjust_log")),
    small(equal(exposure.adjust_sigmoid, A)),
    small(equal(exposure.rescale_intensity, A, (0.0, 1.0))),
    within(exposure.rescale_intensity, A),
    small(within(exposure.equalize_hist, A, 8)),
    *(small(equal(getattr(util, f), A))
      for f in words("img_as_float img_as_float32 img_as_float64 invert")),
    *(within(getattr(util, f), A).but(steps=(-0.1,))
      for f in words("img_as_int img_as_uint img_as_ubyte img_as_bool")),
    small(equal(util.random_noise, A, rng=1, clip=False)),
    small(loose(util.random_noise, A, "poisson", rng=1)),
    small(equal(util.compare_images, A, image(6, 5).T / 2, method="blend")),
    small(equal(util.compare_images, A, image(6, 5).T / 2, method="checkerboard", n_tiles=(2, 2))),
    within(util.map_array, U8 % 5, Plain(np.arange(-9, 9)), Plain(image(18))),
    equal(util.crop, A, 1, copy=True),
    equal(util.view_as_windows, A, 2),
    equal(util.view_as_blocks, image(4, 4), (2, 2)),
    *(small(equal(getattr(metrics, f), A, image(6, 5).T / 2, **k))
      for f, k in [("mean_squared_error", {}), ("normalized_root_mse", {}),
                   ("peak_signal_noise_ratio", {"data_range": 1})]),
    small(within(metrics.normalized_mutual_information, A, image(6, 5).T / 2, bins=4)),
    small(equal(metrics.structural_similarity, A, image(6, 5).T / 2, win_size=3, data_range=1)),
    small(loose(metrics.structural_similarity, A, image(6, 5).T / 2, win_size=3, data_range=1,
                full=True)),
    *(small(within(getattr(measure, f), A))
      for f in words("moments moments_central centroid inertia_tensor inertia_tensor_eigvals "
                     "shannon_entropy blur_effect")),
    small(equal(measure.centroid, A)),
    *(small(within(getattr(measure, f), image(5, 2)))
      for f in words("moments_coords moments_coords_central")),
    small(within(measure.pearson_corr_coeff, A, image(6, 5).T / 2)),
    small(loose(measure.pearson_corr_coeff, A, image(6, 5).T / 2, MASK)),
    *(extreme(measure.block_reduce, A, (2, 4), f) for f in (np.max, np.min)),
    equal(measure.block_reduce, A, 2),
    small(equal(measure.block_reduce, A, 2, np.median)),
]  # fmt: skip
# where values are cut off at the smallest cell, it decides, and the others are read all the same
CUT_OFF = [
    small(within(transform.resize, A, (3, 9), order=0, mode="constant")),
    small(within(transform.resize, A, (3, 9), mode="constant", cval=3)),
    small(within(transform.rotate, A, 30)),
    small(within(transform.rotate, A, 30, cval=9)),
    small(within(transform.rotate, image(9, 9) / 2, 20, order=3)),
    small(within(transform.warp, A, transform.AffineTransform(scale=0.8, rotation=0.1))),
]
TRANSFORMS += CUT_OFF
CASES = [
    one.but(noise=max(one.noise, 1e-13))
    for one in [*FILTERS, *MORPHOLOGY, *FEATURES, *TRANSFORMS, *VALUES]
]


@pytest.mark.parametrize("example", CASES, ids=str)
def test_rule(example):
    check(example)
