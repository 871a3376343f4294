"""Rules for ``scipy.signal``: convolutions, filters, spectra, peaks.

A filter with feedback reads all cells up to its own, one that runs there and back all cells on the
axis. What a Fourier transform does is taken as a whole; a convolution is one however it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import signal

from dslog.algebra.axis import rows, scan, window
from dslog.algebra.positions import lineage_of_positions
from dslog.algebra.product import (
    all_to_all,
    follow,
    free,
    part,
    product,
    read,
)
from dslog.algebra.stencil import (
    MOST_TERMS,
    Border,
    Stencil,
    footprint,
    hull,
    on_stencils,
    stretched,
)
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    axes_given,
    data_rule,
    everything,
    names_of,
    on_axes,
    option,
    place_of,
)
from dslog.capture.foreign.linear_map import TINY, on_axes_alone, probed
from dslog.capture.foreign.rules.ndimage import per_axis, picked_by_rank
from dslog.capture.numpy.call import Call, is_tracked
from dslog.capture.numpy.index_run import has_nan
from dslog.capture.numpy.rules.fft import transformed
from dslog.capture.numpy.rules.shape import on_axis
from dslog.lineage.factor import Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import Array, Floats, Mask

# --- convolution ---------------------------------------------------------------------------------

_BEYOND: dict[str, Border] = {"fill": "constant", "symm": "reflect", "wrap": "wrap"}


@data_rule(
    *names_of(
        "scipy.signal", "convolve correlate fftconvolve oaconvolve convolve2d correlate2d"
    ),
    data="in1 in2", note="each cell from a window of both; not from what meets a known zero",
)  # fmt: skip
def convolve(call: Call, data: Array, out: Array) -> Lineage:
    """The full output i sums a[k] v[i - k]; modes leave out some at both ends."""
    a, v = (np.asarray(option(call, name)) for name in ("in1", "in2"))
    axes = axes_given(call, a, "axes")
    mirrored = call.func.__name__.startswith("correlate")
    beyond = _BEYOND[option(call, "boundary", "fill")]
    if a.ndim != v.ndim or len(axes) < a.ndim:
        raise UnknownCallError
    half = int(call.func.__name__ == "correlate2d")  # a filter of even size is put one further
    skip = [
        {"full": 0, "same": (m - 1 + half) // 2, "valid": min(n, m) - 1}[option(call, "mode")]
        for n, m in zip(a.shape, v.shape, strict=True)
    ]
    if beyond != "constant" and any(m > n for n, m in zip(a.shape, v.shape, strict=True)):
        raise UnknownCallError
    if call.which(option(call, "in1")) is not None and data is option(call, "in1"):
        mask = np.ones(v.shape, bool) if is_tracked(call, option(call, "in2")) else v != 0
        mask = mask[(slice(None, None, -1),) * v.ndim] if mirrored else mask
        return _under(mask, skip, beyond, data, out)
    if beyond != "constant" or option(call, "fillvalue", 0) != 0:
        return all_to_all(out.shape, data.shape)
    known = not is_tracked(call, option(call, "in1"))
    if not mirrored:
        return _under(a != 0 if known else np.ones(a.shape, bool), skip, beyond, data, out)
    tables = [_mirrored(*each) for each in zip(out.shape, a.shape, v.shape, skip, strict=True)]
    return product(
        out.shape, data.shape, *(part([k], [k], table) for k, table in enumerate(tables))
    ).with_exact(not known or bool(a.all()))


def _under(mask: Mask, skip: Sequence[int], border: Border, data: Array, out: Array) -> Lineage:
    """Output i reads cells ``i + skip - j`` for all j that are set."""
    if not mask.any():
        return Lineage.empty(out.shape, data.shape)
    terms = footprint(mask, [0] * mask.ndim, ["constant"] * mask.ndim)
    exact = len(terms) <= MOST_TERMS
    found: list[Term] = []
    for term in terms if exact else hull(terms):
        parts = []
        for k, path in enumerate(term):
            offsets = path[0].offsets if path else (0,)
            stencil = Stencil(tuple(sorted(skip[k] - j for j in offsets)), border)
            table, sure = on_stencils(data.shape[k], (stencil,), out.shape[k])
            exact = exact and sure
            parts.append(part([k], [k], table))
        found += product(out.shape, data.shape, *parts).terms
    return Lineage(out.shape, data.shape, tuple(found), exact=exact)


def _mirrored(outputs: int, n: int, m: int, skip: int) -> Table:
    """The cells of a template that a correlation reads: fewer from the front as i grows."""
    place = np.arange(outputs)
    low, high = np.maximum(place + skip - n + 1, 0), np.minimum(place + skip, m - 1)
    return Table.of_boxes(place, place, m - 1 - high, m - 1 - low)


# --- filters along an axis -----------------------------------------------------------------------


@data_rule(
    *names_of("scipy.signal", "lfilter sosfilt"),
    data="x", note="each cell from the cells up to it; without feedback, from those under the taps",
)  # fmt: skip
def filtered(call: Call, data: Array, out: Array) -> Lineage:
    """What a single cell makes of the next ones says how far each is read."""
    (axis,) = axes_given(call, data)
    size = data.shape[axis]
    if place_of(call, out):
        return on_axes(out, data, [axis], exact=False)
    coefficients = [option(call, name) for name in ("b", "a", "sos") if name in call.arguments]
    if any(is_tracked(call, one) for one in coefficients):
        return on_axis(out.shape, data.shape, axis, scan(size)).with_exact(False)
    plain = [np.asarray(one) for one in coefficients]
    taps = sum(one.size for one in plain)
    cell = np.zeros(min(size, taps + 16))
    cell[0] = 1
    response = getattr(signal, call.func.__name__)(*plain, cell)
    used = np.flatnonzero(response)
    if not len(used):
        return Lineage.empty(out.shape, data.shape)
    if not _feeds_back(plain):
        table = rows(*(window(size, size, -k, -k) for k in used.tolist()))
        if len(used) == used[-1] - used[0] + 1:
            table = window(size, size, -int(used[-1]), -int(used[0]))
        return on_axis(out.shape, data.shape, axis, table)
    exact = len(used) == len(cell) - int(used[0])
    return on_axis(out.shape, data.shape, axis, scan(size - int(used[0]), int(used[0]))).with_exact(
        exact
    )


def _feeds_back(coefficients: Sequence[Array]) -> bool:
    """Whether a filter, as b and a or as sections, reads its own output."""
    last = coefficients[-1]
    return bool(last[:, 4:].any() if len(coefficients) == 1 else last.ravel()[1:].any())


@data_rule(
    *names_of("scipy.signal", "filtfilt sosfiltfilt"),
    data="x", note="each cell from all cells on the axis",
)  # fmt: skip
def there_and_back(call: Call, data: Array, out: Array) -> Lineage:
    """Without feedback only some of them are read."""
    coefficients = [option(call, name) for name in ("b", "a", "sos") if name in call.arguments]
    exact = _feeds_back([np.asarray(one) for one in coefficients])
    return on_axes(out, data, axes_given(call, data), exact=exact)


@data_rule("scipy.signal.savgol_filter", data="x", note="each cell from the cells of its window")
def savgol(call: Call, data: Array, out: Array) -> Lineage:
    """A fit in a window; at the ends other cells of the last one, or the border."""
    (axis,) = axes_given(call, data)
    reach = int(option(call, "window_length"))

    def make(size: int) -> Mask:
        weights = np.abs(call.again({"x": np.eye(size), "axis": 0, "cval": 0.0}))
        return np.asarray(weights > TINY * weights.max())

    return on_axis(out.shape, data.shape, axis, stretched(make, data.shape[axis], reach))


@data_rule(
    "scipy.signal.detrend", data="x data", note="each cell from all cells on the axis",
)  # fmt: skip
def detrend(call: Call, data: Array, out: Array) -> Lineage:
    """The mean or the line of the axis; between break points, some of it."""
    exact = np.size(option(call, "bp")) == 1 and not np.any(option(call, "bp"))
    return on_axes(out, data, axes_given(call, data), exact=exact)


@data_rule(
    *names_of("scipy.signal", "resample czt zoom_fft"),
    data="x", note="each cell from all cells on the axis",
)  # fmt: skip
def whole_axis(call: Call, data: Array, out: Array) -> Lineage | None:
    """A transform; the times that come with it are from nothing here."""
    return None if place_of(call, out) else on_axes(out, data, axes_given(call, data))


@data_rule(
    *names_of("scipy.signal", "hilbert hilbert2"),
    data="x", note="each cell from all cells on the axes",
)  # fmt: skip
def hilbert(call: Call, data: Array, out: Array) -> Lineage:
    """There and back through the spectrum of the first N cells."""
    axes = axes_given(call, data, "axes" if call.func.__name__ == "hilbert2" else "axis")
    given = option(call, "N")
    lengths = [data.shape[k] for k in axes] if given is None else per_axis(given, len(axes))
    return transformed(out.shape, data.shape, dict(zip(axes, map(int, lengths), strict=True)))


@data_rule(
    *names_of("scipy.signal", "resample_poly upfirdn decimate"),
    data="x", note="each cell from the cells under the filter's taps",
)  # fmt: skip
def resampled(call: Call, data: Array, out: Array) -> Lineage:
    """Found by running it along a line; with feedback, all cells on the axis."""
    (axis,) = axes_given(call, data)
    name = call.func.__name__
    if name == "decimate" and option(call, "ftype") != "fir":
        exact = option(call, "ftype") == "iir" and bool(option(call, "zero_phase"))
        return on_axes(out, data, [axis], exact=exact)
    if name == "resample_poly" and option(call, "padtype") != "constant":
        return on_axes(out, data, [axis], exact=False)
    up, down = int(option(call, "up", 1)), int(option(call, "down", option(call, "q")))
    changes: dict[str, Any] = {"axis": 0}
    if name == "upfirdn":
        taps = len(option(call, "h"))
        if is_tracked(call, option(call, "h")):
            changes["h"] = np.ones(taps)
    elif name == "decimate":
        taps = 2 + (20 * down if option(call, "n") is None else int(option(call, "n")))
    elif isinstance(option(call, "window"), (str, tuple)):
        taps = 20 * max(up, down) + 2
    else:
        taps = len(option(call, "window"))

    def run(line: Floats) -> Any:
        return call.again({"x": line, **changes})

    found = probed(run, (data.shape[axis],), -(-taps // up) + 1)
    if found.out_shape != (out.shape[axis],):
        raise UnknownCallError
    return on_axes_alone(data, out, [axis], found)


# --- order statistics, local statistics ----------------------------------------------------------


@data_rule(
    *names_of("scipy.signal", "medfilt medfilt2d order_filter"), kind="value",
    data="volume input a", note="each cell from the cell of its window that has the rank",
)  # fmt: skip
def medfilt(call: Call, data: Array, _: Array) -> Lineage:
    """Beyond the ends there are zeros; where one is picked, the output is from nothing."""
    if has_nan(data):
        raise UnknownCallError
    name = next(key for key, value in call.arguments.items() if value is data)

    def run(ranks: Floats, of: Any) -> Any:
        return call.again({name: ranks - of(0)}) + of(0)

    return picked_by_rank(data, run)


@data_rule(
    "scipy.signal.wiener", data="im", note="each cell from all cells: the noise is their mean"
)
def wiener(call: Call, data: Array, out: Array) -> Lineage:
    """The noise is the mean of what is around each cell; where it is known, only a window."""
    if option(call, "noise") is None:
        return all_to_all(out.shape, data.shape)
    given = option(call, "mysize")
    sizes = [int(m) for m in per_axis(3 if given is None else given, data.ndim)]
    return _under(np.ones(sizes, bool), [(m - 1) // 2 for m in sizes], "constant", data, out)


# --- spectra -------------------------------------------------------------------------------------


@data_rule(
    *names_of("scipy.signal", "periodogram welch csd coherence"),
    data="x y", note="each cell from all segments of the axis",
)  # fmt: skip
def spectrum(call: Call, data: Array, out: Array) -> Lineage | None:
    """What does not fill a segment at the end is not read; frequencies are from nothing."""
    if place_of(call, out) == 0:
        return None
    (axis,) = axes_given(call, data)
    if out.ndim != data.ndim:
        raise UnknownCallError
    size, used, exact = data.shape[axis], data.shape[axis], True
    if call.func.__name__ == "periodogram":
        exact = option(call, "nfft") is None
    else:
        other = [np.shape(option(call, n))[axis] for n in "xy" if option(call, n) is not None]
        length, weights = _segments(call, max(other))
        step = length - _overlap(call, length // 2)
        used = min(size, (max(other) - length) // step * step + length)
        exact = bool(option(call, "detrend")) or bool(weights.all())
    others = [follow(k, k, n) for k, n in enumerate(data.shape) if k != axis]
    parts = [free(axis, out.shape[axis]), read(axis, 0, used - 1)]
    return product(out.shape, data.shape, *parts, *others, exact=exact)


def _segments(call: Call, size: int) -> tuple[int, Floats]:
    """Return how long segments are, and their weights."""
    given, length = option(call, "window"), option(call, "nperseg")
    if not isinstance(given, (str, tuple)):
        return len(given), np.asarray(given)
    length = min(256 if length is None else int(length), size)
    return length, np.asarray(signal.get_window(given, length))


def _overlap(call: Call, default: int) -> int:
    given = option(call, "noverlap")
    return default if given is None else int(given)


@data_rule(
    *names_of("scipy.signal", "stft spectrogram"),
    data="x", note="each cell from the cells of its segment",
)  # fmt: skip
def segments(call: Call, data: Array, out: Array) -> Lineage | None:
    """Time is last, frequencies are where the axis was; a weight of zero is not read."""
    if place_of(call, out) < 2:
        return None
    (axis,) = axes_given(call, data)
    size = data.shape[axis]
    length, weights = _segments(call, size)
    is_stft = call.func.__name__ == "stft"
    step = length - _overlap(call, length // 2 if is_stft else length // 8)
    beyond = option(call, "boundary") if is_stft else None
    first = np.arange(out.shape[-1]) * step - (length // 2 if beyond is not None else 0)
    used = np.arange(length) if option(call, "detrend") else np.flatnonzero(weights)
    low, high = first + used[0], first + used[-1]
    exact = beyond in (None, "zeros") and len(used) == int(used[-1] - used[0]) + 1
    if beyond not in (None, "zeros"):
        low, high = np.minimum(low, 2 * size - high - 2), np.maximum(high, -low)
    low, high = np.maximum(low, 0), np.minimum(high, size - 1)
    some = np.flatnonzero(low <= high)
    times = Table.of_boxes(some, some, low[some], high[some])
    if out.ndim != data.ndim + 1:
        raise UnknownCallError
    others = [follow(k, k, n) for k, n in enumerate(data.shape) if k != axis]
    frequencies = free(axis, out.shape[axis])
    parts = [part([out.ndim - 1], [axis], times), frequencies, *others]
    return product(out.shape, data.shape, *parts, exact=exact and option(call, "mode") != "phase")


data_rule(
    *names_of("scipy.signal", "cspline1d qspline1d"),
    data="signal", note="each cell from all cells",
)(everything)  # fmt: skip


# --- peaks ---------------------------------------------------------------------------------------


@data_rule(
    *names_of("scipy.signal", "find_peaks argrelmax argrelmin argrelextrema"), kind="value",
    data="x data", note="each index from the cell that it names",
)  # fmt: skip
def peaks(call: Call, data: Array, out: Array) -> Lineage:
    """As ``np.nonzero``: the cells it was compared with do not count."""
    places: Any = call.outputs[:1] if call.func.__name__ == "find_peaks" else call.outputs
    if len(places) != data.ndim or out.dtype.kind != "i":
        raise UnknownCallError
    return lineage_of_positions(np.ravel_multi_index(places, data.shape), data.shape)
