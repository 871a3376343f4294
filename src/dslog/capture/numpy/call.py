"""One numpy call as rules see it: plain arrays, and which of them are tracked.

A *rule* is a pure function from a Call to its lineage. It gets the values, because some lineage
depends on them, and the shapes, which is all that most rules look at: for those, calls of the same
*form* have the same lineage. What is kept of a call's arguments is enough to read it later, never
large arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dslog.algebra.compose import as_lineage, compose
from dslog.algebra.product import part, product, row
from dslog.algebra.restrict import union
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.memory import (
    Tracked,
    TrackedScalar,
    memory_of,
    node_of,
    plain_of,
    scalar_node,
    wrap_latent,
)
from dslog.capture.numpy.view import is_view
from dslog.capture.recorder import Node, StoreRecorder
from dslog.errors import CaptureError
from dslog.lineage.lineage import Lineage
from dslog.store.arguments import ArgumentError, canonical_args
from dslog.types import Array

Lineages = tuple[tuple[Lineage | None, ...], ...]
"""Per output, per input, its lineage; None where the input does not contribute at all."""

Rule = Callable[["Call"], Lineages | None]
"""Gives a call's lineage, or None for a call that it can't do."""


def short_name(name: str) -> str:
    """Return how an operation is called in the store.

    >>> short_name("numpy.linalg.svd"), short_name("numpy.add.reduce")
    ('linalg.svd', 'add.reduce')
    """
    return name.removeprefix("numpy.").removeprefix("ndarray.")


@dataclass(frozen=True, eq=False)
class Call:
    """A finished numpy call.

    ``args`` and ``kwargs`` hold plain values where the user's call had tracked arrays; what the
    machinery treats itself is not among them: ``out`` always, and ``where`` of ufuncs and
    reductions. ``inputs`` are the tracked arrays among the arguments, also those inside lists and
    tuples, each once, in order of appearance, and identical (``is``) to what stands in the
    arguments. ``outputs`` are the arrays of the result in order; a scalar is an array of no axes.

    ``func`` is the function, or the bound method of a ufunc (``np.add.reduce``).
    """

    name: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Array, ...] = ()
    outputs: tuple[Array, ...] = ()

    @property
    def ufunc(self) -> np.ufunc | None:
        """The ufunc that this is a call of, or whose method."""
        owner = self.func if isinstance(self.func, np.ufunc) else _owner(self.func)
        return owner if isinstance(owner, np.ufunc) else None

    @cached_property
    def arguments(self) -> Mapping[str, Any]:
        """The given arguments by name; one ``*args`` parameter is a tuple."""
        signature = signature_of(self.func)
        if signature is None:
            return dict(self.kwargs)
        named = dict(signature.bind_partial(*self.args, **self.kwargs).arguments)
        rest = _rest_name(signature)
        named.update(named.pop(rest, {}))
        return named

    def again(self, changes: Mapping[str, Any], without: Collection[str] = ()) -> Any:
        """Call the function again with some arguments changed, or left out, and return its result.

        A name that the function's signature lacks goes to its ``**kwargs``.
        """
        signature = signature_of(self.func)
        kwargs = {**self.kwargs, **changes} if signature is None else self.kwargs
        if signature is None:
            return self.func(*self.args, **{k: v for k, v in kwargs.items() if k not in without})
        bound = signature.bind_partial(*self.args, **self.kwargs)
        rest = _rest_name(signature)
        for name in without:
            bound.arguments.pop(name, None)
            bound.arguments.get(rest, {}).pop(name, None)
        for name, value in changes.items():
            known = name in signature.parameters
            (bound.arguments if known else bound.arguments.setdefault(rest, {}))[name] = value
        return self.func(*bound.args, **bound.kwargs)

    def argument(self, name: str, default: Any = None) -> Any:
        """Return an argument by name, or ``default`` when the call did not give it."""
        return self.arguments.get(name, default)

    def which(self, value: Any) -> int | None:
        """Return the place of a value among the inputs, or None when it is not tracked."""
        for place, array in enumerate(self.inputs):
            if array is value:
                return place
        return None

    def lineages(self, *per_output: Mapping[int | None, Lineage | None]) -> Lineages:
        """Arrange lineage by place: one mapping from a place among the inputs per output.

        A key of None, which ``which`` gives for untracked values, is passed over.
        """
        places = range(len(self.inputs))
        return tuple(tuple(row.get(place) for place in places) for row in per_output)


def _rest_name(signature: inspect.Signature) -> str:
    """The name of a signature's ``**kwargs``, or ``""``."""
    parameters = signature.parameters.values()
    return next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), "")


def _owner(func: Callable[..., Any]) -> Any:
    return getattr(func, "__self__", None)


_UFUNC_METHODS = {
    "reduce": "array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True",
    "accumulate": "array, axis=0, dtype=None, out=None",
    "reduceat": "array, indices, axis=0, dtype=None, out=None",
    "outer": "A, B, **kwargs",
    "at": "a, indices, b=None",
}
_BUILTINS = {
    "concatenate": "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    "where": "condition, x=None, y=None, /",
    "dot": "a, b, out=None",
    "inner": "a, b, /",
    "vdot": "a, b, /",
    "lexsort": "keys, axis=-1",
    "bincount": "x, /, weights=None, minlength=0",
    "putmask": "a, /, mask, values",
    "copyto": "dst, src, casting='same_kind', where=True",
    "packbits": "a, /, axis=None, bitorder='big'",
    "unpackbits": "a, /, axis=None, count=None, bitorder='big'",
    "unravel_index": "indices, shape, order='C'",
    "ravel_multi_index": "multi_index, dims, mode='raise', order='C'",
    "empty_like": "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
}  # not all numpy versions give the signatures of functions written in C


@lru_cache(maxsize=1024)
def signature_of(func: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a numpy function or ufunc method, or None when it has none."""
    owner = _owner(func)
    name = getattr(func, "__name__", "")
    if isinstance(owner, np.ufunc):
        return _parse(_UFUNC_METHODS[name])
    if isinstance(func, np.ufunc):
        inputs = ", ".join(f"x{place}" for place in range(1, func.nin + 1))
        return _parse(f"{inputs}, /, *, out=None, where=True, **kwargs")
    try:
        return inspect.signature(func)
    except (TypeError, ValueError):
        return _parse(_BUILTINS[name]) if name in _BUILTINS else None


def _parse(parameters: str) -> inspect.Signature:
    """Read a parameter list; all of them are written in this module."""
    scope: dict[str, Any] = {}
    exec(f"def parsed({parameters}): ...", scope)  # noqa: S102
    return inspect.signature(scope["parsed"])


_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis)})


class _FormlessError(Exception):
    """Something in a call has values that can't be compared cheaply."""


def form_of(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    inputs: Sequence[Array],
) -> tuple[Any, ...] | None:
    """Return what tells calls apart whose lineage does not depend on tracked values.

    That is the function, the layout of its tracked arrays, and all other arguments; None when one
    of these is too large to be compared. Tracked integers behind the first argument may say where
    to, so they count with their values.
    """
    by_shape = isinstance(func, np.ufunc)
    try:
        form = (func, *[_form(arg, inputs, by_shape) for arg in args])
        if not by_shape:
            form += tuple([_values(arg, inputs) for arg in (*args[1:], *kwargs.values())])
        if kwargs:
            form += tuple([(key, _form(kwargs[key], inputs, by_shape)) for key in sorted(kwargs)])
        hash(form)
    except (_FormlessError, TypeError):
        return None
    return form


def _values(value: Any, inputs: Sequence[Array]) -> Any:
    """The tracked integers in an argument."""
    if type(value) in (list, tuple):
        return tuple([_values(item, inputs) for item in value])
    if type(value) is not np.ndarray or value.dtype.kind not in "biu":
        return None
    if all(array is not value for array in inputs):
        return None
    if value.size > CaptureCost.current().few_values:
        raise _FormlessError
    return value.tobytes()


def _form(  # noqa: C901, PLR0911 (one line a kind of value)
    value: Any, inputs: Sequence[Array], by_shape: bool
) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        for place, array in enumerate(inputs):
            if array is value:
                return place, value.shape, value.strides, value.dtype
        if value.size <= CaptureCost.current().few_values and not value.dtype.hasobject:
            return value.shape, value.dtype, value.tobytes()
        if by_shape:
            return "shape", value.shape, value.dtype
        raise _FormlessError
    if kind in _ATOMS:
        return kind, value
    if kind is slice:
        return slice, *[
            _form(end, inputs, by_shape) for end in (value.start, value.stop, value.step)
        ]
    if kind in (list, tuple):
        return kind, *[_form(item, inputs, by_shape) for item in value]
    if isinstance(value, np.generic | np.dtype | type | np.ufunc):
        return kind, value
    if kind.__name__ == "_NoValueType":
        return kind
    raise _FormlessError


def describe(call: Call) -> dict[str, object]:
    """Return a call's arguments, without its tracked arrays, as JSON values."""
    shown = {
        name: _show(value, call)
        for name, value in call.arguments.items()
        if call.which(value) is None and type(value).__name__ != "_NoValueType"
    }
    return dict(canonical_args({k: v for k, v in shown.items() if v is not _HIDDEN}))


def describe_key(key: Any) -> dict[str, object]:
    """Return the key of an item as JSON values."""
    call = Call("", describe_key, ())
    shown = [_show(item, call) for item in key] if isinstance(key, tuple) else _show(key, call)
    return dict(canonical_args({"key": shown}))


_HIDDEN = object()


def _show(value: Any, call: Call) -> Any:
    """Shorten what is large, name what can't be written down."""
    if isinstance(value, list | tuple):
        items = [_show(item, call) for item in value if call.which(item) is None]
        items = [item for item in items if item is not _HIDDEN]
        return items if items or not value else _HIDDEN
    if isinstance(value, np.ndarray):
        if value.size <= CaptureCost.current().few_values and value.dtype.kind in "biufcU":
            return value
        return {"array": str(value.dtype), "shape": list(value.shape)}
    if callable(value) and not isinstance(value, type | np.ufunc):
        return getattr(value, "__qualname__", type(value).__name__)
    try:
        canonical_args({"value": value})
    except ArgumentError:
        return str(type(value).__name__) if not isinstance(value, np.generic) else str(value)
    return value


Argument = tuple[Any, Lineage | None]


Path = tuple[int, ...]


def arrange(call: Call, *per_output: Iterable[Argument]) -> Lineages | None:
    """Arrange lineage by argument: for each output, pairs of an argument and its lineage.

    An argument that is not tracked is passed over; one that is named twice gets the union; one that
    is a list of tracked arrays is taken apart. When a tracked input is not named at all the rule
    did not know of it, and the call is left to others. Where there are no cells, lineage is empty
    but there: an empty array is tracked, too.
    """
    if len(per_output) != len(call.outputs):
        return None
    known: set[int | None] = set()
    rows: list[dict[int | None, Lineage | None]] = []
    for output, pairs in zip(call.outputs, per_output, strict=True):
        found: dict[int | None, Lineage | None] = {}
        for value, given in _apart(call, pairs):
            place = call.which(value)
            known.add(place)
            if place is None:
                continue
            lineage, array = given, call.inputs[place]
            if given is None and not (output.size and array.size):
                lineage = Lineage.empty(output.shape, array.shape)
            before = found.get(place)
            if lineage is not None:
                found[place] = lineage if before is None else union(before, lineage)
        rows.append(found)
    if not known.issuperset(range(len(call.inputs))):
        return None
    return call.lineages(*rows)


def is_tracked(call: Call, value: Any) -> bool:
    """Whether a value is a tracked array, or has one in it."""
    if isinstance(value, (list, tuple)):
        return any(is_tracked(call, item) for item in value)
    return call.which(value) is not None


def _apart(call: Call, pairs: Iterable[Argument]) -> Iterator[Argument]:
    """Give lists of tracked arrays item by item; an item that can't be is left out."""
    for value, lineage in pairs:
        if not isinstance(value, (list, tuple)):
            yield value, lineage
            continue
        for array, path in _items(call, value, ()):
            if lineage is None:
                yield array, None
            elif (own := _of_item(lineage, array, path)) is not None:
                yield array, own


def _items(call: Call, value: Any, path: Path) -> Iterator[tuple[Array, Path]]:
    """Give the tracked arrays inside lists, each with where it is."""
    if isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            yield from _items(call, item, (*path, k))
    elif call.which(value) is not None:
        yield value, path


def _of_item(lineage: Lineage, array: Array, path: Path) -> Lineage | None:
    """Return what a lineage from stacked arrays says of one of them."""
    if lineage.in_shape != (*lineage.in_shape[: len(path)], *array.shape):
        return None
    lead, shape = len(path), array.shape
    outs = [(k, k) for k in path] + [(0, n - 1) for n in shape]
    table = row(outs, [(0, 0)] * len(shape), [lead + i for i in range(len(shape))])
    layer = part(range(len(outs)), range(len(shape)), table)
    both = compose(lineage, product(lineage.in_shape, shape, layer))
    return None if both is None else as_lineage(both)


class Inputs:
    """Tracked arrays and scalars, each once, with their nodes.

    The nodes are taken before a call runs: afterwards an array may hold something else. Rules look
    at arrays, so a scalar is there as an array of no axes.
    """

    __slots__ = ("_scalars", "arrays", "latents", "nodes", "plains", "recorder")

    def __init__(self) -> None:
        self.latents: list[Tracked] = []  # which are no inputs: nothing tracked is in them
        self.arrays: list[Tracked | TrackedScalar] = []
        self.plains: list[Array] = []
        self.nodes: list[Node] = []
        self.recorder: StoreRecorder | None = None
        self._scalars: dict[int, Array] = {}

    def unwrap(self, value: Any) -> Any:
        """Return an argument with plain values in place of tracked ones, also inside lists."""
        if isinstance(value, Tracked):
            return self._add(value)
        if isinstance(value, TrackedScalar):
            self._add_scalar(value)
            return value.plain
        if type(value) in (list, tuple):
            return type(value)([self.unwrap(item) for item in value])
        return value

    def for_rules(self, value: Any) -> Any:
        """Return an argument as rules get it: scalars that are inputs are arrays of no axes."""
        if isinstance(value, Tracked):
            return plain_of(value)
        if isinstance(value, TrackedScalar):
            return self._scalars.get(id(value), value.plain)
        if type(value) in (list, tuple):
            return type(value)([self.for_rules(item) for item in value])
        return value

    @property
    def has_scalars(self) -> bool:
        """Whether some input is a scalar."""
        return bool(self._scalars)

    @property
    def home(self) -> StoreRecorder:
        """The recorder of the store; there is one if there is an array."""
        if self.recorder is None:
            raise AssertionError("no argument is tracked")
        return self.recorder

    @property
    def keeps(self) -> bool:
        """Whether the values of some input are kept, and so those of its results."""
        return any(node.keep for node in self.nodes)

    def array_of(self, plain: Array) -> Tracked | None:
        """Return the input whose values these are; a view of a latent one is latent."""
        for array, own in zip(self.arrays, self.plains, strict=True):
            if own is plain and isinstance(array, Tracked):
                return array
        return self._latent_of(plain) if self.latents else None

    def _latent_of(self, plain: Array) -> Tracked | None:
        for array in self.latents:
            own, latent = plain_of(array), array.tracking.latent
            if own is plain:
                return array
            if latent is not None and is_view(plain, own):
                return wrap_latent(type(array), plain, latent)
        return None

    def under(self, view: Array) -> Tracked | None:
        """Return the input that a result is a view of."""
        for array, plain in zip(self.arrays, self.plains, strict=True):
            if isinstance(array, Tracked) and is_view(view, plain) and memory_of(array) is not None:
                return array
        return None

    def _add(self, array: Tracked) -> Array:
        plain = plain_of(array)
        if any(array is known for known in self.arrays):
            return plain
        memory = memory_of(array)
        if memory is None:
            if array.tracking.latent is not None:
                self.latents.append(array)
            return plain
        self._join(memory.recorder, array)
        node = node_of(array)
        if node is not None:
            self.arrays.append(array)
            self.plains.append(plain)
            self.nodes.append(node)
        return plain

    def _add_scalar(self, scalar: TrackedScalar) -> None:
        if id(scalar) in self._scalars or scalar.home.closed:
            return
        self._join(scalar.home, scalar)
        node = scalar_node(scalar)
        self._scalars[id(scalar)] = plain = np.asarray(scalar.plain)
        self.arrays.append(scalar)
        self.plains.append(plain)
        self.nodes.append(node)

    def _join(self, recorder: StoreRecorder, value: Tracked | TrackedScalar) -> None:
        if self.recorder not in (None, recorder):
            other = node_of(value) if isinstance(value, Tracked) else scalar_node(value)
            name = other.name if other else "?"
            raise CaptureError(
                f"a call takes arrays of two stores, {self.nodes[0].name!r} and {name!r}: track "
                f"both in one store, or give dslog.plain(x) for the one that needs no lineage"
            )
        self.recorder = recorder
