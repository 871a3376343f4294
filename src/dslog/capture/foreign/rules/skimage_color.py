"""Rules for ``skimage.color``, ``exposure``, ``util``, ``metrics`` and ``measure``."""

from __future__ import annotations

import warnings

import numpy as np

from dslog.algebra.product import all_to_all, elementwise, follow, identity, part, product, row
from dslog.capture.foreign.data_rule import (
    data_rule,
    everything,
    names_of,
    option,
    perhaps_everything,
)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.index_run import moves
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import Array, Mask


@data_rule(
    *names_of("skimage.color", "rgb2gray rgb2hsv hsv2rgb rgb2hed hed2rgb rgb2lab lab2rgb rgb2luv"),
    *names_of("skimage.color", "luv2rgb rgb2xyz xyz2rgb rgb2rgbcie rgbcie2rgb rgb2ycbcr ycbcr2rgb"),
    *names_of("skimage.color", "rgb2ydbdr ydbdr2rgb rgb2yiq yiq2rgb rgb2ypbpr ypbpr2rgb rgb2yuv"),
    *names_of("skimage.color", "yuv2rgb rgba2rgb xyz2lab lab2xyz xyz2luv luv2xyz lab2lch lch2lab"),
    *names_of("skimage.color", "separate_stains combine_stains"),
    data="rgb hsv hed lab luv xyz rgbcie ycbcr ydbdr yiq ypbpr yuv rgba lch stains",
    note="each channel from the channels of its pixel that it is made of",
)
def converted(call: Call, data: Array, out: Array) -> Lineage:
    """Pixels do not mix."""
    axis = int(option(call, "channel_axis", -1)) % data.ndim
    name = next(key for key, value in call.arguments.items() if value is data)
    read = _channels(call, name, data.shape[axis])
    alone = out.ndim < data.ndim
    others = [follow(k - (alone and k > axis), k, n) for k, n in enumerate(data.shape) if k != axis]
    channel, source = np.nonzero(read)
    if alone:
        first = part([], [axis], row([], [(int(source.min()), int(source.max()))], [-1]))
    else:
        first = part([axis], [axis], Table.of_boxes(channel, channel, source, source))
    return product(out.shape, data.shape, first, *others)


def _channels(call: Call, name: str, count: int) -> Mask:
    """Which channels change with which, for pixels anywhere in and around the ranges in use."""
    rng = np.random.default_rng(0)
    found: list[Mask] = []
    for low, high in ((0, 1), (0, 255), (-100, 100)):
        pixels = rng.uniform(low, high, (1, 64, count))
        if low < 0:
            pixels[..., 0] = np.abs(pixels[..., 0])
        changed = np.repeat(pixels, count, axis=0)
        for k in range(count):
            changed[k, :, k] += (high - low) / 50
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            before, after = (
                np.asarray(call.again({name: values, "channel_axis": -1}))
                for values in (np.repeat(pixels, count, axis=0), changed)
            )
        differ = np.abs(after - before) > 1e-12 * (1 + np.abs(before))
        found.append(differ.reshape(count, 64, -1).any(axis=1).T)
    return np.asarray(np.any(found, axis=0))


@data_rule(
    *names_of("skimage.exposure", "adjust_gamma adjust_log adjust_sigmoid"),
    *names_of("skimage.util", "img_as_float img_as_float32 img_as_float64 img_as_int img_as_uint"),
    *names_of("skimage.util", "img_as_ubyte img_as_bool invert"),
    data="image", note="each cell from its cell",
)  # fmt: skip
def pixelwise(_: Call, data: Array, __: Array) -> Lineage:
    """Pixels do not mix."""
    return identity(data.shape)


@data_rule(
    "skimage.exposure.rescale_intensity",
    data="image", note="each cell from its cell; from all cells where they set the range",
)  # fmt: skip
def rescale_intensity(call: Call, data: Array, out: Array) -> Lineage:
    """Ranges are given, or the image's own."""
    ranges = [option(call, name) for name in ("in_range", "out_range")]
    if any(isinstance(one, str) and one == "image" for one in ranges):
        return all_to_all(out.shape, data.shape)
    return identity(data.shape)


@data_rule("skimage.util.map_array", data="input_arr", note="each cell from its cell")
def map_array(_: Call, data: Array, out: Array) -> Lineage:
    """A look-up table."""
    return elementwise(out.shape, data.shape)


moves("skimage.util.crop", data="ar", note="the cell that moved")
moves(*names_of("skimage.util", "view_as_windows view_as_blocks"), data="arr_in", note="its cell")


@data_rule(
    *names_of("skimage.metrics", "mean_squared_error normalized_root_mse peak_signal_noise_ratio"),
    *names_of("skimage.metrics", "normalized_mutual_information structural_similarity"),
    *names_of("skimage.measure", "moments moments_central moments_coords moments_coords_central"),
    *names_of("skimage.measure", "centroid inertia_tensor inertia_tensor_eigvals shannon_entropy"),
    *names_of("skimage.measure", "blur_effect pearson_corr_coeff"),
    *names_of("skimage.exposure", "equalize_hist"),
    data="image image0 image1 image_true image_test im1 im2 coords",
    note="each number from all cells",
)
def measure(call: Call, data: Array, out: Array) -> Lineage:
    """Images that come with a measure, and measures behind a mask, are from some of them."""
    mapped = call.func.__name__ == "structural_similarity" and out.ndim > 0
    masked = any(option(call, name) is not None for name in ("mask", "channel_axis"))
    return (perhaps_everything if mapped or masked else everything)(call, data, out)
