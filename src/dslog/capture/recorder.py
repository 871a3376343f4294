"""A store's side of numpy capture: names for results, and operations waiting to be committed.

Registering must not cost more than the numpy call it is about, so operations wait in memory and
are committed many at a time: before anything is read from the store, when it is closed, when
``PENDING`` of them wait, when the program ends, and on ``store.flush()``. Each is in the store as
a whole or not at all.

Values of tracked arrays, for those who asked to have them kept.

One ``.npy`` file per array in the folder ``values`` of the store, never pickled; arrays of Python
objects have no such form and are passed over. A store in memory keeps them in memory.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from dslog.capture.numpy.call import Lineages
from dslog.capture.numpy.call_reuse import Recall
from dslog.capture.numpy.node import Node, Step
from dslog.errors import CaptureError, NotFoundError, did_you_mean
from dslog.store.arguments import check_name
from dslog.store.catalog import Catalog, find_array
from dslog.store.commit import Batch, BatchCall, Hit
from dslog.store.files import Files
from dslog.types import Array, Shape


class Keeper:
    """Saves and loads values by the array's name."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._memory: dict[str, Array] = {}

    def save(self, name: str, values: Array) -> None:
        """Keep the values of an array."""
        if values.dtype.hasobject:
            return
        if self._directory is None:
            self._memory[name] = values
            return
        self._directory.mkdir(exist_ok=True)
        path = self._path(self._directory, name)
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            np.save(file, values, allow_pickle=False)
        draft.replace(path)

    def load(self, name: str) -> Array:
        """Return the values of an array, or raise if they were not kept."""
        found = self.find(name)
        if found is None:
            hint = did_you_mean(name, self._names())
            raise NotFoundError(
                f"no values of {name!r} are kept: track with keep_values=True to keep them.{hint}"
            )
        return found

    def find(self, name: str) -> Array | None:
        """Return the values of an array, or None if they were not kept."""
        if self._directory is None:
            return self._memory.get(name)
        path = self._path(self._directory, name)
        return np.load(path, allow_pickle=False) if path.exists() else None

    def _names(self) -> list[str]:
        if self._directory is None:
            return list(self._memory)
        return [path.stem for path in self._directory.glob("*.npy")]

    def _path(self, directory: Path, name: str) -> Path:
        return directory / f"{quote(name, safe='')}.npy"


PENDING = 256


class Session:
    """Gives names to arrays and keeps operations until they are committed."""

    def __init__(self, batch: Batch, keeper: Keeper) -> None:
        self._batch = batch
        self._keeper = keeper
        self._values: dict[Node, Array] = {}
        self._lock = threading.RLock()
        self._names: set[str] = set()  # of nodes not in the catalog yet
        self._last: Counter[str] = Counter()
        self._new: list[Node] = []
        self._steps: list[Step] = []
        self._alive: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()
        self.closed = False
        self.recall = Recall()

    @property
    def catalog(self) -> Catalog:
        """The catalog behind the store."""
        return self._batch.catalog

    @property
    def files(self) -> Files:
        """The files of the store."""
        return self._batch.files

    def node(self, shape: Shape, name: str, base: str) -> Node:
        """Make a node for a result; it is in the store once an operation with it is."""
        with self._lock:
            free = self._fresh(name)
            self._names.add(free)
        return Node(free, shape, base, self)

    def source(self, shape: Shape, name: str | None) -> Node:
        """Make the node of an array that the user brings; a stored one of that name goes on."""
        with self._lock:
            self.catalog.require_writable()
            if name is None:
                name = self._fresh("array")
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
                return Node(name, shape, name, self, stored=True)
            node = Node(name, shape, name, self)
            self._names.add(name)
            self._new.append(node)
            return node

    def rename(self, node: Node, name: str) -> bool:
        """Give a node that is not stored yet the name the user wants; False if it is too late."""
        with self._lock:
            check_name(name, "array")
            if name == node.name:
                return True
            if self.is_taken(name):
                raise CaptureError(f"there is an array {name!r} in the store: take another name")
            if node.stored:
                return False
            self._names.discard(node.name)
            self._names.add(name)
            node.name = node.base = name
            return True

    def final_name(self, node: Node) -> str:
        """Return the name under which a node is stored."""
        if not node.stored and not self.closed:
            self.flush()
        return node.name

    def record(
        self,
        name: str,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        lineages: Lineages,
        args: Mapping[str, object],
        hit: Hit | None = None,
    ) -> None:
        """Keep an operation until the next flush."""
        with self._lock:
            if len(self._steps) >= PENDING:  # before the new one, which may still get a name
                self.flush()
            self._steps.append(Step(name, tuple(inputs), tuple(outputs), lineages, args, hit))
            self._new.extend(node for node in outputs if not node.stored)

    def flush(self) -> None:
        """Commit what waits, in one transaction."""
        with self._lock:
            new, steps = self._new, self._steps
            if not new and not steps:
                return
            self._new, self._steps = [], []
            waited = {node.name for node in new}
            calls = [
                BatchCall(
                    step.name,
                    step.inputs,
                    step.outputs,
                    [lineage for row in step.lineages for lineage in row],
                    step.args,
                    step.hit,
                )
                for step in steps
            ]
            try:
                self._batch.commit(new, calls, self._fresh)
            except BaseException:
                self._new, self._steps = new + self._new, steps + self._steps
                raise
            for node in new:
                node.stored = True
            self._names -= waited
            self._save_values()

    def see(self, array: Array) -> None:
        """Take note of a tracked array, for as long as the program holds it."""
        self._alive[id(array)] = array

    @property
    def alive(self) -> list[Array]:
        """The tracked arrays that the program still holds."""
        return list(self._alive.values())

    def keep(self, node: Node, values: Array) -> None:
        """Keep what a node holds now, once it is in the store."""
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

    def close(self) -> None:
        """Commit what waits; from here on, results of tracked arrays are plain."""
        with self._lock:
            if not self.closed:
                self.flush()
            self.closed = True

    def is_taken(self, name: str) -> bool:
        """Whether an array of this name is stored, or waits to be."""
        return name in self._names or self.catalog.shape(name) is not None

    def _fresh(self, wanted: str) -> str:
        """Return a name that is free: ``wanted``, else with a number behind it."""
        for name in self._numbered(wanted):
            if not self.is_taken(name):
                return name
        raise AssertionError  # pragma: no cover (names don't end)

    def _numbered(self, wanted: str) -> Iterator[str]:
        while True:
            self._last[wanted] += 1
            number = self._last[wanted]
            yield wanted if number == 1 else f"{wanted}_{number}"
