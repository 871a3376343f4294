"""Rules by argument: a pattern says what an output reads of one argument, given the whole call.

``by_argument("numpy.isin", element=cellwise, test_elements=every_cell)`` is all there is to say of
many functions. A call in which an argument is tracked that has no pattern is left to other rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dslog.algebra.product import all_to_all, elementwise, matched
from dslog.capture.numpy.call import Argument, Call, Lineages, arrange, is_tracked
from dslog.capture.numpy.registry import REGISTRY, Kind
from dslog.lineage.lineage import Lineage
from dslog.types import Array

Pattern = Callable[[Call, Array, Array], Lineage | None]
"""What an output reads of an argument, which it gets last and in the middle; None for nothing.

It is asked only where both have cells.
"""

P = TypeVar("P", bound=Pattern)


class OtherCallError(Exception):
    """A pattern can't say what a call reads: it is left to others."""


def by_argument(*names: str, kind: Kind = "rule", note: str, **patterns: Pattern) -> None:
    """Register what functions read, argument by argument."""

    def read_all(call: Call) -> Lineages | None:
        given = call.arguments
        tracked = [
            (value, np.asarray(value), read)
            for name, read in patterns.items()
            if (value := given.get(name)) is not None and is_tracked(call, value)
        ]

        try:
            rows: list[list[Argument]] = [
                [
                    (value, read(call, data, out) if out.size and data.size else None)
                    for value, data, read in tracked
                ]
                for out in call.outputs
            ]
        except OtherCallError:
            return None
        return arrange(call, *rows)

    REGISTRY.rule(*names, kind=kind, note=note)(read_all)


def argument_rule(
    *names: str, data: str, unread: str = "", kind: Kind = "rule", note: str
) -> Callable[[P], P]:
    """Register what functions read of the arguments ``data`` (names with spaces).

    Of those that are ``unread`` no value gets into a cell.
    """

    def register(function: P) -> P:
        read = dict.fromkeys(data.split(), function)
        by_argument(*names, kind=kind, note=note, **read, **dict.fromkeys(unread.split(), no_cell))
        return function

    return register


def cellwise(_: Call, data: Array, out: Array) -> Lineage:
    """The cell in the same place, after broadcasting."""
    return elementwise(out.shape, data.shape)


def every_cell(_: Call, data: Array, out: Array) -> Lineage:
    """Every cell."""
    return all_to_all(out.shape, data.shape)


def any_cell(_: Call, data: Array, out: Array) -> Lineage:
    """Any cell: which ones is not known."""
    return all_to_all(out.shape, data.shape, exact=False)


def leading(_: Call, data: Array, out: Array) -> Lineage:
    """The cell whose place is that on the first axes."""
    return matched(out.shape, data.shape, {i: i for i in range(data.ndim)})


def no_cell(_call: Call, _data: Array, _out: Array) -> None:
    """Not read: shapes and the like do not count."""


def output_place(call: Call, out: Array) -> int:
    """Return which of the outputs an output is."""
    return next(k for k, one in enumerate(call.outputs) if one is out)
