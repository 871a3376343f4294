"""Rules for functions that take data and settings: the data's lineage, given the settings.

Most functions of scipy and its neighbours read one array, or two, and numbers that say how. A rule
says what one output reads of one data array. Settings that are tracked themselves are said to be
read by every output cell, labelled as not exact, and then the rule counts as one that looks at
values, for it has read them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from dslog.algebra.product import all_to_all, matched
from dslog.capture.numpy.call import Call, Lineages, is_tracked, signature_of
from dslog.capture.numpy.registry import Kind, rule
from dslog.capture.numpy.rules.reduce import axes_of
from dslog.capture.numpy.trace import trace
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Shape

DataRule = Callable[[Call, Array, Array], Lineage | None]
"""What an output reads of a data array; None for nothing."""

D = TypeVar("D", bound=DataRule)

_WRITTEN = ("out", "output")
_LISTS = frozenset(
    {"samples", "lu_and_piv", "c_and_lower", "cb_and_lower", "c_or_cr", "tck", "points"}
)  # arguments that are several arrays; elsewhere a list of arrays is one array to the function


class UnknownCallError(Exception):
    """A rule can't say what a call reads: it is left to others."""


def data_rule(*names: str, data: str, note: str, kind: Kind = "rule") -> Callable[[D], D]:
    """Register a rule for functions whose arguments ``data`` (names with spaces) are read."""

    def register(function: D) -> D:
        def by_form(call: Call) -> Lineages | None:
            return _lineages(call, function, data.split(), kind)

        rule(*names, kind=kind, note=note)(by_form)
        if kind == "rule":

            def by_value(call: Call) -> Lineages | None:
                return _lineages(call, function, data.split(), "value")

            rule(*names, kind="value", note=note)(by_value)
        elif kind == "superset":  # small arrays may be followed through the function
            rule(*names, kind="trace", note=note)(trace)
        return function

    return register


def _lineages(call: Call, function: DataRule, names: Sequence[str], kind: Kind) -> Lineages | None:
    if kind != "superset" and any(
        isinstance(call.arguments.get(name), (list, tuple))
        and is_tracked(call, call.arguments[name])
        for name in {*names} - _LISTS
    ):
        return None
    given = [one for name in names for one in _arrays(call.arguments.get(name))]
    mine = [any(array is one for one in given) for array in call.inputs]
    if kind == "rule" and not all(mine):
        return None
    written = [call.arguments.get(name) for name in _WRITTEN]
    try:
        return tuple(
            tuple(
                function(call, array, out)
                if own
                else None
                if any(array is one for one in written)
                else all_to_all(out.shape, array.shape, exact=False)
                for array, own in zip(call.inputs, mine, strict=True)
            )
            for out in call.outputs
        )
    except UnknownCallError:
        return None


def _arrays(value: Any) -> Iterator[Any]:
    """Give the arrays of an argument: itself, or those in a list."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)
    elif value is not None:
        yield value


def option(call: Call, name: str, default: Any = None) -> Any:
    """Return a setting: as it was given, else the function's own default."""
    if name in call.arguments:
        return call.arguments[name]
    signature = signature_of(call.func)
    parameter = signature.parameters.get(name) if signature is not None else None
    if parameter is None or parameter.default is inspect.Parameter.empty:
        return default
    return parameter.default


def place_of(call: Call, out: Array) -> int:
    """Return which of the outputs an output is."""
    return next(k for k, one in enumerate(call.outputs) if one is out)


def on_axes(out: Array, data: Array, axes: Sequence[int], *, exact: bool = True) -> Lineage:
    """Each output cell from all cells on some axes, which are gone, of size 1, or as they were."""
    kept = [i for i in range(data.ndim) if i not in axes]
    if out.ndim == data.ndim:
        follows = {i: i for i in kept}
    elif out.ndim == len(kept):
        follows = {i: j for j, i in enumerate(kept)}
    else:
        return all_to_all(out.shape, data.shape, exact=exact and not kept)
    if any(out.shape[j] != data.shape[i] for i, j in follows.items()):
        raise UnknownCallError
    return matched(out.shape, data.shape, follows).with_exact(exact)


def axes_given(call: Call, data: Array, name: str = "axis") -> Shape:
    """Return the axes that a call is about."""
    axis = option(call, name)
    return axes_of(axis if axis is None else _plain(axis), data.ndim)


def _plain(axis: Any) -> Any:
    return tuple(int(k) for k in axis) if np.ndim(axis) else int(axis)


def everything(_: Call, data: Array, out: Array) -> Lineage:
    """Each output cell from all cells."""
    return all_to_all(out.shape, data.shape)


def perhaps_everything(_: Call, data: Array, out: Array) -> Lineage:
    """Each output cell from any cell: which ones, the rule does not know."""
    return all_to_all(out.shape, data.shape, exact=False)


def whole_axes(call: Call, data: Array, out: Array) -> Lineage:
    """Each output cell from all cells on the axes that the call is about."""
    return on_axes(out, data, axes_given(call, data))


def by_place(**axes: dict[int, int]) -> DataRule:
    """Each output cell from an argument's cells on its own place of some axes, by argument.

    ``by_place(X={0: 0})`` is for what reads a row of ``X``; of arguments not named all is read.
    """

    def rows(call: Call, data: Array, out: Array) -> Lineage:
        name = next((key for key, value in call.arguments.items() if value is data), "")
        return matched(out.shape, data.shape, axes.get(name, {}))

    return rows


def names_of(module: str, listed: str) -> list[str]:
    """Return dotted names: ``names_of("scipy.fft", "fft ifft")``.

    >>> names_of("scipy.fft", "fft ifft")
    ['scipy.fft.fft', 'scipy.fft.ifft']
    """
    return [f"{module}.{name}" for name in listed.split()]
