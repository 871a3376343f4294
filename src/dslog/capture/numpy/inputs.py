"""The tracked arrays among the arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.state import Tracked, memory_of, node_of, plain_of
from dslog.errors import CaptureError


@dataclass(slots=True)
class Inputs:
    """Tracked arrays, each once, with their nodes.

    The nodes are taken before a call runs: afterwards an array may hold something else.
    """

    arrays: list[Tracked] = field(default_factory=list)
    plains: list[Array] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    session: Session | None = None

    def unwrap(self, value: Any) -> Any:
        """Return an argument with plain arrays in place of tracked ones, also inside lists."""
        if isinstance(value, Tracked):
            return self._add(value)
        if type(value) in (list, tuple):
            return type(value)([self.unwrap(item) for item in value])
        return value

    def _add(self, array: Tracked) -> Array:
        plain = plain_of(array)
        if any(array is known for known in self.arrays):
            return plain
        node, memory = node_of(array), memory_of(array)
        if node is None or memory is None:
            return plain
        if self.session not in (None, memory.session):
            raise CaptureError(
                f"a call takes arrays of two stores, {self.nodes[0].name!r} and {node.name!r}: "
                f"track both in one store, or give np.asarray(x) for the one that needs no lineage"
            )
        self.session = memory.session
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
