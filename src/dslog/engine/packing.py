"""A pair of cells as one number, so that Spark moves and sorts one long column.

The axes of a relation, outputs first, are digits of a mixed-radix number: its order is the
lexicographic order of the pairs. A relation whose arrays are so large that one long can't hold a
pair takes two or more, in order; that happens beyond 4 * 10^18 pairs of cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dslog.engine.kernels import increasing, unpack
from dslog.relation.relation import column_names

I64 = npt.NDArray[np.int64]
_LIMIT = 1 << 62


@dataclass(frozen=True)
class Packing:
    """How the pairs between two arrays become numbers.

    >>> packing = Packing((3, 2), (10,))
    >>> packing.pack(np.array([[2, 1, 7]])).tolist()
    [[57]]
    >>> packing.unpack(np.array([[57]])).tolist()
    [[2, 1, 7]]
    """

    out_shape: tuple[int, ...]
    in_shape: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """The relation's columns."""
        return column_names(len(self.out_shape), len(self.in_shape))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The lengths of all axes, outputs first."""
        return self.out_shape + self.in_shape

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The axes that each number holds, in order; at least one number, if of no axes."""
        groups: list[list[int]] = [[]]
        product = 1
        for axis, size in enumerate(self.sizes):
            if groups[-1] and product * max(size, 1) >= _LIMIT:
                groups.append([])
                product = 1
            product *= max(size, 1)
            groups[-1].append(axis)
        return tuple(map(tuple, groups))

    def strides(self, group: Sequence[int]) -> list[int]:
        """What one step along each axis of a group adds to its number."""
        sizes = [max(self.sizes[axis], 1) for axis in group]
        return [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]

    def pack(self, pairs: I64) -> I64:
        """Return the numbers of pairs (n, l + m) as (n, groups)."""
        keys = [
            pairs[:, list(group)] @ np.array(self.strides(group), np.int64)
            if group
            else np.zeros(len(pairs), np.int64)
            for group in self.groups
        ]
        return np.stack(keys, axis=1)

    def unpack(self, keys: I64) -> I64:
        """Undo ``pack``."""
        pairs = np.empty((len(keys), len(self.sizes)), np.int64)
        for column, group in enumerate(self.groups):
            if group:
                strides = np.array(self.strides(group), np.int64)
                unpack(np.ascontiguousarray(keys[:, column]), strides, pairs, group[0])
        return pairs

    def first_output(self, key: int) -> int:
        """Return the index on the first output axis that a first number lies at."""
        return key // self.strides(self.groups[0])[0]


def sort_keys(keys: I64) -> I64:
    """Sort numbers (n, groups) and drop repeats."""
    if keys.shape[1] == 1:
        flat = keys[:, 0]
        if not increasing(flat):
            flat = np.sort(flat)
            keep = np.empty(len(flat), bool)
            keep[:1] = True
            np.not_equal(flat[1:], flat[:-1], out=keep[1:])
            flat = flat[keep]
        return np.ascontiguousarray(flat)[:, None]
    return np.unique(keys, axis=0)
