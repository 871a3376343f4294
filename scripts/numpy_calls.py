"""Calls of numpy's functions as programs make them, for the table of functions and its test.

Each is an expression over the arrays below. What a call that writes has written is its first
array.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import dslog
from dslog.capture.numpy.memory import is_tracked

_DAYS = np.array(["2024-02-01", "2024-02-05", "2024-02-09", "2024-02-29"], "M8[D]")


def arrays() -> dict[str, Any]:
    """Return the arrays of the calls: their names, and values in no order."""
    rng = np.random.default_rng(7)
    half = rng.random((4, 4))
    return {
        "x": rng.random((2, 3)) + 0.25,
        "y": rng.random((2, 3)) + 0.75,
        "v": rng.permutation(6) + rng.random(6) / 2,
        "w": rng.permutation(6) + rng.random(6) / 2,
        "o": np.arange(6) + 0.25,
        "n": np.where(np.arange(6) == 2, np.nan, np.arange(6) + 0.5),
        "i": rng.permutation(6),
        "j": rng.integers(1, 4, 6),
        "b": np.array([True, False, True, True, False, False]),
        "m": half @ half.T + 4 * np.eye(4),
        "z": rng.random((2, 3)) + 1j * rng.random((2, 3)),
        "p": (rng.random(6) < 0.5).astype(np.uint8),
        "days": _DAYS,
        "time": np.array([1, 5, 3, 2], "m8[D]"),
    }


_ALIKE = {
    "{}(x)": (
        "abs absolute acos all amax amin angle any arccos arcsin arcsinh arctan arctanh argmax "
        "argmin argsort argwhere around array asanyarray asarray asarray_chkfinite "
        "ascontiguousarray asfortranarray asin asinh asmatrix atan atanh atleast_1d atleast_2d "
        "atleast_3d average cbrt ceil conj conjugate copy corrcoef cos cosh count_nonzero cov "
        "cumprod cumsum deg2rad degrees diagonal diff ediff1d empty_like exp exp2 expm1 fabs "
        "fix flatnonzero flip fliplr flipud floor frexp i0 imag isfinite isinf isnan iscomplex "
        "isneginf isposinf isreal linalg.norm linalg.vector_norm log log10 log1p log2 "
        "logical_not matrix_transpose max mean median min modf nan_to_num nanargmax nanargmin "
        "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar "
        "negative nonzero ones_like permute_dims positive prod ptp rad2deg radians ravel real "
        "real_if_close reciprocal require rint rot90 round sign signbit sin sinc sinh sort "
        "sort_complex spacing sqrt square squeeze std sum tan tanh transpose trapezoid trunc "
        "unwrap unstack var zeros_like linalg.matrix_transpose fft.fft fft.fft2 fft.fftn "
        "fft.ifft fft.ifft2 fft.ifftn fft.rfft fft.rfft2 fft.rfftn fft.irfft fft.irfft2 "
        "fft.irfftn fft.hfft fft.ihfft fft.fftshift fft.ifftshift linalg.matrix_norm"
    ),
    "{}(x + 1)": "acosh arccosh",
    "{}(x, y)": (
        "add allclose arctan2 array_equal array_equiv atan2 broadcast_arrays copysign cross "
        "divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal "
        "heaviside hypot inner isclose kron less less_equal logaddexp logaddexp2 logical_and "
        "logical_or logical_xor maximum minimum mod multiply nextafter not_equal outer pow "
        "power remainder subtract true_divide vecdot linalg.cross linalg.vecdot append"
    ),
    "{}(x, y.T)": "dot matmul linalg.matmul",
    "{}(m)": (
        "diag linalg.cholesky linalg.cond linalg.det linalg.diagonal linalg.eig linalg.eigh "
        "linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_rank linalg.pinv linalg.qr "
        "linalg.slogdet linalg.svd linalg.svdvals linalg.trace trace tril triu "
        "tril_indices_from triu_indices_from diag_indices_from"
    ),
    "{}(v)": (
        "diagflat poly polyder polyint roots trim_zeros unique unique_all unique_counts "
        "unique_inverse unique_values vander histogram histogram_bin_edges gradient"
    ),
    "{}(v, w)": (
        "convolve correlate histogram2d intersect1d isin linspace meshgrid polyadd polymul "
        "polysub setdiff1d setxor1d union1d vdot polyval ix_"
    ),
    "{}(i, j)": (
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm "
        "left_shift right_shift"
    ),
    "{}(i)": "bincount bitwise_count bitwise_invert bitwise_not invert packbits",
    "{}((x, y))": "column_stack concat concatenate dstack hstack stack vstack row_stack",
}
_OWN = """
apply_along_axis(lambda row: row / row.sum(), 1, x)  apply_over_axes(np.sum, x, [0])
argpartition(v, 2)  block([[x], [y]])  array_split(v, 4)  astype(x, int)  broadcast_to(v, (2, 6))
busday_count(days, days[::-1])  busday_offset(days, i[:4], roll="forward")  is_busday(days)
choose(j - 1, [v, w, o])  clip(x, 0.5, 1)  compress(b, v)  copyto(x, y)  cumulative_sum(v)
cumulative_prod(v)  hsplit(v, 3)  interp(v, o, w)  linalg.outer(v, w)
datetime_as_string(days)  delete(v, [1, 2])  digitize(v, o)  dsplit(x[None], 3)
einsum("ij,kj->ik", x, y)  expand_dims(x, 0)  extract(b, v)  fill_diagonal(m, v[0])
fromfunction(lambda a, c: a + c, (2, 3), like=x)  full(4, v[0])  full_like(x, v[0])
geomspace(x, y, 4)  histogramdd((v, w))  insert(v, 2, w[0])  isnat(days)  ldexp(x, i[:3])
lexsort((v, w))  linalg.lstsq(m, v[:4])  linalg.matrix_power(m, 2)
linalg.multi_dot([x, y.T, x])  linalg.solve(m, v[:4])  linalg.tensordot(x, y)
linalg.tensorinv(m.reshape(2, 2, 2, 2))  linalg.tensorsolve(m, v[:4])  logspace(x, y, 3)
lib.stride_tricks.as_strided(v, (5, 2), (8, 8))  lib.stride_tricks.sliding_window_view(v, 3)
matvec(m, v[:4])  moveaxis(x, 0, 1)
nanpercentile(n, 30)  nanquantile(n, 0.3)  pad(x, 1)  partition(v, 2)  percentile(v, 30)
piecewise(v, [v < 2, v > 4], [-1, lambda part: part * 2])  place(v, b, w)  polydiv(v, w[:3])
polyfit(o, v, 2)  put(v, i[:2], w)  put_along_axis(x, i[:2, None] % 3, y[:, :1], 1)
putmask(v, b, w)  quantile(v, 0.3)  ravel_multi_index((j, i), (6, 6))  repeat(x, 2)
reshape(x, (3, 2))  resize(x, (3, 3))  roll(x, 1)  rollaxis(x, 1)  searchsorted(o, v)
select([v > 4, v > 2], [v, w])  split(v, 3)  swapaxes(x, 0, 1)
take(v, i)  take_along_axis(x, i[:2, None] % 3, 1)  tensordot(x, y)  tile(x, 2)
unpackbits(p)  unravel_index(i, (2, 3))  vecmat(v[:4], m)  vsplit(x, 2)  where(b, v, w)
ufunc.reduce(x)  ufunc.accumulate(x)  ufunc.reduceat(v, [0, 3])  ufunc.outer(v, w)
ufunc.at(v, i, w)  full(3, x[0, 0])
"""


def calls() -> dict[str, str]:
    """Return the call of each function, by its dotted name."""
    own = [each for line in _OWN.strip().splitlines() for each in line.split("  ")]
    found = {f"numpy.{each.partition('(')[0]}": f"np.{each}" for each in own}
    for call, names in _ALIKE.items():
        for name in names.split():
            found.setdefault(f"numpy.{name}", call.format(f"np.{name}"))
    return {name: call.replace("np.ufunc", "np.add") for name, call in found.items()}


def results(call: str, given: dict[str, Any]) -> list[Any]:
    """Return the arrays and numbers that a call gives, or the array that it has written."""
    made = eval(compile(call, "<call>", "eval"), {"np": np, **given})  # noqa: S307 (from above)
    return _flat(given[re.findall(r"\((\w+)", call)[0]] if made is None else made)


def _flat(made: Any) -> list[Any]:
    if isinstance(made, (tuple, list)):
        return [each for item in made for each in _flat(item)]
    return [made]


def answers(
    store: dslog.Store, result: Any, given: dict[str, Any]
) -> dict[tuple[str, tuple[int, ...]], Any]:
    """Return what a result's cells are from, one by one: by array and cell."""
    name = store.name_of(result) if is_tracked(result) else None
    if name is None:
        return {}
    return {
        (source, index): store.backward(name, [index] if index else ..., source)
        for source in given
        for index in np.ndindex(np.shape(dslog.plain(result)))
        if store.name_of(given[source]) == source != name
    }


def label(call: str) -> str:
    """Return what is said of the lineage of a call on tracked arrays.

    It is "exact", "superset", "plain" where the result is not tracked and nothing was lost, or
    "leak".
    """
    with dslog.open(":memory:", leaks="ignore") as store:
        given = {name: store.track(values, name) for name, values in arrays().items()}
        made = results(call, given)
        if any(leak.loses for leak in store.leaks()):
            return "leak"
        if not any(map(is_tracked, made)):
            return "plain"
        found = [each for result in made for each in answers(store, result, given).values()]
        return "exact" if all(each.exact for each in found) else "superset"
