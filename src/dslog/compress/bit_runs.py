"""Relations as bits, compressed from their runs: their pairs are never written out.

A loop over cells, composed with itself, soon reaches most of its array from each cell: millions of
pairs. As bits, a row for each output cell, they stand in runs along the last input axis, of
every cell, or on a checkerboard of every second. The runs are merged along one output axis by
sorting one integer for each; what is left are few ranges, for ProvRC. A stride becomes a fold: to
ProvRC the length of a run is one more input, which no output axis can be in step with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from dslog.compress.compress_cost import CompressCost
from dslog.compress.encoder import encode_table
from dslog.compress.provrc import MOST_INPUTS, fold, provrc_ranges
from dslog.lineage.factor import whole
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.relation.relation import linear_strides
from dslog.types import I64, Shape

Words = npt.NDArray[np.uint64]
"""Bits of the input cells in C order, 64 to a word, the first one lowest; a row an output cell."""


def compress_bits(rows: Words, out_shape: Shape, in_shape: Shape) -> Lineage | None:
    """Compress a relation from its bits; None where they make no runs that are worth it."""
    if not rows.size or not out_shape or not in_shape or len(in_shape) >= MOST_INPUTS:
        return None
    stride = _stride(rows, in_shape)
    ranges = None if stride is None else _ranges(rows, stride, out_shape, in_shape)
    if stride is None or ranges is None:
        return None
    if stride == 1:
        terms = encode_table(provrc_ranges(ranges), out_shape, in_shape)
        return Lineage(out_shape, in_shape, terms)
    table = _folded(provrc_ranges(ranges), stride, _unit(out_shape))
    return None if table is None else Lineage(out_shape, in_shape, (whole(table),))


_Runs = tuple[I64, I64, I64, I64]
"""The output cells, the lines of input cells, where they begin on those, and how long they are."""


def _find_runs(rows: Words, in_shape: Shape, stride: int) -> _Runs:
    """Return the runs along the last input axis, of every ``stride``-th cell."""
    *sizes, size = in_shape
    lines, room = prod(sizes), -(-size // stride) + 1  # a bit between two runs
    bytes_ = np.ascontiguousarray(rows).view(np.uint8)
    bits = np.unpackbits(bytes_, axis=1, count=lines * size, bitorder="little")
    bits = bits.reshape(len(rows), lines, size)
    apart = np.zeros((len(rows), lines, stride, room), np.uint8)
    for phase in range(stride):
        some = bits[:, :, phase::stride]
        apart[:, :, phase, : some.shape[2]] = some
    flat = apart.reshape(-1)
    edges = np.flatnonzero(np.concatenate([flat[:1] != 0, flat[1:] != flat[:-1]]))
    begin, length = edges[::2], edges[1::2] - edges[::2]
    out, line, phase_of, at = np.unravel_index(begin, apart.shape)
    return out, line, at * stride + phase_of, length


def _stride(rows: Words, in_shape: Shape) -> int | None:
    """Return the stride that gives the fewest runs, by a sample of rows; None if all give many."""
    cost = CompressCost.current()
    few = rows[np.linspace(0, len(rows) - 1, min(len(rows), cost.run_samples)).astype(np.int64)]
    found = [_find_runs(few, in_shape, stride) for stride in range(1, cost.strides + 1)]
    counts = [len(length) for *_, length in found]
    best = int(np.argmin(counts))
    pairs = int(found[best][-1].sum())
    return best + 1 if 0 < counts[best] * cost.run_pairs <= pairs else None


def _ranges(rows: Words, stride: int, out_shape: Shape, in_shape: Shape) -> Table | None:
    """Return the runs as rows, those merged that follow each other along one output axis.

    With a stride the last input is the length of a run, in steps that no axis can follow.
    """
    step = max(1, CompressCost.current().run_bytes // prod(in_shape))
    parts = []
    for first in range(0, len(rows), step):
        out, *others = _find_runs(rows[first : first + step], in_shape, stride)
        parts.append((out + first, *others))
    out, line, begin, length = (np.concatenate(part) for part in zip(*parts, strict=True))
    outs = np.unravel_index(out, out_shape)
    ins = np.unravel_index(line, in_shape[:-1]) if len(in_shape) > 1 else ()
    columns = [*outs, *ins, begin, length]
    merging = _best_merging(columns, out_shape, in_shape)
    keys = None if merging is None else merging.keys(columns)
    if merging is None or keys is None:
        return None
    l, axis, follower = len(out_shape), merging.axis, merging.follower
    heads = np.flatnonzero(np.concatenate([[True], np.diff(keys) != 1]))
    times = np.diff(np.append(heads, len(keys)))
    found = merging.columns(keys[heads])
    many, n = times > 1, len(heads)
    refs = [np.full(n, -1, np.int64) for _ in in_shape]
    if follower is not None:
        refs[follower][many] = axis
        found[l + follower][~many] += found[axis][~many]
    *cells, length = found
    widths = [np.zeros(n, np.int64) for _ in cells]
    widths[axis] = times - 1
    if stride == 1:
        widths[-1] = length - 1
        return Table(l, len(in_shape), np.stack([*cells, *widths, *refs]))
    length = length * _unit(out_shape)
    zero = np.zeros(n, np.int64)
    return Table(l, len(in_shape) + 1, np.stack([*cells, length, *widths, zero, *refs, zero - 1]))


def _unit(out_shape: Shape) -> int:
    """What a cell more in a run adds to the input that its length is: no axis is so long."""
    return max(out_shape) + 1


def _folded(table: Table, stride: int, unit: int) -> Table | None:
    """Make folds of the lengths that are the last input; None where one is no single number."""
    l, m, axes = table.num_out, table.num_in - 1, table.num_axes
    lengths, ref = table.lo[-1], table.ref[-1]
    along = np.take_along_axis(table.lo[:l], np.maximum(ref, 0)[None], 0)[0]
    wide = np.take_along_axis(table.width[:l], np.maximum(ref, 0)[None], 0)[0]
    if (wide[ref >= 0] != 0).any() or table.width[-1].any():
        return None
    lengths = lengths + np.where(ref >= 0, along, 0)
    kept = [k for k in range(len(table.matrix) - 1) if k not in (axes - 1, 2 * axes - 1)]
    step = np.zeros((1, 2 * (l + m), len(table)), np.int64)
    step[0, l + m - 1] = stride
    table = Table(l, m, table.matrix[kept], lengths.reshape(1, -1) // unit, step)
    again = fold(table)
    return again if len(again) * 2 <= len(table) else table


@dataclass(frozen=True, slots=True)
class _Merging:
    """Runs that follow each other along an output axis, which one input at most goes along with."""

    axis: int
    follower: int | None
    out_shape: Shape
    in_shape: Shape

    def _sizes(self) -> list[int]:
        """Of each column of a key, the axis that is merged last."""
        outs = [size for j, size in enumerate(self.out_shape) if j != self.axis]
        size = self.out_shape[self.axis]
        ins = [n + size - 1 if i == self.follower else n for i, n in enumerate(self.in_shape)]
        return [*outs, *ins, self.in_shape[-1] + 1, size + 1]  # so that no run crosses over

    def keys(self, columns: Sequence[I64]) -> I64 | None:
        """Return the runs as sorted integers, of which those that merge are consecutive."""
        steps = linear_strides(self._sizes())
        if steps is None:
            return None
        outs, ins = list(columns[: len(self.out_shape)]), list(columns[len(self.out_shape) :])
        along = outs.pop(self.axis)
        if self.follower is not None:
            ins[self.follower] = ins[self.follower] - along + self.out_shape[self.axis] - 1
        keys = np.zeros(len(along), np.int64)
        for column, step in zip([*outs, *ins, along], steps.tolist(), strict=True):
            keys += column * step
        keys.sort()
        return keys

    def columns(self, keys: I64) -> list[I64]:
        """Return what some keys stand for; the follower as its distance from the axis."""
        found = list(np.unravel_index(keys, self._sizes()))
        found.insert(self.axis, found.pop())
        if self.follower is not None:
            found[len(self.out_shape) + self.follower] -= self.out_shape[self.axis] - 1
        return found


def _best_merging(columns: Sequence[I64], out_shape: Shape, in_shape: Shape) -> _Merging | None:
    """Return the way to merge that merges most in the middle of the other output axes."""
    best, share = None, -1.0
    for merging in _mergings(out_shape, in_shape):
        within = np.ones(len(columns[0]), bool)
        for j, size in enumerate(out_shape):
            if j != merging.axis:
                within &= columns[j] == size // 2
        keys = merging.keys([column[within] for column in columns])
        if keys is None:
            return None
        merged = np.count_nonzero(np.diff(keys) == 1) / max(1, len(keys))
        if merged > share:
            best, share = merging, merged
    return best


def _mergings(out_shape: Shape, in_shape: Shape) -> Iterator[_Merging]:
    for axis in range(len(out_shape)):
        for follower in (None, *range(len(in_shape))):
            yield _Merging(axis, follower, out_shape, in_shape)
