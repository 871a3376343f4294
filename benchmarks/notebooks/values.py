"""What a name may stand for while a notebook is read: just enough to follow arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Value:
    """Anything that is not followed: numbers, texts, plots, models that were not fitted."""


@dataclass(frozen=True, slots=True)
class ArrayValue(Value):
    """An array, a table or a column; ``depth`` operations in a row led to it."""

    depth: int = 0


@dataclass(frozen=True, slots=True)
class Grouped(Value):
    """What groupby and the like give: an operation that waits for its function."""

    depth: int


@dataclass(frozen=True, slots=True)
class Accessor(Value):
    """``df.loc``, ``df.str``: a way to an array's cells."""

    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Method(Value):
    """A method of an array, a group or an accessor, before it is called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Module(Value):
    """A module or something in it, by its dotted name."""

    path: str


@dataclass(frozen=True, slots=True)
class Model(Value):
    """An estimator of a machine-learning library; ``depth`` once it was fitted to arrays."""

    depth: int = 0


@dataclass(frozen=True, slots=True)
class Function(Value):
    """A function that the notebook defines."""

    node: ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Several(Value):
    """A list or a tuple of values."""

    items: tuple[Value, ...]


OTHER = Value()


def depth_of(value: Value) -> int | None:
    """Return how many operations led to a value, or None when it holds no array."""
    if isinstance(value, Several):
        return deepest(value.items)
    if isinstance(value, ArrayValue | Grouped | Accessor):
        return value.depth
    return None


def deepest(values: Sequence[Value]) -> int | None:
    """Return the greatest depth among values, or None when none holds an array."""
    depths = [depth for value in values if (depth := depth_of(value)) is not None]
    return max(depths, default=None)
