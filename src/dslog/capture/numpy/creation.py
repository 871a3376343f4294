"""New arrays in the company of tracked ones: ``np.zeros_like(x)``, ``np.empty(n, like=x)``.

Their cells come from nowhere, but they are tracked, so that what is written into them is seen.
``np.zeros(n)`` without ``like`` gives a plain array, into which values go without their lineage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dslog.capture.numpy.call import short_name
from dslog.capture.numpy.inputs import Inputs
from dslog.capture.numpy.memory import Memory
from dslog.capture.numpy.patterns import elementwise
from dslog.capture.numpy.scope import recorder_of
from dslog.capture.numpy.state import Tracked, memory_of, wrap_root

LIKE = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})
NEW: frozenset[Callable[..., Any]] = frozenset(
    {
        np.arange,
        np.empty,
        np.eye,
        np.frombuffer,
        np.fromfile,
        np.fromfunction,
        np.fromiter,
        np.fromstring,
        np.full,
        np.genfromtxt,
        np.identity,
        np.loadtxt,
        np.ones,
        np.tri,
        np.zeros,
    }
)


def create(
    like: Tracked, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Run a function that makes an array, and track it; a tracked fill value contributes."""
    memory = memory_of(like)
    values = Inputs()
    prototype = func in LIKE
    args = tuple(
        Inputs().unwrap(arg) if prototype and place == 0 else values.unwrap(arg)
        for place, arg in enumerate(args)
    )
    options = {
        key: Inputs().unwrap(value) if key in ("a", "prototype") else values.unwrap(value)
        for key, value in kwargs.items()
    }
    if prototype and options.get("subok", True):
        options["subok"] = False
    result = func(*args, **options)
    if memory is None or type(result) is not np.ndarray:
        return result
    recorder = recorder_of(memory.session)
    base = memory.node.base
    node = recorder.node(result.shape, f"{base}.{func.__name__}", base)
    lineages = tuple(elementwise(result.shape, plain.shape) for plain in values.plains)
    name = short_name(f"numpy.{func.__name__}")
    recorder.record(name, values.nodes, [node], (lineages,), {})
    return wrap_root(type(like), result, Memory(result, node, memory.session))
