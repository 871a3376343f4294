"""``np.matrix`` of tracked arrays: two axes always, and ``*`` is the product of matrices.

What a call gives is made as of an ordinary tracked array; numpy's own matrices say of which kind
and shape it is to be. If the values are not theirs to the bit, they have left.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from dslog.capture.numpy.array import UFUNCS, Methods, TrackedArray
from dslog.capture.numpy.item import as_tracked, plain_in
from dslog.capture.numpy.memory import (
    SUBCLASSES,
    Tracked,
    TrackedScalar,
    first_tracked,
    plain_of,
    wrap,
)
from dslog.capture.numpy.view import is_view
from dslog.capture.numpy.way_out import leak, look, take

_REAL: type[Any] = np.matrix
_BY_VIEW = frozenset({"fill", "partition", "put", "resize", "setfield", "setflags", "sort", "view"})
"""Methods that write, or give whatever they are asked for."""


class TrackedMatrix(TrackedArray):
    """A tracked array that works like ``np.matrix``."""

    __slots__ = ()
    __array_priority__ = 10.0

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _REAL

    def __getitem__(self, key: Any) -> Any:
        return _alike(operator.getitem, operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        part = self[key]
        if isinstance(part, Tracked) and is_view(plain_of(part), plain_of(self)):
            plainly(part)[...] = plainly(value)
        else:
            plainly(self)[key] = plainly(value)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if ufunc is np.multiply and _is_operator(sys._getframe(1)):  # noqa: SLF001
            return _product(args[0], args[1])
        run = getattr(ufunc, method)
        if method == "at" or kwargs.get("out") is not None:
            return run(*map(plainly, args), **{key: plainly(kwargs[key]) for key in kwargs})
        return _alike(run, run, args, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _alike(func, func, args, kwargs)

    def __mul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _product(other, self)

    def __imul__(self, other: Any) -> Any:
        self[:] = self * other
        return self

    def __pow__(self, other: Any) -> Any:  # type: ignore[override]
        return _alike(np.linalg.matrix_power, operator.pow, (self, other), {})

    def __ipow__(self, other: Any) -> Any:  # type: ignore[override]
        self[:] = self**other
        return self

    T = property(lambda self: self.transpose())
    H = property(lambda self: self.T.conj() if self.dtype.kind == "c" else self.T)
    I = property(lambda self: _alike(_inverse, lambda m: m.I, (self,), {}))
    A = property(lambda self: wrap(TrackedArray, self.tracking))
    A1 = property(lambda self: plainly(self).ravel())
    getT, getH, getI = T.fget, H.fget, I.fget  # noqa: N815 (numpy's)
    getA, getA1 = A.fget, A1.fget  # noqa: N815 (numpy's)

    def ptp(self, *args: Any, **kwargs: Any) -> Any:
        """See ``numpy.matrix.ptp``."""
        return _alike(np.ptp, _REAL.ptp, (self, *args), kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return take(self, "pickle").view(_REAL).__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(look(self).view(_REAL))

    def __str__(self) -> str:
        return str(look(self).view(_REAL))


def plainly(value: Any) -> Any:
    """Return a value with ordinary arrays in place of matrices, also inside lists."""
    if type(value) is _REAL:
        return value.view(np.ndarray)
    if isinstance(value, TrackedMatrix):
        return wrap(TrackedArray, value.tracking)
    return type(value)(map(plainly, value)) if type(value) in (list, tuple) else value


def _inverse(matrix: Any) -> Any:
    rows, columns = matrix.shape
    return np.linalg.inv(matrix) if rows == columns else np.linalg.pinv(matrix)


def _product(one: Any, other: Any) -> Any:
    numbers = (int, float, complex, bool, np.generic, TrackedScalar)
    run = np.multiply if isinstance(one, numbers) or isinstance(other, numbers) else _dot
    return _alike(run, operator.mul, (one, other), {})


def _dot(one: Any, other: Any) -> Any:
    """The product of two matrices; what has one axis is a row."""
    pair = [as_tracked(each, TrackedArray) for each in (one, other)]
    return np.dot(*[each if np.ndim(each) == 2 else np.reshape(each, (1, -1)) for each in pair])


def _is_operator(frame: FrameType) -> bool:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("BINARY")


def _alike(
    run: Callable[..., Any],
    numpys: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Run something on ordinary tracked arrays; what it gives is of numpy's kind and shape."""
    like = numpys(*map(_copied, args), **{key: _copied(kwargs[key]) for key in kwargs})
    if like is NotImplemented:
        return like
    made = run(*map(plainly, args), **{key: plainly(kwargs[key]) for key in kwargs})
    return _shaped(made, like, args)


def _copied(value: Any) -> Any:
    if isinstance(value, TrackedMatrix):
        return plain_of(value).view(_REAL).copy("K")
    return type(value)(map(_copied, value)) if type(value) in (list, tuple) else plain_in(value)


def _shaped(made: Any, like: Any, args: tuple[Any, ...]) -> Any:
    if isinstance(like, (tuple, list)) and isinstance(made, (tuple, list)):
        items = [_shaped(one, each, args) for one, each in zip(made, like, strict=True)]
        return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)
    if not isinstance(made, (Tracked, TrackedScalar)):
        return like
    plain, theirs = np.asarray(plain_in(made)), np.asarray(like)
    if plain.dtype != theirs.dtype or plain.tobytes() != theirs.tobytes():
        leak("matrix", *args)
        return like
    if not isinstance(like, np.ndarray):
        return made[()] if isinstance(made, Tracked) else made
    array = made if isinstance(made, Tracked) else made.as_array()
    if array.shape != like.shape:
        array = array.reshape(like.shape)
    return wrap(TrackedMatrix, array.tracking) if type(like) is _REAL else array


def _method(name: str) -> Any:
    own = getattr(Methods, name)

    def method(self: TrackedMatrix, *args: Any, **kwargs: Any) -> Any:
        if name in _BY_VIEW or kwargs.get("out") is not None:
            return getattr(plainly(self), name)(*args, **kwargs)
        theirs = getattr(_REAL, name)
        return _alike(getattr(TrackedArray, name), theirs, (self, *args), kwargs)

    method.__name__, method.__doc__ = name, own.__doc__
    return method


for _name, _value in vars(Methods).items():
    if callable(_value) and not _name.startswith("_"):
        setattr(TrackedMatrix, _name, _method(_name))


def _binary(name: str) -> Any:
    function = getattr(TrackedArray, name)

    def method(self: TrackedMatrix, other: Any) -> Any:
        return _alike(function, getattr(_REAL, name), (self, other), {})

    return method


def _in_place(name: str) -> Any:
    function = getattr(TrackedArray, name)

    def method(self: TrackedMatrix, other: Any) -> Any:
        made = function(plainly(self), plainly(other))
        return made if made is NotImplemented else self

    return method


for _name in {*UFUNCS, "divmod"} - {"mul", "pow"}:
    setattr(TrackedMatrix, f"__{_name}__", _binary(f"__{_name}__"))
    setattr(TrackedMatrix, f"__r{_name}__", _binary(f"__r{_name}__"))
    if _name != "divmod":
        setattr(TrackedMatrix, f"__i{_name}__", _in_place(f"__i{_name}__"))
for _name in ["lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(TrackedMatrix, f"__{_name}__", _binary(f"__{_name}__"))
for _name in ["neg", "pos", "abs", "invert"]:
    _run = getattr(operator, f"__{_name}__")
    setattr(TrackedMatrix, f"__{_name}__", lambda self, run=_run: _alike(run, run, (self,), {}))


def _matrix_of(array: Tracked) -> Tracked:
    like = plain_of(array).view(_REAL)
    shown = array if array.shape == like.shape else array.reshape(like.shape)
    return wrap(TrackedMatrix, shown.tracking)


SUBCLASSES[_REAL] = _matrix_of


def make_matrix(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``np.matrix.__new__``, of lists with tracked numbers in them as of arrays."""

    def new(kind: type, data: Any, *args: Any, **kwargs: Any) -> Any:
        if type(data) in (list, tuple) and first_tracked(data) is not None:
            data = as_tracked(data, TrackedArray)
        return original(kind, data, *args, **kwargs)

    return new
