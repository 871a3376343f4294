"""What travels between the two halves of a distributed compression.

The first half sees the relation in whatever order it comes. It cuts it into chunks, sorts each and
sends every partition its slice, as one block of numbers instead of one record per pair. A chunk
that already compresses well (operations mostly emit their pairs in order) travels as compressed
rows: the shuffle then carries what the relation holds, not how long it is.

The second half puts the blocks of one partition, a range of the pairs' order, together again.
Everything here is a pure function of arrays; Spark only carries the blocks.

A pair of cells as one number, so that Spark moves and sorts one long column.

The axes of a relation, outputs first, are digits of a mixed-radix number: its order is the
lexicographic order of the pairs. A relation whose arrays are so large that one long can't hold a
pair takes two or more, in order; that happens beyond 4 * 10^18 pairs of cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dslog.cells.boxes import count_up, strides
from dslog.compress.provrc import provrc, provrc_ranges
from dslog.lineage.table import Table, concat
from dslog.relation.relation import column_names
from dslog.spark.kernels import increasing, unpack
from dslog.spark.spark_cost import SparkCost
from dslog.types import I64

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
        return list(map(int, strides([max(self.sizes[axis], 1) for axis in group])))

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


KEYS, ROWS = 0, 1


@dataclass(frozen=True)
class Split:
    """How a relation is split: its packing, and the first numbers of all partitions but one.

    ``unit`` numbers belong together, a row of the output array or one of its cells: they are cut
    apart only where that can be mended. ``combine`` is the least number of pairs that is worth
    compressing before the shuffle; ``chunk`` pairs are held at a time in the first half, ``hold``
    in the second.
    """

    packing: Packing
    bounds: tuple[int, ...] = ()
    unit: int = 1
    thorough: bool = True
    combine: int = 1 << 16
    chunk: int = 1 << 20
    hold: int = 1 << 24

    @property
    def parts(self) -> int:
        """The number of partitions."""
        return len(self.bounds) + 1

    def compress(self, keys: I64) -> Table:
        """Compress sorted numbers."""
        packing = self.packing
        pairs = packing.unpack(keys)
        return provrc(pairs, packing.out_shape, packing.in_shape, thorough=self.thorough)


@dataclass(frozen=True, slots=True)
class Block:
    """Numbers or compressed rows that belong to one partition."""

    part: int
    kind: int
    data: bytes


def chunk_keys(batches: Iterable[I64], size: int) -> Iterator[I64]:
    """Put batches of numbers together into chunks of about ``size``."""
    held: list[I64] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        if rows >= size:
            yield np.concatenate(held)
            held, rows = [], 0
    if rows:
        yield np.concatenate(held)


def cut_keys(chunk: I64, split: Split) -> Iterator[Block]:
    """Sort a chunk of numbers and cut it into blocks, one or more for each partition it meets.

    The first and the last unit of a chunk may go on in others, so they always travel as numbers:
    half a unit could merge with what the other half does not.
    """
    keys = sort_keys(chunk)
    units = keys[:, 0] // split.unit
    first, last = np.searchsorted(units, [units[0] + 1, units[-1]]).tolist()
    table = _combined(keys[first:last], split)
    if table is None:
        yield from _slices(keys, keys[:, 0], KEYS, split)
        return
    for edge in (keys[:first], keys[last:]):
        yield from _slices(edge, edge[:, 0], KEYS, split)
    table = _cut_rows(table, split)
    out_lo, _, in_lo, _ = table.bounds
    corner = split.packing.pack(np.concatenate([out_lo, in_lo], axis=1))
    order = np.argsort(corner[:, 0], kind="stable")
    yield from _slices(table.matrix.T[order], corner[order, 0], ROWS, split)


def _combined(keys: I64, split: Split) -> Table | None:
    """Return numbers compressed, if that is worth it; windows are tried first."""
    n = len(keys)
    if n < max(split.combine, 1) or not split.packing.sizes:
        return None
    for start in (
        (0, (n - SparkCost.current().window_pairs) // 2)
        if n > 2 * SparkCost.current().window_pairs
        else (0,)
    ):
        window = keys[start : start + SparkCost.current().window_pairs]
        if len(split.compress(window)) * SparkCost.current().travel_gain > len(window):
            return None
    table = split.compress(keys)
    return table if len(table) * SparkCost.current().travel_gain <= n else None


def _cut_rows(table: Table, split: Split) -> Table:
    """Cut rows where partitions end, if that is between two rows of the output array."""
    if not split.bounds or split.unit != split.packing.strides(split.packing.groups[0])[0]:
        return table
    cuts = np.unique([split.packing.first_output(bound) for bound in split.bounds])
    lo, width = table.said_of(0)
    first = np.searchsorted(cuts, lo, "right")
    copies = np.searchsorted(cuts, lo + width, "right") - first + 1
    if (copies == 1).all():
        return table
    row, copy = count_up(copies)
    piece = first[row] + copy
    edges = np.concatenate([[-_LIMIT], cuts, [_LIMIT]])
    low = np.full((table.num_out, len(row)), -_LIMIT)
    high = np.full((table.num_out, len(row)), _LIMIT)
    low[0], high[0] = edges[piece], edges[piece + 1] - 1
    return table.take(row).clip_outputs(low, high)


def _slices(rows: I64, position: I64, kind: int, split: Split) -> Iterator[Block]:
    bounds = np.array(split.bounds, np.int64)
    ends = [0, *np.searchsorted(position, bounds, "left").tolist(), len(rows)]
    most = max(SparkCost.current().block_numbers // max(rows.shape[1], 1), 1)
    for part in range(split.parts):
        for start in range(ends[part], ends[part + 1], most):
            stop = min(start + most, ends[part + 1])
            yield Block(part, kind, np.ascontiguousarray(rows[start:stop]).tobytes())


class PartBlocks:
    """The blocks of one partition, compressed together.

    Numbers are held up to ``split.hold``, then compressed and kept as rows: a partition that turns
    out far too large costs some merges at worst, never unbounded memory for numbers.
    """

    def __init__(self, split: Split) -> None:
        self._split = split
        self._keys: list[I64] = []
        self._held = 0
        self._tables: list[Table] = []

    def add(self, kind: int, data: bytes | memoryview) -> None:
        """Take in one block."""
        packing = self._split.packing
        l, m = len(packing.out_shape), len(packing.in_shape)
        flat = np.frombuffer(data, np.int64)
        if kind == ROWS:
            self._tables.append(Table(l, m, flat.reshape(-1, 2 * l + 3 * m).T))
            return
        keys = flat.reshape(-1, len(packing.groups))
        self._keys.append(keys)
        self._held += len(keys)
        if self._held >= self._split.hold:
            self._flush()

    def table(self) -> Table:
        """Return everything as one compressed table."""
        self._flush()
        if not self._tables:
            packing = self._split.packing
            return Table.empty(len(packing.out_shape), len(packing.in_shape))
        if len(self._tables) == 1:
            return self._tables[0]
        return provrc_ranges(concat(self._tables))

    def _flush(self) -> None:
        if self._keys:
            keys = sort_keys(np.concatenate(self._keys))
            self._keys, self._held = [], 0
            self._tables.append(self._split.compress(keys))
