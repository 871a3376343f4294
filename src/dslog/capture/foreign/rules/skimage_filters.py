"""Rules for ``skimage.filters``, ``morphology``, ``feature`` and ``restoration``.

Most of them are filters of ``scipy.ndimage`` one after the other, and read what those read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skimage.filters import gabor_kernel
from skimage.restoration import uft

from dslog.algebra.positions import lineage_of_positions
from dslog.algebra.product import all_to_all, part, product, row
from dslog.algebra.stencil import Reads, neighbourhood, one_pass
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    data_rule,
    everything,
    names_of,
    option,
    place_of,
)
from dslog.capture.foreign.rules.ndimage import (
    border,
    gaussian_path,
    per_axis,
    picked_by_rank,
    weighted,
    window_terms,
)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.index_run import has_nan
from dslog.lineage.lineage import Lineage
from dslog.types import Array

# --- edges ---------------------------------------------------------------------------------------

_EDGES = {"sobel": 1, "prewitt": 1, "scharr": 1, "farid": 2}
_FARID = [-0.1, -0.2, 0.0, 0.2, 0.1]


@data_rule(
    *names_of("skimage.filters", "sobel prewitt scharr farid sobel_h sobel_v prewitt_h prewitt_v"),
    *names_of("skimage.filters", "scharr_h scharr_v farid_h farid_v"),
    data="image", note="each cell from the cells under the weights of any axis",
)  # fmt: skip
def edges(call: Call, data: Array, __: Array) -> Lineage:
    """Differences along an axis, or along each, smoothed along the others; a mask leaves some."""
    name, _, direction = call.func.__name__.partition("_")
    axis = {"h": 0, "v": 1}.get(direction, option(call, "axis"))
    modes = [border(mode) for mode in per_axis(option(call, "mode", "reflect"), data.ndim)]
    reach = _EDGES[name]
    across = _FARID if reach == 2 else [-1, 0, 1]
    along = range(-reach, reach + 1)
    terms = [
        tuple(
            weighted(across, reach, modes[k])
            if k == edge % data.ndim
            else one_pass(along, modes[k])
            for k in range(data.ndim)
        )
        for edge in (range(data.ndim) if axis is None else np.ravel(axis).tolist())
    ]
    if option(call, "mask") is not None:
        raise UnknownCallError
    return neighbourhood(data.shape, terms)


_DIAGONALS = {"pos_diag": [np.eye(2)], "neg_diag": [np.eye(2)[::-1]]}


@data_rule(
    *names_of("skimage.filters", "roberts roberts_pos_diag roberts_neg_diag laplace gabor"),
    data="image", note="each cell from the cells under weights that are not zero",
)  # fmt: skip
def kernel_filter(call: Call, data: Array, out: Array) -> Lineage:
    """Convolutions with a kernel of all axes."""
    name = call.func.__name__
    if name == "laplace":
        sizes = (int(option(call, "ksize")),) * data.ndim
        kernels = [uft.laplacian(data.ndim, sizes)[1]]  # type: ignore[no-untyped-call]
    elif name == "gabor":
        given = {k: v for k, v in call.arguments.items() if k not in ("image", "mode", "cval")}
        kernel = gabor_kernel(**given)  # type: ignore[no-untyped-call]
        kernels = [kernel.imag if place_of(call, out) else kernel.real]
    else:
        both = [*_DIAGONALS["pos_diag"], *_DIAGONALS["neg_diag"]]
        kernels = _DIAGONALS.get(name.partition("_")[2], both)
    mode = option(call, "mode", "reflect")
    found = [
        window_terms(call, k != 0, data.ndim, flipped=True, origin=0, mode=mode) for k in kernels
    ]
    exact = all(sure for _, sure in found) and option(call, "mask") is None
    return neighbourhood(data.shape, [t for terms, _ in found for t in terms], exact=exact)


# --- ranks, thresholds ---------------------------------------------------------------------------


@data_rule(
    "skimage.filters.median", kind="value",
    data="image", note="each cell from the cell of its footprint that has the rank",
)  # fmt: skip
def median(call: Call, data: Array, _: Array) -> Lineage:
    """The filter itself, run on the ranks of all cells, says which cell it picks."""
    if option(call, "behavior") == "rank" or has_nan(data):
        raise UnknownCallError
    cval = option(call, "cval")
    return picked_by_rank(
        data, lambda ranks, of: call.again({"image": ranks, "cval": of(cval)}, ("out",))
    )


_WHOLE_WINDOW = ("maximum", "minimum", "mean", "sum", "gradient", "geometric_mean")


@data_rule(
    *names_of("skimage.filters.rank", " ".join(_WHOLE_WINDOW)),
    *names_of("skimage.filters.rank", "autolevel equalize majority subtract_mean median modal"),
    *names_of("skimage.filters.rank", "enhance_contrast threshold noise_filter entropy otsu"),
    *names_of("skimage.filters.rank", "percentile mean_percentile sum_percentile"),
    data="image", note="each cell from the cells of its footprint",
)  # fmt: skip
def rank(call: Call, data: Array, out: Array) -> Lineage:
    """Beyond the ends there are no cells; which cells decide is not looked at."""
    given = option(call, "footprint")
    mask = np.ones((3,) * data.ndim, bool) if given is None else np.asarray(given) != 0
    settings = ("mask", "shift_x", "shift_y", "shift_z")
    if (
        mask.ndim != data.ndim
        or out.ndim != data.ndim
        or any(option(call, name) for name in settings[1:])
    ):
        raise UnknownCallError
    terms, exact = window_terms(call, mask, data.ndim, origin=0, mode="constant")
    if call.func.__name__ not in _WHOLE_WINDOW:
        terms, exact = [*terms, ((),) * data.ndim], False
    return neighbourhood(data.shape, terms, exact=exact and option(call, "mask") is None)


def smoothed(sigma: Any, count: int, mode: Any, truncate: float = 4.0) -> Reads:
    """Return the term of a Gaussian over some axes."""
    settings = zip(per_axis(sigma, count), per_axis(mode, count), strict=True)
    return tuple(gaussian_path(float(s), border(m), truncate=truncate) for s, m in settings)


@data_rule(
    *names_of("skimage.filters", "threshold_local threshold_niblack threshold_sauvola"),
    data="image", note="each cell from the cells of its window",
)  # fmt: skip
def local_threshold(call: Call, data: Array, _: Array) -> Lineage:
    """A mean, weighted or not, and a deviation."""
    if call.func.__name__ != "threshold_local":
        sizes, mode, method = per_axis(option(call, "window_size"), data.ndim), "mirror", "mean"
    else:
        sizes = per_axis(option(call, "block_size"), data.ndim)
        mode, method = option(call, "mode"), option(call, "method")
    if method == "gaussian":
        given = option(call, "param")
        sigma = [(int(b) - 1) / 6 for b in sizes] if given is None else given
        return neighbourhood(data.shape, [smoothed(sigma, data.ndim, mode)])
    if method != "mean":  # a median is one of them
        raise UnknownCallError
    mask = np.ones([int(n) for n in sizes], bool)
    terms, exact = window_terms(call, mask, data.ndim, origin=0, mode=mode)
    return neighbourhood(data.shape, terms, exact=exact)


data_rule(
    *names_of("skimage.filters", "threshold_otsu threshold_li threshold_mean threshold_yen"),
    *names_of("skimage.filters", "threshold_isodata threshold_triangle threshold_minimum"),
    *names_of("skimage.filters", "threshold_multiotsu"),
    data="image", note="the threshold from all cells",
)(everything)  # fmt: skip


# --- features ------------------------------------------------------------------------------------


@data_rule(
    "skimage.feature.local_binary_pattern",
    kind="superset", data="image", note="each cell from the cells around it, up to the radius",
)  # fmt: skip
def binary_pattern(call: Call, data: Array, _: Array) -> Lineage:
    """Points on a circle, interpolated between cells."""
    reach = int(np.ceil(float(option(call, "R"))))
    path = one_pass(range(-reach, reach + 1), "constant")
    return neighbourhood(data.shape, [(path,) * data.ndim], exact=False)


@data_rule("skimage.feature.match_template", data="image template", note="the window and all of it")
def match_template(call: Call, data: Array, out: Array) -> Lineage:
    """The template against each window of the image."""
    if data is option(call, "template"):
        return all_to_all(out.shape, data.shape)
    sizes = np.shape(option(call, "template"))
    if option(call, "pad_input") or len(sizes) != data.ndim:
        return all_to_all(out.shape, data.shape, exact=False)
    parts = [row([(0, n - 1)], [(0, m - 1)], [0]) for n, m in zip(out.shape, sizes, strict=True)]
    tables = [part([k], [k], table) for k, table in enumerate(parts)]
    return product(out.shape, data.shape, *tables)


@data_rule(
    *names_of("skimage.feature", "peak_local_max corner_peaks"), kind="value",
    data="image", note="each index from the cell that it names",
)  # fmt: skip
def peaks(_: Call, data: Array, out: Array) -> Lineage:
    """As ``np.argwhere``: the cells it was compared with do not count."""
    if out.ndim != 2 or out.shape[1] != data.ndim or out.dtype.kind != "i":
        raise UnknownCallError
    cells = np.ravel_multi_index(tuple(out.T), data.shape)
    return lineage_of_positions(np.repeat(cells[:, None], data.ndim, axis=1), data.shape)
