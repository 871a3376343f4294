"""What every way of querying a workflow offers to the experiment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.parts import Shape, Workflow

Mask = npt.NDArray[np.bool_]


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
