"""A call of a function that numpy does not know, on tracked values.

Three ways, the first that can: a *rule* says what the function reads, and it is run on plain
values; the function is *followed*, if all that it does is done by numpy, Python and functions with
rules; or everything that it gives is said to come from everything it was given, labelled as not
exact. Its values, its errors and what it draws at random are the same in all of them.
"""

from __future__ import annotations

import copy
import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from dslog.algebra.product import all_to_all
from dslog.capture.foreign.recipe import is_watched, keep_recipe
from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.call import Call, Inputs, Lineages, describe, short_name, signature_of
from dslog.capture.numpy.dispatch import track_results
from dslog.capture.numpy.group import Group, begin_group, drop_group, end_group
from dslog.capture.numpy.index_run import run_on_codes
from dslog.capture.numpy.item import plain_in, set_item
from dslog.capture.numpy.loan import differing
from dslog.capture.numpy.memory import (
    Memory,
    Tracked,
    TrackedScalar,
    first_tracked,
    memory_of,
    tracked_in,
)
from dslog.capture.numpy.registry import REGISTRY, Found, by_rule, find_lineages
from dslog.capture.numpy.scalar import make
from dslog.capture.numpy.stand_in import following
from dslog.capture.numpy.way_out import Leaving, leak, nodes_behind, seen_leaving
from dslog.capture.recorder import Node
from dslog.types import Array

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]


def foreign(function: F, moves: Sequence[str] | str | None = None) -> F:
    """Return a function that takes tracked arrays and gives tracked results.

    ``moves`` names the arguments whose cells the function only moves, so that it can be run on
    their positions: an interpolation of order 0, a shift, a flip. Zeros that it fills in are from
    nothing. That is believed of a call if the positions give the same values.
    """
    module = getattr(function, "__module__", None) or type(function).__module__
    name = f"{module}.{getattr(function, '__qualname__', type(function).__name__)}"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_foreign(name, function, args, kwargs, moves)

    return cast("F", call)


def call_foreign(
    name: str,
    function: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    moves: Sequence[str] | str | None = None,
    otherwise: Function | None = None,
) -> Any:
    """Call a function; what it gives is tracked if it is given something that is.

    ``otherwise`` does the call where the function can't be followed.
    """
    if first_tracked((*args, *kwargs.values())) is None:
        return function(*args, **kwargs)
    call = _ForeignCall(name, function, args, kwargs)
    if call.inputs.recorder is None:
        return call.run()
    if moves is not None or next(REGISTRY.find(function), None) is not None:
        result = call.run()
        found = call.found(result, moves)
        if found is not None:
            return call.tracked(result, found)
        call.restore()
    return call.follow(otherwise)


class _ForeignCall:
    """A function with its arguments, and all that it may change."""

    def __init__(
        self, name: str, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.name, self.function, self.args, self.kwargs = name, function, args, kwargs
        self.inputs = Inputs()
        self._plain_args = tuple([self.inputs.unwrap(arg) for arg in args])
        self._plain_kwargs = {key: self.inputs.unwrap(kwargs[key]) for key in kwargs}
        values = (*self._plain_args, *self._plain_kwargs.values())
        self._copies = [
            (array, array.copy())
            for array in {id(array): array for array in _arrays_in(values)}.values()
            if array.flags.writeable
        ]
        self._draws = _Draws(values)
        bound = _bound(function, self._plain_args, self._plain_kwargs)
        self._outputs = {id(bound[name]) for name in WRITTEN & bound.keys()}

    def run(self) -> Any:
        """Run the function on plain values; a program's own function may have made latent ones."""

        def plain(value: Any) -> Any:
            if not isinstance(value, (Tracked, TrackedScalar)):
                return value
            leak(short_name(self.name), value)
            return plain_in(value)

        with following(False):
            result = self.function(*self._plain_args, **self._plain_kwargs)
        return _rebuilt(result, plain)

    def restore(self) -> None:
        """Bring everything back to where it was."""
        for array, before in self._copies:
            if differing(before, array).any():
                array[...] = before
        self._draws.restore()

    # what rules say

    def found(self, result: Any, moves: Sequence[str] | str | None) -> Found | None:
        """Return what a rule says of a result, None if none can."""
        leaves, opaque = leaves_of(result)
        if opaque:
            return None
        call = self._call([np.asarray(leaf) for leaf in leaves])
        lineages = None if moves is None else moved(call, moves)
        if lineages is None:
            known = by_rule(call, written=bool(self._changed()))
            lineages = None if known is None else known[0]
        return None if lineages is None else Found(lineages, describe(call))

    def _call(self, outputs: Sequence[Array]) -> Call:
        """The call as rules see it: with what it was given, before it wrote there."""
        changed = self._changed()
        before = {id(array): held for array, held in self._copies if id(array) in changed}

        def given(value: Any) -> Any:
            if type(value) in (list, tuple):
                return type(value)([given(item) for item in value])
            return before.get(id(value), value)

        args = tuple([given(self.inputs.for_rules(arg)) for arg in self.args])
        kwargs = {key: given(self.inputs.for_rules(self.kwargs[key])) for key in self.kwargs}
        plains = tuple([given(plain) for plain in self.inputs.plains])
        return Call(self.name, self.function, args, kwargs, plains, tuple(outputs))

    def _changed(self) -> set[int]:
        """The arrays that were written, also where they held the same values before."""
        return {
            id(array)
            for array, before in self._copies
            if id(array) in self._outputs or differing(before, array).any()
        }

    # results

    def tracked(self, result: Any, found: Found, sources: Sequence[Node] = ()) -> Any:
        """Return a result with its arrays and numbers tracked, and what was written too."""
        changed = self._changed()
        leaves, _ = leaves_of(result)
        if told := _told(result):
            loses = any(isinstance(each, str) and _DIGIT.search(each) for each in told)
            leak(short_name(self.name), *self.inputs.arrays, loses=loses)
        outputs = [leaf.copy() if id(leaf) in changed else np.asarray(leaf) for leaf in leaves]
        scalars = [not isinstance(leaf, np.ndarray) for leaf in leaves]
        self.inputs.nodes = [*self.inputs.nodes, *sources]
        made = track_results(TrackedArray, self.name, self.inputs, outputs, scalars, found)
        places = {id(plain_in(value)): value for value in self._arguments()}
        ready = []
        for leaf, value in zip(leaves, made, strict=True):
            if id(leaf) in changed:
                self._write(places.get(id(leaf)), value)
                changed.discard(id(leaf))
                ready.append(places.get(id(leaf), leaf))
            elif isinstance(value, TrackedScalar) and not isinstance(leaf, np.generic):
                ready.append(make(leaf, value.source, value.home))
            else:
                ready.append(value)
        for array, _ in self._copies:
            if id(array) in changed:
                rows = self._everything([array])
                now = [array.copy()]
                (value,) = track_results(TrackedArray, self.name, self.inputs, now, [False], rows)
                self._write(places.get(id(array)), value)
        return _with_leaves(result, iter(ready))

    def _write(self, target: Any, value: Any) -> None:
        """Take note that an argument holds a result."""
        if isinstance(target, Tracked):
            set_item(target, ..., value)
        else:
            leak(short_name(self.name), *self.inputs.arrays)

    def _arguments(self) -> Iterator[Any]:
        """The arrays among the arguments, as they were given."""
        yield from _arrays_in((*self.args, *self.kwargs.values()))

    def _everything(self, outputs: Sequence[Array], more: Sequence[Node] = ()) -> Found:
        """Say that every output cell may come from every cell of the inputs."""
        nodes = [*self.inputs.nodes, *more]
        rows = tuple(
            tuple([all_to_all(output.shape, node.shape, exact=False) for node in nodes])
            for output in outputs
        )
        return Found(rows, describe(self._call(outputs)))

    # following

    def _sources(self, left: Sequence[Leaving], group: Group) -> list[Node]:
        """What values that left came from, besides the arguments."""
        values = [value for leaving in left for value in leaving.values]
        found = [node for value in tracked_in(values) for node in nodes_behind(value)]
        outside = [source for node in found for source in group.outside(node)]
        return [node for node in dict.fromkeys(outside) if node not in self.inputs.nodes]

    def _note_hidden(self, written: Sequence[Memory]) -> None:
        """Take note of values that go into arrays which the function was not given."""
        given = [memory_of(each) for each in self._arguments() if isinstance(each, Tracked)]
        if any(memory not in given for memory in written):
            leak(short_name(self.name), *self.inputs.arrays)

    def follow(self, otherwise: Function | None = None) -> Any:
        """Run the function on tracked values; if some leave, on plain ones, and look again."""
        group, token = begin_group(short_name(self.name), self.inputs.home)
        left: list[Leaving] = []
        more: list[Node] = []
        followed = False
        try:
            with following(), seen_leaving() as left:
                result = self.function(*self.args, **self.kwargs)
            lost = any(leaving.loses for leaving in left)
            followed = not lost and not is_watched(type(result))  # which has plain values in it
        except Exception:  # noqa: BLE001, S110 (on plain values it may do better, or fail as it should)
            pass
        finally:
            if followed:
                for leaving in left:
                    leak(leaving.way, *leaving.values, loses=False)
                group.give(result)
                end_group(group, token, describe(self._call(())), failed=False)
            else:
                more = self._sources(left, group)
                self._note_hidden(drop_group(group, token))
        if followed:
            return result
        self.restore()
        if otherwise is not None and not more:
            return otherwise()
        result = self.run()
        leaves, opaque = leaves_of(result)
        if opaque and keep_recipe(result, self.function, self.args, self.kwargs):
            return result
        if opaque:
            leak(short_name(self.name), *self.inputs.arrays)
        outputs = [np.asarray(leaf) for leaf in leaves]
        if more or opaque or self._changed():
            found = self._everything(outputs, more)
        else:
            call = self._call(outputs)
            found = Found(find_lineages(call), describe(call))
        return self.tracked(result, found, more)


WRITTEN = frozenset({"out", "output", "distances", "indices"})
"""Arguments that functions write their results into."""


def _bound(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, as far as they have one."""
    signature = signature_of(function)
    try:
        return dict(signature.bind_partial(*args, **kwargs).arguments if signature else kwargs)
    except TypeError:
        return dict(kwargs)


class _Draws:
    """Where generators of random numbers are: numpy's, Python's, and those given to a call."""

    def __init__(self, values: Sequence[Any]) -> None:
        given: list[Any] = [np.random.mtrand._rand]  # noqa: SLF001 (numpy's own, which has no public name)
        given += [value for value in values if isinstance(value, _GENERATORS)]
        bits = [getattr(one, "bit_generator", None) or _bits(one) for one in given]
        self._states = [(one, one.state) for one in bits]
        self._python = random.getstate()

    def restore(self) -> None:
        """Draw the same again."""
        for one, state in self._states:
            one.state = state
        random.setstate(self._python)


def _bits(generator: Any) -> Any:
    return generator._bit_generator  # noqa: SLF001 (numpy has no public way to ask)


_GENERATORS = (np.random.Generator, np.random.RandomState)


def _arrays_in(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, np.ndarray) and not isinstance(value, TrackedScalar):
            yield value
        elif type(value) in (list, tuple):
            yield from _arrays_in(value)


# what a function gives


_HARMLESS = (bool, str, type(None), type, np.dtype, np.ufunc)


def _rebuilt(value: Any, visit: Callable[[Any], Any]) -> Any:
    """Return a result with ``visit(leaf)`` in place of each array and number in it."""
    kind = type(value)
    made: Any
    if kind in (list, tuple):
        made = kind([_rebuilt(item, visit) for item in value])
    elif kind is slice:
        made = slice(*[_rebuilt(item, visit) for item in (value.start, value.stop, value.step)])
    elif isinstance(value, tuple):
        made = tuple.__new__(kind, [_rebuilt(item, visit) for item in value])
        same = dict(zip(map(id, value), made, strict=True))
        for key, item in getattr(value, "__dict__", {}).items():
            made.__dict__[key] = same[id(item)] if id(item) in same else _rebuilt(item, visit)
    elif isinstance(value, dict):
        made = copy.copy(value)
        made.update({key: _rebuilt(item, visit) for key, item in value.items()})
    elif kind.__name__.endswith("Result") and kind.__module__.startswith("scipy."):
        made = copy.copy(value)
        vars(made).update({key: _rebuilt(item, visit) for key, item in vars(value).items()})
    else:
        made = visit(value)
    return made


def leaves_of(result: Any) -> tuple[list[Any], bool]:
    """Return the arrays and numbers in a result, and whether there is anything else in it."""
    leaves: list[Any] = []
    opaque = False

    def visit(value: Any) -> Any:
        nonlocal opaque
        if type(value) is np.ndarray or isinstance(value, (np.generic, float, int, complex)):
            if not isinstance(value, bool):
                leaves.append(value)
        elif not isinstance(value, _HARMLESS):
            opaque = True
        return value

    _rebuilt(result, visit)
    return leaves, opaque


_DIGIT = re.compile(r"\d")  # a text with a number in it can be read again


def _told(result: Any) -> list[Any]:
    """Return the truths and texts in a result, which have no lineage."""
    found: list[Any] = []
    _rebuilt(result, found.append)
    return [value for value in found if isinstance(value, (bool, str))]


def _with_leaves(result: Any, values: Iterator[Any]) -> Any:
    def visit(value: Any) -> Any:
        is_leaf = type(value) is np.ndarray or isinstance(value, (np.generic, float, int, complex))
        return next(values) if is_leaf and not isinstance(value, bool) else value

    return _rebuilt(result, visit)


def moved(call: Call, moves: Sequence[str] | str) -> Lineages | None:
    """Return the lineage of a call that only moves cells, None if its values say otherwise."""
    ran = run_on_codes(call, moves)
    if ran is None:
        return None
    codes, results = ran
    cells = [array.reshape(-1) for array in call.inputs]
    for positions, output in zip(results, call.outputs, strict=True):
        for place, one in enumerate(cells):
            here = codes.within(positions, place)
            at = np.flatnonzero(here.reshape(-1) >= 0)
            same = one[here.reshape(-1)[at]].astype(output.dtype)
            if differing(same, output.reshape(-1)[at]).any():
                return None
    return tuple(codes.read(positions) for positions in results)
