"""Tracked scalars: a numpy scalar, or a Python number made of one, that knows where it is from.

``x[2, 3]``, ``x.sum()`` and what is computed of them are tracked without an operation of their own:
the cells they come from are kept with the number until it gets into an array. A scalar says that
it is of numpy's class, so that ``isinstance(t, np.float64)`` and ``isinstance(t, float)`` hold, but
it is no subclass of it: compiled code reads the number of a real ``float`` without a word, and has
to ask this one (``__float__``, ``__index__``, ``__array__``), so that we know.
"""

from __future__ import annotations

import json
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dslog.algebra.product import identity
from dslog.capture.numpy.cell_source import FLAT, Source, both, united
from dslog.capture.numpy.loan import be_no_sequence, give_buffers, name_in_errors
from dslog.capture.numpy.memory import (
    Memory,
    Tracked,
    TrackedScalar,
    recorder_of,
    scalar_node,
    tracked_in,
    wrap_root,
)
from dslog.capture.numpy.way_out import Leaves, leak, take
from dslog.capture.recorder import Step, StoreRecorder, Use

_PLAIN = frozenset(
    {int, float, complex, bool, np.bool_, np.datetime64, np.timedelta64}
    | {np.dtype(code).type for code in "bBhHiIlLqQefdgFDG"}
)
_TELLS = frozenset(
    {"dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides", "flags", "device"}
)  # of what a number is, not which
_INTERFACES = frozenset({"__array_interface__", "__array_struct__"})
_AS_ARRAY = ("__array__", "__array_ufunc__", "__array_priority__", "__len__", *_INTERFACES)
CLASSES: dict[type, type[Scalar]] = {}
_TRACKED: set[type] = set()


def make(
    plain: Any,
    source: Source | None,
    home: StoreRecorder,
    made: str = "",
    use: Use | None = None,
) -> Any:
    """Return a number as a tracked scalar; what is no number, or from nothing, stays as it is.

    ``made`` is the operation that made it of its source, "" for the cell itself.
    """
    if source is None or home.closed:
        return plain
    kind = CLASSES.get(type(plain))
    if kind is None:
        if type(plain) is tuple:
            return tuple([make(each, source, home, made) for each in plain])
        if type(plain) not in _PLAIN:
            return plain
        kind = _class_for(type(plain))
    scalar: Scalar = new(kind)
    scalar.plain = plain
    scalar.source = source
    scalar.home = home
    scalar.made = made
    scalar.use = use or home.use()
    return scalar


new = object.__new__


def _class_for(kind: type) -> type[Scalar]:
    """Make the class of scalars that stand for one of numpy's or Python's classes."""
    fields: dict[str, Any] = {"__slots__": (), "kind": kind, "__module__": __name__}
    of_numpy, timed = issubclass(kind, np.generic), kind in (np.datetime64, np.timedelta64)
    if of_numpy and not timed:
        fields["dtype"] = np.dtype(kind)
    if hasattr(kind, "__index__"):
        fields["__index__"] = lambda self: operator.index(take(self, "index"))
    if of_numpy:
        fields["__getitem__"] = _item
    made = CLASSES[kind] = type(f"Tracked_{kind.__name__}", (Scalar,), fields)
    if of_numpy:
        be_no_sequence(made)
    if of_numpy and not timed:  # whose buffers numpy would read as bytes
        give_buffers(made)
    name_in_errors(made, f"(dslog.plain(x) is a {kind.__name__})")
    _TRACKED.add(made)
    return made


def _item(self: Scalar, key: Any) -> Any:
    """``t[()]``, ``t[None]``, ``t[...]``."""
    if key == ():
        return self
    self.plain[key]  # numpy's error, if there is one
    return self.as_array()[key]


def _plain(value: Any) -> Any:
    return value.plain if isinstance(value, TrackedScalar) else value


def _unary(name: str, function: Callable[..., Any]) -> Any:
    """Make a method that computes with the number alone, or with more numbers: ``round(x, 2)``."""

    def method(self: Scalar, *others: Any) -> Any:
        sources = [self.source, *(other.source for other in others if _is_tracked(other))]
        result = function(self.plain, *map(_plain, others))
        return make(result, united(sources), self.home, name, self.use)

    return method


def _binary(name: str, function: Callable[..., Any]) -> tuple[Any, Any]:
    """Make the methods of an operator, with the number on its left and on its right."""

    def method(self: Scalar, other: Any) -> Any:
        kind = type(other)
        if kind in _TRACKED:
            result, source, more = function(self.plain, other.plain), self.source, other.source
            few = len(source) + len(more) <= FLAT and source[0] is not None is not more[0]
            source = source + more if few else both(source, more)
        elif kind in _PLAIN:
            result, source = function(self.plain, other), self.source
        else:
            return _with_others(self, function, name, other)
        made = CLASSES.get(type(result))
        if made is None or self.home.closed:
            return make(result, source, self.home, name)
        scalar: Scalar = new(made)
        scalar.plain = result
        scalar.source = source
        scalar.home = self.home
        scalar.made = name
        scalar.use = self.use
        return scalar

    def reflected(self: Scalar, other: Any) -> Any:
        if type(other) in _PLAIN:
            return make(function(other, self.plain), self.source, self.home, name, self.use)
        return _with_others(self, function, name, other, swap=True)

    return method, reflected


def _with_others(
    scalar: Scalar, function: Callable[..., Any], name: str, other: Any, *, swap: bool = False
) -> Any:
    """Compute with something that is no number, or with one of another kind."""
    if isinstance(other, Tracked):
        return NotImplemented
    if function is operator.mul and type(other) in (list, tuple, str, bytes):
        return function(other, take(scalar, "repeat"))
    if type(other) in (list, tuple) or (
        isinstance(other, np.ndarray) and not isinstance(other, TrackedScalar)
    ):
        array = scalar.as_array()
        return function(other, array) if swap else function(array, other)
    if not isinstance(other, (TrackedScalar, numbers.Number, str, bytes)) and not swap:
        given = _deferred(scalar, name, other)
        if given is not None:
            return given
    plain, source = _plain(other), scalar.source
    if isinstance(other, TrackedScalar):
        source = both(source, other.source)
    result = function(plain, scalar.plain) if swap else function(scalar.plain, plain)
    made = make(result, source, scalar.home, name)
    if made is result and not isinstance(result, (bool, str, type(NotImplemented))):
        leak(name, scalar, other)
    return made


def _deferred(scalar: Scalar, name: str, other: Any) -> Any:
    """Let an object compute with a number on its left, as Python or numpy would let it.

    None if numpy makes an array of it instead. A number of numpy's comes as Python's own.
    """
    kind = type(other)
    if not isinstance(scalar.plain, np.generic) or getattr(kind, "__array_ufunc__", 0) is None:
        return NotImplemented
    method = getattr(kind, f"__r{name}__", None)
    if method is None or any(hasattr(kind, each) for each in _AS_ARRAY):
        return None
    result = method(other, scalar.as_python())
    return None if result is NotImplemented else result


def _is_tracked(value: Any) -> bool:
    return isinstance(value, TrackedScalar)


def _followed(name: str) -> Any:
    """Make a method of numpy's scalars whose result comes from the scalar."""

    def method(self: Scalar, *args: Any, **kwargs: Any) -> Any:
        return self._follow(name, getattr(self.plain, name), args, kwargs)

    method.__name__ = name
    return method


class Scalar(Leaves, TrackedScalar):
    """A number that knows where it comes from; it works like the one it stands for."""

    __slots__ = ()
    kind: ClassVar[type] = np.float64
    __array_priority__ = 1e5

    def __new__(cls, *args: Any) -> Any:
        """``type(t)(value)`` gives a number of the class that the scalar stands for."""
        if len(args) == 1 and isinstance(args[0], TrackedScalar):
            return make(cls.kind(args[0].plain), args[0].source, args[0].home, cls.kind.__name__)
        return cls.kind(*args)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.plain)

    # names

    @property
    def name(self) -> str:
        """The name of this number in the store; asking makes it final."""
        node = scalar_node(self)
        return node.owner.final_name(node)

    def named(self, name: str) -> Scalar:
        """Give this number a name in the store and return it."""
        node = scalar_node(self)
        recorder = recorder_of(self.home)
        if not recorder.rename(node, name):
            new = recorder.node((), name, name)
            recorder.record(Step("named", [node], [new], ((identity(()),),), {}))
            self.source, self.made = (new, 0), ""
        return self

    # as numpy's

    def as_array(self) -> Any:
        """Return a tracked array of no axes with the number in it."""
        plain = np.array(self.plain)
        return wrap_root(_array_class(), plain, Memory(plain, scalar_node(self), self.home))

    def as_python(self) -> Any:
        """Return the number as Python's own, tracked."""
        plain = self.plain.item() if isinstance(self.plain, np.generic) else self.plain
        return make(plain, self.source, self.home, "item")

    def _follow(
        self, way: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function of the number; numbers that it gives come from it and the arguments."""
        result = function(*map(_plain, args), **{key: _plain(kwargs[key]) for key in kwargs})
        if isinstance(result, np.ndarray):
            return getattr(self.as_array(), way)(*args, **kwargs)
        others = [v for v in tracked_in((*args, *kwargs.values())) if isinstance(v, TrackedScalar)]
        source = united((self.source, *(other.source for other in others)))
        made = make(result, source, self.home, way)
        if made is result and result is not None and not isinstance(result, type):
            leak(way, self, *others)
        return made

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            sources, plains = [], []
            for value in inputs:
                if isinstance(value, TrackedScalar):
                    sources.append(value.source)
                    plains.append(value.plain)
                elif type(value) in _PLAIN:
                    plains.append(value)
                else:
                    break
            else:
                return make(ufunc(*plains), united(sources), self.home, ufunc.__name__)
        return _array_class().__array_ufunc__(self, ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _array_class().__array_function__(self, func, types, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.plain, name)
        if name in _INTERFACES:
            leak(name, self)
        if name.startswith("__") or name in _TELLS:
            return value
        if callable(value):
            return _Method(self, name, value)
        made = make(value, self.source, self.home, name)
        if made is value:
            leak(name, self)
        return made

    real = property(lambda self: make(self.plain.real, self.source, self.home, "real"))
    imag = property(lambda self: make(self.plain.imag, self.source, self.home, "imag"))
    T = property(lambda self: self)
    __copy__ = as_is = lambda self: self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    # what leaves

    def buffer_values(self, flags: int) -> Any:
        """Return the number for the buffer protocol."""
        del flags
        return take(self, "buffer")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(take(self, "__array__"), dtype=dtype)

    def item(self, *args: Any) -> Any:
        """Return the number as Python's own, which is not tracked."""
        plain = take(self, "item")
        return plain.item(*args) if isinstance(plain, np.generic) else plain

    def tolist(self) -> Any:
        """Return the number as Python's own, which is not tracked."""
        plain = take(self, "tolist")
        return plain.tolist() if isinstance(plain, np.generic) else plain

    def __hash__(self) -> int:
        return hash(take(self, "hash"))

    def __conform__(self, protocol: Any) -> Any:
        """Return the number as ``sqlite3`` takes it."""
        return take(self, "sqlite3")


class _Method:
    """A method of a number, which is followed where it gives a number."""

    __slots__ = ("_function", "_name", "_scalar")

    def __init__(self, scalar: Scalar, name: str, function: Callable[..., Any]) -> None:
        self._scalar, self._name, self._function = scalar, name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._scalar._follow(self._name, self._function, args, kwargs)  # noqa: SLF001


_OPERATORS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, f"__{name}__")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift")
}
_OPERATORS |= {"rshift": operator.rshift, "divmod": divmod, "pow": pow}
for _name, _function in _OPERATORS.items():
    _left, _right = _binary(_name, _function)
    setattr(Scalar, f"__{_name}__", _left)
    setattr(Scalar, f"__r{_name}__", _right)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Scalar, f"__{_name}__", _binary(_name, getattr(operator, f"__{_name}__"))[0])
_ROUNDS: dict[str, Callable[..., Any]] = {
    "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert,
}  # fmt: skip
for _name, _function in _ROUNDS.items():
    setattr(Scalar, f"__{_name}__", _unary(_name, _function))
_three_way_pow = _unary("pow", pow)


def _pow(self: Scalar, other: Any, *modulus: Any) -> Any:
    """``pow(x, y)`` and ``pow(x, y, modulus)``."""
    return _three_way_pow(self, other, *modulus) if modulus else _two_way_pow(self, other)


_two_way_pow = getattr(Scalar, "__pow__")  # noqa: B009
setattr(Scalar, "__pow__", _pow)  # noqa: B010


def _array_class() -> Any:
    from dslog.capture.numpy.array import TrackedArray  # noqa: PLC0415 (each knows the other)

    return TrackedArray


def teach_json() -> None:
    """Let ``json`` write tracked numbers as it writes those they stand for."""
    original = json.JSONEncoder.default
    if hasattr(original, "knows_scalars"):
        return

    def default(self: json.JSONEncoder, o: Any) -> Any:
        if isinstance(o, TrackedScalar) and issubclass(type(o.plain), (float, int, bool)):
            return take(o, "json") * 1
        return original(self, _plain(o))

    default.knows_scalars = True  # type: ignore[attr-defined]
    json.JSONEncoder.default = default  # type: ignore[method-assign]
