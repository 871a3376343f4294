"""The pairs of a lineage that a query's filters leave, piece by piece.

Filters on columns become a window, an interval for each column. Output cells in it are cut into
boxes until the pairs of each are few enough, so that there are never more of them at a time than a
batch needs; the pairs of all lineages between the two arrays are united there, so that every pair
comes once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dslog.algebra.restrict import clip
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import sort_unique
from dslog.sql.sql_cost import SqlCost
from dslog.types import I64, Shape

FAR = 1 << 62


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter on one column: ``lo <= column <= hi``; ``whole`` if it says nothing else."""

    column: str
    lo: int
    hi: int
    whole: bool = True


def condition(kind: str, column: str, value: Any) -> Condition | None:
    """Read a filter by its kind, as Spark names them; None if it bounds nothing.

    >>> condition("LessThan", "b0", 5)
    Condition(column='b0', lo=-4611686018427387904, hi=4, whole=True)
    """
    values = [value] if kind != "In" else list(value)
    if not values or not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return None
    low, high = min(values), max(values)
    ends = {
        "EqualTo": (low, high),
        "EqualNullSafe": (low, high),
        "In": (low, high),
        "GreaterThan": (low + 1, FAR),
        "GreaterThanOrEqual": (low, FAR),
        "LessThan": (-FAR, high - 1),
        "LessThanOrEqual": (-FAR, high),
    }.get(kind)
    return None if ends is None else Condition(column, *ends, whole=kind != "In")


def cells_window(conditions: Iterable[Condition], names: Sequence[str], shape: Shape) -> I64:
    """Return the box (d, 2) of cells that conditions on their columns leave.

    >>> cells_window([condition("GreaterThan", "b0", 3)], ["b0", "a0"], (10, 10)).tolist()
    [[4, 9], [0, 9]]
    """
    box = np.array([[0, size - 1] for size in shape], np.int64).reshape(-1, 2)
    for one in conditions:
        if one.column in names:
            axis = list(names).index(one.column)
            box[axis] = max(box[axis, 0], one.lo), min(box[axis, 1], one.hi)
    return box


def rows_window(conditions: Iterable[Condition], names: Sequence[str], shape: Shape) -> I64:
    """Return the box that rows must meet by conditions on their ends, ``b0_lo`` and ``b0_hi``."""
    box = np.array([[0, size - 1] for size in shape], np.int64).reshape(-1, 2)
    for one in conditions:
        name, _, end = one.column.rpartition("_")
        if name in names and end in ("lo", "hi"):
            axis = list(names).index(name)
            if end == "hi":  # the row ends at lo or later
                box[axis, 0] = max(box[axis, 0], one.lo)
            else:  # the row starts at hi or earlier
                box[axis, 1] = min(box[axis, 1], one.hi)
    return box


def pairs_within(lineages: Sequence[Lineage], window: I64) -> Iterator[I64]:
    """Yield the pairs (n, l + m) within a window over all axes, each once, in order of outputs."""
    most = SqlCost.current().batch_pairs
    l = len(lineages[0].out_shape) if lineages else 0
    if (window[:, 0] > window[:, 1]).any():
        return
    waiting = [window[:l]]
    while waiting:
        box = waiting.pop()
        clipped = [clip(lineage, box) for lineage in lineages]
        axis = int(np.argmax(box[:, 1] - box[:, 0])) if l else 0
        if l and box[axis, 0] < box[axis, 1] and sum(one.most_pairs for one in clipped) > most:
            waiting += _halves(box, axis)[::-1]
            continue
        found = [lineage.to_relation() for lineage in clipped if lineage.terms]
        if found:
            yield _inside(sort_unique(np.concatenate(found), _shape(lineages[0])), box, window)


def _halves(box: I64, axis: int) -> list[I64]:
    middle = int(box[axis].sum() // 2)
    first, second = box.copy(), box.copy()
    first[axis, 1], second[axis, 0] = middle, middle + 1
    return [first, second]


def _inside(pairs: I64, box: I64, window: I64) -> I64:
    """Drop what clipping alone could not: cells of linear views, and inputs outside."""
    ends = np.concatenate([box, window[len(box) :]])
    keep = ((pairs >= ends[:, 0]) & (pairs <= ends[:, 1])).all(axis=1)
    return pairs if keep.all() else pairs[keep]


def _shape(lineage: Lineage) -> Shape:
    return lineage.out_shape + lineage.in_shape
