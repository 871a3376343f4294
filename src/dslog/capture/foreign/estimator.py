"""Estimators of scikit-learn: each call of a method is one operation, and what is fitted is arrays.

scikit-learn works on plain values. What a program sees on an estimator that was fitted on tracked
arrays is tracked: ``scaler.mean_`` is an output of the operation ``StandardScaler.fit``, and what
``scaler.transform(x)`` gives is from ``x`` and from ``scaler.mean_``. So a *visible* estimator has
tracked attributes, and its methods run on a *twin* of it that has their values. What is no array,
a tree or an index, stands behind one more attribute, ``_dslog_state``: an array of one cell that is
from everything that was fitted on. All that is known of an estimator is thus among its attributes,
where it is copied with them, and where pickling leaves values only.

Only the outermost call is recorded: methods call each other. Estimators that do no more than pass
arrays on to others, such as pipelines, run as they are, on tracked arrays.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dslog.capture.foreign.estimator_rule import MethodCall, Reads, method_call, spec_of
from dslog.capture.foreign.hidden_attribute import guard, unguard
from dslog.capture.foreign.recipe import INSIDE, inside
from dslog.capture.numpy.array import TrackedArray, plain_values
from dslog.capture.numpy.call import signature_of
from dslog.capture.numpy.dispatch import execute
from dslog.capture.numpy.memory import (
    Tracked,
    TrackedScalar,
    first_tracked,
    node_of,
    own_node,
    tracked_in,
)
from dslog.capture.numpy.scalar import make
from dslog.capture.numpy.way_out import leak
from dslog.types import Array

FITS = frozenset({"fit", "partial_fit", "fit_transform", "fit_predict"})
_USES = (
    "transform inverse_transform predict predict_proba predict_log_proba predict_joint_log_proba "
    "decision_function score score_samples kneighbors kneighbors_graph radius_neighbors "
    "radius_neighbors_graph apply decision_path staged_predict staged_predict_proba "
    "staged_decision_function staged_score mahalanobis error_norm get_covariance get_precision "
    "get_support sample sample_y log_marginal_likelihood bic aic perplexity reconstruction_error "
    "latent_mean_and_variance cost_complexity_pruning_path dbscan_clustering gibbs"
)
METHODS = FITS.union(_USES.split())
_PASSING = frozenset(
    {"Pipeline", "FeatureUnion", "ColumnTransformer", "FunctionTransformer", "FrozenEstimator"}
)
_RULES = ("transformers", "predictors")
_STATE = "_dslog_state"
Function = Callable[..., Any]
Undo = Callable[[], None]


# --- what is on an estimator ---------------------------------------------------------------------


def _is_estimator(value: Any) -> bool:
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(value, base.BaseEstimator)


def _is_ours(value: Any) -> bool:
    return isinstance(value, (Tracked, TrackedScalar))


def _is_fitted(name: str) -> bool:
    """Whether this is how scikit-learn calls what is fitted."""
    return name.endswith("_") and not name.startswith("_")


def holds_tracked(estimator: Any) -> bool:
    """Whether an estimator, or one that it was given, has tracked attributes."""
    return _any_tracked(vars(estimator).items(), most=100)  # a vocabulary has millions of items


def _any_tracked(items: Iterable[tuple[str, Any]], most: int | None = None) -> bool:
    for name, value in items:
        kind = type(value)
        if kind in _ATOMS:
            continue
        if _is_ours(value):
            return True
        if kind in (list, tuple, dict):
            inner = list(itertools.islice(value.values() if kind is dict else value, most))
            plain = _ATOMS.issuperset(map(type, inner))
            if not plain and _any_tracked(((name, item) for item in inner), most):
                return True
        elif not _is_fitted(name) and _is_estimator(value) and holds_tracked(value):
            return True
    return False


_ATOMS = frozenset({int, float, bool, str, bytes, type(None), np.ndarray, np.float64, np.int64})


def concealed(value: Any, memo: dict[int, Any], *, copy: bool = False) -> Any:
    """Return plain values for what is tracked, and twins of estimators; what is plain, as it is.

    ``copy`` is for what is going to write: arrays of the program keep their values.
    """
    if _is_ours(value):
        plain = plain_values(value)
        return plain.copy() if copy and isinstance(plain, np.ndarray) else plain
    if id(value) not in memo:
        memo[id(value)] = value
        memo[id(value)] = _without_tracked(value, memo, copy=copy)
    return memo[id(value)]


def _without_tracked(value: Any, memo: dict[int, Any], *, copy: bool) -> Any:
    """Look inside of what holds something."""
    kind = type(value)
    if kind is np.ndarray and _is_nested(value):
        made = value.copy()
        for place in np.ndindex(value.shape):
            made[place] = concealed(value[place], memo, copy=copy)
        changed = any(a is not b for a, b in zip(made.flat, value.flat, strict=True))
        return made if changed else value
    if kind in (list, tuple):
        items = [concealed(item, memo, copy=copy) for item in value]
        changed = any(a is not b for a, b in zip(items, value, strict=True))
        return kind(items) if changed else value
    if kind is dict or kind.__name__ == "Bunch":
        found = {key: concealed(item, memo, copy=copy) for key, item in value.items()}
        if all(found[key] is value[key] for key in found):
            return value
        return found if kind is dict else kind(**found)
    if _is_estimator(value) and not isinstance(value, type):
        own, fields = vars(value), plain_fields(value, memo, copy=copy)
        same = len(fields) == len(own) and all(fields[key] is own[key] for key in fields)
        return value if same else _twin(value, fields)
    return value


def plain_fields(estimator: Any, memo: dict[int, Any], *, copy: bool = False) -> dict[str, Any]:
    """Return an estimator's attributes without what is tracked."""
    return {
        name: concealed(value, memo, copy=copy)
        for name, value in vars(estimator).items()
        if name != _STATE
    }


def _twin(estimator: Any, fields: Mapping[str, Any]) -> Any:
    twin = object.__new__(type(estimator))
    vars(twin).update(fields)
    return twin


Visit = Callable[[str, Any], Any]


def revealed(name: str, value: Any, visit: Visit, memo: dict[int, Any]) -> Any:
    """Return something fitted with ``visit(name, array)`` in place of each array and number in it.

    The same thing in two places stays the same. Counts decide, like shapes: they stay plain.
    """
    if id(value) in memo:
        return memo[id(value)][0]
    kind, made = type(value), value
    last = name.rpartition(".")[2]
    if kind is np.ndarray and not _is_nested(value):
        made = visit(name, value)
    elif kind is np.ndarray:
        made = np.empty(value.shape, object)
        for k, place in enumerate(np.ndindex(value.shape)):
            made[place] = revealed(f"{name}.{k}", value[place], visit, memo)
    elif issubclass(kind, (float, np.inexact)) or (last == "n_iter_" and kind is int):
        made = visit(name, value)
    elif kind is list and value and all(type(item) is float for item in value):
        cells = visit(name, np.array(value))
        made = [_as_before(cell, item) for cell, item in zip(cells, value, strict=True)]
    elif kind in (list, tuple):
        made = kind([revealed(f"{name}.{k}", v, visit, memo) for k, v in enumerate(value)])
    elif kind is dict or kind.__name__ == "Bunch":
        items = {  # numbers in dicts are parameters that were tried
            k: v if isinstance(v, float) else revealed(f"{name}.{k}", v, visit, memo)
            for k, v in value.items()
        }
        made = items if kind is dict else kind(**items)
    elif _is_estimator(value):
        made = _twin(value, {})
        memo[id(value)] = made, value
        fitted = {
            key: revealed(f"{name}.{key}", part, visit, memo) if _is_fitted(key) else part
            for key, part in vars(value).items()
        }
        vars(made).update(fitted | {_STATE: visit("state", None)})
        _guard_hidden(made)
    memo[id(value)] = made, value  # with the value, so that no other gets its id
    return made


_KNOWN = (list, tuple, dict, str, bytes, int, float, type(None), type, FunctionType)


def _guard_hidden(estimator: Any) -> None:
    """Take note when the program reads what a fit made that is no array."""
    for name, value in vars(estimator).items():
        known = isinstance(value, (*_KNOWN, np.ndarray, np.generic)) or _is_ours(value)
        if _is_fitted(name) and not known and not _is_estimator(value):
            guard(type(estimator), name, _read)


def _read(estimator: Any, name: str) -> None:
    if not INSIDE.get():
        leak(f"{type(estimator).__name__}.{name}", vars(estimator).get(_STATE))


def _is_nested(array: Array) -> bool:
    """Whether an array's items are no values but arrays or estimators; all are like the first."""
    atoms = (str, bytes, int, float, np.generic, type(None))
    return array.dtype == object and array.size > 0 and not isinstance(array.flat[0], atoms)


# --- calls ---------------------------------------------------------------------------------------


def _bind(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return given arguments by name; those of a call that will fail anyway as they come."""
    signature = signature_of(function)
    try:
        bound = signature.bind(None, *args, **kwargs) if signature else None
    except TypeError:
        bound = None
    if signature is None or bound is None:
        return {"X": list(args), **kwargs}
    named = dict(list(bound.arguments.items())[1:])
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named |= named.pop(parameter.name, {})
    return named


def _text(estimator: Any) -> str:
    """How an operation writes its estimator down: with what is not as by default."""
    signature = signature_of(type(estimator).__init__)
    shown = []
    for name, parameter in signature.parameters.items() if signature else ():
        value = vars(estimator).get(name)
        if type(value) in (bool, int, float, str) and value != parameter.default:
            shown.append(f"{name}={value!r}")
    return f"{type(estimator).__name__}({', '.join(shown)})"


def _may_write(estimator: Any) -> bool:
    """Whether a method may write into its arguments: not into arrays of the program, then."""
    return any(
        (name.startswith("copy") and value is False)
        or _is_estimator(value)
        or (type(value) is list and any(type(item) is tuple for item in value))
        for name, value in vars(estimator).items()
        if not _is_fitted(name)
    )


def _passes(estimator: Any) -> bool:
    """Whether an estimator passes arrays on, and can do so with tracked ones."""
    kind = type(estimator)
    if kind.__name__ not in _PASSING or not kind.__module__.startswith("sklearn."):
        return False
    fields = vars(estimator)
    return (
        fields.get("n_jobs") in (None, 1)
        and fields.get("memory") is None
        and not fields.get("validate", False)
        and _STATE not in fields
    )


def call_method(
    estimator: Any, function: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a method of an estimator; record it if it is the outermost one and reads what is tracked.

    A class defined elsewhere that has methods of its own is followed through them.
    """
    tracked = holds_tracked(estimator)
    if INSIDE.get():
        if tracked and name in FITS:
            vars(estimator).update(plain_fields(estimator, {}, copy=True))
            vars(estimator).pop(_STATE, None)
        return function(concealed(estimator, {}) if tracked else estimator, *args, **kwargs)
    given = itertools.chain(enumerate(args), kwargs.items())
    if not tracked and not _any_tracked((str(name), value) for name, value in given):
        return function(estimator, *args, **kwargs)
    if _passes(estimator) or _is_mixed(estimator, function):
        return function(estimator, *args, **kwargs)
    if name in FITS:
        return _fit(estimator, function, name, args, kwargs)
    return _use(estimator, function, name, args, kwargs)


def _is_mixed(estimator: Any, function: Function) -> bool:
    """Whether a method is lent to a class that fits by code from elsewhere."""
    fit = getattr(type(estimator), "fit", None)
    lent = function.__module__ == "sklearn.base"
    return lent and not str(getattr(fit, "__module__", "")).startswith("sklearn.")


def _plain_arguments(
    estimator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    memo: dict[int, Any] = {}
    copy = _may_write(estimator)
    plain = tuple([concealed(arg, memo, copy=copy) for arg in args])
    return plain, {key: concealed(value, memo, copy=copy) for key, value in kwargs.items()}


def _use(
    estimator: Any, function: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a method that does not fit, on a twin."""
    fields = plain_fields(estimator, {})
    twin = _twin(estimator, fields)
    plain_args, plain_kwargs = _plain_arguments(estimator, args, kwargs)

    def run() -> Any:
        try:
            with inside():
                return function(twin, *plain_args, **plain_kwargs)
        finally:
            _transfer(twin, fields, estimator)

    given = _bind(function, args, kwargs)
    return record_use(estimator, twin, name, given, run)


def _transfer(twin: Any, fields: Mapping[str, Any], estimator: Any) -> None:
    """Let an estimator have what a method wrote down on its twin."""
    for key, value in vars(twin).items():
        if key not in fields or fields[key] is not value:
            vars(estimator)[key] = value


def record_use(
    estimator: Any, twin: Any, name: str, given: dict[str, Any], run: Callable[[], Any]
) -> Any:
    """Record a method that does not fit, from its arguments and the attributes that it reads."""
    kind = type(estimator)
    spec = spec_of(kind)
    reads = None if spec is None else spec.reads(name)
    sources = _tracked_items(given)
    if reads is not None and name in FITS:  # other arguments were for the fit
        sources = {key: value for key, value in sources.items() if key in reads}
    attributes = _attributes(estimator, reads, opaque=spec is None or spec.opaque)
    sources |= {key: value for key, value in attributes.items() if key not in sources}
    plain = {key: concealed(value, {}) for key, value in given.items()}
    step = MethodCall(twin, kind, name, plain, _text(twin))
    title = f"{kind.__name__}.{name}"
    result = run()
    if inspect.isgenerator(result):
        return _each(step, title, sources, result)
    if result is twin:
        return estimator
    return _recorded(step, title, sources, result)


def _recorded(step: MethodCall, title: str, sources: dict[str, Any], result: Any) -> Any:
    """Record a call that gave a result, and return that tracked."""
    shown = np.float64(result) if type(result) is float else result

    def known(*_args: Any, **_values: Any) -> Any:
        return shown

    found = execute(TrackedArray, title, method_call, (step,), sources, run=known)
    return _as_before(found, result)


def _as_before(found: Any, result: Any) -> Any:
    """Return a tracked number of the class that it had."""
    if isinstance(found, TrackedScalar):
        return make(result, found.source, found.home)
    return result if type(result) is float else found


def _each(
    step: MethodCall, title: str, sources: dict[str, Any], items: Iterator[Any]
) -> Iterator[Any]:
    """Give what a method gives one by one, each as a call of its own."""
    while True:
        try:
            with inside():
                item = next(items)
        except StopIteration:
            return
        yield _recorded(step, title, sources, item)


_END = object()


def _tracked_items(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are tracked or hold what is; of dicts, a list of what they hold."""
    found = {}
    for key, value in values.items():
        held = list(tracked_in((value,)))
        if held:
            many = value if type(value) in (list, tuple) else (value,)
            found[key] = held if any(isinstance(item, dict) for item in many) else value
        found |= _of_estimators(key, value)
    return found


def _attributes(estimator: Any, reads: Reads | None, *, opaque: bool) -> dict[str, Any]:
    """Return the tracked attributes that a method reads: parameters, and what its spec names."""
    found: dict[str, Any] = {}
    for name, value in vars(estimator).items():
        named = reads is None or name in reads or (name == _STATE and opaque)
        is_parameter = not _is_fitted(name) and not name.startswith("_")
        if (named or is_parameter) and first_tracked((value,)) is not None:
            found |= _parts(name, value)
        elif is_parameter:
            found |= _of_estimators(name, value)
    return found


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return the tracked arrays and numbers of an attribute by name: lists and dicts have many."""
    if _is_ours(value):
        return {name: value}
    found: dict[str, Any] = {}
    if type(value) in (list, tuple, dict):
        for key, item in value.items() if type(value) is dict else enumerate(value):
            found |= _parts(f"{name}.{key}", item)
    return found


def _of_estimators(name: str, value: Any) -> dict[str, Any]:
    """Return the tracked attributes of estimators that a parameter holds, fitted before."""
    items = value if type(value) in (list, tuple) else [value]
    found: dict[str, Any] = {}
    for place, item in enumerate(items):
        if type(item) in (list, tuple):
            found |= _of_estimators(f"{name}.{place}", item)
        elif _is_estimator(item):
            inner = _attributes(item, None, opaque=True)
            found |= {f"{name}.{place}.{key}": part for key, part in inner.items()}
    return found


# --- fits ----------------------------------------------------------------------------------------


def _fit(
    estimator: Any, function: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a method that fits, on the estimator itself, and show what it made as tracked arrays."""
    kind, fields = type(estimator), vars(estimator)
    spec = spec_of(kind)
    goes_on = name == "partial_fit" or fields.get("warm_start") is True
    given = _bind(function, args, kwargs)
    parameters = _attributes(estimator, None if goes_on else {}, opaque=goes_on)
    sources = _tracked_items(given) | parameters
    opaque = bool(sources) and (spec is None or spec.opaque)
    before, plain = dict(fields), plain_fields(estimator, {}, copy=True)
    plain_args, plain_kwargs = _plain_arguments(estimator, args, kwargs)
    arguments = _bind(function, plain_args, plain_kwargs)
    step = MethodCall(estimator, kind, name, arguments, _text(estimator))
    result: list[Any] = []
    made: dict[str, Any] = {}

    def compute(*_args: Any, **_values: Any) -> Any:
        with inside():
            result.append(function(estimator, *plain_args, **plain_kwargs))
        fitted = [key for key in fields if _is_fitted(key) or (spec and key in spec.fit)]
        changed = _changed(fitted, fields, before, plain, goes_on=goes_on)
        made.update({key: fields[key] for key in changed})
        return _outputs(step, made, opaque=opaque)

    fields.pop(_STATE, None)
    fields.update(plain)
    title = f"{kind.__name__}.{'partial_fit' if name == 'partial_fit' else 'fit'}"
    try:
        found = execute(TrackedArray, title, method_call, (step,), sources, run=compute)
    except BaseException:
        fields.update({key: before[key] for key in before.keys() & {_STATE}})
        raise
    finally:
        for key in plain.keys() - made.keys():
            if fields.get(key, _END) is plain[key]:
                fields[key] = before[key]
    _show(estimator, step, made, list(found), sources)
    if any(type(made[key]) in _CHOSEN and key[:2] != "n_" for key in made):
        leak(title, *sources.values(), loses=False)
    return _fit_result(estimator, name, given, made, result[0])


_CHOSEN = (int, bool, str, dict)
"""What a fit decides for, as the best of some parameters: it stays plain."""


def _changed(
    fitted: Iterable[str],
    fields: Mapping[str, Any],
    before: Mapping[str, Any],
    plain: Mapping[str, Any],
    *,
    goes_on: bool,
) -> Iterator[str]:
    """Give the attributes that a fit made, or that one that goes on may have written into."""
    for key in fitted:
        value, kind = fields[key], type(fields[key])
        same = value is plain.get(key, _END)
        if same and not _is_ours(before[key]):
            same = not goes_on or kind not in (np.ndarray, list, tuple)
        elif same:  # arrays are copies then; a number may be the same one by chance
            same = kind is np.ndarray and value.tobytes() == plain_values(before[key]).tobytes()
        if not same:
            yield key


def _outputs(step: MethodCall, made: Mapping[str, Any], *, opaque: bool) -> tuple[Any, ...]:
    """Return the arrays and numbers in what was made, and name them on the step."""
    arrays: list[Any] = []

    def collect(label: str, value: Any) -> Any:
        if label != "state":
            step.made.append(label)
            arrays.append(np.float64(value) if type(value) in (float, int) else value)
        return value

    memo: dict[int, Any] = {}
    for attribute, value in made.items():
        revealed(attribute, value, collect, memo)
    if opaque:
        step.made.append("state")
        arrays.append(np.zeros(()))
    return tuple(arrays)


def _show(
    estimator: Any,
    step: MethodCall,
    made: Mapping[str, Any],
    arrays: list[Any],
    sources: Mapping[str, Any],
) -> None:
    """Let the program see tracked arrays, named like the attributes."""
    if not any(map(_is_ours, arrays)):
        return
    inputs = list(sources.values())
    for title, array in zip(step.made, arrays, strict=True):
        if _is_ours(array) and not any(array is one for one in inputs):
            node = own_node(array) if isinstance(array, TrackedScalar) else node_of(array)
            if node is not None and not node.is_named:
                node.wanted = f"{node.base}.{step.kind.__name__}.{title}"
    state = arrays[-1] if step.made[-1] == "state" else None
    rest = iter(arrays)

    def place(title: str, value: Any) -> Any:
        if title == "state":
            return state
        found = next(rest)
        if isinstance(found, TrackedScalar):
            return make(value, found.source, found.home)
        return found if isinstance(value, np.ndarray) else value

    memo: dict[int, Any] = {}
    for title, value in made.items():
        vars(estimator)[title] = revealed(title, value, place, memo)
    if state is not None:
        vars(estimator)[_STATE] = state
        _guard_hidden(estimator)


def _fit_result(
    estimator: Any, name: str, given: dict[str, Any], made: Mapping[str, Any], result: Any
) -> Any:
    """Return what a fit gives: the estimator, one of its attributes, or something more."""
    if result is estimator or result is None:
        return result
    for title, value in made.items():
        if value is result:
            return getattr(estimator, title)
    twin = concealed(estimator, {})
    return record_use(estimator, twin, name, given, lambda: result)


# --- classes -------------------------------------------------------------------------------------


def _method(function: Function, name: str) -> Function:
    """Wrap a method, or the getter of what is computed from what was fitted."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call_method(self, function, name, args, kwargs)

    return method


_PATCHES: dict[tuple[type, str], tuple[list[int], Undo]] = {}


def _patch(owner: type, name: str, value: Any) -> Undo | None:
    """Wrap what a class defines under a name, if that is a method or computed from a fit."""
    if name in METHODS and isinstance(value, FunctionType):
        setattr(owner, name, _method(value, name))
    elif name in METHODS and isinstance(getattr(value, "fn", None), FunctionType):
        guarded = value.fn  # a method that some estimators have, by scikit-learn's available_if
        value.fn = _method(guarded, name)
        return functools.partial(setattr, value, "fn", guarded)
    elif isinstance(value, property) and value.fget and _is_computed(owner, name):
        getter = _method(value.fget, name)
        setattr(owner, name, property(getter, value.fset, value.fdel, value.__doc__))
    else:
        return None
    return functools.partial(setattr, owner, name, value)


def _is_computed(owner: type, name: str) -> bool:
    counts = name.startswith(("n_", "named_", "feature_names"))
    return _is_fitted(name) and not counts and owner.__name__ not in _PASSING


def watch_class(cls: type) -> Undo:
    """Record calls of an estimator class, and of the classes in scikit-learn that it is made of.

    Return what ends that. Classes that are watched twice are watched until both have ended.
    """
    for rules in _RULES:
        importlib.import_module(f"dslog.capture.foreign.rules.{rules}")
    mine = []
    for owner in cls.__mro__:
        if not owner.__module__.startswith("sklearn."):
            continue
        for name, value in list(vars(owner).items()):
            key = owner, name
            if key not in _PATCHES:
                undo = _patch(owner, name, value)
                if undo is None:
                    continue
                _PATCHES[key] = [0], undo
            _PATCHES[key][0][0] += 1
            mine.append(key)

    return functools.partial(_unpatch, mine)


def _unpatch(mine: list[tuple[type, str]]) -> None:
    while mine:
        key = mine.pop()
        count, undo = _PATCHES[key]
        count[0] -= 1
        if not count[0]:
            del _PATCHES[key]
            undo()
    if not _PATCHES:
        unguard()


def watch_estimators(module: ModuleType) -> Undo:
    """Record calls of the estimators that are defined in a module, or in a package up to now."""
    home = f"{module.__name__}."
    base = importlib.import_module("sklearn.base").BaseEstimator
    found, waiting = {base}, [base]
    while waiting:
        more = [each for each in waiting.pop().__subclasses__() if each not in found]
        found.update(more)
        waiting += more
    ours = [each for each in found if f"{each.__module__}.".startswith(home)]
    undo = [watch_class(each) for each in sorted(ours, key=lambda c: (c.__module__, c.__name__))]

    def end() -> None:
        while undo:
            undo.pop()()

    return end
