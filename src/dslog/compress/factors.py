"""Factors: relations that act on groups of axes independently, as products of small Tables.

A set of rows is the product of its projections on disjoint groups of axes exactly when the sizes
of the projections multiply to the number of rows. Groups are ruled out first by looking at single
rows: in a product, ``n * #(rows equal to r on x and y) == #(equal on x) * #(equal on y)`` for every
row r and any two groups x and y.

Where a relation is not one product but a few (blocks placed side by side), the values of one group
are clustered by the set of rows that goes with each: every cluster is a product of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dslog.compress.compress_cost import CompressCost
from dslog.compress.kernels import uses_ref
from dslog.lineage.factor import Factor, Term, num_rows
from dslog.lineage.kernels import is_constant
from dslog.lineage.table import Table
from dslog.types import I64

U64 = npt.NDArray[np.uint64]
Group = tuple[int, ...]  # axes: output j is j, input i is l + i


def factorise(table: Table) -> tuple[Term, ...] | None:
    """Return a plain table as a union of products with fewer rows, or None.

    In a long table they must be at most half, for a row less is then not worth a second table.
    """
    if len(table) < CompressCost.current().factor_rows or table.levels:
        return None
    if not may_factor(table):
        return None
    if len(_blocks(table)) < 2:
        return None
    hashes = _Hashes(table)
    groups = _independent(table)
    if sum(not _is_fixed(table, group) for group in groups) > 1:
        factors = _product(table, hashes, groups)
        if factors is not None:
            return (factors,) if _pays(num_rows((factors,)), len(table)) else None
    return _union(table, hashes)


def _pays(rows: int, before: int) -> bool:
    return rows * 2 <= before or (rows < before <= CompressCost.current().short_rows)


class _Hashes:
    """The hashes of every axis of a table, each made when it is asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._made: dict[int, U64] = {}

    def of(self, group: Iterable[int]) -> U64:
        """One number per row for a group of axes."""
        total = np.zeros(len(self._table), np.uint64)
        for axis in group:
            if axis not in self._made:
                self._made[axis] = _axis_hash(self._table, axis)
            total += self._made[axis]
        return total

    def take(self, table: Table, rows: I64) -> _Hashes:
        """The hashes of some rows, which ``table`` holds."""
        some = _Hashes(table)
        some._made = {axis: made[rows] for axis, made in self._made.items()}
        return some


def _axis_hash(table: Table, axis: int) -> U64:
    """One well-mixed number per row for what it says of an axis; sums of them stand for groups."""
    mixed = np.full(len(table), axis + 1, np.uint64)
    for column in table.said_of(axis):
        mixed = _mix(mixed + column.astype(np.uint64))
    return mixed


def _mix(x: U64) -> U64:
    x = (x ^ (x >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(32))


def _refs(table: Table) -> list[tuple[int, int]]:
    """Pairs of axes that a reference ties together."""
    l = table.num_out
    pairs = []
    for axis in range(l, l + table.num_in):
        refs = table.said_of(axis)[-1]
        used = uses_ref(refs[:1] if refs.strides == (0,) else refs, l)
        pairs += [(int(j), axis) for j in np.flatnonzero(used)]
    return pairs


def _blocks(table: Table) -> list[Group]:
    """Axes that are tied together, however far."""
    leader = list(range(table.num_out + table.num_in))
    for x, y in _refs(table):
        unite_axes(leader, x, y)
    return axis_groups(leader)


def may_factor(table: Table) -> bool:
    """Whether neighbouring rows look like part of a product, or of a few side by side.

    In a stretch of a product the distinct values of one group times those of the others are about
    as many as its rows; without structure they are many more. A short table isn't worth asking.
    """
    cost = CompressCost.current()
    window = cost.window_rows
    if len(table) <= 2 * window:
        return True
    start = (len(table) - window) // 2
    part = table.take(slice(start, start + window))
    blocks = _blocks(part)
    hashes = _Hashes(part)
    fixed = [block for block in blocks if _is_fixed(part, block) and _is_fixed(table, block)]
    blocks = [block for block in blocks if block not in fixed]
    everything = [a for block in blocks for a in block]
    for size in range(1, len(blocks) // 2 + 1):
        for some in itertools.combinations(blocks, size):
            group = [a for block in some for a in block]
            rest = [a for a in everything if a not in group]
            mine = len(np.unique(hashes.of(group)))
            theirs = len(np.unique(hashes.of(rest)))
            if mine * theirs <= cost.slack * window:
                return True
    return False


def _is_fixed(table: Table, group: Group) -> bool:
    """Whether all rows say the same of a group: a factor that saves nothing."""
    columns = (column for axis in group for column in table.said_of(axis))
    return all(column.strides == (0,) or is_constant(column) for column in columns)


def _equal(table: Table, axes: Iterable[int], row: int) -> npt.NDArray[np.bool_]:
    """Which rows say the same of some axes as one of them."""
    equal = np.ones(len(table), bool)
    for axis in axes:
        for column in table.said_of(axis):
            if column.strides != (0,):
                equal &= column == column[row]
    return equal


def _independent(table: Table) -> list[Group]:
    """Group the axes so that no test on single rows shows two groups to depend on each other."""
    axes = range(table.num_out + table.num_in)
    leader = list(axes)
    for x, y in _refs(table):
        unite_axes(leader, x, y)
    n = len(table)
    varying = [axis for axis in axes if not _is_fixed(table, (axis,))]
    for pivot in np.linspace(0, n - 1, CompressCost.current().pivots).astype(int):
        if len({leader[axis] for axis in varying}) < 2:
            break
        equal = {axis: _equal(table, [axis], pivot) for axis in varying}
        count = {axis: int(np.count_nonzero(e)) for axis, e in equal.items()}
        for x, y in itertools.combinations(varying, 2):
            if leader[x] != leader[y]:
                both = int(np.count_nonzero(equal[x] & equal[y]))
                if count[x] * count[y] != both * n:
                    unite_axes(leader, x, y)
    return axis_groups(leader)


def axis_groups(leader: Sequence[int]) -> list[Group]:
    """Return the axes of each group."""
    groups: dict[int, list[int]] = {}
    for axis, root in enumerate(leader):
        groups.setdefault(root, []).append(axis)
    return [tuple(g) for g in groups.values()]


def unite_axes(leader: list[int], x: int, y: int) -> None:
    """Put the groups of two axes, each known by one of its axes, together."""
    old, new = leader[y], leader[x]
    leader[:] = [new if root == old else root for root in leader]


def _product(table: Table, hashes: _Hashes, groups: Sequence[Group]) -> Term | None:
    """Return the product over the groups if the rows are one: the counting test, then a check.

    The check is that rows of one hash are equal on the group, so that the counts are right.
    """
    picks: list[I64] = []
    told: list[tuple[I64, I64]] = []
    size = 1
    for group in groups:
        _, first, which = np.unique(hashes.of(group), return_index=True, return_inverse=True)
        picks.append(np.sort(first))
        told.append((first, which))
        size *= len(first)
        if size > len(table):
            return None
    if size != len(table):
        return None
    for group, (first, which) in zip(groups, told, strict=True):
        columns = [column for axis in group for column in table.said_of(axis)]
        if any((column[first][which] != column).any() for column in columns):
            return None
    return tuple(_project(table, group, pick) for group, pick in zip(groups, picks, strict=True))


def _project(table: Table, group: Group, pick: I64) -> Factor:
    """The factor over a group of axes, with the given rows; refs are renumbered."""
    l = table.num_out
    outs = [a for a in group if a < l]
    ins = [a - l for a in group if a >= l]
    part = table.take(pick)
    renumber = np.full(l + 1, -1, np.int64)  # the last entry answers for -1
    renumber[outs] = np.arange(len(outs))
    axes = [*outs, *(l + i for i in ins)]
    columns = np.concatenate([part.lo[axes], part.width[axes], renumber[part.ref[ins]]])
    return Factor(tuple(outs), tuple(ins), Table(len(outs), len(ins), columns))


def _union(table: Table, hashes: _Hashes) -> tuple[Term, ...] | None:
    """Return a few products that together are the rows, split off by one group of axes."""
    l, m = table.num_out, table.num_in
    tied = _refs(table)
    candidates: list[set[int]] = [{j} for j in range(l)] + [{l + i} for i in range(m)]
    candidates += [{j, l + i} for j in range(l) for i in range(m)]
    seen: set[Group] = set()
    for candidate in candidates:
        group = _close(candidate, tied)
        rest = tuple(a for a in range(l + m) if a not in group)
        if group in seen or not rest:
            continue
        seen.add(group)
        if not _repeats(table, (group, rest)):
            seen.add(rest)  # the same two sides
            continue
        terms = _clusters(table, hashes, group, rest)
        if terms is not None:
            return terms
    return None


def _close(axes: set[int], tied: Sequence[tuple[int, int]]) -> Group:
    while True:
        more = {a for pair in tied if axes & set(pair) for a in pair} - axes
        if not more:
            return tuple(sorted(axes))
        axes = axes | more


def _repeats(table: Table, sides: Iterable[Group]) -> bool:
    """Whether some rows have what they say of either side in common with others."""
    pivots = np.linspace(0, len(table) - 1, CompressCost.current().pivots).astype(int)
    return all(np.count_nonzero(_equal(table, side, p)) > 1 for p in pivots for side in sides)


def _clusters(table: Table, hashes: _Hashes, group: Group, rest: Group) -> tuple[Term, ...] | None:
    mine, theirs = hashes.of(group), hashes.of(rest)
    _, which = np.unique(mine, return_inverse=True)
    signature = np.zeros(which.max() + 1, np.uint64)
    np.add.at(signature, which, _mix(theirs))
    kinds, cluster = np.unique(signature, return_inverse=True)
    if len(kinds) > CompressCost.current().most_terms:
        return None
    terms: list[Term] = []
    for k in range(len(kinds)):
        rows = np.flatnonzero(cluster[which] == k)
        part = table.take(rows)
        term = _product(part, hashes.take(part, rows), [group, rest])
        if term is None:
            return None
        terms.append(term)
    return tuple(terms) if _pays(num_rows(terms), len(table)) else None
