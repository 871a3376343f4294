"""A call's lineages taken apart: a skeleton that is the same for all shapes, and its numbers.

The skeleton holds what can't be interpolated: which axes a factor runs over, which axis refers to
which, how many rows and folds there are. The numbers are the rest, bounds, offsets, counts and
steps, in a fixed order; each knows its *part* in the row, which tells the solver what to expect.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Fold, Interval, Row, Table
from dslog.reuse.expression import Sizes, product_text
from dslog.reuse.reuse_cost import ReuseCost
from dslog.types import Json, Shape

Lineages = tuple[Lineage | None, ...]
"""One per (output, input) pair, outputs outermost; None where nothing contributes."""

Intervals = tuple[Interval, ...]
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
    rows: list[Json] = []
    for r in range(len(factor.table)):
        row = factor.table.row(r)
        steps = [_numbers(fold.outs, fold.ins) for fold in row.folds]
        moving = [[place for place, step in enumerate(some) if step] for some in steps]
        rows.append([row.refs, *moving])
        numbers += _numbers(row.outs, row.ins)
        for fold, some, places in zip(row.folds, steps, moving, strict=True):
            numbers += [fold.count, *(some[place] for place in places)]
    item: dict[str, Json] = {"b": factor.out_axes, "a": factor.in_axes, "r": rows}
    if factor.is_flat:
        item["flat"] = factor.flat_sides()
    return item


def _numbers(outs: Sequence[Interval], ins: Sequence[Interval]) -> list[int]:
    """The ends of a row, or their steps, in the order that skeletons keep them."""
    return [side[end] for ends in (outs, ins) for end in (0, 1) for side in ends]


def _intervals(numbers: Sequence[int], l: int, m: int) -> tuple[Intervals, Intervals]:
    """Undo ``_numbers``."""
    outs = zip(numbers[:l], numbers[l : 2 * l], strict=True)
    ins = zip(numbers[2 * l : 2 * l + m], numbers[2 * l + m :], strict=True)
    return tuple(outs), tuple(ins)


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

    def take_fold(self, places: Sequence[int], l: int, m: int) -> Fold:
        count, *some = self.take(1 + len(places))
        steps = [0] * (2 * (l + m))
        for place, step in zip(places, some, strict=True):
            steps[place] = step
        return Fold(count, *_intervals(steps, l, m))

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
    kept: list[Row] = []
    for refs, *moving in item["r"]:
        ends = _intervals(rows.take(2 * (l + m)), l, m)
        folds = tuple(rows.take_fold(places, l, m) for places in moving)
        row = Row(*ends, tuple(refs), folds)
        if not rows.drop(_is_empty(row, out_sizes, in_sizes)):
            kept.append(row)
    if rows.wrong or not kept:
        return None
    table = Table.of_rows(l, m, kept)
    return Factor(tuple(item["b"]), tuple(item["a"]), table, "b" in flat, "a" in flat)


def _sizes(shape: Shape, axes: Sequence[int], *, flat: bool) -> list[int]:
    sizes = [shape[axis] for axis in axes]
    return [prod(sizes)] if flat else sizes


def _is_empty(row: Row, out_sizes: Sequence[int], in_sizes: Sequence[int]) -> bool | None:
    """Whether a row holds no cells; None if it is wrong.

    Ends are linear in the turns of folds, so looking at their first and last turns is enough.
    """
    if any(fold.count < 0 for fold in row.folds):
        return None
    if any(fold.count == 0 for fold in row.folds):
        return True
    found = set()
    for turns in itertools.product(*({0, fold.count - 1} for fold in row.folds)):
        outs, ins = row.outs, row.ins
        for turn, fold in zip(turns, row.folds, strict=True):
            outs, ins = _moved(outs, fold.outs, turn), _moved(ins, fold.ins, turn)
        found.add(_is_empty_box(outs, ins, row.refs, (*out_sizes, *in_sizes)))
    return found.pop() if len(found) == 1 else None


def _moved(ends: Intervals, steps: Intervals, turn: int) -> Intervals:
    pairs = zip(ends, steps, strict=True)
    return tuple((lo + turn * by_lo, hi + turn * by_hi) for (lo, hi), (by_lo, by_hi) in pairs)


def _is_empty_box(
    outs: Intervals, ins: Intervals, refs: Sequence[int], sizes: Sequence[int]
) -> bool | None:
    narrowest = min((hi - lo for lo, hi in outs + ins), default=0)
    if narrowest < 0:
        return True if narrowest == -1 else None
    bases = [outs[ref] if ref >= 0 else (0, 0) for ref in refs]
    placed = _moved(ins, tuple(bases), 1)
    inside = all(lo >= 0 and hi < n for (lo, hi), n in zip(outs + placed, sizes, strict=True))
    return False if inside else None
