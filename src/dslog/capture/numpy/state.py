"""What a tracked array knows beside its values, and the node it stands for at the moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.memory import Memory
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.scope import recorder_of, scope_of
from dslog.capture.numpy.strided import is_view, lineage_of_view
from dslog.capture.numpy.structured import identity


@dataclass(slots=True, eq=False)
class State:
    """A tracked array's place in the lineage graph.

    ``plain`` is the same memory as an ordinary ndarray: numpy computes with that. ``node`` is a
    view's, of version ``seen`` of the memory; a root's is its memory's. ``scalar`` is set where
    numpy would have given a scalar, which can't be changed in place. Arrays that numpy makes of a
    tracked one behind our back have an ``origin`` and find their place when they are used.
    """

    plain: Array | None = None
    memory: Memory | None = None
    node: Node | None = None
    seen: int = 0
    scalar: bool = False
    origin: Tracked | None = None


class Tracked(np.ndarray[Any, Any]):
    """An ndarray with a place in the lineage graph."""

    tracking: State | None = None

    def __array_finalize__(self, obj: Any) -> None:
        if isinstance(obj, Tracked):
            self.tracking = State(origin=obj)


T = TypeVar("T", bound=Tracked)


def plain_of(array: Tracked) -> Array:
    """Return a tracked array's values, without a copy."""
    state = array.tracking
    if state is None:
        return np.ndarray.view(array, np.ndarray)
    if state.plain is None:
        state.plain = np.ndarray.view(array, np.ndarray)
    return state.plain


def is_scalar(array: Tracked) -> bool:
    """Whether an array stands for a numpy scalar."""
    return array.tracking is not None and array.tracking.scalar


def wrap_root(kind: type[T], plain: Array, memory: Memory, *, scalar: bool = False) -> T:
    """Make the tracked array of a root's values."""
    array = plain.view(kind)
    array.tracking = State(plain, memory, scalar=scalar)
    if memory.keep:
        memory.session.keep(memory.node, plain)
    memory.session.see(array)
    _tell_scope(array, memory)
    return array


def wrap_view(kind: type[T], plain: Array, memory: Memory, node: Node | None) -> T:
    """Make a tracked array that looks at memory which others see too."""
    array = plain.view(kind)
    array.tracking = State(plain, memory, node, memory.version if node else -1)
    if memory.keep and node:
        memory.session.keep(node, plain)
    memory.session.see(array)
    _tell_scope(array, memory)
    return array


def memory_of(array: Tracked) -> Memory | None:
    """Return the memory of an array, or None when it is not tracked, or not any more."""
    state = array.tracking
    if state is None:
        return None
    if state.memory is None and state.origin is not None:
        _adopt(array, state)
    memory = state.memory
    return None if memory is None or memory.session.closed else memory


def settled_node(array: Tracked) -> Node | None:
    """Return the node of what an array holds now, if that is known without recording anything."""
    state = array.tracking
    memory = None if state is None else state.memory
    if state is None or memory is None or memory.waiting or memory.session.closed:
        return None
    if state.plain is memory.root:
        return memory.node
    return state.node if state.seen == memory.version else None


def node_of(array: Tracked) -> Node | None:
    """Return the node of what an array holds now, or None when it is not tracked."""
    memory = memory_of(array)
    state = array.tracking
    if memory is None or state is None:
        return None
    root = memory.settle() if memory.waiting else memory.node
    if state.plain is memory.root:
        return root
    if state.node is None or state.seen != memory.version:
        _refresh(array, state, memory)
    return state.node


def _refresh(array: Tracked, state: State, memory: Memory) -> None:
    """Give a view a node from the root's latest version."""
    lineage = lineage_of_view(plain_of(array), memory.root)
    recorder = recorder_of(memory.session)
    node = recorder.node(array.shape, f"{memory.node.base}.view", memory.node.base)
    recorder.record("view", [memory.node], [node], ((lineage,),), {})
    state.node, state.seen = node, memory.version
    _tell_scope(array, memory)


def _adopt(array: Tracked, state: State) -> None:
    """Find the place of an array that numpy made of another: a view of it, or an equal copy."""
    origin, state.origin = state.origin, None
    if origin is None:
        return
    node, memory = node_of(origin), memory_of(origin)
    if node is None or memory is None:
        return
    plain, source = plain_of(array), plain_of(origin)
    if is_view(plain, memory.root):
        state.memory, state.seen = memory, -1
    elif plain.shape == source.shape and _same(plain, source):
        recorder = recorder_of(memory.session)
        copy = recorder.node(plain.shape, f"{node.base}.copy", node.base)
        recorder.record("copy", [node], [copy], ((identity(plain.shape),),), {})
        state.memory = Memory(plain, copy, memory.session)
        _tell_scope(array, memory)


def _same(copy: Array, source: Array) -> bool:
    """Whether two arrays hold the same values, up to a conversion of their type."""
    try:
        other = source.astype(copy.dtype)
        return bool(((copy == other) | ((copy != copy) & (other != other))).all())  # noqa: PLR0124
    except (TypeError, ValueError):
        return False


def _tell_scope(array: Tracked, memory: Memory) -> None:
    scope = scope_of(memory.session)
    if scope is not None:
        scope.made(array)
