"""Where one value comes from: a cell of a node, or several values that it was computed from.

A program that computes with single numbers makes a small graph of sources, and no operation of it
is recorded before the numbers get into an array: then the graph is read once, cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dslog.algebra.positions import pairs_of_cells
from dslog.capture.recorder import Node
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import Shape


class FromCell:
    """The cell at a C-order position of a node."""

    __slots__ = ("node", "position")

    def __init__(self, node: Node, position: int) -> None:
        self.node = node
        self.position = position


class FromParts:
    """Everything that some values come from; ``operation`` says what was done with them."""

    __slots__ = ("operation", "parts")

    def __init__(self, operation: str, parts: tuple[Source, ...]) -> None:
        self.operation = operation
        self.parts = parts


Source = FromCell | FromParts


def cells_of(source: Source) -> Iterator[FromCell]:
    """Give the cells behind a source; one that is reached in two ways may come twice."""
    if type(source) is FromCell:
        yield source
        return
    waiting, seen = [source], set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, FromCell):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            waiting.extend(each.parts)


def united(operation: str, sources: Iterable[Source | None]) -> Source | None:
    """Return the source of what was made of several values, None where they come from nothing."""
    parts = tuple([source for source in sources if source is not None])
    if len(parts) < 2:
        return parts[0] if parts else None
    return FromParts(operation, parts)


def computed(operation: str, sources: Iterable[Source | None]) -> Source | None:
    """Return the source of what an operation made of values: a new value, also of a single one."""
    parts = tuple([source for source in sources if source is not None])
    if len(parts) == 1 and isinstance(parts[0], FromParts):
        parts = parts[0].parts
    return FromParts(operation, parts) if parts else None


def lineages_of(
    sources: Iterable[tuple[int, Source | None]], shape: Shape
) -> list[tuple[Node, Lineage]]:
    """Return the lineage of an array from each node, given the source of cells by position."""
    found: dict[Node, tuple[list[int], list[int]]] = {}
    for position, source in sources:
        if source is None:
            continue
        for cell in cells_of(source):
            lists = found.get(cell.node)
            if lists is None:
                lists = found[cell.node] = ([], [])
            lists[0].append(position)
            lists[1].append(cell.position)
    lineages = []
    for node, (outs, ins) in found.items():
        node.owner.reach(node)
        pairs = pairs_of_cells(np.array(outs), shape, np.array(ins), node.shape)
        lineages.append((node, compress(pairs, shape, node.shape)))
    return lineages
