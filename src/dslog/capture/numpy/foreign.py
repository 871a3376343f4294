"""Functions of other packages that take plain arrays only, such as those of ``scipy.ndimage``.

numpy asks an array what to do with it; compiled code takes its values. Such a function gives
plain results on tracked arrays, unless it is wrapped here: then its call is one operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.dispatch import execute
from dslog.capture.numpy.index_run import index_run
from dslog.capture.numpy.memory import first_tracked
from dslog.capture.numpy.registry import REGISTRY, Entry

F = TypeVar("F", bound=Callable[..., Any])


def foreign(function: F, moves: Sequence[str] | str | None = None) -> F:
    """Return a function that takes tracked arrays and gives tracked results.

    ``moves`` names the arguments whose cells the function only moves, so that it can be run on
    their positions: an interpolation of order 0, a shift, a flip. Zeros that it fills in are from
    nothing. Without ``moves`` the cells are traced if they can be, and if not, every output cell
    is said to come from every input cell, labelled as not exact.
    """
    if moves is not None:
        _register(function, moves)
    name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        tracked = first_tracked((*args, *kwargs.values()))
        if tracked is None:
            return function(*args, **kwargs)
        return execute(TrackedArray, name, function, args, kwargs)

    return cast("F", call)


def _register(function: Callable[..., Any], moves: Sequence[str] | str) -> None:
    """Add an index run for a function, once."""

    def run(call: Call) -> Lineages | None:
        return index_run(call, moves)

    known = REGISTRY.entries.setdefault(function, [])
    if not any(entry.kind == "index-run" for entry in known):
        known.append(Entry(function.__qualname__, "index-run", run))
