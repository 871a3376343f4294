"""Whether two lineages relate the same cells, however they are written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import I64, Shape

MOST_PAIRS = 1 << 18  # up to here both are written out and compared
CELLS = 32  # beyond, this many cells of each array are compared
_CORNERS = 4  # axes whose corners are looked at


def same_lineages(mine: Sequence[Lineage | None], theirs: Sequence[Lineage | None]) -> bool:
    """Whether lineages agree pair by pair; one without cells equals none at all."""
    return len(mine) == len(theirs) and all(
        same_lineage(one, other) for one, other in zip(mine, theirs, strict=True)
    )


def same_lineage(one: Lineage | None, other: Lineage | None) -> bool:
    """Whether two lineages hold the same pairs under the same label.

    Written alike, or small enough to be written out, this is certain; otherwise corners and
    random cells are compared in both directions.
    """
    if one is None or other is None:
        rest = one if other is None else other
        return rest is None or (rest.exact and num_pairs(rest) == 0)
    head = (one.out_shape, one.in_shape, one.exact)
    if head != (other.out_shape, other.in_shape, other.exact):
        return False
    if one == other:
        return True
    if max(num_pairs(one), num_pairs(other)) <= MOST_PAIRS:
        return np.array_equal(one.to_relation(), other.to_relation())
    rng = np.random.default_rng(CELLS)
    for backward, shape in ((True, one.out_shape), (False, one.in_shape)):
        for cell in some_cells(shape, CELLS, rng):
            asked = CellSet.from_indices(shape, cell[None])
            answers = [
                lin.backward(asked) if backward else lin.forward(asked) for lin in (one, other)
            ]
            if answers[0] != answers[1]:
                return False
    return True


def num_pairs(lineage: Lineage) -> float:
    """Return at most how many pairs a lineage holds: pairs that two rows share count twice."""
    total = 0.0
    for term in lineage.terms:
        size = 1.0
        for factor in term:
            size *= _num_pairs(factor.table)
        total += size
    return total


def _num_pairs(table: Table) -> float:
    l, m = table.num_out, table.num_in
    low = [*range(l), *range(2 * l, 2 * l + m)]
    high = [*range(l, 2 * l), *range(2 * l + m, 2 * l + 2 * m)]
    widths = (table.rows[:, high] - table.rows[:, low] + 1).astype(float)
    for level in range(table.levels):
        step = table.step[:, level]
        grows = (step[:, high] - step[:, low]) * (table.count[:, level, None] - 1)
        widths += np.maximum(grows, 0)
    return float((widths.prod(axis=1) * table.count.prod(axis=1, dtype=float)).sum())


def some_cells(shape: Shape, count: int, rng: np.random.Generator) -> I64:
    """Return different cells of a shape: corners first, then edges, then any, (n, ndim)."""
    if 0 in shape:
        return np.zeros((0, len(shape)), np.int64)
    sizes = np.array(shape, np.int64)
    corners = itertools.product(*({0, size - 1} for size in shape[:_CORNERS]))
    found = dict.fromkeys(
        (*c, *(0 for _ in shape[_CORNERS:])) for c in itertools.islice(corners, count // 2)
    )
    cells = rng.integers(0, np.maximum(sizes, 1), (count, len(shape)))
    for n, axis in enumerate(range(len(shape))):  # near an end of one axis, where windows are cut
        cells[n % count, axis] = min(1, shape[axis] - 1)
        cells[(n + len(shape)) % count, axis] = max(shape[axis] - 2, 0)
    found.update(dict.fromkeys(tuple(cell) for cell in cells.tolist()))
    chosen = list(found)[:count]
    return np.array(chosen, np.int64).reshape(len(chosen), len(shape))
