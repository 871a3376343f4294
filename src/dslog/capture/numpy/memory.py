"""Memory that an array and its views share, and the versions it goes through.

The first array is the *root*. Writing, through the root or through any view, makes a new version of
the root: a new node in the graph, from the old one where cells stay and from the new values where
they are overwritten. A view remembers which version it has seen; used again after a write, it gets
a new node from the root's latest version. So whatever is read has the lineage of what is there.

Writes wait until somebody reads: a loop that fills an array cell by cell makes one new version.
Single cells that were written may be read meanwhile; where they come from is kept cell by cell.

What tracked arrays and scalars are to the rest of capture is here too; what they are to a program
is in ``array.py`` and ``scalar.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dslog.algebra.product import all_to_all
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.cell_source import Source, lineages_of
from dslog.capture.numpy.loan import Loans, differing, lend, still_lent
from dslog.capture.numpy.overwrite import Write, resolve
from dslog.capture.numpy.view import lineage_of_view
from dslog.capture.recorder import Node, Recorder, Step, StoreRecorder, Use
from dslog.types import Array

if TYPE_CHECKING:
    _Ndarray = np.ndarray[Any, Any]
else:
    _Ndarray = object


class Scope(Recorder, Protocol):
    """A recorder that gathers the calls of one store until it is left."""

    @property
    def recorder(self) -> StoreRecorder:
        """The recorder of the store it belongs to."""
        ...

    def made(self, value: Tracked | TrackedScalar) -> None:
        """Take note of a value that got a node inside."""
        ...

    def written(self, memory: Memory) -> None:
        """Take note of memory that was written inside."""
        ...


Mark = tuple[Node, int, Node | None, int]
"""Where the versions of memory are."""
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
        "_cells",
        "_first",
        "_lent",
        "_made",
        "_recorder",
        "_scopes",
        "_seen",
        "_writes",
        "keep",
        "node",
        "recorder",
        "root",
        "still",
        "use",
        "version",
    )

    def __init__(
        self,
        root: Array,
        node: Node,
        recorder: StoreRecorder,
        *,
        keep: bool = False,
        lent: Loans | None = None,
    ) -> None:
        self.root = root
        self.keep = keep
        self.node = node
        self.recorder = recorder
        self.use = recorder.use()
        self.version = 0
        self.still = not lent  # no write waits, and nobody else may write
        self._first: Node | None = None  # whose name those of later versions begin with
        self._made = 0
        self._writes: list[Write] = []
        self._cells: dict[int, Source | None] = {}  # written after those
        self._recorder: Recorder | None = None  # of the waiting writes
        self._scopes: tuple[Scope, ...] | None = None  # when the last cell was written
        self._lent = lent or []
        self._seen = root.copy("C") if lent else None  # what the memory held while it is lent

    @property
    def waiting(self) -> bool:
        """Whether there are writes that no version has yet."""
        return bool(self._writes or self._cells)

    def write(self, write: Write) -> None:
        """Take note of overwritten cells."""
        self._begin()
        self.still = False
        self._gather()
        if len(self._writes) >= CaptureCost.current().waiting_writes:
            self.settle()
            self._begin()
        self._writes.append(write)
        if self._seen is not None:
            self._seen[...] = self.root

    def write_cell(self, position: int, source: Source | None) -> None:
        """Take note that one cell of the root was overwritten."""
        scopes = CURRENT.get()
        if not self._cells or scopes is not self._scopes:
            self._begin()
            self._scopes = scopes
            self.still = False
        self._cells[position] = source
        if self._seen is not None:
            self._seen.reshape(-1)[position] = self.root.flat[position]

    def read_cell(self, position: int) -> Source | None:
        """Return where one cell of the root comes from."""
        if position in self._cells:
            return self._cells[position]
        if self._writes:
            self.settle()
        return self.node, position

    def settle(self) -> Node:
        """Make a version with all writes so far and return its node."""
        self._gather()
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
        self._writes, self._cells = [], {}
        if self._seen is not None:
            self._seen[...] = self.root
        self._go_on(node)

    def mark(self) -> Mark:
        """Return what brings the memory's versions back to where they are now."""
        return self.node, self.version, self._first, self._made

    def reset(self, mark: Mark) -> None:
        """Forget the versions since a mark; the values are somebody else's business."""
        self.node, self.version, self._first, self._made = mark
        self._writes, self._cells = [], {}
        self._seen = self.root.copy("C") if self._lent else None
        self.still = not self._lent

    # what others may read and write

    @property
    def is_lent(self) -> bool:
        """Whether somebody else may have written since :meth:`watch` looked, and may read."""
        return bool(self._lent)

    def lend(self, view: Array, *, ends: bool = True) -> Array:
        """Return a view for somebody who may write into it, now or as long as they hold it."""
        self.still = False
        given = lend(self._lent, view, ends=ends)
        if self._seen is None and view.flags.writeable:
            self._seen = self.root.copy("C")
        return given

    def watch(self) -> None:
        """Take note of cells that somebody else wrote: where they come from is not known."""
        self._lent = still_lent(self._lent)
        seen = self._seen
        if seen is not None and (written := differing(seen, self.root)).any():
            self.write(Write(np.flatnonzero(written), ()))
        if not self._lent:
            self._seen = None
            self.still = not self.waiting

    def _begin(self) -> None:
        """Let writes of another scope, made before, be a version of their own."""
        recorder = recorder_of(self.recorder)
        if recorder is not self._recorder:
            if self.waiting:
                self.settle()
            self._recorder = recorder
        self._tell_scope()

    def _gather(self) -> None:
        """Let the cells that were written one by one be one write."""
        if not self._cells:
            return
        cells, self._cells = self._cells, {}
        sources = tuple(lineages_of(cells.items(), self.root.shape))
        self._writes.append(Write(np.array(sorted(cells), np.int64), sources))

    def _go_on(self, node: Node) -> None:
        self.node = node
        self.still = not self._lent
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
        if CURRENT.get() and (scope := scope_of(self.recorder)) is not None:
            scope.written(self)


@dataclass(slots=True)
class Latent:
    """Memory that a program got from numpy and nothing tracked is in: it has a place once it has.

    ``made`` is how it was made: "zeros"; ``scopes`` are those that were open then.
    """

    root: Array
    made: str
    memory: Memory | None = None
    lent: Loans = field(default_factory=list)
    scopes: tuple[Scope, ...] = field(default_factory=CURRENT.get)

    def lend(self, view: Array, *, ends: bool = True) -> Array:
        """Return a view for somebody who may look at it when something tracked is in it."""
        return lend(self.lent, view, ends=ends)

    def maker(self, home: StoreRecorder) -> Recorder:
        """Return what takes note that it was made, among what takes note for a store now."""
        known = [scope for scope in CURRENT.get() if scope in self.scopes]
        return next((one for one in reversed(known) if one.recorder is home), home)


@dataclass(slots=True, eq=False)
class State:
    """A tracked array's place in the lineage graph.

    ``plain`` is its memory as an ordinary ndarray: numpy computes with that. ``node`` is a view's,
    of version ``seen`` of the memory; a root's is its memory's. ``steps`` is how positions of a
    view become positions of the root: one to add, and one per axis to multiply with; None where
    that is not known yet, () where there is no such formula. Without memory it may be latent.
    ``picked`` are the tracked integers that picked a view, as in ``x[i]``: nodes of no axes, which
    every cell of it, read or written, is from as well.
    """

    plain: Array
    memory: Memory | None
    node: Node | None = None
    seen: int = 0
    steps: tuple[int, ...] | None = None
    latent: Latent | None = None
    picked: tuple[Node, ...] = ()


class Tracked(_Ndarray):
    """An array with a place in the lineage graph, and the values of an ndarray.

    It says that it is an ndarray, but it is none: compiled code that would read an ndarray's
    memory has to ask this one for its values, so that we know.
    """

    __slots__ = ("__weakref__", "tracking")
    tracking: State

    @staticmethod
    def scalar(plain: Any, source: Source | None, home: StoreRecorder) -> Any:
        """Return one of its values as a tracked number; a number from nothing is plain."""
        raise NotImplementedError


SUBCLASSES: dict[type, Callable[[Tracked], Tracked]] = {}
"""Kinds of numpy's that a view can be of and stay tracked, and what makes such a view."""


class TrackedScalar:
    """A number, and where it comes from; it says that it is one, but it has to be asked for it.

    It is the cell that is its source, or it was ``made`` of its sources by an operation.
    """

    __slots__ = ("__weakref__", "home", "made", "plain", "source", "use")
    plain: Any
    source: Source
    home: StoreRecorder
    made: str
    use: Use

    def as_array(self) -> Any:
        """Return a tracked array of no axes with the number in it."""
        raise NotImplementedError

    def as_python(self) -> Any:
        """Return the number as Python's own, tracked."""
        raise NotImplementedError


T = TypeVar("T", bound=Tracked)


def plain_of(array: Tracked) -> Array:
    """Return a tracked array's values, without a copy."""
    return array.tracking.plain


def wrap(kind: type[T], state: State) -> T:
    """Make the tracked array of a state."""
    array = object.__new__(kind)
    array.tracking = state
    return array


def wrap_root(kind: type[T], plain: Array, memory: Memory) -> T:
    """Make the tracked array of a root's values."""
    array = wrap(kind, State(plain, memory))
    if memory.keep:
        memory.recorder.keep(memory.node, plain)
    memory.recorder.see(array)
    _tell_scope(array, memory.recorder)
    return array


def wrap_view(
    kind: type[T],
    plain: Array,
    memory: Memory,
    node: Node | None,
    picked: tuple[Node, ...] = (),
) -> T:
    """Make a tracked array that looks at memory which others see too."""
    seen = memory.version if node else -1
    array = wrap(kind, State(plain, memory, node, seen, picked=picked))
    if memory.keep and node:
        memory.recorder.keep(node, plain)
    memory.recorder.see(array)
    _tell_scope(array, memory.recorder)
    return array


def wrap_scalar(kind: type[Tracked], plain: Any, node: Node, home: StoreRecorder) -> Any:
    """Make the tracked scalar that is all of a node."""
    scalar = kind.scalar(plain, (node, 0), home)
    if isinstance(scalar, TrackedScalar):
        home.see(scalar)
        _tell_scope(scalar, home)
    else:
        home.leak("item", [node])  # text, say
    return scalar


def memory_of(array: Tracked) -> Memory | None:
    """Return the memory of an array, or None when it is not tracked, or not any more."""
    state = array.tracking
    memory = state.memory
    if memory is None:
        if state.latent is None or state.latent.memory is None:
            return None
        memory = state.memory = state.latent.memory
        state.seen = -1
        memory.node.owner.reach(memory.node)  # a group may have ended without it
        memory.recorder.see(array)
        _tell_scope(array, memory.recorder)
    if memory.recorder.closed:
        return None
    if memory.is_lent:
        memory.watch()
    return memory


def wrap_latent(kind: type[T], plain: Array, latent: Latent) -> T:
    """Make an array that is tracked once something tracked is written into its memory."""
    return wrap(kind, State(plain, None, latent=latent))


def memory_to_write(array: Tracked, home: StoreRecorder | None) -> Memory | None:
    """Return the memory that tracked values of a store are about to be written into.

    None when it can't be tracked.
    """
    memory = memory_of(array)
    latent = array.tracking.latent
    if memory is not None or latent is None or latent.memory is not None or home is None:
        return memory
    recorder = latent.maker(home)
    node = recorder.node(latent.root.shape, latent.made, latent.made)
    recorder.record(Step(latent.made, [], [node], ((),), {}))
    latent.memory = Memory(latent.root, node, home, lent=still_lent(latent.lent))
    home.see(array)
    _tell_scope(array, home)
    return memory_of(array)


def is_overseen(array: Any) -> bool:
    """Whether somebody else may read what is going to be written into an array."""
    if not isinstance(array, Tracked):
        return False
    memory, latent = memory_of(array), array.tracking.latent
    return memory.is_lent if memory is not None else bool(latent and still_lent(latent.lent))


def is_tracked(value: object) -> bool:
    """Whether something is a tracked array or scalar."""
    return isinstance(value, (Tracked, TrackedScalar))


def home_of(value: Tracked | TrackedScalar) -> StoreRecorder | None:
    """Return the recorder of the store that a value is tracked in, None when that is closed."""
    if isinstance(value, TrackedScalar):
        return None if value.home.closed else value.home
    memory = memory_of(value)
    return None if memory is None else memory.recorder


def home_among(values: Iterable[Any]) -> StoreRecorder | None:
    """Return the recorder of the store that the first tracked one of some values is tracked in.

    Latent arrays are none of them: nothing tracked is in those.
    """
    homes = map(home_of, tracked_in(values))
    return next((home for home in homes if home is not None), None)


def settled_node(array: Tracked) -> Node | None:
    """Return the node of what an array holds now, if that is known without recording anything."""
    state = array.tracking
    memory = memory_of(array) if state.memory is not None else None
    if memory is None or memory.waiting:
        return None
    if state.plain is memory.root:
        return memory.node
    return state.node if state.seen == memory.version else None


def held_values(recorder: StoreRecorder) -> dict[str, Array]:
    """Return the arrays that the program holds, as they are now, by their names in the store."""
    found = {}
    for value in recorder.alive:
        if isinstance(value, Tracked):
            node, plain = settled_node(value), plain_of(value)
        elif isinstance(value, TrackedScalar):
            node, plain = own_node(value), np.asarray(value.plain)
        else:
            continue
        if node is not None and node.stored:
            found[node.name] = plain
    return found


def own_node(scalar: TrackedScalar) -> Node | None:
    """Return the node that a scalar is all of, if there is one."""
    source = scalar.source
    is_cell = not scalar.made and source[0] is not None and len(source) == 2
    return source[0] if is_cell and not source[0].shape else None


def node_of(array: Tracked) -> Node | None:
    """Return the node of what an array holds now, or None when it is not tracked."""
    memory = memory_of(array)
    state = array.tracking
    if memory is None:
        return None
    root = memory.settle() if memory.waiting else memory.node
    if state.plain is memory.root:
        return root
    if state.node is None or state.seen != memory.version:
        _refresh(array, state, memory)
    return state.node


def _refresh(array: Tracked, state: State, memory: Memory) -> None:
    """Give a view a node from the root's latest version."""
    lineage = lineage_of_view(state.plain, memory.root)
    recorder = recorder_of(memory.recorder)
    node = recorder.node(state.plain.shape, f"{memory.node.base}.view", memory.node.base)
    for each in state.picked:
        each.owner.reach(each)
    row = (lineage, *(all_to_all(node.shape, ()) for _ in state.picked))
    recorder.record(Step("view", [memory.node, *state.picked], [node], (row,), {}))
    state.node, state.seen = node, memory.version
    _tell_scope(array, memory.recorder)


def scalar_node(scalar: TrackedScalar) -> Node:
    """Return the node that a scalar is all of; it gets one now if it had none."""
    node = own_node(scalar)
    if node is not None:
        node.owner.reach(node)
        return node
    source = scalar.source
    operation = scalar.made or "getitem"
    pairs = lineages_of([(0, source)], ())
    recorder = recorder_of(scalar.home)
    base = pairs[0][0].base
    args: dict[str, object] = {}
    if not scalar.made and len(source) == 2:
        args = {"key": [int(k) for k in np.unravel_index(source[1], source[0].shape)]}
    node = recorder.node((), f"{base}.{operation}", base)
    nodes, row = [each for each, _ in pairs], [lineage for _, lineage in pairs]
    recorder.record(Step(operation, nodes, [node], (row,), args))
    scalar.source, scalar.made = (node, 0), ""
    if any(each.keep for each in nodes):
        scalar.home.keep(node, np.asarray(scalar.plain))
    scalar.home.see(scalar)
    _tell_scope(scalar, scalar.home)
    return node


def _tell_scope(value: Tracked | TrackedScalar, recorder: StoreRecorder) -> None:
    if CURRENT.get() and (scope := scope_of(recorder)) is not None:
        scope.made(value)


def tracked_in(values: Any) -> Iterator[Tracked | TrackedScalar]:
    """Give the tracked arrays and scalars among values, also inside lists, tuples and dicts."""
    for value in values:
        if isinstance(value, (Tracked, TrackedScalar)):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tracked_in(value)
        elif isinstance(value, dict):
            yield from tracked_in(value.values())


def first_tracked(values: Sequence[Any]) -> Tracked | TrackedScalar | None:
    """Return some tracked array or scalar among values, also inside lists."""
    return next(tracked_in(values), None)
