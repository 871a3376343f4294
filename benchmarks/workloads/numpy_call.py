"""Call numpy functions on arrays of given shapes and capture what they did, untracked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dslog.capture.numpy import rules  # noqa: F401 (registers them)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import find_lineages, function_named
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Shape

Shapes = tuple[Shape, ...]
Lineages = list[Lineage | None]

_LISTED = frozenset(
    f"numpy.{name}"
    for name in ["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack"]
) | {"numpy.linalg.multi_dot"}


@dataclass(frozen=True, slots=True)
class Called:
    """The shapes of a call's results, and its lineage per (output, input) pair."""

    outputs: Shapes
    lineages: Lineages


def call_numpy(name: str, arrays: Sequence[Array], kwargs: Mapping[str, Any]) -> Called:
    """Call a numpy function by its dotted name; some take their arrays in a list."""
    args: tuple[Any, ...] = tuple(arrays)
    if name == "numpy.block":
        args = ([list(arrays)],)
    elif name in _LISTED:
        args = (list(arrays),)
    func = function_named(name)
    result = func(*args, **kwargs)
    several = result if isinstance(result, (tuple, list)) else (result,)
    outputs = tuple(np.asarray(one) for one in several)
    call = Call(name, func, args, kwargs, tuple(arrays), outputs)
    lineages = [lineage for found in find_lineages(call) for lineage in found]
    return Called(tuple(one.shape for one in outputs), lineages)


def values_for(name: str, shapes: Sequence[Sequence[int]], rng: np.random.Generator) -> list[Array]:
    """Draw arrays that suit an operation: sorted places to interpolate at, zeros to trim."""
    arrays = [rng.standard_normal(tuple(shape)) for shape in shapes]
    if name == "interp":
        arrays[1].sort()
    if name == "trim_zeros":
        size = len(arrays[0])
        arrays[0][: rng.integers(size + 1) // 2] = 0
        arrays[0][size - rng.integers(size + 1) // 2 :] = 0
    return arrays


def lineage_of(
    function: Callable[..., Any],
    args: tuple[Array, ...],
    kwargs: Mapping[str, Any],
    result: Array,
    place: int = 0,
) -> Lineage | None:
    """Return the lineage of a call that gave ``result``, from one of its arrays."""
    call = Call(function.__name__, function, args, dict(kwargs), args, (result,))
    return find_lineages(call)[0][place]
