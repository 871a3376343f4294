"""Rules for ``skimage.transform``: resized by axis, warped by plane, summed up."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.axis import blocks
from dslog.algebra.positions import from_pairs
from dslog.algebra.product import part, product
from dslog.algebra.restrict import union
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    by_place,
    data_rule,
    names_of,
    option,
    perhaps_everything,
)
from dslog.capture.foreign.linear_map import (
    backward_part,
    interpolated,
    moved,
    on_axes_alone,
    probed,
)
from dslog.capture.foreign.rules.ndimage import per_axis
from dslog.capture.numpy.call import Call
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Floats, Shape


def _order(call: Call, data: Array) -> int:
    given = option(call, "order")
    return int(data.dtype != bool) if given is None else int(given)


def spatial_axes(call: Call, data: Array) -> Shape:
    """Return the axes that are not channels."""
    channel = option(call, "channel_axis")
    without = None if channel is None else int(channel) % data.ndim
    return tuple(k for k in range(data.ndim) if k != without)


@data_rule(
    *names_of("skimage.transform", "resize rescale resize_local_mean pyramid_reduce"),
    *names_of("skimage.transform", "pyramid_expand"), kind="value",
    data="image", note="each cell from the points that it is interpolated between, smoothed",
)  # fmt: skip
def resize(call: Call, data: Array, out: Array) -> Lineage:
    """Each axis by itself; a spline with its prefilter reads everything."""
    pyramid = call.func.__name__.startswith("pyramid")
    if _order(call, data) > 1 or (pyramid and option(call, "mode") == "constant"):
        return perhaps_everything(call, data, out)
    if out.ndim != data.ndim:
        raise UnknownCallError
    axes, parts = spatial_axes(call, data), []
    for axis, (n, m) in enumerate(zip(out.shape, data.shape, strict=True)):
        changes, sigma = _of_line(call, data, out, axes, axis)

        def run(line: Floats, changes: dict[str, Any] = changes) -> Any:
            return call.again({"image": line, "preserve_range": True, **changes})

        if axis not in axes or (n == m and sigma == 0):
            found = moved(lambda line: line, (m,))
        else:
            found = probed(run, (m,), 2 * int(4 * sigma + 0.5) + 4)
        if found.out_shape != (n,):
            raise UnknownCallError
        parts.append(backward_part(found, [axis]))
    return clipped(call, data, out, product(out.shape, data.shape, *parts))


def clipped(call: Call, data: Array, out: Array, found: Lineage) -> Lineage:
    """Add what cut values off: the smallest and the largest cell, where they did."""
    if not option(call, "clip", call.func.__name__ == "warp_polar"):
        return found
    whole = np.asarray(call.again({"clip": False}))
    cells = np.flatnonzero((whole != out) & ~(np.isnan(whole) & np.isnan(out)))
    if not len(cells):
        return found
    cut = whole.reshape(-1)[cells] < out.reshape(-1)[cells]
    ends = np.where(cut, data.argmin(), data.argmax())
    return union(found, from_pairs(cells, ends, out.shape, data.shape))


def _of_line(
    call: Call, data: Array, out: Array, axes: Shape, axis: int
) -> tuple[dict[str, Any], float]:
    """Return the settings that do to a line what is done to an axis, and how far it is smoothed."""
    name, order = call.func.__name__, _order(call, data)
    n, m = out.shape[axis], data.shape[axis]
    if name.startswith("pyramid"):
        factor, given = option(call, "downscale", option(call, "upscale")), option(call, "sigma")
        sigma = float(factor) / 3 if given is None else float(given)
        return {"channel_axis": None, "cval": 0.0}, sigma
    if name == "resize_local_mean":
        return {"output_shape": (n,), "channel_axis": None}, m / n / 8
    smooth = option(call, "anti_aliasing")
    if smooth is None:
        smaller = any(a < b for a, b in zip(out.shape, data.shape, strict=True))
        smooth = smaller and data.dtype != bool and not (data.dtype.kind in "iu" and order == 0)
    given = per_axis(option(call, "anti_aliasing_sigma"), data.ndim)[axis]
    sigma = max(0.0, (m / n - 1) / 2) if given is None else float(given)
    changes: dict[str, Any] = {
        "cval": 0.0,
        "order": order,
        "anti_aliasing": bool(smooth),
        "clip": False,
    }
    changes["anti_aliasing_sigma"] = sigma if smooth else None
    if name == "resize":
        changes["output_shape"] = (n,)
    elif axis in axes:
        changes["scale"] = per_axis(option(call, "scale"), len(axes))[axes.index(axis)]
        changes["channel_axis"] = None
    return changes, sigma if smooth else 0.0


@data_rule(
    *names_of("skimage.transform", "rotate swirl warp warp_polar"), kind="value",
    data="image", note="each cell from the points that it is interpolated between",
)  # fmt: skip
def warp(call: Call, data: Array, out: Array) -> Lineage:
    """Planes are warped alike; coordinates may be for all axes."""
    places = option(call, "inverse_map")
    all_axes = isinstance(places, np.ndarray) and places.shape != (3, 3)
    channel = option(call, "channel_axis")
    if channel is not None and channel % data.ndim != data.ndim - 1:
        raise UnknownCallError
    order = _order(call, data)
    if order > 1 and (all_axes or data.dtype == bool):
        return perhaps_everything(call, data, out)
    changes: dict[str, Any] = {"preserve_range": True, "order": order, "clip": False, "cval": 0.0}
    if "channel_axis" in call.arguments:
        changes["channel_axis"] = None

    def run(plane: Floats) -> Any:
        return call.again({"image": plane, **changes})

    if all_axes:
        return clipped(call, data, out, interpolated(run, data.shape, order))
    found = interpolated(run, data.shape[:2], order)
    if found.out_shape != out.shape[:2] or out.ndim != data.ndim:
        raise UnknownCallError
    return clipped(call, data, out, on_axes_alone(data, out, (0, 1), found))


_WHOLE_BLOCK = ("sum", "mean", "max", "min", "amax", "amin", "std", "var", "prod", "any", "all")


@data_rule(
    "skimage.transform.downscale_local_mean", "skimage.measure.block_reduce",
    data="image", note="each cell from its block",
)  # fmt: skip
def block_reduce(call: Call, data: Array, out: Array) -> Lineage:
    """Blocks of the image, filled up at the ends."""
    given = option(call, "factors", option(call, "block_size"))
    name = getattr(option(call, "func", np.mean), "__name__", "")
    if name not in _WHOLE_BLOCK or getattr(np, name) != option(call, "func", np.mean):
        raise UnknownCallError
    parts = [
        part([k], [k], blocks(out.shape[k], int(size), data.shape[k]))
        for k, size in enumerate(per_axis(given, data.ndim))
    ]
    return product(out.shape, data.shape, *parts)


data_rule("skimage.transform.matrix_transform", data="coords", note="each point from its own")(
    by_place(coords={0: 0})
)
