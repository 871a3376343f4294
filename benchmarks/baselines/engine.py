"""What every way of querying a workflow offers to the experiment, and DSLog's own ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads.part import Workflow
from dslog.capture.store import open_store
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import Method, compress
from dslog.types import Mask, Shape


class LimitError(Exception):
    """A query took longer, or needed more memory, than a run allows."""


@dataclass(frozen=True, slots=True)
class Query:
    """A box of cells at one end of a workflow, to be followed to the other end."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    backward: bool

    @property
    def slices(self) -> tuple[slice, ...]:
        """The box as an index into a numpy array."""
        pairs = zip(self.low, self.high, strict=True)
        return tuple(slice(low, high + 1) for low, high in pairs)


class Prepared(ABC):
    """A workflow whose lineage was written to disk in some form."""

    @abstractmethod
    def cold(self, query: Query) -> Any:
        """Answer with everything read from files."""

    @abstractmethod
    def warm(self, query: Query) -> Any:
        """Answer with what is worth keeping in memory kept there."""

    @abstractmethod
    def mask(self, answer: Any, shape: Shape) -> Mask:
        """Return an answer as a mask; not part of what is timed."""

    def close(self) -> None:  # noqa: B027 (most hold nothing)
        """Let go of what is held open."""


class Engine(ABC):
    """A way to store and query the lineage of a workflow."""

    name: str
    ours = False

    @abstractmethod
    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:
        """Write the lineage of a workflow into a folder; ``limit`` is in seconds per query."""


def path_of(workflow: Workflow, query: Query) -> list[int]:
    """Return the steps in the order in which a query goes through them."""
    steps = range(len(workflow.steps))
    return list(reversed(steps)) if query.backward else list(steps)


class Dslog(Engine):
    """A store on disk; ``merge=False`` is the paper's NoMerge, ``provrc`` its compression alone."""

    ours = True

    def __init__(self, name: str, *, method: Method = "auto", merge: bool = True) -> None:
        self.name = name
        self.method: Method = method
        self.merge = merge

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:  # noqa: ARG002
        """Compress and store every step."""
        path = folder / f"store-{self.method}"
        if not path.exists():
            with open_store(path) as store:
                for number, shape in enumerate(workflow.shapes):
                    store.array(f"A{number}", shape)
                for number, step in enumerate(workflow.steps):
                    capture: object = step.relation
                    if self.method != "auto":
                        capture = compress(capture, step.out_shape, step.in_shape, self.method)
                    store.lineage(f"A{number + 1}", f"A{number}", capture)
        return _Store(path, len(workflow.steps), merge=self.merge)


class _Store(Prepared):
    def __init__(self, path: Path, steps: int, *, merge: bool) -> None:
        self.path = path
        self.names = [f"A{number}" for number in range(steps + 1)]
        self.merge = merge
        self._open = open_store(path, "r")

    def _names(self, query: Query) -> list[str]:
        return self.names[::-1] if query.backward else self.names

    def cold(self, query: Query) -> CellSet:
        """Open the store, query, close it."""
        with open_store(self.path, "r") as store:
            return store.prov_query(self._names(query), query.slices, merge=self.merge)

    def warm(self, query: Query) -> CellSet:
        """Query a store that is open and keeps what it loaded."""
        return self._open.prov_query(self._names(query), query.slices, merge=self.merge)

    def mask(self, answer: Any, shape: Shape) -> Mask:
        """Paint the cells."""
        assert answer.shape == tuple(shape)
        mask: Mask = np.asarray(answer.mask())
        return mask

    def close(self) -> None:
        """Close the store."""
        self._open.close()
