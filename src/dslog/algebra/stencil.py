"""Neighbourhoods: the cells at fixed offsets from a place, and what stands beyond the ends.

A filter reads a *path* of stencils on each axis, one a pass over the array, and a *term* is a path
for each axis: all of their cells together. The neighbourhood of a filter is a union of terms. An
axis is worked out on few cells, the ends and some of the middle; between the ends every cell is
like its neighbour, so the cost does not depend on how long the axis is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from dslog.algebra.axis import rows, shifted, window
from dslog.algebra.product import part, product, row
from dslog.compress.encoder import compress
from dslog.lineage.factor import Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import I64, Floats, Mask, Shape

Border = Literal["constant", "reflect", "mirror", "nearest", "wrap"]
"""What stands beyond the ends of ``a b c``: nothing, ``b a|abc|c b``, ``c b|abc|b a``,
``a a|abc|c c``, ``b c|abc|a b``."""

MOST_DENSE = 2048  # cells of an axis up to which its relation is a matrix on the way
MOST_TERMS = 64  # terms up to which a union is kept


@dataclass(frozen=True, slots=True)
class Stencil:
    """The offsets that one pass reads; ``weights`` tell where two reads of one cell cancel out."""

    offsets: tuple[int, ...]
    border: Border = "constant"
    weights: tuple[float, ...] = ()

    @property
    def reach(self) -> int:
        """How far the furthest offset is."""
        return max(map(abs, self.offsets), default=0)


Path = tuple[Stencil, ...]
Reads = tuple[Path, ...]
"""A path for each axis."""


def folded(positions: Any, size: int, border: Border) -> I64:
    """Return which cell of an axis stands at each position, -1 where none does.

    >>> folded(range(-3, 6), 3, "reflect").tolist()
    [2, 1, 0, 0, 1, 2, 2, 1, 0]
    >>> folded(range(-3, 6), 3, "mirror").tolist()
    [1, 2, 1, 0, 1, 2, 1, 0, 1]
    """
    places = np.asarray(positions, np.int64)
    if border == "constant":
        return np.where((places >= 0) & (places < size), places, -1)
    if border == "nearest":
        return np.clip(places, 0, size - 1)
    if border == "wrap":
        return places % size
    period = 2 * size if border == "reflect" else max(2 * size - 2, 1)
    places = places % period
    return np.minimum(places, period - (border == "reflect") - places)


@lru_cache(maxsize=4096)
def on_stencils(size: int, path: Path, outputs: int | None = None) -> tuple[Table, bool]:
    """Return what an axis reads through a path, and whether it is exact.

    The output has as many cells as the axis, or ``outputs``, of which the first is at the first.
    """
    count = size if outputs is None else outputs
    if not path:
        return shifted(min(size, count)), True
    if len(path) == 1 and path[0].border == "constant" and not path[0].weights:
        return rows(*(window(count, size, lo, hi) for lo, hi in _runs(path[0].offsets))), True
    reach = sum(stencil.reach for stencil in path) + abs(count - size)
    if min(size, 4 * reach + 2) > MOST_DENSE:
        return _hull(size, path, count)
    return stretched(lambda n: _matrix(n, path, n + count - size), size, reach), True


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches of offsets without a gap."""
    at = np.unique(np.asarray(offsets, np.int64))
    if not len(at):
        return []
    cuts = np.flatnonzero(np.diff(at) > 1)
    firsts, lasts = at[np.r_[0, cuts + 1]], at[np.r_[cuts, len(at) - 1]]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _matrix(size: int, path: Path, outputs: int) -> Mask:
    """Which output reads which cell; only the last pass has outputs of its own number."""
    found: Mask | None = None
    for k, stencil in enumerate(path):
        last = k == len(path) - 1
        step = _step(size, stencil, outputs if last else size, weighed=len(path) == 1)
        found = step if found is None else step.astype(np.float32) @ found.astype(np.float32) > 0
    return np.zeros((outputs, size), bool) if found is None else found


def _step(size: int, stencil: Stencil, outputs: int, *, weighed: bool) -> Mask:
    offsets = np.array(stencil.offsets, np.int64)
    cells = folded(np.arange(outputs)[:, None] + offsets, size, stencil.border)
    weights = np.array(stencil.weights if weighed and stencil.weights else (1.0,) * len(offsets))
    total: Floats = np.zeros((outputs, size + 1))  # the last column is for no cell
    np.add.at(total, (np.arange(outputs)[:, None], cells), weights)
    return np.asarray(total[:, :-1] != 0)


def stretched(make: Callable[[int], Mask], size: int, reach: int) -> Table:
    """Return the table of a relation that is everywhere the same but near the ends.

    ``make`` gives the matrix for an axis of another size; no cell is read from more than ``reach``
    cells away, but across a border that joins both ends.
    """
    small = min(size, 4 * reach + 2)
    matrix = make(small)
    out, cell = np.nonzero(matrix)
    outputs, more = len(matrix), size - small
    if not more:
        return _compressed(out, cell, outputs, size)
    head, tail = out < reach, out >= outputs - reach
    far = np.where(cell > small // 2, cell + more, cell)
    ends = head | tail
    out = np.where(tail, out + more, out)[ends]
    middle = np.flatnonzero(matrix[2 * reach]) - 2 * reach
    inner = (reach, outputs + more - 1 - reach)
    return rows(
        *(row([inner], [run], [0]) for run in _runs(middle.tolist())),
        _compressed(out, far[ends], outputs + more, size),
    )


def _compressed(out: I64, cell: I64, outputs: int, size: int) -> Table:
    """Pairs of one axis as one table, folded where that is possible."""
    if not len(out):
        return Table.empty(1, 1)
    pairs = np.stack([out, cell], axis=1)
    terms = compress(pairs, (outputs,), (size,), "folds", orientation="backward").terms
    if len(terms) > 1 or len(terms[0]) > 1 or terms[0][0].is_flat:
        terms = compress(pairs, (outputs,), (size,), "provrc", orientation="backward").terms
    return terms[0][0].table


def _hull(size: int, path: Path, outputs: int) -> tuple[Table, bool]:
    """Very wide stencils: from the first to the last cell of each place."""
    low = high = np.arange(outputs)
    exact = True
    for stencil in reversed(path):  # from the output back to the input
        first, last = min(0, *stencil.offsets), max(0, *stencil.offsets)
        exact = exact and last - first + 1 == len(stencil.offsets)
        low, high = low + first, high + last
        low, high, crosses = _folded_hull(low, high, size, stencil.border)
        exact = exact and not crosses
    place = np.arange(outputs)
    relative = np.flatnonzero((low - place == low[outputs // 2] - outputs // 2)
                              & (high - place == high[outputs // 2] - outputs // 2))  # fmt: skip
    a, b = int(relative[0]), int(relative[-1])
    if b - a + 1 != len(relative):
        a, b = 0, -1
    rest = np.r_[0:a, b + 1 : outputs]
    rest = rest[low[rest] <= high[rest]]
    inner = row([(a, b)], [(int(low[a]) - a, int(high[a]) - a)], [0]) if b >= a else rows()
    return rows(inner, Table.of_boxes(rest, rest, low[rest], high[rest])), exact


def _folded_hull(low: I64, high: I64, size: int, border: Border) -> tuple[I64, I64, bool]:
    """Fold intervals that meet the axis; and say whether some are not intervals any more."""
    under, over = low < 0, high > size - 1
    lows, highs = np.maximum(low, 0), np.minimum(high, size - 1)
    if border in ("reflect", "mirror"):
        turn = size - (border == "mirror")  # cells before the image turns again
        back = folded(low, size, border), folded(high, size, border)
        right = np.where(low < -turn, size - 1, np.maximum(highs, back[0]))
        left = np.where(high > size - 1 + turn, 0, np.minimum(lows, back[1]))
        lows, highs = np.where(over, left, lows), np.where(under, right, highs)
    elif border == "wrap":
        lows, highs = np.where(over, 0, lows), np.where(under, size - 1, highs)
    return lows, highs, border == "wrap" and bool((under | over).any())


def neighbourhood(shape: Shape, terms: Iterable[Reads], *, exact: bool = True) -> Lineage:
    """Return the lineage of an array from one of the same shape: the union of some terms."""
    if 0 in shape:
        return Lineage.empty(shape, shape)
    found: list[Term] = []
    for paths in dict.fromkeys(terms):
        parts = []
        for axis, (size, path) in enumerate(zip(shape, paths, strict=True)):
            table, sure = on_stencils(size, path)
            exact = exact and sure
            parts.append(part([axis], [axis], table))
        found += product(shape, shape, *parts).terms
    return Lineage(shape, shape, tuple(found), exact=exact)


def chained(first: Sequence[Reads], then: Sequence[Reads]) -> list[Reads]:
    """Return the terms of one filter after the other."""
    pairs = itertools.product(first, then)
    return list(dict.fromkeys(tuple(a + b for a, b in zip(p, q, strict=True)) for p, q in pairs))


def footprint(mask: Mask, origin: Sequence[int], borders: Sequence[Border]) -> list[Reads]:
    """Return the terms of a window whose cell ``origin`` is the place itself: a few boxes."""
    along = [mask.any(axis=tuple(k for k in range(mask.ndim) if k != i)) for i in range(mask.ndim)]
    if not mask.any():
        return []
    if mask.sum() == np.prod([line.sum() for line in along]):
        boxes = [[np.flatnonzero(line).tolist() for line in along]]
    else:
        cells = np.argwhere(mask)
        pairs = np.concatenate([np.zeros((len(cells), 1), np.int64), cells], axis=1)
        found = compress(pairs, (1,), mask.shape, "provrc", orientation="backward")
        table = found.terms[0][0].table
        ends = zip(table.lo[1:].T.tolist(), table.width[1:].T.tolist(), strict=True)
        boxes = [
            [list(range(lo, lo + wide + 1)) for lo, wide in zip(*box, strict=True)] for box in ends
        ]
    return [
        tuple(
            one_pass([p - at for p in places], border)
            for places, at, border in zip(box, origin, borders, strict=True)
        )
        for box in boxes
    ]


def one_pass(offsets: Sequence[int], border: Border, weights: Sequence[float] = ()) -> Path:
    """Return the path of one pass; a pass that only reads the place itself is none.

    >>> one_pass([0], "reflect"), one_pass([0, 1], "wrap")[0].reach
    ((), 1)
    """
    if list(offsets) == [0]:
        return ()
    return (Stencil(tuple(offsets), border, tuple(weights)),)


def hull(terms: Sequence[Reads]) -> list[Reads]:
    """Return one term that reads all that some terms of one pass read, and what is between."""
    if not terms:
        return []
    paths = []
    for axis in zip(*terms, strict=True):
        passes = [stencil for path in axis for stencil in path] or [Stencil((0,))]
        offsets = [at for stencil in passes for at in stencil.offsets]
        offsets += [0] * any(not path for path in axis)
        paths.append((Stencil(tuple(range(min(offsets), max(offsets) + 1)), passes[0].border),))
    return [tuple(paths)]
