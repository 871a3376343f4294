"""Memory that an array and its views share, and the versions it goes through.

The first array is the *root*. Writing, through the root or through any view, makes a new version of
the root: a new node in the graph, from the old one where cells stay and from the new values where
they are overwritten. A view remembers which version it has seen; used again after a write, it gets
a new node from the root's latest version. So whatever is read has the lineage of what is there.

Writes wait until somebody reads: a loop that fills an array cell by cell makes one new version.
"""

from __future__ import annotations

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.node import Node, Recorder
from dslog.capture.numpy.scope import recorder_of, scope_of
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.writes import Write, resolve

WAITING = 4096  # writes after which a version is made without being read


class Memory:
    """The root's values, the node of its latest version, and writes since then."""

    __slots__ = (
        "__weakref__",
        "_label",
        "_made",
        "_recorder",
        "_writes",
        "keep",
        "node",
        "root",
        "session",
        "version",
    )

    def __init__(self, root: Array, node: Node, session: Session, *, keep: bool = False) -> None:
        self.root = root
        self.keep = keep
        self.node = node
        self.session = session
        self.version = 0
        self._label = ""
        self._made = 0
        self._writes: list[Write] = []
        self._recorder: Recorder | None = None  # of the waiting writes

    @property
    def waiting(self) -> bool:
        """Whether there are writes that no version has yet."""
        return bool(self._writes)

    def write(self, write: Write) -> None:
        """Take note of overwritten cells."""
        recorder = recorder_of(self.session)
        if self._writes and (recorder is not self._recorder or len(self._writes) >= WAITING):
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
            recorder.record(
                "setitem",
                [node for node, _ in inputs],
                [new],
                (tuple(lineage for _, lineage in inputs),),
                {},
            )
            self._go_on(new)
        return self.node

    def next_version(self) -> Node:
        """Make the node of a version that an operation is going to write as a whole."""
        return self._next(recorder_of(self.session))

    def replace(self, node: Node) -> None:
        """Go on with a version that an operation has written as a whole."""
        self._tell_scope()
        self._writes = []
        self._go_on(node)

    def _go_on(self, node: Node) -> None:
        self.node = node
        self.version += 1
        if self.keep:
            self.session.keep(node, self.root)

    def relabel(self) -> None:
        """Name further versions after the latest one, which got a name from the user."""
        self._label, self._made = "", 0

    def _next(self, recorder: Recorder) -> Node:
        self._label = self._label or self.node.name
        self._made += 1
        return recorder.node(self.root.shape, f"{self._label}.{self._made}", self.node.base)

    def _tell_scope(self) -> None:
        scope = scope_of(self.session)
        if scope is not None:
            scope.written(self)
