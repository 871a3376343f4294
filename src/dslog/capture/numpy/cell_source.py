"""Where one value comes from: cells of nodes.

A program that computes with single numbers unites sources, and no operation of it is recorded
before the numbers get into an array: then their sources are read once, all together. So sources
are tuples: ``(node, position, node, position, ...)``, or ``(None, source, source, ...)`` where
there are so many that copying them would cost more than it is worth.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from dslog.algebra.positions import pairs_of_cells
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.recorder import Node
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Shape

Source = tuple[Any, ...]
FLAT = 64  # cells and their positions that are copied when sources are united


def both(one: Source, other: Source) -> Source:
    """Return the source of what was made of two values."""
    if other[0] is not None and len(one) + len(other) <= FLAT:
        if one[0] is not None:
            return one + other
        last = one[-1]
        if last[0] is not None and len(last) + len(other) <= FLAT:
            return (*one[:-1], last + other)
    return None, one, other


def united(sources: Iterable[Source | None]) -> Source | None:
    """Return the source of what was made of several values, None where they come from nothing."""
    found: Source | None = None
    for source in sources:
        if source is not None:
            found = source if found is None else both(found, source)
    return found


def cells_of(source: Source) -> Source:
    """Return the cells of a source, without a tree; one that is reached in two ways comes once.

    >>> cells_of((None, ("n", 1), (None, ("n", 2, "n", 3), ("n", 1))))
    ('n', 1, 'n', 2, 'n', 3)
    """
    if source[0] is not None:
        return source
    waiting, seen, found = [source], set(), dict[Source, None]()
    while waiting:
        each = waiting.pop()
        if each[0] is not None:
            found.update(dict.fromkeys(zip(each[::2], each[1::2], strict=True)))
        elif id(each) not in seen:
            seen.add(id(each))
            waiting.extend(each[:0:-1])
    return tuple(chain.from_iterable(found))


def nodes_in(source: Source) -> list[Node]:
    """Return the nodes of a source's cells, each once."""
    return list(dict.fromkeys(cells_of(source)[::2]))


def lineages_of(
    sources: Iterable[tuple[int, Source | None]], shape: Shape
) -> list[tuple[Node, Lineage]]:
    """Return the lineage of an array from each node, given the source of cells by position."""
    cells = [
        (at, source if source[0] is not None else cells_of(source))
        for at, source in sources
        if source is not None
    ]
    if not cells:
        return []
    every = list(chain.from_iterable([source for _, source in cells]))
    nodes, ins = every[::2], np.array(every[1::2], np.int64)
    counts = [len(source) // 2 for _, source in cells]
    outs = np.repeat(np.array([at for at, _ in cells], np.int64), counts)
    if nodes.count(nodes[0]) == len(nodes):
        return [_lineage(nodes[0], outs, ins, shape)]
    order = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    which = np.array([order[node] for node in nodes])
    return [
        _lineage(node, outs[which == number], ins[which == number], shape)
        for node, number in order.items()
    ]


def _lineage(node: Node, outs: I64, ins: I64, shape: Shape) -> tuple[Node, Lineage]:
    node.owner.reach(node)
    if len(outs) > CaptureCost.current().alike_pairs:
        return node, compress(pairs_of_cells(outs, shape, ins, node.shape), shape, node.shape)
    return node, _remembered(outs.tobytes(), ins.tobytes(), shape, node.shape)


@lru_cache(maxsize=64)
def _remembered(outs: bytes, ins: bytes, shape: Shape, in_shape: Shape) -> Lineage:
    """Return the lineage of pairs, known if a loop had the same ones in its last round."""
    out_cells, in_cells = np.frombuffer(outs, np.int64), np.frombuffer(ins, np.int64)
    return compress(pairs_of_cells(out_cells, shape, in_cells, in_shape), shape, in_shape)
