"""Substitutes for functions that take values without asking whose they are.

numpy asks a tracked array what to do in most of its functions. In some it does not: ``np.asarray``
and its kin read the values, ``math.sqrt`` reads a number, ``np.zeros`` can't know that something
tracked is going to be written into its result. While a store tracks, these have substitutes, which
differ only for calls that come from a program's own code, or from a library that is being followed
(``dslog.watch``): a tracked array stays one, and an array that is made can become one. For any
other caller they are what they stand for, and what it reads is noted as a leak. DSLog's own modules
are given the modules as they were: to them the substitutes would only be a longer way.
"""

from __future__ import annotations

import cmath
import functools
import math
import pkgutil
import statistics
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dslog.capture.numpy.array import TrackedArray, run_function
from dslog.capture.numpy.boundary import Boundaries
from dslog.capture.numpy.call import Call, Inputs, Lineages, describe
from dslog.capture.numpy.callback import FOLLOWED
from dslog.capture.numpy.cell_iterator import (
    Enumerated,
    StandsFor,
    TrackedFlat,
    Vectorized,
    iterate,
)
from dslog.capture.numpy.cell_source import united
from dslog.capture.numpy.dispatch import execute, results_of, track_results
from dslog.capture.numpy.handlers import SPECIAL, create
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.item import as_tracked, gather, plain_in, set_item
from dslog.capture.numpy.masked import TESTS, JoinedMasked, call_masked, hide_where, make_masked
from dslog.capture.numpy.matrix import TrackedMatrix, make_matrix, plainly
from dslog.capture.numpy.memory import (
    Latent,
    Tracked,
    TrackedScalar,
    first_tracked,
    home_of,
    tracked_in,
    wrap_latent,
)
from dslog.capture.numpy.records import make_records
from dslog.capture.numpy.registry import REGISTRY, Found, public_functions
from dslog.capture.numpy.scalar import make
from dslog.capture.numpy.stand_in import Act, Anywhere, OfLists, StandIn
from dslog.capture.numpy.way_out import decide, leak, seen_leaving
from dslog.capture.place import origin_of, origin_of_file
from dslog.capture.recorder import StoreRecorder

_ASARRAY, _GENERATOR = np.asarray, np.random.Generator

# what makes arrays of values


def _convert(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.asarray(x)``: a tracked array stays one; a list of tracked values becomes one."""
    value = args[0] if args else next(iter(kwargs.values()), None)
    if isinstance(value, TrackedFlat):
        value = value.copy()
        args = (value, *args[1:])
    if isinstance(value, (Tracked, TrackedScalar)):
        if isinstance(value, TrackedMatrix) and original.__name__ != "asanyarray":
            args = (plainly(value), *args[1:])
        return run_function(TrackedArray, original, args, kwargs)
    if type(value) not in (list, tuple):
        own = getattr(type(value), "__array__", None)
        if isinstance(own, FunctionType) and origin_of(own.__code__) == "program":
            made = own(value)  # C would not take a tracked array from it
            if isinstance(made, Tracked):
                return run_function(TrackedArray, original, (made, *args[1:]), kwargs)
        return original(*args, **kwargs)
    with seen_leaving() as seen:
        result = original(*args, **kwargs)
    if seen:
        return run_function(TrackedArray, original, args, kwargs)
    return _latent(result, original.__name__)


def _array(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.array(...)`` makes a new array."""
    return _latent(_convert(original, args, kwargs), "array")


def _of_items(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.fromiter(items, dtype)``: the items are looked at one by one."""
    items, *rest = args
    items = list(items)
    if first_tracked(items) is None:
        return _latent(original(items, *rest, **kwargs), "fromiter")
    result = original(map(plain_in, items), *rest, **kwargs)
    return gather(items[: len(result)], TrackedArray, dtype=result.dtype)


def _finite(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.asarray_chkfinite``: numpy's error, or the array."""
    with seen_leaving() as seen:
        result = original(*args, **kwargs)
    return run_function(TrackedArray, _ASARRAY, args, kwargs) if seen else result


def _with_lists(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.sum([x, y])``: numpy does not look into lists before it takes their values."""
    if args and isinstance(args[0], Tracked):
        return original(*args, **kwargs)
    with seen_leaving() as seen:
        result = original(*args, **kwargs)
    if seen:
        return run_function(TrackedArray, original, args, kwargs)
    return _latent(result, original.__name__)


def _spaced(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.linspace(a, b, n)`` makes new arrays, whatever their memory is said to belong to."""
    return _new(_with_lists(original, args, kwargs), original.__name__)


def _new(result: Any, made: str) -> Any:
    """Return new arrays as arrays that the program made."""
    if type(result) in (tuple, list):
        return type(result)([_new(each, made) for each in result])
    if type(result) is not np.ndarray or result.dtype.hasobject:
        return result
    return wrap_latent(TrackedArray, result, Latent(result, made))


def _run(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function that reads arrays without asking them, and otherwise is one of numpy's."""
    if first_tracked((*args, *kwargs.values())) is None:
        return original(*args, **kwargs)
    return execute(TrackedArray, f"numpy.{original.__name__}", original, args, kwargs)


def _latent(result: Any, made: str) -> Any:
    if type(result) is not np.ndarray or result.dtype.hasobject or result.base is not None:
        return result
    return wrap_latent(TrackedArray, result, Latent(result, made))


_FILLED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "full": (("shape", "fill_value"), ("fill_value",)),
    "full_like": (("a", "fill_value"), ("fill_value",)),
    "arange": (("start", "stop", "step"), ("start", "step")),
}
"""Parameters by place, and those whose values go into the array."""


def _create(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.zeros(n)``: tracked once something tracked is written; a value to fill with is such."""
    prototype = args[0] if args else kwargs.get("a", kwargs.get("prototype"))
    if kwargs.get("like") is not None or isinstance(prototype, Tracked):
        return original(*args, **kwargs)
    name = original.__name__
    names, goes_in = _FILLED.get(name, ((), ()))
    names = ("stop",) if name == "arange" and len(args) == 1 else names
    given = [
        arg if at < len(names) and names[at] in goes_in else _shape(arg)
        for at, arg in enumerate(args)
    ]
    options = {key: kwargs[key] if key in goes_in else _shape(kwargs[key]) for key in kwargs}
    tracked = next(filter(home_of, tracked_in((*given, *options.values()))), None)
    if tracked is not None:
        return create(TrackedArray, tracked, original, tuple(given), options)
    return _latent(original(*given, **options), name)


def _shape(value: Any) -> Any:
    """Return a shape without lineage: it says how many cells there are, and goes into none."""
    if type(value) in (list, tuple):
        return type(value)(map(_shape, value))
    return decide(value, "shape") if isinstance(value, TrackedScalar) else value


class _Joined:
    """``np.r_`` and ``np.c_``: arrays, numbers and slices in square brackets, in one array."""

    def __init__(self, original: Any, name: str) -> None:
        self._original, self._name = original, name

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if first_tracked(items) is None:
            made = self._original[key]
            is_own = origin_of(sys._getframe(1).f_code) == "program"  # noqa: SLF001 (who asks)
            return _new(made, self._name.rpartition(".")[2]) if is_own else made
        return execute(TrackedArray, self._name, bracketed, (self._original, *items), {})


def bracketed(trick: Any, *items: Any) -> Any:
    """Join what is in the square brackets."""
    return trick[items]


def _joined_rule(call: Call) -> Lineages:
    codes = Codes(call.inputs)
    trick, *items = call.args
    ready = [
        each
        if isinstance(each, str)
        else codes.replace(trick[each] if isinstance(each, slice) else each)
        for each in items
    ]
    return (codes.read(bracketed(trick, *ready)),)


REGISTRY.attach(bracketed, "numpy.r_", "index-run", _joined_rule)

# single numbers


def _number(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function of numbers: its result comes from them."""
    for arg in args:
        if isinstance(arg, (Tracked, TrackedScalar)):
            return _follow_numbers(original, args, kwargs)
    return original(*args, **kwargs)


def _waited(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``time.sleep(t)`` takes a number of Python's own, and gives nothing."""
    plain = [decide(arg, "sleep") if isinstance(arg, TrackedScalar) else arg for arg in args]
    return original(*plain, **kwargs)


def _numbers(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A function of lists of numbers."""
    lists = tuple([list(arg) if isinstance(arg, Iterable) else arg for arg in args])
    if first_tracked(lists) is None:
        return original(*lists, **kwargs)
    return _follow_numbers(original, lists, kwargs)


def _follow_numbers(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    args = tuple([arg[()] if isinstance(arg, Tracked) and not arg.ndim else arg for arg in args])
    found = list(tracked_in((*args, *kwargs.values())))
    scalars = [each for each in found if isinstance(each, TrackedScalar)]
    if not scalars or len(scalars) < len(found):
        return original(*args, **kwargs)
    plain = {key: plain_in(value) for key, value in kwargs.items()}
    source = united([scalar.source for scalar in scalars])
    result = original(*map(plain_in, args), **plain)
    return make(result, source, scalars[0].home, original.__name__)


# random draws


class _Draws:
    """What a generator moves and picks of tracked arrays stays tracked."""

    _bit_generator: Any

    def permutation(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return _draw(super().permutation, self._bit_generator, (x, *args), kwargs)  # type: ignore[misc]

    def choice(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        return _draw(super().choice, self._bit_generator, (a, *args), kwargs)  # type: ignore[misc]

    def shuffle(self, x: Any, *args: Any, **kwargs: Any) -> None:
        shuffle = super().shuffle  # type: ignore[misc]
        if isinstance(x, Tracked):
            set_item(x, ..., _shuffled(shuffle, self._bit_generator, (x, *args), kwargs))
        else:
            shuffle(x, *args, **kwargs)


_SAMPLED = (
    "beta binomial chisquare dirichlet exponential gamma geometric gumbel laplace logistic "
    "lognormal multinomial multivariate_normal normal poisson power rand randint randn random "
    "random_sample rayleigh standard_cauchy standard_exponential standard_gamma standard_normal "
    "standard_t triangular uniform vonmises weibull"
)


def _sampled(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.random.rand(n)`` makes a new array."""
    return _new(original(*args, **kwargs), original.__name__)


def _sampler(kind: type, name: str) -> Any:
    """Make a method of a generator, whose result the program may fill."""

    def sample(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = getattr(super(kind, self), name)(*args, **kwargs)
        is_own = origin_of(sys._getframe(1).f_code) == "program"  # noqa: SLF001 (who asks)
        return _new(made, name) if is_own else made

    sample.__name__ = name
    return sample


class TrackedRandomState(_Draws, np.random.RandomState, metaclass=StandsFor):
    """numpy's older generator."""


class TrackedGenerator(_Draws, np.random.Generator, metaclass=StandsFor):
    """numpy's generator."""

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
        """See ``numpy.random.Generator.permuted``."""
        if not isinstance(out, Tracked):
            return _draw(super().permuted, self.bit_generator, (x,), {"axis": axis, "out": out})
        if np.shape(x) != out.shape:
            raise ValueError("out must have the same shape as x")
        set_item(out, ..., _draw(super().permuted, self.bit_generator, (x,), {"axis": axis}))
        return out


for _kind in (TrackedRandomState, TrackedGenerator):
    for _name in (*_SAMPLED.split(), "integers"):
        if hasattr(_kind, _name):
            setattr(_kind, _name, _sampler(_kind, _name))


def _generator(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.random.default_rng``, whose seed is a real integer."""
    leak("seed", *args, *kwargs.values())
    plain = {key: plain_in(value) for key, value in kwargs.items()}
    made = original(*map(plain_in, args), **plain)
    return TrackedGenerator(made.bit_generator) if type(made) is _GENERATOR else made


def _drawn(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.random.permutation`` and its kin, which draw from numpy's own generator."""
    own = TrackedRandomState(original.__self__._bit_generator)  # noqa: SLF001 (no public way)
    return getattr(own, original.__name__)(*args, **kwargs)


def _shuffled(shuffle: Any, bits: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Return a shuffled copy."""

    def run(values: Any, *rest: Any, **options: Any) -> Any:
        copy = np.ndarray.copy(values)
        shuffle(copy, *rest, **options)
        return copy

    run.__name__ = "shuffle"
    return _draw(run, bits, args, kwargs)


def _draw(method: Any, bits: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Draw, then draw the same again from positions, to see what came from where."""
    x = as_tracked(args[0], TrackedArray) if args else None
    if not isinstance(x, Tracked) or not x.ndim:
        leak(method.__name__, *args, *kwargs.values())
        plain = {key: plain_in(value) for key, value in kwargs.items()}
        return method(*map(plain_in, args), **plain)
    inputs, rest = Inputs(), tuple(plain_in(arg) for arg in args[1:])
    options = {key: plain_in(value) for key, value in kwargs.items()}
    plain = inputs.unwrap(x)
    leak(method.__name__, *args[1:], *kwargs.values(), loses=inputs.recorder is None)
    before = bits.state
    result = method(plain, *rest, **options)
    if inputs.recorder is None:
        return result
    after, bits.state = bits.state, before
    codes = Codes([plain])
    positions = np.asarray(method(np.ascontiguousarray(codes.of(0)), *rest, **options))
    bits.state = after
    outputs = results_of(result)
    name = f"numpy.random.{method.__name__}"
    call = Call(name, method, (plain, *rest), options, (plain,), tuple(outputs))
    scalar = not isinstance(result, np.ndarray)
    found = Found((codes.read(positions),), describe(call))
    return track_results(TrackedArray, name, inputs, outputs, [scalar], found)[0]


# what is replaced while a store tracks

SPECIAL.update(FOLLOWED)

_CONVERSIONS = "asarray asanyarray ascontiguousarray asfortranarray require"
_MADE = "zeros ones empty full arange eye identity tri zeros_like ones_like empty_like full_like"
_SPACED = (
    "linspace logspace geomspace tile indices kron meshgrid fromfunction loadtxt genfromtxt "
    "fromstring hamming hanning bartlett blackman kaiser poly polyfit roots histogram"
)
_LISTS = [name for name in ("fsum", "prod", "dist", "sumprod") if hasattr(math, name)]
_MOMENTS = [
    *("mean", "fmean", "geometric_mean", "harmonic_mean", "variance", "pvariance", "stdev"),
    *("pstdev", "covariance", "correlation"),
]
_NUMBERS = [
    (module, name)
    for module in (math, cmath)
    for name, value in vars(module).items()
    if callable(value) and name[0] != "_" and name not in _LISTS
]


def _stand_ins() -> list[tuple[Any, str, Any]]:
    """Everything that is replaced: where it is, its name, and what stands in for it."""
    acts: dict[str, Act] = dict.fromkeys(_CONVERSIONS.split(), _convert)
    acts |= dict.fromkeys(_MADE.split(), _create)
    acts |= dict.fromkeys(_SPACED.split(), _spaced)
    acts |= {"array": _array, "fromiter": _of_items, "asarray_chkfinite": _finite}
    found = [(np, name, StandIn(getattr(np, name), act)) for name, act in acts.items()]
    for full, function in public_functions():
        place, _, name = full.rpartition(".")
        if hasattr(function, "_implementation") and name not in acts:
            found.append((pkgutil.resolve_name(place), name, OfLists(function, _with_lists)))
    tricks = np.lib.stride_tricks
    found.append((tricks, "as_strided", StandIn(tricks.as_strided, _run)))
    found += [(place, name, Anywhere(getattr(place, name), _number)) for place, name in _NUMBERS]
    found += [(math, name, Anywhere(getattr(math, name), _numbers)) for name in _LISTS]
    found += [
        (statistics, name, Anywhere(getattr(statistics, name), _numbers)) for name in _MOMENTS
    ]
    draws: dict[str, Act] = {
        "default_rng": _generator, "permutation": _drawn, "choice": _drawn, "shuffle": _drawn
    }  # fmt: skip
    found += [(np.random, name, Anywhere(getattr(np.random, name), draws[name])) for name in draws]
    found += [(np.random, n, StandIn(getattr(np.random, n), _sampled)) for n in _SAMPLED.split()]
    masks: dict[str, Act] = {name: hide_where(test) for name, test in TESTS.items()}
    masks |= dict.fromkeys(("array", "masked_array", "asarray"), make_masked)
    others = (name for name in np.ma.__all__ if callable(getattr(np.ma, name)))
    others = (name for name in others if name[:2] != "is" or name == "isin")
    for name in others:
        function = getattr(np.ma, name)
        if name in masks or not isinstance(function, (type, np.ma.core.MaskedConstant)):
            found.append((np.ma, name, Anywhere(function, masks.get(name, call_masked))))
    for name in ("array", "fromarrays", "fromrecords"):
        found.append((np.rec, name, Anywhere(getattr(np.rec, name), make_records)))
    return [
        *found,
        (time, "sleep", Anywhere(time.sleep, _waited)),
        (np, "nditer", Anywhere(np.nditer, iterate)),
        (np, "ndenumerate", Enumerated),
        (np, "vectorize", Vectorized),
        (np, "r_", _Joined(np.r_, "numpy.r_")),
        (np, "c_", _Joined(np.c_, "numpy.c_")),
        (np, "mgrid", _Joined(np.mgrid, "numpy.mgrid")),
        (np.ma, "mr_", JoinedMasked(np.ma.mr_)),
        (np.matrix, "__new__", make_matrix(np.matrix.__new__)),
        (np.random, "Generator", TrackedGenerator),
        (np.random, "RandomState", TrackedRandomState),
    ]


def _as_it_is(module: ModuleType) -> ModuleType:
    """Return a copy of a module, under its own name: what is put into the module is not in it."""
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    return copy


class Own:
    """DSLog's own modules, whose ``np`` and ``math`` stay free of substitutes."""

    def __init__(self) -> None:
        self._copies = {
            module: _as_it_is(module) for module in (np, np.random, math, cmath, statistics)
        }
        self._copies[np].random = self._copies[np.random]  # type: ignore[attr-defined]
        self._seen = 0

    def spare(self) -> None:
        """Give the copies to the modules that were imported so far."""
        if len(sys.modules) == self._seen:
            return
        self._seen = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if not name.startswith("dslog.") or name == __name__:
                continue
            for key, value in list(vars(module).items()):
                if isinstance(value, StandIn):
                    setattr(module, key, value.stands_for)
                elif isinstance(value, ModuleType) and value in self._copies:
                    setattr(module, key, self._copies[value])


def _imported(news: Mapping[int, Any]) -> list[tuple[Any, str, Any, Any]]:
    """Return where the program's own modules have functions that are replaced, under their names.

    >>> _imported({})
    []
    """
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        is_main = getattr(module, "__name__", "") == "__main__"
        if not news or not (
            is_main or (file.endswith(".py") and origin_of_file(file) == "program")
        ):
            continue
        for key, value in list(vars(module).items()):
            new = news.get(id(value))
            asks = isinstance(new, StandIn) and not isinstance(new, Anywhere)
            if new is not None and (not asks or new.stands_for.__name__ == key):
                found.append((module, key, value, new))
    return found


class Substitution:
    """The substitutes, in place while at least one store tracks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = Own()
        self._open: set[StoreRecorder] = set()
        self._changes: list[tuple[Any, str, Any, Any]] = []  # a place, a name, before and after
        self._imports: list[tuple[Any, str, Any, Any]] = []
        self._boundaries = Boundaries()

    def begin(self, recorder: StoreRecorder) -> None:
        """Put the substitutes in place for a store that tracks now."""
        self._own.spare()
        if recorder in self._open:
            return
        with self._lock:
            if not self._changes:
                found = _stand_ins()
                self._changes = [
                    (place, key, getattr(place, key), new) for place, key, new in found
                ]
            if not self._open:
                self._boundaries.begin()
                places = (*self._changes, *self._boundaries.functions)
                self._imports = _imported({id(old): new for *_, old, new in places})
                for place, name, old, new in (*self._changes, *self._imports):
                    if getattr(place, name) is old:
                        setattr(place, name, new)
            self._open.add(recorder)
        recorder.at_close(functools.partial(self.end, recorder))

    def end(self, recorder: StoreRecorder) -> None:
        """Take them away again, after the last store."""
        with self._lock:
            self._open.discard(recorder)
            if not self._open:
                self._boundaries.end()
                for place, name, old, new in (*self._changes, *self._imports):
                    if getattr(place, name, None) is new:
                        setattr(place, name, old)


SUBSTITUTION = Substitution()
