"""Rules for ``scipy.fft``: on the transformed axes, every cell from every cell read."""

from __future__ import annotations

from dslog.capture.foreign.data_rule import (
    axes_given,
    data_rule,
    names_of,
    on_axes,
    option,
)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.rules.fft import transformed
from dslog.lineage.lineage import Lineage
from dslog.types import Array

_HALF = ("irfft", "hfft")  # they read half of a symmetric spectrum, on the last axis


@data_rule(
    *names_of("scipy.fft", "fft ifft rfft irfft hfft ihfft dct idct dst idst"),
    *names_of("scipy.fft", "fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn"),
    *names_of("scipy.fft", "hfftn ihfftn dctn idctn dstn idstn"),
    data="x", note="each cell from all cells on the axes",
)  # fmt: skip
def transform(call: Call, data: Array, out: Array) -> Lineage:
    """Lengths cut the input, or fill it up with zeros."""
    name = call.func.__name__
    if name[-1] in "2n":
        lengths, axes = option(call, "s"), axes_given(call, data, "axes")
        if lengths is not None and option(call, "axes") is None:
            axes = axes[len(axes) - len(lengths) :]
    else:
        axes = axes_given(call, data)
        lengths = None if option(call, "n") is None else [option(call, "n")]
    used = {axis: data.shape[axis] for axis in axes}
    if lengths is not None:
        given = zip(axes, lengths, strict=True)
        used |= {axis: int(n) for axis, n in given if n is not None and n != -1}
    if name.startswith(_HALF) and axes:
        used[axes[-1]] = out.shape[axes[-1]] // 2 + 1
    return transformed(out.shape, data.shape, used)


@data_rule(
    *names_of("scipy.fft", "fht ifht"), data="a A", note="each cell from all cells on the last axis"
)
def hankel_transform(_: Call, data: Array, out: Array) -> Lineage:
    """A transform of lines."""
    return on_axes(out, data, [data.ndim - 1])
