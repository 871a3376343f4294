"""What numpy, tables and Spark capture share: a graph of nodes, and steps between them.

A *node* is one version of one array, as the store knows it, without its values. A *step* is one
operation between nodes, with its lineage. A recorder takes note of steps. Registering must not cost
more than the numpy call it is about, so a store's recorder keeps them in memory, without names, and
commits many at a time: before anything is read from the store, when it is closed, when enough of
them wait or one waits for a second, when the program ends, and on ``store.flush()``. Each is in the
store as a whole or not at all.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dslog.capture.capture_cost import CaptureCost
from dslog.capture.flusher import FLUSHER
from dslog.capture.leaks import LeakLog
from dslog.capture.values import Keeper
from dslog.errors import CaptureError
from dslog.store.arguments import check_name
from dslog.store.catalog import Catalog, find_array
from dslog.store.commit import Commit, Draft, DraftLeak, Named
from dslog.store.files import Files, Stored
from dslog.store.hooks import Answer
from dslog.types import Array, Shape

Found = Sequence[Sequence[Stored | None]]
"""Per output, per input, its lineage; None where the input does not contribute at all."""


class Node:
    """One version of one array.

    ``wanted`` is the name it is to have if that is free: text, or a node and the number of one of
    its later versions. The name is made up when somebody asks for it, at the latest when the node
    is stored, and from then on it is final. ``base`` is the name the user gave to the array it
    comes from; names of further results start with it. ``owner`` is the recorder that knows it.
    ``brought`` is set for an array that the user named when tracking it, ``keep`` where its values
    are kept.
    """

    __slots__ = (
        "__weakref__",
        "_name",
        "base",
        "brought",
        "keep",
        "owner",
        "shape",
        "stored",
        "wanted",
    )

    def __init__(
        self, wanted: str | tuple[Node, int], shape: Shape, base: str, owner: Recorder
    ) -> None:
        self.wanted = wanted
        self.shape = shape
        self.base = base
        self.owner = owner
        self.stored = self.brought = self.keep = False
        self._name: str | None = None

    @property
    def name(self) -> str:
        """The name, made up now if there was none."""
        if self._name is None:
            wanted = self.wanted
            text = wanted if isinstance(wanted, str) else f"{wanted[0].name}.{wanted[1]}"
            name = self.owner.free_name(text)
            if self._name is None:  # another thread may have been faster
                self._name = name
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def is_named(self) -> bool:
        """Whether the name was made up, or given."""
        return self._name is not None

    def __repr__(self) -> str:
        return f"Node({self._name or self.wanted!r}, {self.shape})"


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded operation; ``answer`` is what stood in for finding its lineage.

    ``lineages`` say what was read, ``influences`` what decided, for each output of each input.
    """

    op: str
    inputs: Sequence[Node]
    outputs: Sequence[Node]
    lineages: Found
    args: Mapping[str, object]
    answer: Answer | None = None
    influences: Found = ()


class Recorder(Protocol):
    """Takes note of operations: a store's recorder, or a group of calls that become one."""

    def node(self, shape: Shape, wanted: str | tuple[Node, int], base: str) -> Node:
        """Make a node for a result that is not recorded yet."""
        ...

    def free_name(self, wanted: str) -> str:
        """Return a name for a node: ``wanted``, with a number behind it if that is taken."""
        ...

    def rename(self, node: Node, name: str) -> bool:
        """Give a node that is not stored yet the name the user wants; False if it is too late."""
        ...

    def final_name(self, node: Node) -> str:
        """Return a node's name, which does not change any more if that can be."""
        ...

    def record(self, step: Step) -> None:
        """Take note of one operation."""
        ...

    def reach(self, node: Node) -> None:
        """See to it that a node can be an input of what is recorded next."""
        ...


class Use:
    """What keeps a store open: the store has it, and so has everything that is tracked in it."""

    __slots__ = ("__weakref__",)


class StoreRecorder:
    """A store's side of capture: names for arrays, and steps that wait to be committed."""

    def __init__(
        self,
        commit: Commit,
        keeper: Keeper,
        leaks: LeakLog | None = None,
        *,
        each: bool = False,
    ) -> None:
        self._commit = commit
        self._each = each  # nothing waits
        self.leaks = LeakLog() if leaks is None else leaks
        self._keeper = keeper
        self._values: dict[Node, Array] = {}
        self._lock = threading.RLock()
        self._names: set[str] = set()  # of nodes not in the catalog yet
        self._last: Counter[str] = Counter()
        self._new: list[Node] = []
        self._steps: list[Step] = []
        self._left: list[DraftLeak] = []  # that no commit has stored yet
        self._aged = (0, 0)  # new nodes and steps that waited when the clock was last looked at
        self._patience = CaptureCost.current().waiting_seconds
        self._alive: list[weakref.ref[object]] = []
        self._looked = 0  # arrays alive when the dead ones were last dropped
        self.late: Callable[[], None] | None = None  # records what is computed late: frames
        self._at_close: list[Callable[[], None]] = []
        self.closed = False
        self._use: weakref.ref[Use] | None = None
        RECORDERS.add(self)
        FLUSHER.add(self)

    def use(self) -> Use:
        """Return what has the store closed when nobody has it any more."""
        found = None if self._use is None else self._use()
        if found is None:
            found = Use()
            self._use = weakref.ref(found)
        return found

    @property
    def catalog(self) -> Catalog:
        """The catalog behind the store."""
        return self._commit.catalog

    @property
    def files(self) -> Files:
        """The files of the store."""
        return self._commit.files

    # nodes and names

    def node(self, shape: Shape, wanted: str | tuple[Node, int], base: str) -> Node:
        """Make a node for a result; it is in the store once an operation with it is."""
        return Node(wanted, shape, base, self)

    def source(self, shape: Shape, name: str | None) -> Node:
        """Make the node of an array that the user brings; a stored one of that name goes on."""
        with self._lock, self.catalog.still():
            self.catalog.require_writable()
            if name is None:
                name = next(name for name in self._numbered("array") if not self.is_taken(name))
            check_name(name, "array")
            if self.is_taken(name):
                if name in self._names:
                    self.flush()
                known = find_array(name, self.catalog)
                if known.shape != shape:
                    raise CaptureError(
                        f"array {name!r} of the store has shape {known.shape}, these values have "
                        f"{shape}: track them under another name"
                    )
                return self.known(name, shape)
            node = Node(name, shape, name, self)
            node.name, node.brought = name, True
            self._names.add(name)
            self._new.append(node)
            if self._each:
                self.flush()
            return node

    def known(self, name: str, shape: Shape) -> Node:
        """Make the node of an array that is in the store."""
        node = Node(name, shape, name, self)
        node.name, node.stored = name, True
        return node

    def rename(self, node: Node, name: str) -> bool:
        """Give a node that is not stored yet the name the user wants; False if it is too late."""
        with self._lock, self.catalog.still():
            check_name(name, "array")
            if node.is_named and name == node.name:
                return True
            if self.is_taken(name):
                raise CaptureError(f"there is an array {name!r} in the store: take another name")
            if node.stored:
                return False
            if node.is_named:
                self._names.discard(node.name)
            self._names.add(name)
            node.name = node.base = name
            return True

    def final_name(self, node: Node) -> str:
        """Return the name under which a node is stored."""
        if not node.stored and not self.closed:
            self.flush()
        return node.name

    def is_taken(self, name: str) -> bool:
        """Whether an array of this name is stored, or waits to be."""
        return name in self._names or self.catalog.shape(name) is not None

    def free_name(self, wanted: str) -> str:
        """Return a name that nothing that waits has; whether it is stored is seen at the commit."""
        with self._lock:
            name = next(name for name in self._numbered(wanted) if name not in self._names)
            self._names.add(name)
            return name

    def _another_name(self, node: Named, shape: Shape) -> str:
        """Return another name for a node whose name somebody else has taken meanwhile.

        An array that the user brings is the one of that name, as it is if it was there before.
        """
        if isinstance(node, Node) and node.brought and node.shape == shape:
            return node.name
        self._names.discard(node.name)
        wanted = node.wanted if isinstance(node, Node) else node.name
        return self.free_name(wanted if isinstance(wanted, str) else node.name)

    def _numbered(self, wanted: str) -> Iterator[str]:
        while True:
            self._last[wanted] += 1
            number = self._last[wanted]
            yield wanted if number == 1 else f"{wanted}_{number}"

    # steps

    def record(self, step: Step) -> None:
        """Keep a step until the next flush.

        An array of a group of calls that is not over yet comes from another thread than the
        group's, which does not know of it: the store would not find it.
        """
        if any(node.owner is not self for node in step.inputs):
            raise CaptureError(
                f"{step.op!r} takes an array of an operation that another thread is in: give the "
                f"thread what was there before the operation, or begin the operation in the thread"
            )
        with self._lock:
            if len(self._steps) >= CaptureCost.current().waiting_steps:
                self.flush()  # before the new one, which may still get a name
            self._steps.append(step)
            self._new.extend(node for node in step.outputs if not node.stored)
            if self._each:
                self.flush()
                return
        if not FLUSHER.awake:
            FLUSHER.wake(self._patience)

    def reach(self, node: Node) -> None:
        """Do nothing: every node of a store can be an input."""

    def flush(self) -> None:
        """Commit what waits, in one transaction."""
        with self._lock:
            self._flush(len(self._new), len(self._steps))

    def flush_aged(self) -> bool:
        """Commit what waited at the last call already, and say whether anything waits."""
        with self._lock, self.catalog.still():
            if self.closed:
                return False
            if any(self._aged):
                self._flush(*self._aged)
            self._aged = len(self._new), len(self._steps)
            return bool(any(self._aged) or self._left or self.leaks.waits)

    def _flush(self, nodes: int, steps: int) -> None:
        """Commit the first of the new nodes and of the steps that wait, in one transaction.

        Leaks of later nodes, or that happened when these were there, wait as well.
        """
        new, drafted = self._new[:nodes], self._steps[:steps]
        leaks = self._left + (self.leaks.drain(self) if self.leaks.waits else [])
        if not new and not drafted and not leaks:
            return
        later = self._new[nodes:], self._steps[steps:]
        known = set(new)
        now: list[DraftLeak] = []
        left: list[DraftLeak] = []
        for leak in leaks:
            stored = leak.array in known or (isinstance(leak.array, Node) and leak.array.stored)
            (now if stored and leak.before <= nodes else left).append(leak)
        self._new, self._steps = later
        self._left = [replace(leak, before=max(leak.before - nodes, 0)) for leak in left]
        self._aged = 0, 0
        try:
            names = {node.name for node in new}
            drafts = [_draft(step) for step in drafted]
            self._commit.operations(drafts, new, self._another_name, now)
        except BaseException:
            self._new, self._steps = new + self._new, drafted + self._steps
            self._left = leaks
            raise
        for node in new:
            node.stored = True
        self._names -= names | {node.name for node in new}
        self._save_values()

    def flush_all(self) -> None:
        """Record what is computed late, and commit everything."""
        if self.late is not None:
            self.late()
        self.flush()

    def close(self) -> None:
        """Commit everything; from here on, results of what was tracked are plain."""
        try:
            if self.late is not None and not self.closed:
                self.late()
        finally:
            with self._lock:
                if not self.closed:
                    self.flush()
                self.closed = True
            for act in self._at_close:
                act()
            self._at_close.clear()

    def abandon(self) -> None:
        """Leave everything to the process that this one was forked from; results are plain here."""
        self._lock = threading.RLock()
        self._new, self._steps, self._left = [], [], []
        self._values = {}
        self.late = None
        self.closed = True

    def at_close(self, act: Callable[[], None]) -> None:
        """Have something done when this is closed."""
        self._at_close.append(act)

    def leak(
        self,
        way: str,
        nodes: Iterable[Node],
        *,
        loses: bool = True,
        tell: bool = True,
        drawn: bool = False,
    ) -> None:
        """Take note that values of nodes leave tracking."""
        if not self.closed:
            self.leaks.note(way, nodes, len(self._new), loses=loses, tell=tell, drawn=drawn)

    # values

    def see(self, array: object) -> None:
        """Take note of a tracked array or scalar, for as long as the program holds it."""
        self._alive.append(weakref.ref(array))
        if len(self._alive) > 2 * self._looked + 1000:
            self._looked = len(self.alive)

    @property
    def alive(self) -> list[object]:
        """The tracked arrays and scalars that the program still holds."""
        held = [
            (reference, array) for reference in self._alive if (array := reference()) is not None
        ]
        self._alive = [reference for reference, _ in held]
        return [array for _, array in held]

    def keep(self, node: Node, values: Array) -> None:
        """Keep what a node holds now, once it is in the store."""
        node.keep = True
        with self._lock:
            self._values[node] = values.copy()

    def forget(self, nodes: Iterable[Node]) -> None:
        """Let go of the values of nodes that will never be stored."""
        with self._lock:
            for node in nodes:
                self._values.pop(node, None)

    def _save_values(self) -> None:
        for node in [node for node in self._values if node.stored]:
            self._keeper.save(node.name, self._values.pop(node))


RECORDERS: weakref.WeakSet[StoreRecorder] = weakref.WeakSet()
"""The recorders of this process."""


def _draft(step: Step) -> Draft:
    lineages = [lineage for row in step.lineages for lineage in row]
    influences = [lineage for row in step.influences for lineage in row]
    found = lineages, step.args, step.answer, None, influences
    return Draft(step.op, step.inputs, step.outputs, *found)
