"""The part of a lineage that a query's filters leave: an interval for each column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
