"""Rules for Fourier transforms: on the transformed axes, every cell from every cell read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslog.algebra.product import matched, numpy_names, read
from dslog.capture.numpy.argument_rule import argument_rule
from dslog.capture.numpy.call import Call
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Shape

_HALF = ("irfft", "hfft", "irfftn", "irfft2")  # they read half of a symmetric spectrum


def transformed(out_shape: Shape, in_shape: Shape, used: dict[int, int]) -> Lineage:
    """All-to-all on some axes, of which the first ``used[axis]`` cells are read."""
    reads = [read(axis, 0, min(length, in_shape[axis]) - 1) for axis, length in used.items()]
    follows = {axis: axis for axis in range(len(in_shape)) if axis not in used}
    return matched(out_shape, in_shape, follows, *reads)


@argument_rule(
    *numpy_names("fft.", "fft ifft rfft irfft hfft ihfft"), data="a",
    note="each cell from all cells on the axis",
)  # fmt: skip
def one_axis(call: Call, data: Array, out: Array) -> Lineage:
    """A length cuts the input, or fills it up with zeros."""
    n, axis = call.argument("n"), call.argument("axis", -1) % data.ndim
    length = data.shape[axis] if n is None else int(n)
    if call.func.__name__ in _HALF:
        length = out.shape[axis] // 2 + 1
    return transformed(out.shape, data.shape, {axis: length})


@argument_rule(
    *numpy_names("fft.", "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn"), data="a",
    note="each cell from all cells on the axes",
)  # fmt: skip
def several_axes(call: Call, data: Array, out: Array) -> Lineage:
    """Axes that are named twice are transformed twice, and read once."""
    name, lengths = call.func.__name__, call.argument("s")
    axes = _axes(call.argument("axes"), lengths, data.ndim, two=name.endswith("2"))
    used = {}
    for k, axis in enumerate(axes):
        given = None if lengths is None else lengths[k]
        used[axis] = data.shape[axis] if given is None or given == -1 else int(given)
    if name in _HALF and axes:
        used[axes[-1]] = out.shape[axes[-1]] // 2 + 1
    return transformed(out.shape, data.shape, used)


def _axes(axes: Any, lengths: Sequence[int] | None, ndim: int, *, two: bool) -> list[int]:
    if axes is None:
        axes = range(ndim) if lengths is None else range(ndim - len(lengths), ndim)
        if two:
            axes = (-2, -1)
    return [int(axis) % ndim for axis in axes]
