"""Masked arrays of tracked arrays: the data is one tracked array, the mask another, or plain.

numpy's own masked arrays give all values. Beside each call the same is composed of calls on data
and mask, which are tracked: what is hidden contributes to nothing, and the mask is read wherever it
decides. If the values that can be seen are not the same to the bit, or nothing is known of a call,
numpy's result stays as it is, and the values have left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.item import as_tracked, plain_in
from dslog.capture.numpy.memory import Latent, Tracked, is_tracked, tracked_in, wrap_latent
from dslog.capture.numpy.stand_in import Act
from dslog.capture.numpy.way_out import leak, look, seen_leaving

_REAL: type[Any] = np.ma.MaskedArray
NO_MASK: Any = np.ma.nomask
_TELLS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "named"})
_ON_BOTH = "reshape ravel transpose swapaxes squeeze flatten repeat take diagonal copy __getitem__"
_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "sum": lambda _: 0, "prod": lambda _: 1, "all": lambda _: True, "any": lambda _: False,
    "cumsum": lambda _: 0, "cumprod": lambda _: 1,
    "min": np.ma.minimum_fill_value, "max": np.ma.maximum_fill_value,
}  # fmt: skip


class TrackedMasked(np.lib.mixins.NDArrayOperatorsMixin):
    """A masked array whose data, and maybe its mask, are tracked."""

    __array_priority__ = 15.0

    def __init__(self, data: Any, mask: Any = NO_MASK, fill: Any = None) -> None:
        self.data, self._mask = data, mask
        self.fill_value = np.ma.default_fill_value(data.dtype) if fill is None else fill

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _REAL

    def plain(self) -> Any:
        """Return a copy as numpy's masked array."""
        parts = plain_in(self.data), plain_in(self.mask)
        return _REAL(parts[0], parts[1], fill_value=self.fill_value).copy()

    @property
    def mask(self) -> Any:
        """See ``numpy.ma.MaskedArray.mask``."""
        return self._mask

    @mask.setter
    def mask(self, mask: Any) -> None:
        self._mask = mask if mask is NO_MASK else _new(np.empty(self.data.shape, bool))
        if mask is not NO_MASK:
            self._mask[...] = as_tracked(mask, TrackedArray)

    T = property(lambda self: self.transpose())

    def __getitem__(self, key: Any) -> Any:
        return _composed("__getitem__", _REAL.__getitem__, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        hidden = True if value is np.ma.masked else _mask(value)
        if self.mask is NO_MASK and hidden is not NO_MASK:
            self.mask = False
        if value is not np.ma.masked:
            self.data[key] = _data(value)
        if self.mask is not NO_MASK:
            self.mask[key] = hidden is not NO_MASK and hidden

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self.data)))

    def __len__(self) -> int:
        return len(self.data)

    def __getattr__(self, name: str) -> Any:
        if name in _TELLS:
            return getattr(self.data, name)
        method = getattr(_REAL, name)
        if isinstance(method, type):
            return method
        if callable(method):
            return lambda *args, **kwargs: _composed(name, method, (self, *args), kwargs)
        leak(name, self.data, self.mask)
        return getattr(self.plain(), name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        leak("__array__", self.data, self.mask)
        return np.array(plain_in(self.data), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        outs = kwargs.pop("out", ())
        plain = getattr(ufunc, method)
        run = getattr(np.ma, ufunc.__name__, plain) if method == "__call__" else plain
        made = _composed(ufunc.__name__ if run is not plain else "", run, args, kwargs)
        for out in outs:
            out[...] = made
        return outs[0] if outs else made

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__name__ in _TELLS:
            return func(*map(_data, args), **kwargs)
        return call_masked(getattr(np.ma, func.__name__, func), args, kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        leak("pickle", self.data, self.mask)
        return self.plain().__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __str__(self) -> str:
        return str(look(self.data) if self.mask is NO_MASK else self._looked_at())

    def __repr__(self) -> str:
        return repr(self._looked_at())

    def _looked_at(self) -> Any:
        for part in tracked_in((self.data, self.mask)):
            look(part)
        return self.plain()


def _new(plain: Any) -> Any:
    return wrap_latent(TrackedArray, plain, Latent(plain, "array"))


def _data(value: Any) -> Any:
    return value.data if issubclass(type(value), (_REAL, TrackedMasked)) else value


def _mask(value: Any) -> Any:
    return value.mask if issubclass(type(value), (_REAL, TrackedMasked)) else NO_MASK


def _masked(data: Any, mask: Any, fill: Any = None) -> Any:
    """Return a masked array, or the number that is seen because a mask says so."""
    if np.ndim(data):
        return TrackedMasked(data, mask, fill)
    return np.where(mask, data, data)[()] if is_tracked(mask) else data


# what numpy's methods and functions do, composed


def _filled(a: Any, fill: Any = None) -> Any:
    if a.mask is NO_MASK or not (is_tracked(a.mask) or a.mask.any()):
        return a.data
    made = a.data.copy("K")
    np.copyto(made, a.fill_value if fill is None else fill, where=a.mask, casting="unsafe")
    return made


def _compressed(a: Any) -> Any:
    return a.data.ravel()[... if a.mask is NO_MASK else ~np.ravel(a.mask)]


def _on_both(name: str) -> Callable[..., Any]:
    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_data, args))
        data = getattr(a.data, name)(*args, **kwargs)
        mask = NO_MASK if a.mask is NO_MASK else getattr(a.mask, name)(*args, **kwargs)
        return _masked(data, mask, a.fill_value)

    return run


def _lines(a: Any, made: Any, *args: Any, **kwargs: Any) -> Any:
    """Hide lines in which all is hidden."""
    return _masked(made, a.mask if a.mask is NO_MASK else np.all(a.mask, *args, **kwargs))


def _reduced(name: str) -> Callable[..., Any]:
    def run(a: Any, *args: Any, **kwargs: Any) -> Any:
        made = getattr(np, name)(_filled(a, _NEUTRAL[name](a.plain())), *args, **kwargs)
        return _masked(made, a.mask) if "cum" in name else _lines(a, made, *args, **kwargs)

    return run


def _count(a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.sum(~_whole_mask(a), *args, **kwargs)


def _mean(a: Any, *args: Any, **kwargs: Any) -> Any:
    if a.mask is NO_MASK:
        return _masked(a.data.mean(*args, **kwargs), NO_MASK)
    total = _filled(a, 0).sum(*args, **kwargs)
    return _lines(a, total * 1.0 / _count(a, *args, **kwargs), *args, **kwargs)


def _var(a: Any, axis: Any = None, ddof: int = 0) -> Any:
    far = a.data - _data(_mean(a, axis, keepdims=True))
    total = _filled(TrackedMasked(far * far, a.mask), 0).sum(axis)
    return _lines(a, total / (_count(a, axis) - ddof), axis)


def _elementwise(ufunc: np.ufunc) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        """Where something is hidden, the first operand stays."""
        data, hidden = [_data(arg) for arg in args], NO_MASK
        made = ufunc(*data)
        for mask in map(_mask, args):
            if mask is not NO_MASK:
                hidden = mask if hidden is NO_MASK else hidden | mask
        if getattr(getattr(np.ma, ufunc.__name__), "domain", None) is not None:
            wrong = ~np.isfinite(made)
            hidden = wrong if hidden is NO_MASK else np.where(hidden, True, wrong)
        if hidden is not NO_MASK and np.ndim(made):
            np.copyto(made, data[0], where=hidden, casting="unsafe")
        return _masked(made, hidden)

    return run


def _whole_mask(a: Any) -> Any:
    return np.zeros(np.shape(_data(a)), bool) if _mask(a) is NO_MASK else _mask(a)


def _together(name: str) -> Callable[..., Any]:
    def run(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        join = getattr(np, name)
        hidden = join([_whole_mask(a) for a in arrays], *args, **kwargs)
        return TrackedMasked(join([_data(a) for a in arrays], *args, **kwargs), hidden)

    return run


def _on_data(name: str) -> Callable[..., Any]:
    return lambda a, *args, **kwargs: _masked(getattr(a.data, name)(*args, **kwargs), a.mask)


def _anomalies(a: Any, axis: Any = None) -> Any:
    mean = _mean(a, axis)
    return a - (mean if axis is None else TrackedMasked(*[
        part if part is NO_MASK else np.expand_dims(part, axis) for part in (mean.data, mean.mask)
    ]))  # fmt: skip


def _dot(a: Any, b: Any) -> Any:
    seen = np.dot(~_whole_mask(a), ~_whole_mask(b))
    return _masked(np.dot(*[_filled(TrackedMasked(_data(m), _mask(m)), 0) for m in (a, b)]), ~seen)


def _sorted(a: Any, axis: int = -1) -> Any:
    order = a.plain().argsort(axis=axis)
    parts = [np.take_along_axis(part, order, axis) for part in (a.data, _whole_mask(a))]
    return TrackedMasked(*parts)


def _median(a: Any) -> Any:
    found = np.median(_compressed(a))
    return np.where(a.mask.any(), found, found)[()] if is_tracked(a.mask) else found


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    c = _data(condition)
    hidden = np.where(c, _whole_mask(x), _whole_mask(y)) | _whole_mask(condition)
    return TrackedMasked(np.where(c, _data(x), _data(y)), hidden)


_COMPOSED: dict[str, Callable[..., Any]] = {
    name: _elementwise(getattr(np, name))
    for name in dir(np.ma)
    if isinstance(getattr(np, name, None), np.ufunc)
}
_COMPOSED |= {name: _on_both(name) for name in _ON_BOTH.split()}
_COMPOSED |= {name: _reduced(name) for name in _NEUTRAL}
_COMPOSED |= {"filled": _filled, "compressed": _compressed, "count": _count}
_COMPOSED |= {"mean": _mean, "average": _mean, "var": _var}
_COMPOSED["std"] = lambda a, *args, **kwargs: np.sqrt(_var(a, *args, **kwargs))
_COMPOSED |= {"getdata": _data, "getmask": _mask, "where": _chosen}
_COMPOSED |= {name: _together(name) for name in ("concatenate", "stack", "vstack", "hstack")}
_COMPOSED |= {name: _on_data(name) for name in ("astype", "clip", "round")}
_COMPOSED |= {"median": _median, "anom": _anomalies, "dot": _dot, "sort": _sorted}
_COMPOSED["ptp"] = lambda a, *args: _COMPOSED["max"](a, *args) - _COMPOSED["min"](a, *args)
_COMPOSED["diff"] = lambda a: a[1:] - a[:-1]
_COMPOSED["append"] = lambda a, b: _COMPOSED["concatenate"]((np.ravel(a), np.ravel(b)))
_FAR = {"argmax": np.ma.maximum_fill_value, "argmin": np.ma.minimum_fill_value}
for _name, _far in _FAR.items():
    _COMPOSED[_name] = lambda a, *args, _name=_name, _far=_far, **kwargs: getattr(np, _name)(
        _filled(a, _far(a.plain())), *args, **kwargs
    )
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_COMPARISONS |= {"eq": "equal", "ne": "not_equal"}
for _name, _ufunc in _COMPARISONS.items():

    def _compare(self: Any, other: Any, _ufunc: str = _ufunc, _name: str = _name) -> Any:
        return _composed(_ufunc, getattr(operator, _name), (self, other), {})

    setattr(TrackedMasked, f"__{_name}__", _compare)


class JoinedMasked:
    """``np.ma.mr_``: numpy's values, which leave."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(type(each) is TrackedMasked or is_tracked(each) for each in _flat(items)):
            return self._original[key]
        return _composed("mr_", lambda *given: self._original[given], items, {})


def call_masked(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """Call a function of masked arrays; tracked arrays are such without a mask."""

    def ours(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(ours, value))
        return TrackedMasked(value) if isinstance(value, Tracked) else value

    values = ours(args)
    if not any(type(each) is TrackedMasked for each in _flat(values)):
        return function(*args, **kwargs)
    return _composed(function.__name__, function, values, kwargs)


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if type(value) in (list, tuple) else (value,)


def _composed(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Run a function of numpy's on copies, and give its result as it is composed."""
    given = [_plain(arg) for arg in args]
    result = function(*given, **{key: _plain(value) for key, value in kwargs.items()})
    made: Any = None
    with np.errstate(all="ignore"), seen_leaving() as seen, suppress(Exception):
        made = _COMPOSED[name](*args, **kwargs)  # if it fails, numpy has done it: values leave
    if result is np.ma.masked:
        return result
    if made is not None and not any(left.loses for left in seen) and _agrees(made, result):
        return made
    loses = not isinstance(result, (bool, np.bool_))
    leak(name or function.__name__, *map(_data, _flat(args)), *map(_mask, _flat(args)), loses=loses)
    if result is None and type(args[0]) is TrackedMasked:  # it worked in place
        args[0].data[...], args[0].mask = given[0].data, given[0].mask
    return result


def _plain(value: Any) -> Any:
    if type(value) is TrackedMasked:
        return value.plain()
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else plain_in(value)


def _agrees(made: Any, result: Any) -> bool:
    """Whether what can be seen of two results is the same; what is hidden is taken from numpy's."""
    mine, theirs = np.asarray(plain_in(_data(made))), np.asarray(_data(result))
    hidden, mask = np.ma.getmaskarray(result), plain_in(_mask(made))
    if (type(made) is TrackedMasked) is not issubclass(type(result), _REAL):
        return False
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape or (mask != hidden).any():
        return False
    if mine[~hidden].tobytes() != theirs[~hidden].tobytes():
        return False
    if hidden.any():
        np.copyto(mine, theirs, where=hidden)
    return True


# what makes masked arrays


def _left(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Give plain values to numpy."""
    values = list(_flat((*args, *kwargs.values())))
    leak(original.__name__, *map(_data, values), *map(_mask, values))
    return original(*map(_plain, args), **{key: _plain(kwargs[key]) for key in kwargs})


def make_masked(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.ma.array(x, mask=m)``."""
    given = dict(zip(("data", "mask" if original is _REAL else "dtype"), args, strict=False))
    given |= {key: value for key, value in kwargs.items() if value is not None}
    data, mask = given.get("data"), given.get("mask", NO_MASK)
    ours = (
        is_tracked(mask)
        or type(data) is TrackedMasked
        or is_tracked(as_tracked(data, TrackedArray))
    )
    if not ours or given.keys() - {"data", "mask", "fill_value", "copy", "dtype"}:
        return _left(original, args, kwargs)
    old, data = _mask(data), as_tracked(_data(data), TrackedArray)
    if "dtype" in given and isinstance(data, Tracked):
        data = data.astype(given["dtype"], copy=False)
    if not isinstance(data, Tracked):
        data = _new(np.array(data))
    made = TrackedMasked(data.copy() if given.get("copy") else data, old, given.get("fill_value"))
    if mask is not NO_MASK:
        made.mask = mask if old is NO_MASK else old | mask
    return made


def hide_where(test: Callable[..., Any]) -> Act:
    """Make what ``np.ma.masked_greater(x, v)`` and its kin do: hide where a test holds."""

    def act(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        ours = any(type(arg) is TrackedMasked or is_tracked(arg) for arg in args)
        if not ours or kwargs.keys() - {"copy"}:
            return _left(original, args, kwargs)
        name, x = original.__name__, args[original.__name__ == "masked_where"]
        hidden = test(*map(_data, args))
        hidden = np.array(hidden) if type(hidden) in (list, tuple) else hidden
        if not plain_in(hidden).any() and name != "masked_invalid":
            hidden = NO_MASK
        fill = args[1] if name == "masked_equal" else None
        options = {"fill_value": fill, "copy": kwargs.get("copy", True)}
        return make_masked(_REAL, (x, hidden), options)

    return act


TESTS = {
    "masked_where": lambda condition, _: condition,
    "masked_invalid": lambda x: ~np.isfinite(x),
    "masked_inside": lambda x, a, b: (x >= min(a, b)) & (x <= max(a, b)),
    "masked_outside": lambda x, a, b: (x < min(a, b)) | (x > max(a, b)),
} | {
    f"masked_{name}": getattr(np, name)
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
}
