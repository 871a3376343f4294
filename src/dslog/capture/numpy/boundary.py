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
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from dslog.capture.arrival import Arrivals
from dslog.capture.numpy.memory import Tracked, TrackedScalar
from dslog.capture.numpy.stand_in import StandIn
from dslog.capture.numpy.way_out import lend, take
from dslog.capture.place import origin_of
from dslog.capture.recorder import RECORDERS
from dslog.capture.text_use import is_dropped

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


_DRAWN = (
    "artist.Artist cm.ScalarMappable colors.Normalize transforms.TransformNode path.Path "
    "container.Container ticker.TickHelper tri.Triangulation"
)


_HELD = {
    "container.BarContainer": "datavalues",
    "contour.ContourSet": "levels zmin zmax",
    "quiver.Quiver": "X Y XY U V",
    "quiver.Barbs": "x y u v",
    "tri.Triangulation": "x y",
}


class _Held:
    """An attribute that parts of a picture have of their own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, part: Any, kind: type | None = None) -> Any:
        if self._name not in vars(part):
            raise AttributeError(self._name)
        _tell(sys._getframe(1), vars(part)[self._name])  # noqa: SLF001 (who asks decides)
        return vars(part)[self._name]

    def __set__(self, part: Any, value: Any) -> None:
        vars(part)[self._name] = value


def _artists(module: ModuleType) -> Iterator[Place]:
    """What matplotlib gives back of what was drawn: where it is asked for it, that is a leak."""
    library = sys.modules[module.__package__ or ""]
    for kind, names in _HELD.items():
        yield from ((attrgetter(kind)(library), name, _Held(name)) for name in names.split())
    bases: list[Any] = [attrgetter(name)(library) for name in _DRAWN.split()]
    for owner in _family(bases, "matplotlib."):
        for name, value in list(vars(owner).items()):
            if isinstance(value, property):
                get = value.fget and _read_back(value.fget)
                yield owner, name, property(get, value.fset, value.fdel, value.__doc__)
            elif isinstance(value, FunctionType) and name[0] != "_":
                yield owner, name, _read_back(value)


def _pyplot(module: ModuleType) -> Iterator[Place]:
    for name, value in list(vars(module).items()):
        if isinstance(value, FunctionType) and name[0] != "_":
            yield module, name, _read_back(value)


def _read_back(function: Any) -> Any:
    """Return a function that takes note where the program gets numbers or texts of a picture."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        _tell(sys._getframe(1), result)  # noqa: SLF001 (who calls decides)
        return result

    return call


def _tell(frame: FrameType, value: Any) -> None:
    """Take note that a frame gets what was drawn, if it is the program's and looks at it."""
    if origin_of(frame.f_code) == "program" and _tells(value) and not is_dropped(frame):
        for recorder in list(RECORDERS):
            if recorder.leaks.drawn:
                recorder.leak("picture", list(recorder.leaks.drawn))


def _tells(value: Any) -> bool:
    """Whether something holds numbers or texts that are not tracked."""
    if isinstance(value, (list, tuple)):
        return any(map(_tells, value))
    if isinstance(value, dict):
        return any(map(_tells, value.values()))
    if isinstance(value, (Tracked, TrackedScalar, bool)):
        return False
    holds = type(value).__module__ in ("matplotlib.transforms", "matplotlib.path")
    return holds or isinstance(value, (np.ndarray, np.generic, int, float, str))


def _family(bases: Iterable[type], library: str = "pandas.") -> set[type]:
    """Return classes of a library, those made of them, and those that all these are made of."""
    found: set[type] = set()
    waiting: list[type] = [*bases]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += type.__subclasses__(kind)
    owners = {owner for kind in found for owner in kind.__mro__}
    return {o for o in owners if o.__module__.startswith(library) and o.__flags__ & _MADE_IN_PYTHON}


_MADE_IN_PYTHON = 1 << 9  # of a type's flags: attributes can be set


_LIBRARIES: Mapping[str, Callable[[ModuleType], Iterator[Place]]] = {
    "cv2": _opencv,
    "matplotlib.figure": _artists,
    "matplotlib.pyplot": _pyplot,
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

    @property
    def functions(self) -> list[tuple[Any, str, Any, Any]]:
        """Functions of modules that are guarded: where, and as they were before and are now."""
        changes = itertools.chain.from_iterable(self._changes.values())
        return [each for each in changes if isinstance(each[0], ModuleType)]

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
