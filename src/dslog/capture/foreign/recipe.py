"""Objects made of arrays that are asked later: interpolators, distributions, search trees.

They run on plain values. One that was made of tracked arrays keeps its *recipe*: the calls that it
was made by, with their arguments as they were. What it gives is one operation, from all arrays in
the recipe and the arguments of the call. A table says by class and argument which cells are read:
the value in the same place, the row, the values under the weights of a linear map. The weights are
found by following the recipe for one value after the other, and believed if they give the result.
What the table does not name is from everything, labelled as not exact.
"""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import all_to_all, elementwise, matched
from dslog.capture.foreign.linear_map import TINY
from dslog.capture.numpy.array import TrackedArray, plain_values
from dslog.capture.numpy.call import Call, Lineages, arrange, signature_of
from dslog.capture.numpy.dispatch import execute
from dslog.capture.numpy.item import plain_in
from dslog.capture.numpy.memory import Tracked, TrackedScalar, first_tracked, home_of, tracked_in
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.scalar import make
from dslog.capture.numpy.stand_in import following
from dslog.capture.numpy.way_out import leak
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array

Role = Callable[["Recipe", str, Array, Array], Lineage]
_KEPT = "_dslog_recipe"
INSIDE: ContextVar[bool] = ContextVar("INSIDE", default=False)
"""Whether a library is at work on plain values, which is recorded as one call."""
MOST_VALUES, MOST_WEIGHTS = 1 << 11, 1 << 22


@contextmanager
def inside() -> Iterator[None]:
    """Let what a library does meanwhile be a part of the call that is recorded."""
    token = INSIDE.set(True)
    try:
        with following(False):
            yield
    finally:
        INSIDE.reset(token)


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """One call: of a class or a function, or of a method of what the calls before gave."""

    what: Any
    given: Mapping[str, Any]

    def run(self, before: Any, values: Mapping[str, Any]) -> Any:
        """Call it, with plain values."""
        function = getattr(before, self.what) if isinstance(self.what, str) else self.what
        args = [values[name] for name in self.given if name.isdigit()]
        result = function(*args, **{k: values[k] for k in self.given if not k.isdigit()})
        return before if result is None else result


class Recipe:
    """How an object, or what it gives, was made."""

    def __init__(self, parts: tuple[RecipeStep, ...], kind: type) -> None:
        self.parts, self.kind = parts, kind
        names = [part.what for part in parts if isinstance(part.what, str)]
        self.title = ".".join([kind.__name__, *(name for name in names if name != "__call__")])
        self.__qualname__ = self.title  # what can be called is written down by its name

    def __call__(self) -> None:
        """Do nothing: it only has to look like something that can be called."""

    def then(self, name: str, given: Mapping[str, Any]) -> Recipe:
        """Add a call of a method."""
        return Recipe((*self.parts, RecipeStep(name, given)), self.kind)

    def arrays(self) -> dict[str, Any]:
        """Return the tracked arrays and numbers by the number of the call, name and place."""
        return {
            f"{place}.{name}.{k}": one
            for place, part in enumerate(self.parts)
            for name, value in part.given.items()
            for k, one in enumerate(tracked_in((value,)))
        }

    def run(self, name: str = "", value: Any = None) -> Any:
        """Follow the recipe on plain values, perhaps with another value of one argument."""
        made: Any = None
        with inside():
            for place, part in enumerate(self.parts):
                values = {key: plain_in(one) for key, one in part.given.items()}
                key = name.split(".")[1] if name.startswith(f"{place}.") else ""
                made = part.run(made, values | ({key: value} if key else {}))
        return made


def _held(value: Any) -> Any:
    """Return arguments as they are now, whatever is written into them later."""
    if isinstance(value, Tracked):
        return value.copy() if home_of(value) is not None else plain_values(value).copy()
    return type(value)(map(_held, value)) if type(value) in (list, tuple) else value


def _bound(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], skip: int) -> Any:
    """Return arguments by name, and those that have none by number."""
    signature = signature_of(function)
    names = []
    for parameter in list(signature.parameters.values())[skip:] if signature else ():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            break
        names.append(parameter.name)
    names += map(str, range(len(args)))
    return dict(zip(names, map(_held, args), strict=False)) | {k: _held(kwargs[k]) for k in kwargs}


def keep_recipe(made: Any, what: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Let an object that a function made of tracked arrays remember them, if it can."""
    if is_watched(type(made)):
        vars(made)[_KEPT] = Recipe(
            (RecipeStep(what, _bound(what, args, kwargs, skip=0)),), type(made)
        )
        return True
    return False


# --- what is read --------------------------------------------------------------------------------


def _cell(_: Recipe, __: str, out: Array, data: Array) -> Lineage:
    """The value in the same place, after broadcasting."""
    try:
        if np.broadcast_shapes(out.shape, data.shape) == out.shape:
            return elementwise(out.shape, data.shape)
    except ValueError:
        pass
    return _at_most(_, __, out, data)


def _place(recipe: Recipe, name: str, out: Array, data: Array) -> Lineage:
    """A number to be looked up."""
    same = out.shape == data.shape
    return elementwise(out.shape, data.shape) if same else _at_most(recipe, name, out, data)


def _point(recipe: Recipe, name: str, out: Array, data: Array) -> Lineage:
    """A row of coordinates; several arguments have a coordinate each."""
    if "1" in recipe.parts[-1].given:
        return _place(recipe, name, out, data)
    lead = data.shape[:-1]
    if not data.ndim or out.shape[: len(lead)] != lead or (out.size > 1 and not lead):
        return _at_most(recipe, name, out, data)
    return matched(out.shape, data.shape, {k: k for k in range(len(lead))})


def _everything(_: Recipe, __: str, out: Array, data: Array) -> Lineage:
    return all_to_all(out.shape, data.shape)


def _at_most(_: Recipe, __: str, out: Array, data: Array) -> Lineage:
    return all_to_all(out.shape, data.shape, exact=False)


def _weighed(recipe: Recipe, name: str, out: Array, data: Array) -> Lineage:
    """The values that a linear map gives a weight."""
    found = _weights(recipe, name, out, data)
    if found is None:
        return _at_most(recipe, name, out, data)
    return from_pairs(*found, out.shape, data.shape)


def _weights(recipe: Recipe, name: str, out: Array, data: Array) -> tuple[I64, I64] | None:
    """Return which outputs read which values; None if it is no linear map, or too large a one."""
    if data.size > MOST_VALUES or data.size * out.size > MOST_WEIGHTS:
        return None
    try:
        weights, base = _responses(recipe, name, out, data)
    except Exception:  # noqa: BLE001 (it may refuse zeros and ones)
        return None
    again = data.reshape(-1) @ weights + base
    if not np.allclose(again, out.reshape(-1), rtol=1e-7, atol=1e-12, equal_nan=True):
        return None
    sizes = np.abs(weights)
    cells, outs = np.nonzero(sizes > TINY * sizes.max(initial=0))
    return outs, cells


def _responses(recipe: Recipe, name: str, out: Array, data: Array) -> tuple[Array, Array]:
    """Return what each value adds to the outputs, and what they are without any."""
    zero = np.zeros(data.shape)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = np.asarray(recipe.run(name, zero)).reshape(-1)
        weights = np.empty((data.size, out.size), base.dtype)
        for k in range(data.size):
            one = zero.copy()
            one.reshape(-1)[k] = 1
            weights[k] = np.asarray(recipe.run(name, one)).reshape(-1) - base
    weights[np.isnan(weights)] = 0
    return weights, base


def _node(recipe: Recipe, name: str, out: Array, data: Array) -> Lineage:
    """The place of a value: it counts where its value does."""
    given = recipe.parts[0].given
    key = next((key for key in ("y", "yi", "values") if key in given), "")
    values = np.asarray(plain_in(given.get(key)))
    known = name.startswith("0.") and key and values.shape == data.shape[:1]
    found = _weights(recipe, f"0.{key}.0", out, values) if known else None
    if found is None:
        return _at_most(recipe, name, out, data)
    outs, rows = found
    width = data[:1].size
    cells = (rows[:, None] * width + np.arange(width)).reshape(-1)
    return from_pairs(np.repeat(outs, width), cells, out.shape, data.shape)


_VALUES: dict[str, Role] = dict.fromkeys(("y", "yi", "values", "c", "z", "dydx", "d"), _weighed)
_LINES: dict[str, Role] = {**_VALUES, "x": _node, "xi": _node, "at.x": _place}
_POINTS: dict[str, Role] = {**_VALUES, **dict.fromkeys(("at.x", "at.xi", "at.0", "at.1"), _point)}
_POINTS["points"] = _node
_ELEMENTWISE = (
    "pdf logpdf cdf logcdf sf logsf ppf isf pmf logpmf mean var std median entropy interval stats"
)
_PARAMETERS = [*map(str, range(6)), "loc", "scale", "a", "b", "c", "s", "df", "mu", "n", "p"]
_NUMBERS: dict[str, Role] = {
    **{f"at.{name}": _cell for name in ("x", "q", "k", *_PARAMETERS)},
    **dict.fromkeys(_PARAMETERS, _cell),
}
_TABLE: list[tuple[str, str, str, Mapping[str, Role]]] = [
    (
        "scipy.interpolate",
        (
            "interp1d CubicHermiteSpline CubicSpline PchipInterpolator Akima1DInterpolator PPoly "
            "BPoly BSpline BarycentricInterpolator KroghInterpolator UnivariateSpline AAA "
            "LSQUnivariateSpline InterpolatedUnivariateSpline"
        ),
        "",
        _LINES,
    ),
    (
        "scipy.interpolate",
        (
            "RegularGridInterpolator NearestNDInterpolator LinearNDInterpolator RBFInterpolator "
            "CloughTocher2DInterpolator RectBivariateSpline SmoothBivariateSpline NdPPoly Rbf"
        ),
        "",
        _POINTS,
    ),
    ("scipy.stats", "rv_continuous rv_discrete", f"{_ELEMENTWISE} rvs", _NUMBERS),
    ("scipy.stats", "_distn_infrastructure.rv_frozen", "", _NUMBERS),
    ("scipy.stats", "gaussian_kde", "", {"dataset": _everything}),
    ("scipy.signal", "ShortTimeFFT", "", {}),
    ("scipy.spatial", "KDTree", "", {"at.x": _point}),
]
"""Classes of a module, their methods, all public ones if none are named, and what is read."""
_WATCHED: dict[type, Mapping[str, Role]] = {}


def recipe_call(recipe: Recipe, **values: Any) -> None:
    """Stand for the last call of a recipe in the registry."""
    raise NotImplementedError((recipe, values))


def _rule(call: Call) -> Lineages | None:
    """Look every array in a recipe up in the table of its class."""
    recipe: Recipe = call.args[0]
    roles = next((_WATCHED[one] for one in recipe.kind.__mro__ if one in _WATCHED), {})
    last = len(recipe.parts) - 1
    loose = recipe.parts[-1].what == "rvs"  # how many numbers are drawn may depend on them
    rows = []
    for out in call.outputs:
        pairs = []
        for name, data in call.kwargs.items():
            place, argument, number = name.split(".")
            key = f"at.{argument}" if int(place) == last else argument
            role = _at_most if loose or number != "0" else roles.get(key, _at_most)
            pairs.append((data, role(recipe, name, out, data)))
        rows.append(pairs)
    return arrange(call, *rows)


REGISTRY.attach(recipe_call, "dslog.recipe", "value", _rule, "what its class says")


# --- classes -------------------------------------------------------------------------------------


def _is_known(values: tuple[Any, ...]) -> bool:
    return any(home_of(one) is not None for one in tracked_in(values))


def _leave(name: str, given: tuple[Any, ...]) -> None:
    """Take note of objects with a recipe that others get: nobody follows what they hold."""
    if not INSIDE.get():
        for value in given:
            recipe = getattr(value, "__dict__", {}).get(_KEPT)
            if recipe is not None:
                leak(name, *recipe.arrays().values())


def _init(original: Any) -> Any:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = (*args, *kwargs.values())
        _leave(type(self).__name__, given)
        if first_tracked(given) is None:
            original(self, *args, **kwargs)
            return
        parts = (RecipeStep(type(self), _bound(original, args, kwargs, skip=1)),)
        plain = {key: plain_in(value) for key, value in kwargs.items()}
        original(self, *map(plain_in, args), **plain)
        if _is_known(given):
            vars(self)[_KEPT] = Recipe(parts, type(self))

    return init


def _method(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        recipe, given = vars(self).get(_KEPT), (*args, *kwargs.values())
        _leave(name, given)
        asked = recipe is not None or first_tracked(given) is not None
        if INSIDE.get() or not asked:
            return original(self, *args, **kwargs)
        if recipe is None:
            recipe = Recipe((RecipeStep(functools.partial(copy.copy, self), {}),), type(self))
        recipe = recipe.then(name, _bound(original, args, kwargs, skip=1))
        plain = {key: plain_in(value) for key, value in kwargs.items()}
        with inside():
            result = original(self, *map(plain_in, args), **plain)
        if result is None or result is self:
            vars(self)[_KEPT] = recipe
        elif is_watched(type(result)):
            vars(result)[_KEPT] = recipe
        else:
            return _recorded(recipe, result)
        return result

    return method


def _recorded(recipe: Recipe, result: Any) -> Any:
    """Record what an object gave: arrays and numbers, one or several."""
    many = isinstance(result, tuple)
    items = list(result) if many else [result]
    if not all(isinstance(item, (np.ndarray, np.generic, float)) for item in items):
        leak(recipe.title, *recipe.arrays().values())
        return result
    shown = tuple(np.float64(item) if type(item) is float else item for item in items)

    def known(*_args: Any, **_values: Any) -> Any:
        return shown

    found = execute(TrackedArray, recipe.title, recipe_call, (recipe,), recipe.arrays(), run=known)
    made = [
        make(item, one.source, one.home) if isinstance(one, TrackedScalar) else one
        for item, one in zip(items, found, strict=True)
    ]
    if not many:
        return made[0]
    return tuple(made) if type(result) is tuple else tuple.__new__(type(result), made)


def is_watched(kind: type) -> bool:
    """Whether objects of a class may keep a recipe."""
    return any(one in _WATCHED for one in kind.__mro__)


def _attribute(original: Any) -> Any:
    """Take note when the program reads arrays of an object that was made of tracked ones."""

    def get(self: Any, name: str) -> Any:
        value = original(self, name)
        if name[0] != "_" and isinstance(value, (np.ndarray, np.generic, float, tuple, list)):
            recipe = vars(self).get(_KEPT)
            if recipe is not None and not INSIDE.get():
                leak(f"{type(self).__name__}.{name}", *recipe.arrays().values())
        return value

    return get


def watch_objects(module: ModuleType) -> Callable[[], None]:
    """Let classes of a module remember what objects were made of; return what ends that."""
    undo: list[tuple[type, str, Any]] = []
    for home, classes, methods, roles in _TABLE:
        for name in classes.split() if home == module.__name__ else ():
            kind: Any = module
            for part in name.split("."):
                kind = getattr(kind, part, None)
            if isinstance(kind, type) and kind not in _WATCHED:
                _WATCHED[kind] = roles
                undo += _watch_class(kind, methods.split())

    def end() -> None:
        while undo:
            kind, name, original = undo.pop()
            _WATCHED.pop(kind, None)
            if original is None:
                delattr(kind, name)
            else:
                setattr(kind, name, original)

    return end


def _watch_class(kind: type, methods: Sequence[str]) -> Iterator[tuple[type, str, Any]]:
    """Wrap the methods of a class, also those that it inherits where they are not yet."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        is_function = type(value).__name__ in ("function", "cython_function_or_method")
        wrapped: Any = None
        if name == "__getattribute__":
            wrapped = _attribute(value)
        elif is_function and (name in methods if methods else _is_public(name)):
            wrapped = _init(value) if name == "__init__" else _method(value, name)
        if wrapped is not None and not hasattr(value, "of_recipe"):
            wrapped.of_recipe = True
            yield kind, name, vars(kind).get(name)
            setattr(kind, name, wrapped)


def _is_public(name: str) -> bool:
    return name[0] != "_" or name in ("__init__", "__call__")
