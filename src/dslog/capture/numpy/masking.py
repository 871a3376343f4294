"""``where=``: cells that a call leaves alone, or passes over.

Of an elementwise call, cells whose mask is False keep what the output held before. Of a reduction,
input cells whose mask is False do not contribute. A tracked mask contributes wherever it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.indexrun import pairs_of_cells
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.structured import affine
from dslog.capture.numpy.writes import identity_on, restrict, unite
from dslog.cells.boxes import unpaint
from dslog.compress.encoder import compress
from dslog.lineage.factor import Shape
from dslog.lineage.lineage import Lineage

Mask = npt.NDArray[np.bool_]
Row = tuple[Lineage | None, ...]


@dataclass(frozen=True, slots=True)
class Masked:
    """The ``where`` of a call, as the user gave it: for each output cell, or each input cell."""

    where: Any
    of: Literal["cells", "reduced"]


@dataclass(frozen=True, slots=True)
class Masking:
    """A mask with the nodes that it brings in: its own, and what each output held before."""

    of: Literal["cells", "reduced"]
    mask: Mask
    node: Node | None
    before: Sequence[Node | None] = ()

    def apply(
        self, call: Call, nodes: Sequence[Node], lineages: Lineages
    ) -> tuple[list[Node], Lineages]:
        """Return nodes and lineage of a call that was masked."""
        step = self._cells if self.of == "cells" else self._reduced
        found = [step(call, place, row, nodes) for place, row in enumerate(lineages)]
        return merge(found)

    def _cells(
        self, call: Call, place: int, row: Row, nodes: Sequence[Node]
    ) -> list[tuple[Node, Lineage]]:
        shape = call.outputs[place].shape
        mask = np.broadcast_to(self.mask, shape)
        pairs = [
            (node, lineage if mask.all() else restrict(lineage, out=mask))
            for node, lineage in zip(nodes, row, strict=True)
            if lineage is not None
        ]
        before = self.before[place] if self.before else None
        if before is not None and not mask.all():
            pairs.append((before, identity_on(shape, unpaint(~mask))))
        if self.node is not None:
            pairs.append((self.node, broadcast(shape, self.mask.shape)))
        return pairs

    def _reduced(
        self, call: Call, _place: int, row: Row, nodes: Sequence[Node]
    ) -> list[tuple[Node, Lineage]]:
        pairs = []
        for array, node, lineage in zip(call.inputs, nodes, row, strict=True):
            if lineage is None:
                continue
            pairs.append((node, restrict(lineage, in_=np.broadcast_to(self.mask, array.shape))))
            if self.node is not None:
                pairs.append((self.node, _through(lineage, self.mask.shape)))
        return pairs


def merge(found: Sequence[Sequence[tuple[Node, Lineage]]]) -> tuple[list[Node], Lineages]:
    """Arrange lineage by node: per output, per node, united where a node comes twice."""
    nodes = list(dict.fromkeys(node for pairs in found for node, _ in pairs))
    rows = []
    for pairs in found:
        by_node: dict[Node, list[Lineage]] = {}
        for node, lineage in pairs:
            by_node.setdefault(node, []).append(lineage)
        rows.append(tuple(unite(by_node[n]) if n in by_node else None for n in nodes))
    return nodes, tuple(rows)


def broadcast(out_shape: Shape, in_shape: Shape) -> Lineage:
    """Each cell from the one that broadcasting puts in its place."""
    shift = len(out_shape) - len(in_shape)
    step = np.zeros((len(in_shape), len(out_shape)), np.int64)
    for axis, size in enumerate(in_shape):
        if size > 1:
            step[axis, axis + shift] = 1
    return affine(out_shape, in_shape, [0] * len(in_shape), step)


def _through(lineage: Lineage, mask_shape: Shape) -> Lineage:
    """The lineage from a mask that is broadcast against an input."""
    if lineage.in_shape == mask_shape:
        return lineage
    pairs = lineage.to_relation()
    l = len(lineage.out_shape)
    index = np.arange(int(np.prod(mask_shape, dtype=np.int64)), dtype=np.int64)
    spread = np.broadcast_to(index.reshape(mask_shape), lineage.in_shape)
    cells = np.broadcast_to(spread[tuple(pairs[:, l:].T)], len(pairs))
    nothing = np.zeros(len(pairs), np.int64)
    masks = pairs_of_cells(nothing, (), cells, mask_shape)
    return compress(np.concatenate([pairs[:, :l], masks], axis=1), lineage.out_shape, mask_shape)
