"""A form: lineage for every shape of one regime, and where it may be believed.

A *regime* is a range of shapes in which an operation follows one formula. A form knows the calls
it was solved from and applies to a further call only when that call is among them in kind:

- Sizes 0, 1 and "2 or more" form a pattern over all axes, and the pattern of the call must have
  been seen: an axis of size 0 or 1 can't tell apart what larger ones can. To the pattern belongs
  where an argument lies on each input axis: first, inside, last, just behind, outside.
- What never varied can't be interpolated: an axis that had one size in all calls seen must have it
  again. Only where every number is of level 0 (see ``solve``) is that relaxed, for sizes of 8 or
  more. Arguments must lie between the smallest and the largest seen, until four were seen.
- Beyond level 0, an input axis of fewer than 8 cells is no smaller than the smallest seen, and of
  two input axes the one that was always larger is larger again.
- The output's shape is what the formula says, each number is the same by all candidate
  expressions, every interval lies inside its array, and the rows that vanish are rows that vanished
  together before.

So a formula is extrapolated to larger arrays only, and only along axes that were seen to vary.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dslog.reuse.expressions import Sizes, compiled
from dslog.reuse.same import same_lineages
from dslog.reuse.skeleton import Lineages, Part, build, parts
from dslog.reuse.solve import EXTRA_CALLS

Json = Any
_CERTAIN = 8
_MOST_SEEN = 16
_OPEN_ARGUMENT = 4  # values of an argument after which it may lie beyond those seen
_NAMES = re.compile(r"[iox]\d+(?:_\d+)?")


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a form does not apply to a call."""

    reason: str


@dataclass(frozen=True, slots=True)
class Example:
    """A call that was captured: its sizes and its lineages."""

    sizes: Sizes
    lineages: Lineages


@dataclass(frozen=True)
class Form:
    """A skeleton whose numbers are expressions, each with all candidates that fit so far."""

    skeleton: Json
    numbers: tuple[tuple[str, ...], ...]
    levels: tuple[int, ...]  # of every number
    extents: tuple[tuple[str, ...], ...]  # of every output axis; () where the inputs don't say
    seen: tuple[Sizes, ...]
    dropped: frozenset[tuple[int, ...]] = frozenset({()})

    @cached_property
    def level(self) -> int:
        """The highest level of a number."""
        return max(self.levels, default=0)

    @cached_property
    def agreeing(self) -> int:
        """How many calls confirmed the formula, beyond those it took to find it.

        A call counts for a number when the sizes it depends on, or might depend on, are new; and
        only calls without more axes of one cell than others count, since few numbers show there.
        """
        usual = Counter(map(pattern, self.seen)).most_common(1)[0][0]
        calls = [sizes for sizes in self.seen if pattern(sizes) == usual]
        counts = {len(calls) - 1}
        for part, level, texts in zip(self._parts, self.levels, self.numbers, strict=True):
            if level:
                names = set(_NAMES.findall(" ".join((*part.own, *texts))))
                different = {tuple(sizes.values[name] for name in names) for sizes in calls}
                count = len(different) if len(different) > 1 else len(calls)
                counts.add(count - 1 - EXTRA_CALLS[level])
        return min(counts)

    @cached_property
    def _parts(self) -> list[Part]:
        return parts(self.skeleton, self.seen[0])

    def apply(self, sizes: Sizes) -> Lineages | Refused:
        """Return the lineages at some sizes, or why they can't be told."""
        reason = self._outside(sizes)
        if reason is not None:
            return Refused(reason)
        try:
            numbers = [self._agreed(candidates, sizes.values) for candidates in self.numbers]
        except ZeroDivisionError:
            return Refused("a size is 0 where the formula divides by it")
        open_ = next((n for n, number in enumerate(numbers) if number is None), None)
        if open_ is not None:
            one, two = self.numbers[open_][:2]
            return Refused(f"the calls seen so far leave open whether a number is {one} or {two}")
        built = build(self.skeleton, [n for n in numbers if n is not None], sizes)
        if built is None or built.dropped not in self.dropped:
            return Refused("the pattern changes at these sizes: cells it speaks of are not there")
        return built.lineages

    def explains(self, example: Example) -> tuple[int, ...] | None:
        """Whether the formula holds for a captured call, in range or not: the rows that vanish."""
        try:
            numbers = [compiled(texts[0])(example.sizes.values) for texts in self.numbers]
        except ZeroDivisionError:
            return None
        built = build(self.skeleton, numbers, example.sizes)
        if built is None or not same_lineages(built.lineages, example.lineages):
            return None
        return built.dropped

    def extended(self, example: Example, dropped: tuple[int, ...]) -> Form:
        """Return the form with one more call that it explains; candidates that differ there go."""
        values = example.sizes.values
        numbers = tuple(_like_first(texts, values) for texts in self.numbers)
        extents = tuple(
            tuple(text for text in texts if _value(text, values) == actual)
            for texts, actual in zip(self.extents, _flat(example.sizes.outputs), strict=True)
        )
        return replace(
            self,
            numbers=numbers,
            extents=extents,
            seen=(*self.seen, example.sizes),
            dropped=self.dropped | {dropped},
        )

    def trimmed(self) -> Form:
        """Return the form without a call that tells nothing new, if there are many."""
        if len(self.seen) <= _MOST_SEEN:
            return self
        for place in range(1, len(self.seen)):
            less = replace(self, seen=(*self.seen[:place], *self.seen[place + 1 :]))
            if less.scope == self.scope:
                return less
        return self

    # where it holds

    @cached_property
    def scope(self) -> tuple[object, ...]:
        """All that the calls seen say about where the form holds."""
        return self._patterns, self._ranges, self._orders, min(self.agreeing, _MOST_SEEN // 2)

    def _outside(self, sizes: Sizes) -> str | None:
        if pattern(sizes) not in self._patterns:
            return self._unseen_pattern(sizes)
        if self.level and (pair := self._unseen_order(sizes)):
            return f"{axis_name(pair[0])} and {axis_name(pair[1])} compare as in no call seen"
        return self._out_of_range(sizes.values) or self._wrong_output(sizes)

    def _out_of_range(self, values: Mapping[str, int]) -> str | None:
        for name, value in values.items():
            low, high = self._ranges[name]
            if name.startswith("x"):
                if not low <= value <= high and name not in self._open_arguments:
                    return f"an argument is {value}; calls seen had {low} to {high}"
            elif low == high != value and (self.level or low < _CERTAIN):
                return f"{axis_name(name)} has size {value}; all calls seen had {low}"
            elif self.level and name.startswith("i") and value < min(low, _CERTAIN):
                return f"{axis_name(name)} has size {value}; calls seen had {low} or more"
        return None

    def _wrong_output(self, sizes: Sizes) -> str | None:
        for texts, actual in zip(self.extents, _flat(sizes.outputs), strict=True):
            if texts and actual not in (_value(text, sizes.values) for text in texts):
                return f"an output axis has size {actual}, not {texts[0]}"
        return None

    @cached_property
    def _patterns(self) -> frozenset[tuple[int, ...]]:
        return frozenset(map(pattern, self.seen))

    @cached_property
    def _orders(self) -> dict[tuple[str, str], set[int]]:
        """Whether the first of two input axes was smaller (-1), equal (0) or larger (1)."""
        names = [name for name in self.seen[0].values if name.startswith("i")]
        return {
            (one, two): {_sign(s.values[one] - s.values[two]) for s in self.seen}
            for one, two in itertools.combinations(names, 2)
        }

    def _unseen_order(self, sizes: Sizes) -> tuple[str, str] | None:
        for (one, two), signs in self._orders.items():
            sign = _sign(sizes.values[one] - sizes.values[two])
            if sign not in signs and not {-1, 1} <= signs:
                return one, two
        return None

    @cached_property
    def _ranges(self) -> dict[str, tuple[int, int]]:
        return {
            name: (
                min(sizes.values[name] for sizes in self.seen),
                max(sizes.values[name] for sizes in self.seen),
            )
            for name in self.seen[0].values
        }

    @cached_property
    def _open_arguments(self) -> frozenset[str]:
        return frozenset(
            name
            for name in self._ranges
            if name.startswith("x")
            and len({sizes.values[name] for sizes in self.seen}) >= _OPEN_ARGUMENT
        )

    def _unseen_pattern(self, sizes: Sizes) -> str:
        names = [name for name in sizes.values if not name.startswith("x")]
        for place, (name, size) in enumerate(zip(names, sizes.dims, strict=True)):
            if all(pattern[place] != min(size, 2) for pattern in self._patterns):
                return f"{axis_name(name)} has size {size}; no call seen had an axis like that"
        return "axes of size 0 or 1 come together as in no call seen"

    @staticmethod
    def _agreed(texts: Sequence[str], values: Mapping[str, int]) -> int | None:
        first = compiled(texts[0])(values)
        return first if all(compiled(text)(values) == first for text in texts[1:]) else None

    # to and from the catalog

    def to_json(self) -> Json:
        """Return the form as JSON values."""
        return {
            "skeleton": self.skeleton,
            "numbers": [list(texts) if len(texts) > 1 else texts[0] for texts in self.numbers],
            "extents": [list(texts) for texts in self.extents],
            "levels": list(self.levels),
            "seen": [[s.inputs, s.outputs, s.args] for s in self.seen],
            "dropped": sorted(self.dropped),
        }

    @classmethod
    def from_json(cls, item: Json) -> Form:
        """Undo ``to_json``."""
        return cls(
            item["skeleton"],
            tuple(
                (texts,) if isinstance(texts, str) else tuple(texts) for texts in item["numbers"]
            ),
            tuple(item["levels"]),
            tuple(map(tuple, item["extents"])),
            tuple(sizes_from_json(point) for point in item["seen"]),
            frozenset(map(tuple, item["dropped"])),
        )


def sizes_from_json(item: Json) -> Sizes:
    """Read the sizes of a call."""
    inputs, outputs, args = item
    return Sizes(tuple(map(tuple, inputs)), tuple(map(tuple, outputs)), tuple(args))


def axis_name(name: str) -> str:
    """Say which axis a name in an expression means.

    >>> axis_name("i0_1")
    'axis 1 of input 0'
    """
    side, axis = name.split("_")
    return f"axis {axis} of {'input' if side[0] == 'i' else 'output'} {side[1:]}"


def pattern(sizes: Sizes) -> tuple[int, ...]:
    """Say of each axis whether it has 0, 1 or more cells, and where each argument lies on it."""
    return (*(min(size, 2) for size in sizes.dims), *places(sizes))


def places(sizes: Sizes) -> tuple[int, ...]:
    """Say where each argument lies on each input axis."""
    return tuple(
        _place(value, size) for value in sizes.args for shape in sizes.inputs for size in shape
    )


def _place(index: int, size: int) -> int:
    """Return 0 for the first cell of an axis, 2 for the last, 1 between, 3 behind, 4 elsewhere."""
    if index == 0:
        return 0
    return 4 if index < 0 or index > size else 1 + max(index - size + 2, 0)


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


def _flat(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return list(itertools.chain.from_iterable(shapes))


def _value(text: str, values: Mapping[str, int]) -> int | None:
    try:
        return compiled(text)(values)
    except ZeroDivisionError:
        return None


def _like_first(texts: tuple[str, ...], values: Mapping[str, int]) -> tuple[str, ...]:
    first = _value(texts[0], values)
    return tuple(text for text in texts if _value(text, values) == first)
