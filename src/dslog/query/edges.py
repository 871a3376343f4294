"""What the planner sees of a store: which arrays have lineage between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Direction(StrEnum):
    """Which way a step follows a lineage."""

    BACKWARD = "backward"
    """From output cells to the input cells that made them."""
    FORWARD = "forward"
    """From input cells to the output cells they touched."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One stored lineage: a handle to load it by, and what a planner asks before loading it."""

    out: str
    in_: str
    key: int
    num_rows: int
    exact: bool


class Edges(Protocol):
    """The operation graph: arrays are its nodes, stored lineages its edges."""

    def between(self, out: str, in_: str) -> Sequence[Edge]:
        """Return every lineage stored for this (output, input) pair."""
        ...

    def inputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that ``name`` was made from."""
        ...

    def outputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays made from ``name``."""
        ...
