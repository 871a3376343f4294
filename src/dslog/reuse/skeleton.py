"""A call's lineages taken apart: a skeleton that is the same for all shapes, and its numbers.

The skeleton holds what can't be interpolated: which axes a factor runs over, which axis refers to
which, how many rows and folds there are. The numbers are the rest, bounds, offsets, counts and
steps, in a fixed order; each knows its *part* in the row, which tells the solver what to expect.
"""

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.reuse.expression import Sizes, product_text
from dslog.reuse.reuse_cost import ReuseCost
from dslog.types import Json, Shape

Lineages = tuple[Lineage | None, ...]
"""One per (output, input) pair, outputs outermost; None where nothing contributes."""

Fold = tuple[int, Sequence[int]]  # count and steps
Kind = Literal["position", "offset", "count", "step"]


@dataclass(frozen=True, slots=True)
class Role:
    """What a number stands for: its kind, and the sizes of the axes it belongs to."""

    kind: Kind
    own: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Lineages as a skeleton (canonical JSON text) and numbers."""

    skeleton: str
    numbers: tuple[int, ...]


def skeleton_of(lineages: Sequence[Lineage | None]) -> Skeleton | None:
    """Take lineages apart; None when they have too many rows."""
    if sum(one.num_rows for one in lineages if one is not None) > ReuseCost.current().rows:
        return None
    numbers: list[int] = []
    pairs = [None if one is None else _flatten_one(one, numbers) for one in lineages]
    return Skeleton(json.dumps(pairs, separators=(",", ":")), tuple(numbers))


def _flatten_one(lineage: Lineage, numbers: list[int]) -> Json:
    terms = [[_flatten_factor(factor, numbers) for factor in term] for term in lineage.terms]
    item: dict[str, Json] = {"t": terms}
    if not lineage.exact:
        item["exact"] = False
    if lineage.orientation == "forward":
        item["forward"] = True
    return item


def _flatten_factor(factor: Factor, numbers: list[int]) -> Json:
    table = factor.table
    rows = []
    for r in range(len(table)):
        levels = np.flatnonzero(table.count[r] > 1).tolist()
        moving = [np.flatnonzero(table.step[r, level]).tolist() for level in levels]
        rows.append([table.ref[r].tolist(), *moving])
        numbers += table.rows[r].tolist()
        for level, columns in zip(levels, moving, strict=True):
            numbers += [int(table.count[r, level]), *table.step[r, level, columns].tolist()]
    item: dict[str, Json] = {"b": factor.out_axes, "a": factor.in_axes, "r": rows}
    if factor.out_flat or factor.in_flat:
        item["flat"] = "b" * factor.out_flat + "a" * factor.in_flat
    return item


def roles(skeleton: Json, sizes: Sizes) -> list[Role]:
    """Return the part of every number of a skeleton, in order."""
    found: list[Role] = []
    pairs = itertools.product(range(len(sizes.outputs)), range(len(sizes.inputs)))
    for (o, i), item in zip(pairs, skeleton, strict=True):
        if item is None:
            continue
        sides = (f"o{o}_", f"i{i}_")
        absolute, relative = sides[::-1] if item.get("forward") else sides
        for factor in itertools.chain.from_iterable(item["t"]):
            flat = factor.get("flat", "")
            outs = size_names(absolute, factor["b"], flat="b" in flat)
            ins = size_names(relative, factor["a"], flat="a" in flat)
            for ref, *moving in factor["r"]:
                found += _row_parts(outs, ins, ref, moving)
    return found


def size_names(side: str, axes: Sequence[int], *, flat: bool) -> list[str]:
    """Name the sizes of axes; axes in linear order have one, their product."""
    names = [f"{side}{axis}" for axis in axes]
    return [product_text(names)] if flat else names


def _row_parts(
    outs: Sequence[str], ins: Sequence[str], ref: Sequence[int], moving: Sequence[Sequence[int]]
) -> Iterator[Role]:
    inside = [
        Role("position", (name,)) if r < 0 else Role("offset", (name, outs[r]))
        for name, r in zip(ins, ref, strict=True)
    ]
    yield from (Role("position", (name,)) for _ in range(2) for name in outs)
    yield from (*inside, *inside)
    names = (*outs, *outs, *ins, *ins)
    for columns in moving:
        yield Role("count", tuple(dict.fromkeys(names[column] for column in columns)))
        yield from (Role("step", (names[column],)) for column in columns)


@dataclass(frozen=True, slots=True)
class Built:
    """Lineages put together from numbers, and which rows were empty at these sizes."""

    lineages: Lineages
    dropped: tuple[int, ...]


def build(skeleton: Json, numbers: Sequence[int], sizes: Sizes) -> Built | None:
    """Put lineages together; None when the numbers make no sense at these sizes.

    A row whose interval is just empty (``hi == lo - 1``) or whose count is 0 is left out: sizes at
    which a stretch of cells vanishes are common. Anything beyond that, or outside an array, is no
    lineage at all.
    """
    rows = _Rows(numbers)
    pairs = itertools.product(sizes.outputs, sizes.inputs)
    built: list[Lineage | None] = []
    for (out, inp), item in zip(pairs, skeleton, strict=True):
        if item is None:
            built.append(None)
            continue
        forward = bool(item.get("forward"))
        sides = (inp, out) if forward else (out, inp)
        terms: list[Term] = []
        for term in item["t"]:
            factors = [_build_factor(factor, *sides, rows) for factor in term]
            if rows.wrong:
                return None
            if all(factor is not None for factor in factors):
                terms.append(tuple(factor for factor in factors if factor is not None))
        built.append(
            Lineage(
                out,
                inp,
                tuple(terms),
                exact=item.get("exact", True),
                orientation="forward" if forward else "backward",
            )
        )
    return Built(tuple(built), tuple(rows.dropped))


class _Rows:
    """Reads rows off the list of numbers, one after the other."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._next = 0
        self._row = 0
        self.dropped: list[int] = []
        self.wrong = False

    def take(self, count: int) -> Sequence[int]:
        self._next += count
        return self._numbers[self._next - count : self._next]

    def take_fold(self, columns: Sequence[int], width: int) -> Fold:
        count, *some = self.take(1 + len(columns))
        steps = [0] * width
        for column, step in zip(columns, some, strict=True):
            steps[column] = step
        return count, steps

    def drop(self, empty: bool | None) -> bool:
        """Take note of a row; True if it is left out, None stands for one that is wrong."""
        if empty:
            self.dropped.append(self._row)
        self.wrong |= empty is None
        self._row += 1
        return bool(empty)


def _build_factor(item: Json, out_shape: Shape, in_shape: Shape, rows: _Rows) -> Factor | None:
    flat = item.get("flat", "")
    out_sizes = _sizes(out_shape, item["b"], flat="b" in flat)
    in_sizes = _sizes(in_shape, item["a"], flat="a" in flat)
    l, m = len(out_sizes), len(in_sizes)
    width = 2 * (l + m)
    kept: list[tuple[Sequence[int], Sequence[int], list[Fold]]] = []
    for ref, *moving in item["r"]:
        row = rows.take(width)
        folds = [rows.take_fold(columns, width) for columns in moving]
        if not rows.drop(_is_empty(row, ref, folds, out_sizes, in_sizes)):
            kept.append((row, ref, folds))
    if rows.wrong or not kept:
        return None
    depth = max(len(folds) for _, _, folds in kept)
    count = np.ones((len(kept), depth), np.int64)
    step = np.zeros((len(kept), depth, width), np.int64)
    for r, (_, _, folds) in enumerate(kept):
        for level, (times, steps) in enumerate(folds, start=depth - len(folds)):
            count[r, level], step[r, level] = times, steps
    table = Table(
        l,
        m,
        np.array([row for row, _, _ in kept], np.int64).reshape(len(kept), width),
        np.array([ref for _, ref, _ in kept], np.int64).reshape(len(kept), m),
        count,
        step,
    )
    return Factor(tuple(item["b"]), tuple(item["a"]), table, "b" in flat, "a" in flat)


def _sizes(shape: Shape, axes: Sequence[int], *, flat: bool) -> list[int]:
    sizes = [shape[axis] for axis in axes]
    return [math.prod(sizes)] if flat else sizes


def _is_empty(
    row: Sequence[int],
    ref: Sequence[int],
    folds: Sequence[Fold],
    out_sizes: Sequence[int],
    in_sizes: Sequence[int],
) -> bool | None:
    """Whether a row holds no cells; None if it is wrong.

    Columns are linear in the turns of folds, so looking at their first and last turns is enough.
    """
    if any(times < 0 for times, _ in folds):
        return None
    if any(times == 0 for times, _ in folds):
        return True
    found = set()
    for turns in itertools.product(*({0, times - 1} for times, _ in folds)):
        at = list(row)
        for turn, (_, steps) in zip(turns, folds, strict=True):
            at = [a + turn * s for a, s in zip(at, steps, strict=True)]
        found.add(_is_empty_box(at, ref, out_sizes, in_sizes))
    return found.pop() if len(found) == 1 else None


def _is_empty_box(
    row: Sequence[int], ref: Sequence[int], out_sizes: Sequence[int], in_sizes: Sequence[int]
) -> bool | None:
    l, m = len(out_sizes), len(in_sizes)
    out_lo, out_hi = row[:l], row[l : 2 * l]
    in_lo, in_hi = row[2 * l : 2 * l + m], row[2 * l + m :]
    narrowest = min(
        (hi - lo for lo, hi in zip((*out_lo, *in_lo), (*out_hi, *in_hi), strict=True)), default=0
    )
    if narrowest < 0:
        return True if narrowest == -1 else None
    lows = [*out_lo, *(a if r < 0 else a + out_lo[r] for a, r in zip(in_lo, ref, strict=True))]
    highs = [*out_hi, *(a if r < 0 else a + out_hi[r] for a, r in zip(in_hi, ref, strict=True))]
    sizes = (*out_sizes, *in_sizes)
    inside = all(lo >= 0 and hi < n for lo, hi, n in zip(lows, highs, sizes, strict=True))
    return False if inside else None
