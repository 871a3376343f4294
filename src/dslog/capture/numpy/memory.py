"""Memory that an array and its views share, and the versions it goes through.

The first array is the *root*. Writing, through the root or through any view, makes a new version of
the root: a new node in the graph, from the old one where cells stay and from the new values where
they are overwritten. A view remembers which version it has seen; used again after a write, it gets
a new node from the root's latest version. So whatever is read has the lineage of what is there.

Writes wait until somebody reads: a loop that fills an array cell by cell makes one new version.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from dslog.algebra.positions import pairs_of_cells
from dslog.algebra.product import identity
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.index import open_key
from dslog.capture.numpy.overwrite import Write, assigned, resolve, slab
from dslog.capture.numpy.view import is_view, lineage_of_view, place, touches
from dslog.capture.recorder import Node, Recorder, Step, StoreRecorder
from dslog.compress.encoder import compress
from dslog.errors import CaptureError
from dslog.types import I64, Array, Shape


class Scope(Recorder, Protocol):
    """A recorder that gathers the calls of one store until it is left."""

    @property
    def recorder(self) -> StoreRecorder:
        """The recorder of the store it belongs to."""
        ...

    def made(self, array: Array) -> None:
        """Take note of an array that got a node inside."""
        ...

    def written(self, memory: Memory) -> None:
        """Take note of memory that was written inside."""
        ...


CURRENT: ContextVar[tuple[Scope, ...]] = ContextVar("CURRENT", default=())


def scope_of(recorder: StoreRecorder) -> Scope | None:
    """Return the innermost open scope of a store, if there is one."""
    for scope in reversed(CURRENT.get()):
        if scope.recorder is recorder:
            return scope
    return None


def recorder_of(recorder: StoreRecorder) -> Recorder:
    """Return what takes note of calls on a store's arrays now."""
    return scope_of(recorder) or recorder if CURRENT.get() else recorder


class Memory:
    """The root's values, the node of its latest version, and writes since then."""

    __slots__ = (
        "__weakref__",
        "_first",
        "_made",
        "_recorder",
        "_writes",
        "keep",
        "node",
        "recorder",
        "root",
        "version",
    )

    def __init__(
        self, root: Array, node: Node, recorder: StoreRecorder, *, keep: bool = False
    ) -> None:
        self.root = root
        self.keep = keep
        self.node = node
        self.recorder = recorder
        self.version = 0
        self._first: Node | None = None  # whose name those of later versions begin with
        self._made = 0
        self._writes: list[Write] = []
        self._recorder: Recorder | None = None  # of the waiting writes

    @property
    def waiting(self) -> bool:
        """Whether there are writes that no version has yet."""
        return bool(self._writes)

    def write(self, write: Write) -> None:
        """Take note of overwritten cells."""
        recorder = recorder_of(self.recorder)
        if self._writes and (
            recorder is not self._recorder
            or len(self._writes) >= CaptureCost.current().waiting_writes
        ):
            self.settle()
        self._recorder = recorder
        self._writes.append(write)
        self._tell_scope()

    def settle(self) -> Node:
        """Make a version with all writes so far and return its node."""
        if self._writes and self._recorder is not None:
            writes, self._writes = self._writes, []
            old, recorder = self.node, self._recorder
            left, sources = resolve(writes, self.root.shape)
            inputs = [] if left is None else [(old, left)]
            inputs += sources
            new = self._next(recorder)
            nodes, row = [node for node, _ in inputs], [lineage for _, lineage in inputs]
            recorder.record(Step("setitem", nodes, [new], (row,), {}))
            self._go_on(new)
        return self.node

    def next_version(self) -> Node:
        """Make the node of a version that an operation is going to write as a whole."""
        return self._next(recorder_of(self.recorder))

    def replace(self, node: Node) -> None:
        """Go on with a version that an operation has written as a whole."""
        self._tell_scope()
        self._writes = []
        self._go_on(node)

    def _go_on(self, node: Node) -> None:
        self.node = node
        self.version += 1
        if self.keep:
            self.recorder.keep(node, self.root)

    def relabel(self) -> None:
        """Name further versions after the latest one, which got a name from the user."""
        self._first, self._made = None, 0

    def _next(self, recorder: Recorder) -> Node:
        self._first = self._first or self.node
        self._made += 1
        return recorder.node(self.root.shape, (self._first, self._made), self.node.base)

    def _tell_scope(self) -> None:
        scope = scope_of(self.recorder)
        if scope is not None:
            scope.written(self)


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
        memory.recorder.keep(memory.node, plain)
    memory.recorder.see(array)
    _tell_scope(array, memory)
    return array


def wrap_view(kind: type[T], plain: Array, memory: Memory, node: Node | None) -> T:
    """Make a tracked array that looks at memory which others see too."""
    array = plain.view(kind)
    array.tracking = State(plain, memory, node, memory.version if node else -1)
    if memory.keep and node:
        memory.recorder.keep(node, plain)
    memory.recorder.see(array)
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
    return None if memory is None or memory.recorder.closed else memory


def settled_node(array: Tracked) -> Node | None:
    """Return the node of what an array holds now, if that is known without recording anything."""
    state = array.tracking
    memory = None if state is None else state.memory
    if state is None or memory is None or memory.waiting or memory.recorder.closed:
        return None
    if state.plain is memory.root:
        return memory.node
    return state.node if state.seen == memory.version else None


def held_values(recorder: StoreRecorder) -> dict[str, Array]:
    """Return the arrays that the program holds, as they are now, by their names in the store."""
    found = {}
    for array in recorder.alive:
        node = settled_node(array) if isinstance(array, Tracked) else None
        if isinstance(array, Tracked) and node is not None and node.stored:
            found[node.name] = plain_of(array)
    return found


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
    recorder = recorder_of(memory.recorder)
    node = recorder.node(array.shape, f"{memory.node.base}.view", memory.node.base)
    recorder.record(Step("view", [memory.node], [node], ((lineage,),), {}))
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
        recorder = recorder_of(memory.recorder)
        copy = recorder.node(plain.shape, f"{node.base}.copy", node.base)
        recorder.record(Step("copy", [node], [copy], ((identity(plain.shape),),), {}))
        state.memory = Memory(plain, copy, memory.recorder)
        _tell_scope(array, memory)


def _same(copy: Array, source: Array) -> bool:
    """Whether two arrays hold the same values, up to a conversion of their type."""
    try:
        other = source.astype(copy.dtype)
        return bool(((copy == other) | ((copy != copy) & (other != other))).all())  # noqa: PLR0124
    except (TypeError, ValueError):
        return False


def _tell_scope(array: Tracked, memory: Memory) -> None:
    scope = scope_of(memory.recorder)
    if scope is not None:
        scope.made(array)


class Inputs:
    """Tracked arrays, each once, with their nodes.

    The nodes are taken before a call runs: afterwards an array may hold something else.
    """

    __slots__ = ("arrays", "nodes", "plains", "recorder")

    def __init__(self) -> None:
        self.arrays: list[Tracked] = []
        self.plains: list[Array] = []
        self.nodes: list[Node] = []
        self.recorder: StoreRecorder | None = None

    def unwrap(self, value: Any) -> Any:
        """Return an argument with plain arrays in place of tracked ones, also inside lists."""
        if isinstance(value, Tracked):
            return self._add(value)
        if type(value) in (list, tuple):
            return type(value)([self.unwrap(item) for item in value])
        return value

    @property
    def home(self) -> StoreRecorder:
        """The recorder of the store; there is one if there is an array."""
        if self.recorder is None:
            raise AssertionError("no argument is tracked")
        return self.recorder

    @property
    def keeps(self) -> bool:
        """Whether the values of some input are kept, and so those of its results."""
        return any(memory.keep for array in self.arrays if (memory := memory_of(array)))

    def array_of(self, plain: Array) -> Tracked | None:
        """Return the input whose values these are."""
        for array, own in zip(self.arrays, self.plains, strict=True):
            if own is plain:
                return array
        return None

    def memory_under(self, view: Array) -> Memory | None:
        """Return the memory of the input that a result is a view of."""
        for array, plain in zip(self.arrays, self.plains, strict=True):
            if is_view(view, plain) and (memory := memory_of(array)) is not None:
                return memory
        return None

    def _add(self, array: Tracked) -> Array:
        plain = plain_of(array)
        if any(array is known for known in self.arrays):
            return plain
        node, memory = node_of(array), memory_of(array)
        if node is None or memory is None:
            return plain
        if self.recorder not in (None, memory.recorder):
            raise CaptureError(
                f"a call takes arrays of two stores, {self.nodes[0].name!r} and {node.name!r}: "
                f"track both in one store, or give np.asarray(x) for the one that needs no lineage"
            )
        self.recorder = memory.recorder
        self.arrays.append(array)
        self.plains.append(plain)
        self.nodes.append(node)
        return plain


def first_tracked(values: Sequence[Any]) -> Tracked | None:
    """Return some tracked array among values, also inside lists."""
    for value in values:
        if isinstance(value, Tracked):
            return value
        if isinstance(value, list | tuple) and (found := first_tracked(value)) is not None:
            return found
    return None


def write_view(memory: Memory, view: Array, source: Node | None) -> None:
    """Take note that a view of the memory holds values of a source, broadcast to its shape."""
    if not view.size:
        return
    placement = place(view, memory.root) if view.itemsize == memory.root.itemsize else None
    region = None if placement is None else slab(placement)
    if placement is not None and region is not None:
        lineage = assigned(placement, source.shape) if source else None
        memory.write(Write(region, source, lineage))
        return
    found = touches(view, memory.root)
    if found is not None:
        spread = _spread(source, view)
        partial = view.itemsize % memory.root.itemsize != 0
        write_cells(memory, found[1], source, spread[found[0]], partial=partial)


def write_cells(
    memory: Memory, cells: I64, source: Node | None, from_: I64, *, partial: bool = False
) -> None:
    """Take note that cells at C-order positions of the root hold cells of a source.

    Positions may repeat: a cell then comes from several cells of the source.
    """
    lineage = None
    if source is not None:
        pairs = pairs_of_cells(cells, memory.root.shape, from_, source.shape)
        lineage = compress(pairs, memory.root.shape, source.shape)
    memory.write(Write(np.unique(cells), source, lineage, partial))


def set_item(memory: Memory, plain: Array, key: Any, value: Any, source: Node | None) -> None:
    """Assign ``plain[key] = value`` and take note of it; ``plain`` looks at the memory."""
    if _has_field(key):
        plain[key] = value
        _write_fields(memory, plain, source)
        return
    region = plain[open_key(key)]
    if is_view(region, plain):
        plain[key] = value
        write_view(memory, region, source)
        return
    codes = np.zeros(plain.shape, np.int64)
    codes[key] = 1 if source is None else _ramp(source.shape) + 1
    plain[key] = value
    write_codes(memory, plain, codes, source)


def write_codes(memory: Memory, plain: Array, codes: I64, source: Node | None) -> None:
    """Take note of cells of a view that hold a source's cell: its C-order position + 1, or 0."""
    flat = codes.reshape(-1)
    cells = np.flatnonzero(flat)
    found = touches(plain, memory.root)
    if not len(cells) or found is None:
        return
    partial = plain.itemsize % memory.root.itemsize != 0
    hit = flat[found[0]] > 0
    write_cells(memory, found[1][hit], source, flat[found[0][hit]] - 1, partial=partial)


def _write_fields(memory: Memory, plain: Array, source: Node | None) -> None:
    """Take note of fields of every cell of a view; what the cells held still contributes."""
    found = touches(plain, memory.root)
    if found is None:
        return
    spread = _spread(source, plain)
    write_cells(memory, found[1], source, spread[found[0]], partial=True)


def _has_field(key: Any) -> bool:
    return isinstance(key, str) or (
        isinstance(key, list) and len(key) > 0 and all(isinstance(name, str) for name in key)
    )


def _trim(array: Array, ndim: int) -> Array:
    """Drop leading axes of one cell, which assignment allows the values to have too many of."""
    while array.ndim > ndim:
        array = array[0]
    return array


def _ramp(shape: Shape) -> I64:
    """C-order positions."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def _spread(source: Node | None, view: Array) -> I64:
    """Per cell of a view, in C order, the position of the source's cell that is assigned to it."""
    ramp = _ramp(source.shape if source else ())
    return np.broadcast_to(_trim(ramp, view.ndim), view.shape).reshape(-1)
