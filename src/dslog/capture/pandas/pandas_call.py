"""One call of pandas with tracked values among its arguments, and the rules that read its lineage.

A rule is given the call after it was run, and says of each input which parts of the result's
lineage come from it. It may run the method once more, on positions. A call without a rule is run on
numbers of cells; what that can't tell comes from everything, labelled as a superset.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.numpy.memory import (
    Tracked,
    TrackedScalar,
    home_of,
    node_of,
    plain_of,
    scalar_node,
)
from dslog.capture.pandas.row_part import Part, every_cell
from dslog.capture.pandas.table_state import (
    carrier_of,
    data_width,
    default_index,
    settled_state,
    shape_of,
    state_of,
)
from dslog.capture.recorder import Node, StoreRecorder
from dslog.types import I64, Shape

_PLAIN = frozenset({int, float, str, bool, type(None), slice, complex, bytes})
_DEEP = 4


@dataclass(frozen=True, eq=False)
class Given:
    """A tracked argument: its plain values, and what of the graph they are."""

    value: Any
    node: Node
    indexed: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of its array."""
        return self.node.shape

    @property
    def is_table(self) -> bool:
        """Whether it is a frame or a series."""
        return isinstance(self.value, (pd.DataFrame, pd.Series))


class CallInputs:
    """The tracked values among arguments, each once, and the arguments without them."""

    def __init__(self) -> None:
        self.found: list[Given] = []
        self.home: StoreRecorder | None = None
        self.returned: list[Given] = []  # by functions of the program that pandas called
        self.has_functions = False

    def add(self, value: Any) -> Any:
        """Return an argument as pandas is to have it."""
        return self._unwrap(value, 0)

    def note(self, value: Any) -> None:
        """Take note of a tracked frame, series or index."""
        state = settled_state(value)
        if state is not None:
            self._keep(Given(value, state.node, state.indexed), state.home)

    def _keep(self, one: Given, home: StoreRecorder | None) -> None:
        if home is None or any(known.value is one.value for known in self.found):
            return
        if self.home not in (None, home):
            raise TwoStoresError
        self.home = home
        self.found.append(one)

    def _unwrap(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is pd.DataFrame or kind is pd.Series:
            self.note(value)
            return value
        if issubclass(kind, Tracked):
            node = node_of(value)
            if node is not None:
                self._keep(Given(plain_of(value), node), home_of(value))
            return plain_of(value)
        if issubclass(kind, TrackedScalar):
            home = home_of(value)
            if home is not None:
                plain = np.asarray(value.plain)
                self._keep(Given(plain, scalar_node(value)), home)
            return value.plain
        if kind in (list, tuple) and depth < _DEEP:
            if all(type(item) in _PLAIN for item in value):
                return value
            items = [self._unwrap(item, depth + 1) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else kind(items)
        if kind is dict and depth < _DEEP:
            named = {key: self._unwrap(item, depth + 1) for key, item in value.items()}
            return value if all(named[k] is value[k] for k in value) else named
        if kind in (FunctionType, MethodType):
            self.has_functions = True
            return self.callback(value)
        carrier = carrier_of(value)
        if carrier is not None:
            for each in carrier.values:
                self._unwrap(each, depth + 1)
        elif state_of(value) is not None:
            self.note(value)
        return value

    callback: Callable[[Any], Any] = staticmethod(lambda function: function)


class TwoStoresError(Exception):
    """A call takes tracked values of two stores."""


@dataclass(eq=False)
class PandasCall:
    """A call that was run; ``owner`` is the frame or series that it is a method of.

    ``before`` is what was looked up before it ran.
    """

    kind: str
    name: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    owner: Any
    inputs: list[Given]
    result: Any = None
    before: dict[str, Any] = field(default_factory=dict)
    home: StoreRecorder | None = None
    has_functions: bool = False

    def argument(self, name: str, default: Any = None) -> Any:
        """Return an argument by its name."""
        if name in self.kwargs:
            return self.kwargs[name]
        places = _places(self.func)
        at = places.get(name)
        return self.args[at] if at is not None and at < len(self.args) else default

    def input_of(self, value: Any) -> Given | None:
        """Return the input that a value is."""
        return next((one for one in self.inputs if one.value is value), None)

    @property
    def source(self) -> Given | None:
        """The input that the method is one of."""
        return self.input_of(self.owner)

    def again(self, owner: Any, **changes: Any) -> Any:
        """Run the method of another object, with the same arguments.

        Functions of the program are called once, as they would be without us.
        """
        if self.has_functions:
            raise NotImplementedError
        given = {**self.kwargs}
        args = list(self.args)
        places = _places(self.func)
        for name, value in changes.items():
            at = places.get(name)
            if at is not None and at < len(args):
                args[at] = value
            else:
                given[name] = value
        return self.func(owner, *args[1:], **given)


@dataclass(frozen=True, eq=False)
class Sources:
    """The lineage of a result: parts by input; what decided; whether its index carries data."""

    parts: list[tuple[Given, list[Part]]]
    indexed: bool = False
    exact: bool = True
    decided: list[tuple[Given, list[Part]]] = field(default_factory=list)


Rule = Callable[[PandasCall], "Sources | None"]
RULES: dict[str, Rule] = {}


def rule(kinds: str, names: str) -> Callable[[Rule], Rule]:
    """Register a rule for methods of some kinds of objects."""

    def register(function: Rule) -> Rule:
        for kind in kinds.split() or [""]:
            for name in names.split():
                RULES[f"{kind}.{name}"] = function
        return function

    return register


@lru_cache(maxsize=2048)
def _places(func: Callable[..., Any]) -> dict[str, int]:
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return {}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {p.name: at for at, p in enumerate(parameters) if p.kind in positional}


# what rules are made of


def label_positions(labels: pd.Index, of: pd.Index) -> I64 | None:
    """Return where each label is among others, -1 where it is not; None if that is not unique."""
    if labels is of or (len(labels) == len(of) and labels.equals(of)):
        return np.arange(len(of), dtype=np.int64) if of.is_unique else None
    if not of.is_unique:
        return None
    if default_index(of) and isinstance(labels, pd.Index) and labels.dtype == np.int64:
        found: I64 = labels.to_numpy().astype(np.int64, copy=True)
        found[(found < 0) | (found >= len(of))] = -1
        return found
    return np.asarray(of.get_indexer(labels), np.int64)


def column_pairs(out: Any, in_: Any) -> frozenset[tuple[int, int]] | None:
    """Return which columns of data have the same labels; None if that is not clear."""
    if isinstance(in_, pd.Series):
        return frozenset((c, 0) for c in range(data_width(out)))
    if isinstance(out, pd.Series):
        place = (
            label_positions(pd.Index([out.name]), in_.columns)
            if not isinstance(in_.columns, pd.MultiIndex)
            else None
        )
        return None if place is None or place[0] < 0 else frozenset({(0, int(place[0]))})
    if len(out.columns) == len(in_.columns) and out.columns.equals(in_.columns):
        return frozenset((c, c) for c in range(len(in_.columns)))
    places = label_positions(out.columns, in_.columns)
    if places is None:
        return None
    return frozenset((c, int(p)) for c, p in enumerate(places) if p >= 0)


def level_pairs(out: Any, in_: Any) -> frozenset[tuple[int, int]]:
    """Return the pairs of the levels of two indexes that are alike."""
    wide, wide_in = data_width(out), data_width(in_)
    if out.index.nlevels != in_.index.nlevels:
        names = list(in_.index.names)
        return frozenset(
            (wide + k, wide_in + names.index(name))
            for k, name in enumerate(out.index.names)
            if name is not None and names.count(name) == 1
        )
    return frozenset((wide + k, wide_in + k) for k in range(out.index.nlevels))


def from_all(call: PandasCall, result: Any) -> Sources:
    """Every cell from every cell of every input, labelled."""
    indexed = False
    if isinstance(result, (pd.DataFrame, pd.Series)):
        indexed = not isinstance(result.index, pd.RangeIndex) and not any(
            one.is_table
            and not one.indexed
            and (one.value.index is result.index or one.value.index.equals(result.index))
            for one in call.inputs
        )
        shape = shape_of(result, indexed=indexed)
    elif isinstance(result, pd.Index):
        shape = shape_of(result, indexed=False)
    else:
        shape = np.shape(result)
    parts = [(one, every_cell(shape, one.shape)) for one in call.inputs]
    return Sources(parts, indexed, exact=False)


def each_input(call: PandasCall) -> Iterator[Given]:
    """Give the inputs beside the one that the method is one of."""
    return (one for one in call.inputs if one.value is not call.owner)
