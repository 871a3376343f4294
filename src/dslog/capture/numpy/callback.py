"""Functions of a program that numpy calls: on lines, on axes, on pieces of an array.

numpy hands them arrays that it made itself. Here the same is done step by step on tracked arrays,
so that what the functions do is followed. If they can't be, the rules say what may be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dslog.capture.foreign.foreign_call import call_foreign
from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.dispatch import call_function
from dslog.capture.numpy.handlers import Handler
from dslog.capture.numpy.item import as_tracked, plain_in
from dslog.capture.numpy.memory import Latent, Tracked, home_among, wrap_latent
from dslog.capture.numpy.rules.select import WHOLE_LINE


def along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.apply_along_axis``."""
    arr = _array(arr)
    axis = range(arr.ndim)[axis]
    lines = np.moveaxis(arr, axis, -1)
    places = [(*place, ...) for place in np.ndindex(lines.shape[:-1])]
    first = _array(func1d(lines[places[0]], *args, **kwargs))
    made = _new(np.zeros((*lines.shape[:-1], *first.shape), first.dtype))
    made[places[0]] = first
    for place in places[1:]:
        made[place] = _array(func1d(lines[place], *args, **kwargs))
    lead = lines.ndim - 1
    return made.transpose(*range(axis), *range(lead, made.ndim), *range(axis, lead))


def over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``np.apply_over_axes``."""
    made = _array(a)
    ndim = made.ndim
    for axis in np.atleast_1d(plain_in(axes)).tolist():
        place = axis + ndim if axis < 0 else axis
        result = _array(func(made, place))
        if result.ndim != made.ndim:
            result = np.expand_dims(result, place)
        if result.ndim != made.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        made = result
    return made


def in_pieces(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """``np.piecewise``; what is left over is filled in first, so that it reads what was asked."""
    x = _array(x)
    single = np.ndim(plain_in(condlist)) == 0
    if single or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0):
        condlist = [condlist]
    conditions = _array(condlist)
    if conditions.dtype != bool:
        conditions = conditions.astype(bool)
    places = range(len(conditions))
    pieces = [(conditions[k, ...], each) for k, each in zip(places, funclist, strict=False)]
    more = len(funclist) - len(conditions)
    if more not in (0, 1):
        raise ValueError("functions are expected, one for each condition and one for the rest")
    if more:
        pieces.append((~plain_in(conditions).any(axis=0), funclist[-1]))
    found = []
    for holds, function in pieces:
        new = function
        if callable(function):
            values = x[holds]
            new = function(values, *args, **kw) if values.size else 0
        found.append((holds, new))
    made = _new(np.zeros_like(plain_in(x)))
    rest = len(conditions)
    for holds, new in found[rest:] + found[:rest]:
        made[holds] = new
    return made


def _array(value: Any) -> Any:
    """Return something as an array that may become tracked."""
    value = as_tracked(value, TrackedArray)
    return value if isinstance(value, np.ndarray) else _new(np.asanyarray(value))


def _new(plain: Any) -> Any:
    return wrap_latent(TrackedArray, plain, Latent(plain, "zeros"))


def _followed(
    original: Callable[..., Any], own: Callable[..., Any], by_rule: Callable[..., bool] = bool
) -> Handler:
    """Make the handler of a function that calls functions; ``by_rule`` says which need no look."""

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        plainly = partial(call_function, kind, original, args, kwargs)
        if by_rule is not bool and by_rule(*args, **kwargs):
            return plainly()
        if home_among((args, kwargs)) is None:  # the function may know of something tracked
            try:
                return own(*args, **kwargs)
            except Exception:  # noqa: BLE001 (numpy has its own words, or can do better)
                return plainly()
        name = f"numpy.{original.__name__}"
        return call_foreign(name, own, args, kwargs, otherwise=plainly)

    return handle


def _reduces(func: Any = None, *args: Any, func1d: Any = None, **_: Any) -> bool:
    """Whether a function is a reduction of numpy's, and there is something to call it on."""
    return (func or func1d) in WHOLE_LINE and len(args) <= 2


FOLLOWED: dict[Callable[..., Any], Handler] = {
    np.apply_along_axis: _followed(np.apply_along_axis, along_axis, _reduces),
    np.apply_over_axes: _followed(np.apply_over_axes, over_axes, _reduces),
    np.piecewise: _followed(np.piecewise, in_pieces),
}
