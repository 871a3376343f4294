"""Boundaries: libraries whose compiled code takes nothing but real arrays and numbers.

numba, OpenCV, pandas and pyarrow look at what an object is in C, whatever it says of itself: they
refuse a tracked array, and keep a tracked number as an object like any other. While a store tracks,
their functions get plain values, and that is noted; so do functions of the program that pandas
calls give. A library that is watched is past this: what it gets has been taken care of.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from dslog.capture.arrival import Arrivals
from dslog.capture.numpy.memory import Tracked, TrackedScalar
from dslog.capture.numpy.stand_in import StandIn
from dslog.capture.numpy.way_out import lend, take
from dslog.capture.place import origin_of

Place = tuple[Any, str, Any]
"""Where something is, its name, and what is to be there."""

_ATOMS = frozenset({int, float, bool, str, bytes, type(None), np.float64, np.int64, np.ndarray})
_LAZY = (GeneratorType, map, zip, filter)


def _is_own(function: Any) -> bool:
    """Whether a function is the program's, or a method of a tracked array."""
    if isinstance(function, MethodType):
        return isinstance(function.__self__, Tracked) or _is_own(function.__func__)
    return type(function) is FunctionType and origin_of(function.__code__) == "program"


def _concerns(values: Iterable[Any]) -> bool:
    """Whether any value is tracked, or may come to give something that is."""
    for value in values:
        kind = type(value)
        if kind in _ATOMS:
            continue
        if issubclass(kind, (Tracked, TrackedScalar, *_LAZY)):
            return True
        if kind in (list, tuple):
            if not _ATOMS.issuperset(map(type, value)) and _concerns(value):
                return True
        elif kind is dict:
            if _concerns(itertools.chain(value.values(), value)):
                return True
        elif kind in (FunctionType, MethodType) and _is_own(value):
            return True
    return False


def _given(value: Any, way: str) -> Any:
    """Return a value as compiled code gets it; it may write into arrays."""
    kind = type(value)
    if issubclass(kind, Tracked):
        value = lend(value, way)
    elif issubclass(kind, TrackedScalar):
        value = take(value, way)
    elif not _concerns((value,)):
        return value
    elif kind in (list, tuple):
        value = kind([_given(item, way) for item in value])
    elif kind is dict:
        value = {_given(key, way): _given(item, way) for key, item in value.items()}
    elif issubclass(kind, _LAZY):
        value = (_given(item, way) for item in value)
    else:
        value = _giving(value, way)
    return value


def _giving(function: Any, way: str) -> Any:
    """Return a function of the program that gives plain values."""

    @functools.wraps(function)
    def give(*args: Any, **kwargs: Any) -> Any:
        return _given(function(*args, **kwargs), way)

    return give


def _guarded(function: Any, way: str) -> Any:
    """Return a function that gets plain values."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _concerns(args) or (kwargs and _concerns(kwargs.values())):
            args = tuple([_given(arg, way) for arg in args])
            kwargs = {name: _given(value, way) for name, value in kwargs.items()}
        return function(*args, **kwargs)

    return call


# what has boundaries


def _of_module(module: ModuleType, *names: str) -> Iterator[Place]:
    """Functions of a module; those that are watched have been replaced before."""
    way = module.__name__.partition(".")[0]
    for name in names:
        function = vars(module).get(name)
        if callable(function) and not isinstance(function, (type, StandIn)):
            yield module, name, _guarded(function, way)


def _numba(module: ModuleType) -> Iterator[Place]:
    for name in ("Dispatcher", "StencilFunc"):
        kind = vars(module).get(name)
        if kind is not None:
            yield kind, "__call__", _guarded(kind.__call__, "numba")


def _opencv(module: ModuleType) -> Iterator[Place]:
    kinds = (BuiltinFunctionType, FunctionType)
    public = [name for name, value in vars(module).items() if isinstance(value, kinds)]
    return _of_module(module, *(name for name in public if name[0] != "_"))


def _pyarrow(module: ModuleType) -> Iterator[Place]:
    for place in (module, sys.modules[f"{module.__name__}.lib"]):
        yield from _of_module(place, *["array", "scalar", "chunked_array", "table", "record_batch"])


class _Plainly:
    """Stands for an object made in C, whose methods get plain values."""

    def __init__(self, value: Any, way: str) -> None:
        self._value, self._way = value, way

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        return _guarded(found, self._way) if callable(found) else found


class _Fused(_Plainly):
    """Stands for a function of several types, made by Cython."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _guarded(self._value, self._way)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _Fused(self._value[key], self._way)


def _factors(module: ModuleType) -> Iterator[Place]:
    """What factorises a sparse matrix gives objects that solve with it."""
    compiled = module._superlu  # noqa: SLF001 (nothing public makes all of them)
    original = compiled.gstrf

    @functools.wraps(original)
    def factorise(*args: Any, **kwargs: Any) -> Any:
        return _Plainly(original(*args, **kwargs), "SuperLU")

    yield compiled, "gstrf", factorise


_BASES = (
    "DataFrame Series Index Categorical Grouper Timestamp Timedelta core.groupby.GroupBy "
    "core.resample.Resampler core.window.rolling.BaseWindow core.indexing._LocationIndexer "
    "core.indexing._ScalarAccessIndexer"
)
_OPERATORS = "add sub mul truediv floordiv mod pow and or xor matmul"
_NAMES = "init new getitem setitem eq ne lt le gt ge contains"
_SPECIAL = frozenset(
    f"__{side}{name}__"
    for name in (*_NAMES.split(), *_OPERATORS.split())
    for side in ("", "r", "i")
)
_PASSED_ON = frozenset({"pipe"})  # which gives what the program's function gives


def _pandas(module: ModuleType) -> Iterator[Place]:
    functions = [name for name in module.__all__ if type(vars(module).get(name)) is FunctionType]
    yield from _of_module(module, *functions)
    bases: list[Any] = [
        functools.reduce(getattr, name.split("."), module) for name in _BASES.split()
    ]
    for owner in sorted(_family(bases), key=lambda kind: (kind.__module__, kind.__name__)):
        for name, value in list(vars(owner).items()):
            if name in _PASSED_ON or not (name[0] != "_" or name in _SPECIAL):
                continue
            if isinstance(value, FunctionType):
                yield owner, name, _guarded(value, "pandas")
            elif isinstance(value, (classmethod, staticmethod)):
                yield owner, name, type(value)(_guarded(value.__func__, "pandas"))


def _family(bases: Iterable[type]) -> set[type]:
    """Return classes of pandas, those made of them, and those that all these are made of."""
    found: set[type] = set()
    waiting: list[type] = [*bases]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += type.__subclasses__(kind)
    owners = {owner for kind in found for owner in kind.__mro__}
    return {
        o for o in owners if o.__module__.startswith("pandas.") and o.__flags__ & _MADE_IN_PYTHON
    }


_MADE_IN_PYTHON = 1 << 9  # of a type's flags: attributes can be set


_LIBRARIES: Mapping[str, Callable[[ModuleType], Iterator[Place]]] = {
    "cv2": _opencv,
    "numba.core.dispatcher": _numba,
    "numba.stencils.stencil": _numba,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
    "scipy.sparse.linalg._dsolve.linsolve": _factors,
}

_COMPILED = frozenset({"scipy", "skimage", "sklearn"})
"""Packages with functions that Cython compiled: many demand a real array, whoever calls them."""


def _compiled(modules: Iterable[ModuleType]) -> Iterator[Place]:
    """Functions that Cython compiled, where they are and where they were imported to.

    What a package makes public is not among them: that is for those who watch it.
    """
    known: dict[int, tuple[Any, Any]] = {}
    for module in modules:
        for name, value in list(vars(module).items()):
            kind = type(value).__name__
            if kind in ("cython_function_or_method", "fused_cython_function"):
                way = module.__name__.partition(".")[0]
                guard = _Fused if kind[0] == "f" else _guarded
                yield module, name, known.setdefault(id(value), (value, guard(value, way)))[1]


_INHERITED = object()


class Boundaries:
    """What libraries get is plain, from ``begin`` to ``end``, also of those imported meanwhile."""

    def __init__(self) -> None:
        self._changes: dict[str, list[tuple[Any, str, Any, Any]]] = {}
        self._arrivals: Arrivals | None = None
        self._known = 0

    def begin(self) -> None:
        """Guard the libraries that are there, and wait for the others."""
        missing = []
        if len(sys.modules) != self._known:
            self._known = len(sys.modules)
            inner = [
                module
                for name, module in list(sys.modules.items())
                if name.partition(".")[0] in _COMPILED and not hasattr(module, "__path__")
            ]
            self._changes[""] = self._found(_compiled(inner))
        self._put("")
        for name in _LIBRARIES:
            if name in sys.modules:
                self._guard(name, sys.modules[name])
            else:
                missing.append(name)
        self._arrivals = Arrivals(missing, self._execute, _COMPILED)
        sys.meta_path.insert(0, self._arrivals)

    def end(self) -> None:
        """Let all libraries be as they were."""
        if self._arrivals is not None:
            sys.meta_path.remove(self._arrivals)
            self._arrivals = None
        for changes in self._changes.values():
            for place, name, old, new in changes:
                if vars(place).get(name) is not new:
                    continue
                if old is _INHERITED:
                    delattr(place, name)
                else:
                    setattr(place, name, old)

    def _execute(self, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        run(module)
        if self._arrivals is not None:
            self._guard(module.__spec__.name if module.__spec__ else module.__name__, module)

    def _guard(self, name: str, module: ModuleType) -> None:
        if name not in self._changes:
            known = _LIBRARIES.get(name)
            self._changes[name] = self._found(known(module) if known else _compiled([module]))
        self._put(name)

    def _found(self, places: Iterable[Place]) -> list[tuple[Any, str, Any, Any]]:
        return [(place, key, vars(place).get(key, _INHERITED), new) for place, key, new in places]

    def _put(self, name: str) -> None:
        for place, key, old, new in self._changes[name]:
            if vars(place).get(key, _INHERITED) is old:
                setattr(place, key, new)
