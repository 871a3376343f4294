"""Nodes of the lineage graph: arrays as the store knows them, without their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dslog.capture.numpy.call import Lineages
from dslog.store.commit import Hit
from dslog.types import Shape


class Recorder(Protocol):
    """Takes note of operations: a store's session, or a group of calls that become one."""

    def node(self, shape: Shape, name: str, base: str) -> Node:
        """Make a node for a result that is not recorded yet; the name gets a number if taken."""
        ...

    def rename(self, node: Node, name: str) -> bool:
        """Give a node that is not stored yet the name the user wants; False if it is too late."""
        ...

    def final_name(self, node: Node) -> str:
        """Return a node's name, which does not change any more if that can be."""
        ...

    def record(
        self,
        name: str,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        lineages: Lineages,
        args: Mapping[str, object],
        hit: Hit | None = None,
    ) -> None:
        """Take note of one operation; lineages are per output, per input."""
        ...


@dataclass(slots=True, eq=False, weakref_slot=True)
class Node:
    """One version of one array.

    ``base`` is the name the user gave to the array it comes from; names of further results start
    with it. ``owner`` is the recorder that knows the node; ``stored`` is set once it is in the
    store's catalog, and from then on its name is final.
    """

    name: str
    shape: Shape
    base: str
    owner: Recorder
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded operation."""

    name: str
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    lineages: Lineages
    args: Mapping[str, object]
    hit: Hit | None = None
