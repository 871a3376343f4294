"""Rules for ``scipy.ndimage``: filters are neighbourhoods, one term of paths a pass.

Cells under a weight of zero are not read. Minima and maxima read the whole footprint, as ``np.max``
does; a median or another rank is the one cell of that rank, as ``np.quantile`` has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import ndimage

from dslog.algebra.positions import from_pairs, lineage_of_positions
from dslog.algebra.product import identity, matched, product
from dslog.algebra.stencil import (
    MOST_TERMS,
    Border,
    Path,
    Reads,
    chained,
    footprint,
    hull,
    neighbourhood,
    one_pass,
)
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    axes_given,
    data_rule,
    names_of,
    on_axes,
    option,
    perhaps_everything,
    place_of,
)
from dslog.capture.foreign.linear_map import backward_part, interpolated, on_axes_alone
from dslog.capture.numpy.call import Call, is_tracked
from dslog.capture.numpy.index_run import has_nan
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Floats, Mask, Shape

Terms = list[Reads]

_BORDERS: dict[str, Border] = {
    "reflect": "reflect", "grid-mirror": "reflect", "mirror": "mirror", "nearest": "nearest",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def border(mode: Any) -> Border:
    """Return what a mode puts beyond the ends."""
    if mode not in _BORDERS:
        raise UnknownCallError
    return _BORDERS[mode]


def per_axis(value: Any, count: int) -> list[Any]:
    """Return a setting for each axis, given once or for each."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    return list(value)


def axes_filtered(call: Call, data: Array) -> Shape:
    """Return the axes that a filter works on, in the order of its settings; of a line, one."""
    return axes_given(call, data, "axis" if call.func.__name__.endswith("1d") else "axes")


def reads(ndim: int, paths: Mapping[int, Path]) -> Reads:
    """Return a term from the paths of some axes; the others are followed."""
    return tuple(paths.get(axis, ()) for axis in range(ndim))


def settled(data: Array, terms: Sequence[Reads], axes: Shape, *, exact: bool = True) -> Lineage:
    """Return the lineage of terms over some axes."""
    whole = [reads(data.ndim, dict(zip(axes, term, strict=True))) for term in terms]
    return neighbourhood(data.shape, whole, exact=exact)


# --- filters with weights ------------------------------------------------------------------------


@lru_cache(maxsize=256)
def gaussian_path(
    sigma: float, border: Border, order: int = 0, truncate: float = 4.0, radius: int | None = None
) -> Path:
    """Return the path of a Gaussian, or of its derivative, from its response to a single cell."""
    if sigma <= 1e-15:
        return ()
    reach = int(truncate * sigma + 0.5) if radius is None else int(radius)
    cell = np.zeros(2 * reach + 1)
    cell[reach] = 1
    weights = ndimage.gaussian_filter1d(
        cell, sigma, order=order, mode="constant", truncate=truncate, radius=reach
    )
    return weighted(weights[::-1], reach, border)


def weighted(weights: Any, origin: int, border: Border) -> Path:
    """Return the path of a correlation whose weight number ``origin`` is the place's own."""
    values: Floats = np.asarray(weights, float)
    used = np.flatnonzero(values)
    return one_pass((used - origin).tolist(), border, values[used].tolist())


def _gaussian_paths(call: Call, orders: Sequence[int], axes: Shape, modes: Sequence[Any]) -> Reads:
    truncate = float(option(call, "truncate", 4.0))
    radius = per_axis(option(call, "radius"), len(axes))
    sigmas = per_axis(option(call, "sigma"), len(axes))
    return tuple(
        gaussian_path(float(s), border(m), int(o), truncate, None if r is None else int(r))
        for s, m, o, r in zip(sigmas, modes, orders, radius, strict=True)
    )


@data_rule(
    *names_of("scipy.ndimage", "gaussian_filter gaussian_filter1d"),
    data="input", note="each cell from the cells under the weights",
)  # fmt: skip
def gaussian(call: Call, data: Array, _: Array) -> Lineage:
    """One pass along each axis."""
    axes = axes_filtered(call, data)
    orders, modes = (per_axis(option(call, name), len(axes)) for name in ("order", "mode"))
    return settled(data, [_gaussian_paths(call, orders, axes, modes)], axes)


@data_rule(
    *names_of("scipy.ndimage", "gaussian_laplace gaussian_gradient_magnitude"),
    data="input", note="each cell from the cells under the weights of any derivative",
)  # fmt: skip
def gaussian_derivatives(call: Call, data: Array, _: Array) -> Lineage:
    """The derivative along each axis in turn, smoothed along the others."""
    order = 2 if call.func.__name__ == "gaussian_laplace" else 1
    axes = axes_filtered(call, data)
    smoothed = axes if order == 2 else tuple(range(data.ndim))
    modes = per_axis(option(call, "mode"), len(axes))
    terms = []
    for axis, mode in zip(axes, modes, strict=True):
        orders = [order * (k == axis) for k in smoothed]
        terms.append(_gaussian_paths(call, orders, smoothed, [mode] * len(smoothed)))
    return settled(data, terms, smoothed)


@data_rule(
    *names_of("scipy.ndimage", "correlate1d convolve1d"),
    data="input", note="each cell from the cells under the weights",
)  # fmt: skip
def correlate_line(call: Call, data: Array, _: Array) -> Lineage:
    """A correlation along one axis; a convolution turns the weights around."""
    weights: Any = option(call, "weights")
    values = np.ones(len(weights)) if is_tracked(call, weights) else np.asarray(weights)
    origin = int(option(call, "origin"))
    if call.func.__name__ == "convolve1d":
        values, origin = values[::-1], _turned(origin, len(values))
    path = weighted(values != 0 if values.dtype.kind == "c" else values,
                    len(values) // 2 + origin, border(option(call, "mode")))  # fmt: skip
    return settled(data, [(path,)], axes_given(call, data))


def _turned(origin: int, size: int) -> int:
    """The origin of a kernel that is turned around."""
    return -origin - (1 - size % 2)


@data_rule(
    *names_of("scipy.ndimage", "correlate convolve"),
    data="input", note="each cell from the cells under weights that are not zero",
)  # fmt: skip
def correlate(call: Call, data: Array, _: Array) -> Lineage:
    """A correlation over all axes at once."""
    weights: Any = option(call, "weights")
    mask = np.ones(np.shape(weights), bool) if is_tracked(call, weights) else weights
    flipped = call.func.__name__ == "convolve"
    axes = axes_filtered(call, data)
    terms, exact = window_terms(call, np.asarray(mask) != 0, len(axes), flipped=flipped)
    return settled(data, terms, axes, exact=exact)


def window_terms(
    call: Call, mask: Mask, count: int, *, flipped: bool = False, origin: Any = None,
    mode: Any = None,
) -> tuple[Terms, bool]:  # fmt: skip
    """Return the terms of a footprint with the call's origin and modes; whether they are exact."""
    given = option(call, "axes")
    if given is not None and np.ndim(given) and list(given) != sorted(given):
        raise UnknownCallError  # a footprint's axes are in order, its settings are not
    origins = per_axis(option(call, "origin", 0) if origin is None else origin, count)
    origins = [int(o) for o in origins]
    if flipped:
        mask = mask[(slice(None, None, -1),) * mask.ndim]
        origins = [_turned(o, n) for o, n in zip(origins, mask.shape, strict=True)]
    modes = per_axis(option(call, "mode") if mode is None else mode, count)
    centre = [n // 2 + o for n, o in zip(mask.shape, origins, strict=True)]
    terms = footprint(mask, centre, [border(one) for one in modes])
    return (terms, True) if len(terms) <= MOST_TERMS else (hull(terms), False)


_KERNELS = {"sobel": ([-1, 0, 1], [1, 2, 1]), "prewitt": ([-1, 0, 1], [1, 1, 1])}


@data_rule(
    *names_of("scipy.ndimage", "sobel prewitt"),
    data="input", note="each cell from the cells under weights that are not zero",
)  # fmt: skip
def derivative(call: Call, data: Array, _: Array) -> Lineage:
    """A difference on the axis, smoothed along the others."""
    (axis,) = axes_given(call, data)
    modes = per_axis(option(call, "mode"), data.ndim)
    return neighbourhood(data.shape, [_derived(call.func.__name__, data.ndim, axis, modes)])


def _derived(name: str, ndim: int, axis: int, modes: Sequence[Any]) -> Reads:
    across, along = _KERNELS[name]
    return tuple(weighted(across if k == axis else along, 1, border(modes[k])) for k in range(ndim))


@data_rule(
    *names_of("scipy.ndimage", "generic_gradient_magnitude"),
    data="input", note="of sobel or prewitt: the cells under the weights of any axis",
)  # fmt: skip
def gradient_magnitude(call: Call, data: Array, _: Array) -> Lineage:
    """Derivatives that are ours to know, along each axis."""
    given = option(call, "derivative")
    name, module = (getattr(given, key, "") for key in ("__name__", "__module__"))
    if name not in _KERNELS or not str(module).startswith("scipy.ndimage"):
        raise UnknownCallError
    axes = axes_filtered(call, data)
    modes = per_axis(option(call, "mode"), len(axes))
    terms = [
        _derived(name, data.ndim, axis, [mode] * data.ndim)
        for axis, mode in zip(axes, modes, strict=True)
    ]
    return neighbourhood(data.shape, terms)


@data_rule("scipy.ndimage.laplace", data="input", note="each cell from its neighbours on each axis")
def laplace(call: Call, data: Array, _: Array) -> Lineage:
    """Second differences along each axis."""
    axes = axes_filtered(call, data)
    modes = per_axis(option(call, "mode"), len(axes))
    terms = [
        reads(data.ndim, {axis: weighted([1, -2, 1], 1, border(mode))})
        for axis, mode in zip(axes, modes, strict=True)
    ]
    return neighbourhood(data.shape, terms)


# --- footprints ----------------------------------------------------------------------------------


def footprint_of(call: Call, axes: Shape) -> Mask:
    """Return the footprint of a call: given, or of a size, or of a structure of heights."""
    given, structure = option(call, "footprint"), option(call, "structure")
    if given is not None:
        return np.asarray(given, bool)
    if structure is not None:
        return np.ones(np.shape(structure), bool)
    if option(call, "size") is None:
        raise UnknownCallError
    return np.ones([max(int(n), 1) for n in per_axis(option(call, "size"), len(axes))], bool)


@data_rule(
    *names_of("scipy.ndimage", "uniform_filter uniform_filter1d minimum_filter1d maximum_filter1d"),
    *names_of("scipy.ndimage", "minimum_filter maximum_filter"),
    data="input", note="each cell from the cells of its window or footprint",
)  # fmt: skip
def in_window(call: Call, data: Array, _: Array) -> Lineage:
    """The footprint, or a box along some axes."""
    axes = axes_filtered(call, data)
    terms, exact = window_terms(call, footprint_of(call, axes), len(axes))
    return settled(data, terms, axes, exact=exact)


@data_rule(
    "scipy.ndimage.generic_filter", kind="superset",
    data="input", note="each cell from the cells of its footprint, whatever the function reads",
)  # fmt: skip
def any_filter(call: Call, data: Array, out: Array) -> Lineage:
    """A function of one's own may leave cells out."""
    return in_window(call, data, out).with_exact(False)


@data_rule(
    "scipy.ndimage.generic_filter1d", kind="superset",
    data="input", note="each cell from the cells on the axis, whatever the function reads",
)  # fmt: skip
def any_line_filter(call: Call, data: Array, out: Array) -> Lineage:
    """The function gets whole lines."""
    return on_axes(out, data, axes_given(call, data), exact=False)


@data_rule(
    *names_of("scipy.ndimage", "median_filter rank_filter percentile_filter"), kind="value",
    data="input", note="each cell from the cell of its footprint that has the rank",
)  # fmt: skip
def ranked(call: Call, data: Array, out: Array) -> Lineage:
    """The filter itself, run on the ranks of all cells, says which cell it picks."""
    if has_nan(data):
        return in_window(call, data, out).with_exact(False)
    return picked_by_rank(
        data, lambda ranks, of: call.again({"input": ranks, "cval": of(option(call, "cval"))},
                                           without=("output",)),
    )  # fmt: skip


def picked_by_rank(data: Array, run: Any) -> Lineage:
    """Return which cell a choice by order picks; ``run`` gets the ranks, and what ranks others."""
    flat = data.reshape(-1)
    order = np.argsort(flat, kind="stable")
    ranks = np.empty(flat.size)
    ranks[order] = np.arange(flat.size)
    ordered = flat[order]
    found = np.asarray(run(ranks.reshape(data.shape), lambda v: np.searchsorted(ordered, v) - 0.5))
    place = np.rint(found).astype(np.int64)
    cells = order[np.clip(place, 0, flat.size - 1)]
    return lineage_of_positions(np.where(found == place, cells, -1), data.shape)


def both_passes(first: tuple[Terms, bool], then: tuple[Terms, bool]) -> tuple[Terms, bool]:
    """Return the terms of one filter after the other; few ones if need be."""
    (a, sure_a), (b, sure_b) = first, then
    if len(a) * len(b) <= MOST_TERMS:
        return chained(a, b), sure_a and sure_b
    both = chained(a, b)
    if len(both) <= MOST_TERMS:
        return both, sure_a and sure_b
    raise UnknownCallError


_GREY = {
    "grey_erosion": ("e",), "grey_dilation": ("d",), "grey_opening": ("ed",),
    "grey_closing": ("de",), "white_tophat": ("ed", ""), "black_tophat": ("de", ""),
    "morphological_gradient": ("d", "e"), "morphological_laplace": ("d", "e", ""),
}  # fmt: skip


@data_rule(
    *names_of("scipy.ndimage", " ".join(_GREY)),
    data="input", note="each cell from the cells of its footprint; of two, one after the other",
)  # fmt: skip
def grey(call: Call, data: Array, _: Array) -> Lineage:
    """Erosions and dilations, one after the other, and the image itself."""
    axes = axes_filtered(call, data)
    mask = footprint_of(call, axes)
    passes = {letter: window_terms(call, mask, len(axes), flipped=letter == "d") for letter in "ed"}
    return settled_passes(data, passes, _GREY[call.func.__name__], axes)


def settled_passes(
    data: Array, passes: Mapping[str, tuple[Terms, bool]], words: Sequence[str], axes: Shape
) -> Lineage:
    """Return the lineage of any of some words, whose letters are passes one after the other."""
    terms: Terms = []
    exact = True
    for word in words:
        found: tuple[Terms, bool] = ([((),) * len(axes)], True)
        for letter in word:
            try:
                found = both_passes(found, passes[letter])
            except UnknownCallError:
                found = both_passes((hull(found[0]), False), (hull(passes[letter][0]), False))
        terms, exact = terms + found[0], exact and found[1]
    return settled(data, terms, axes, exact=exact)


_BINARY = {
    "binary_erosion": "e", "binary_dilation": "d", "binary_opening": "ed", "binary_closing": "de",
}  # fmt: skip


@data_rule(
    *names_of("scipy.ndimage", " ".join(_BINARY)),
    data="input", note="each cell from the cells of its structure, as often as it is repeated",
)  # fmt: skip
def binary(call: Call, data: Array, out: Array) -> Lineage:
    """Each repetition reads the structure once more; a mask, or no fixed number: any cell."""
    times = int(option(call, "iterations", 1))
    if (
        times < 1
        or option(call, "mask") is not None
        or (option(call, "structure") is not None and (is_tracked(call, option(call, "structure"))))
    ):
        return perhaps_everything(call, data, out)
    axes = axes_filtered(call, data)
    structure = option(call, "structure")
    if structure is None:
        structure = ndimage.generate_binary_structure(len(axes), 1)
    mask = np.asarray(structure) != 0
    passes = {
        letter: window_terms(call, mask, len(axes), flipped=letter == "d", mode="constant")
        for letter in "ed"
    }
    word = "".join(letter * times for letter in _BINARY[call.func.__name__])
    return settled_passes(data, passes, [word], axes)


@data_rule(
    "scipy.ndimage.binary_hit_or_miss",
    data="input", note="each cell from the cells of both structures",
)  # fmt: skip
def hit_or_miss(call: Call, data: Array, _: Array) -> Lineage:
    """Two erosions, of the image and of its complement."""
    axes = axes_filtered(call, data)
    hit, miss = option(call, "structure1"), option(call, "structure2")
    hit = ndimage.generate_binary_structure(len(axes), 1) if hit is None else np.asarray(hit) != 0
    miss = ~hit if miss is None else np.asarray(miss) != 0
    origins = option(call, "origin1"), option(call, "origin2")
    origins = origins[0], origins[0] if origins[1] is None else origins[1]
    found = [
        window_terms(call, mask, len(axes), origin=origin, mode="constant")
        for mask, origin in zip((hit, miss), origins, strict=True)
    ]
    terms = [term for one, _ in found for term in one]
    return settled(data, terms, axes, exact=all(sure for _, sure in found))


# --- Fourier domain, splines ---------------------------------------------------------------------


@data_rule(
    *names_of("scipy.ndimage", "fourier_gaussian fourier_uniform fourier_ellipsoid fourier_shift"),
    data="input", note="each cell from its cell",
)  # fmt: skip
def fourier(_: Call, data: Array, __: Array) -> Lineage:
    """A factor for each frequency."""
    return identity(data.shape)


@data_rule(
    *names_of("scipy.ndimage", "spline_filter spline_filter1d"),
    data="input", note="each cell from all cells on the axes",
)  # fmt: skip
def spline(call: Call, data: Array, out: Array) -> Lineage:
    """A recursive filter, there and back; up to order 1, nothing."""
    if int(option(call, "order")) < 2:
        return identity(data.shape)
    line = call.func.__name__.endswith("1d")
    axes = axes_given(call, data) if line else tuple(range(data.ndim))
    return on_axes(out, data, [k for k in axes if data.shape[k] > 1])


# --- interpolation -------------------------------------------------------------------------------


def local_order(call: Call) -> int:
    """Return the order of a spline whose outputs read a few cells only."""
    order = int(option(call, "order"))
    if order > 1 and option(call, "prefilter"):
        raise UnknownCallError
    return order


@data_rule(
    *names_of("scipy.ndimage", "zoom shift"),
    data="input", note="each cell from the points that it is interpolated between",
)  # fmt: skip
def zoom(call: Call, data: Array, out: Array) -> Lineage:
    """Each axis by itself; a spline with its prefilter reads everything."""
    if int(option(call, "order")) > 1 and option(call, "prefilter"):
        return perhaps_everything(call, data, out)
    name = call.func.__name__
    parts = []
    for axis, amount in enumerate(per_axis(option(call, name), data.ndim)):
        size = data.shape[axis]

        def run(line: Floats, amount: Any = amount) -> Any:
            return call.again({"input": line, name: float(amount), "cval": 0.0}, ("output",))

        found = interpolated(run, (size,), int(option(call, "order")))
        if found.out_shape != (out.shape[axis],):
            raise UnknownCallError
        parts.append(backward_part(found, [axis]))
    return product(out.shape, data.shape, *parts)


@data_rule(
    "scipy.ndimage.rotate",
    data="input", note="each cell from the points that it is interpolated between",
)  # fmt: skip
def rotate(call: Call, data: Array, out: Array) -> Lineage:
    """Planes are rotated alike."""
    if int(option(call, "order")) > 1 and option(call, "prefilter"):
        return perhaps_everything(call, data, out)
    axes = sorted(axes_given(call, data, "axes"))

    def run(plane: Floats) -> Any:
        return call.again({"input": plane, "axes": (1, 0), "cval": 0.0}, ("output",))

    found = interpolated(run, (data.shape[axes[0]], data.shape[axes[1]]), local_order(call))
    return on_axes_alone(data, out, axes, found)


@data_rule(
    *names_of("scipy.ndimage", "affine_transform geometric_transform map_coordinates"),
    kind="value", data="input coordinates",
    note="each cell from the points that it is interpolated between",
)  # fmt: skip
def mapped(call: Call, data: Array, out: Array) -> Lineage:
    """Any places; coordinates that are tracked are read where they stand."""
    coordinates = call.argument("coordinates")
    if coordinates is not None and data is coordinates:
        return matched(out.shape, data.shape, {k + 1: k for k in range(out.ndim)})
    if int(option(call, "order")) > 1 and option(call, "prefilter"):
        return perhaps_everything(call, data, out)

    def run(values: Floats) -> Any:
        return call.again({"input": values, "cval": 0.0}, ("output",))

    return interpolated(run, data.shape, local_order(call))


# --- measurements --------------------------------------------------------------------------------


@data_rule(
    *names_of(
        "scipy.ndimage",
        "sum sum_labels mean variance standard_deviation minimum maximum extrema "
        "minimum_position maximum_position center_of_mass",
    ),
    kind="value", data="input labels", note="each result from the cells of its label",
)  # fmt: skip
def measured(call: Call, data: Array, out: Array) -> Lineage:
    """The cells of a label, and their labels, which are counted as ``np.bincount`` counts."""
    labels, index = option(call, "labels"), option(call, "index")
    values = np.asarray(option(call, "input"))
    if labels is None:
        return matched(out.shape, data.shape, {})
    marks = np.asarray(labels)
    if marks.shape != values.shape or data.shape != values.shape:
        raise UnknownCallError
    if index is None:
        if out.ndim:
            raise UnknownCallError
        cells = np.flatnonzero(marks.reshape(-1) > 0)
        return from_pairs(np.zeros(len(cells), np.int64), cells, out.shape, data.shape)
    wanted = np.asarray(index).reshape(-1)
    numbers, order = np.unique(wanted, return_index=True)
    if len(numbers) < len(wanted):
        raise UnknownCallError
    at = np.clip(np.searchsorted(numbers, marks.reshape(-1)), 0, len(numbers) - 1)
    cells = np.flatnonzero(numbers[at] == marks.reshape(-1))
    results = order[at[cells]]
    if not out.ndim:  # places: an index for each axis, a label after the other
        first = sum(one.ndim > 0 for one in call.outputs)
        mine = results == (place_of(call, out) - first) // values.ndim % len(wanted)
        cells, results = cells[mine], np.zeros(int(mine.sum()), np.int64)
    return from_pairs(results, cells, out.shape, data.shape)


data_rule(
    "scipy.ndimage.median", kind="superset", data="input labels",
    note="each result from the cells of its label",
)(lambda call, data, out: measured(call, data, out).with_exact(False))  # fmt: skip
