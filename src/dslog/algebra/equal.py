"""Whether two lineages relate the same cells, however they are written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dslog.algebra.algebra_cost import AlgebraCost
from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Shape


def same_lineages(mine: Sequence[Lineage | None], theirs: Sequence[Lineage | None]) -> bool:
    """Whether lineages agree pair by pair; one without cells equals none at all."""
    return len(mine) == len(theirs) and all(
        same_lineage(one, other) for one, other in zip(mine, theirs, strict=True)
    )


def same_lineage(one: Lineage | None, other: Lineage | None) -> bool:
    """Whether two lineages hold the same pairs under the same label, as far as can be seen.

    Written alike, or small enough to be written out, this is certain; otherwise corners and
    random cells are compared in both directions.
    """
    return _compared(one, other) is not False


def surely_same_lineage(one: Lineage | None, other: Lineage | None) -> bool:
    """Whether two lineages hold the same pairs, every one; False where that can't be told."""
    return _compared(one, other) is True


def _compared(one: Lineage | None, other: Lineage | None) -> bool | None:
    """Compare all pairs; None when there are too many of them and no difference was seen.

    A few cells are compared first: that shows most differences in less time.
    """
    if one is None or other is None:
        rest = one if other is None else other
        return rest is None or (rest.exact and rest.most_pairs == 0)
    head = (one.out_shape, one.in_shape, one.exact)
    if head != (other.out_shape, other.in_shape, other.exact):
        return False
    if one == other:
        return True
    cost = AlgebraCost.current()
    most = max(one.most_pairs, other.most_pairs)
    if most > cost.few_pairs and not _same_at_cells(one, other, cost.equal_cells):
        return False
    if most > cost.equal_pairs:
        return None
    return np.array_equal(one.to_relation(), other.to_relation())


def _same_at_cells(one: Lineage, other: Lineage, count: int) -> bool:
    """Whether lineages agree on corners and random cells of either array."""
    rng = np.random.default_rng(count)
    for backward, shape in ((True, one.out_shape), (False, one.in_shape)):
        for cell in some_cells(shape, count, rng):
            asked = CellSet.from_indices(shape, cell[None])
            answers = [
                lin.backward(asked) if backward else lin.forward(asked) for lin in (one, other)
            ]
            if answers[0] != answers[1]:
                return False
    return True


def some_cells(shape: Shape, count: int, rng: np.random.Generator) -> I64:
    """Return different cells of a shape: corners first, then edges, then any, (n, ndim)."""
    if 0 in shape:
        return np.zeros((0, len(shape)), np.int64)
    sizes = np.array(shape, np.int64)
    axes = AlgebraCost.current().corner_axes
    corners = itertools.product(*({0, size - 1} for size in shape[:axes]))
    found = dict.fromkeys(
        (*c, *(0 for _ in shape[axes:])) for c in itertools.islice(corners, count // 2)
    )
    cells = rng.integers(0, np.maximum(sizes, 1), (count, len(shape)))
    for n, axis in enumerate(range(len(shape))):  # near an end of one axis, where windows are cut
        cells[n % count, axis] = min(1, shape[axis] - 1)
        cells[(n + len(shape)) % count, axis] = max(shape[axis] - 2, 0)
    found.update(dict.fromkeys(tuple(cell) for cell in cells.tolist()))
    chosen = list(found)[:count]
    return np.array(chosen, np.int64).reshape(len(chosen), len(shape))
