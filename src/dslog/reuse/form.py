"""A form: lineage for every shape of one regime, and the calls it was solved from.

A form applies to a call that is like those seen (``scope``) when, besides, the output's shape is
what the formula says, each number is the same by all candidate expressions, every interval lies
inside its array, and the rows that vanish are rows that vanished together before.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from dslog.algebra.equal import same_lineages
from dslog.reuse.expression import Sizes, compiled
from dslog.reuse.reuse_cost import ReuseCost
from dslog.reuse.scope import Pattern, Scope, pattern, unseen_pattern
from dslog.reuse.skeleton import Lineages, build, roles
from dslog.types import Json

_NAMES = re.compile(r"[iox]\d+(?:_\d+)?")
_TRUSTED = 1_000_000


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
    trusted: bool = False  # it was confirmed elsewhere
    picked: bool = False  # the calls it was solved from were picked from more, so it may be chance

    @cached_property
    def level(self) -> int:
        """The highest level of a number."""
        return max(self.levels, default=0)

    @cached_property
    def agreeing(self) -> int:
        """How many calls confirmed the formula, where it is confirmed best."""
        return max(map(self.agreeing_at, self._patterns))

    def agreeing_at(self, wanted: Pattern) -> int:
        """How many calls confirmed the formula for a pattern, beyond those it took to find it.

        A call counts for a number when the sizes it depends on, or might depend on, are new.
        """
        if self.trusted:
            return _TRUSTED
        calls = self._scopes[wanted].calls
        counts = {len(calls) - 1}
        for level, names in self._depends:
            different = {tuple(sizes.values[name] for name in names) for sizes in calls}
            count = len(different) if len(different) > 1 else len(calls)
            counts.add(count - 1 - ReuseCost.current().extra_calls[level])
        return min(counts) - self.picked

    @cached_property
    def delicate(self) -> frozenset[str]:
        """The sizes that a number beyond level 0 depends on, or might."""
        return frozenset(itertools.chain.from_iterable(names for _, names in self._depends))

    @cached_property
    def _depends(self) -> frozenset[tuple[int, frozenset[str]]]:
        """The levels beyond 0 and what numbers of them depend on."""
        found = zip(roles(self.skeleton, self.seen[0]), self.levels, self.numbers, strict=True)
        return frozenset(
            (level, frozenset(_NAMES.findall(" ".join((*part.own, *texts)))))
            for part, level, texts in found
            if level
        )

    @cached_property
    def _used(self) -> frozenset[str]:
        """The names in the numbers' expressions."""
        texts = itertools.chain.from_iterable(self.numbers)
        return frozenset(_NAMES.findall(" ".join(texts)))

    @cached_property
    def _patterns(self) -> frozenset[Pattern]:
        return frozenset(map(pattern, self.seen))

    @cached_property
    def _scopes(self) -> dict[Pattern, Scope]:
        return {wanted: Scope.of(self.seen, wanted) for wanted in self._patterns}

    def apply(self, sizes: Sizes, agreeing: int | None = None) -> Lineages | Refused:
        """Return the lineages at some sizes, or why they can't be told.

        ``agreeing`` is how many calls must have confirmed the formula for this pattern of sizes.
        """
        reason = self._outside(sizes)
        if reason is not None:
            return Refused(reason)
        if agreeing is not None and self.agreeing_at(pattern(sizes)) < agreeing:
            return Refused("too few calls like it have confirmed the formula")
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
        if self._wrong_output(example.sizes) is not None:
            return None
        numbers = [_value(texts[0], example.sizes.values) for texts in self.numbers]
        return self._built(numbers, example)

    def _built(self, numbers: Sequence[int | None], example: Example) -> tuple[int, ...] | None:
        """Whether some numbers give a call's lineage: the rows that vanish."""
        if None in numbers:
            return None
        built = build(self.skeleton, [n for n in numbers if n is not None], example.sizes)
        if built is None or not same_lineages(built.lineages, example.lineages):
            return None
        return built.dropped

    def extended(self, example: Example, dropped: tuple[int, ...]) -> Self:
        """Return the form with one more call that it explains; candidates that don't go."""
        values = example.sizes.values
        first = [_value(texts[0], values) for texts in self.numbers]

        def explains(place: int, text: str) -> bool:
            """Look closer at what differs: numbers of a row that vanishes may."""
            value = _value(text, values)
            if value == first[place]:
                return True
            changed = [*first[:place], value, *first[place + 1 :]]
            return self._built(changed, example) is not None

        numbers = tuple(
            tuple(text for text in texts if explains(place, text))
            for place, texts in enumerate(self.numbers)
        )
        extents = tuple(
            tuple(text for text in texts if _extent(text, values) == actual)
            for texts, actual in zip(self.extents, _flat(example.sizes.outputs), strict=True)
        )
        return replace(
            self,
            numbers=numbers,
            extents=extents,
            seen=(*self.seen, example.sizes),
            dropped=self.dropped | {dropped},
        )

    def trimmed(self) -> Self:
        """Return the form without a call that tells nothing new, if there are many."""
        if len(self.seen) <= ReuseCost.current().seen:
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
        return tuple(
            (
                wanted,
                scope.ranges,
                scope.orders,
                scope.reaches,
                min(self.agreeing_at(wanted), ReuseCost.current().seen // 4),
            )
            for wanted, scope in sorted(self._scopes.items())
        )

    def _outside(self, sizes: Sizes) -> str | None:
        if sizes.ranks != self.seen[0].ranks:
            return "its arrays have other numbers of axes"
        scope = self._scopes.get(pattern(sizes))
        if scope is None:
            return unseen_pattern(sizes, self._patterns)
        return scope.outside(sizes, self.delicate, self._used) or self._wrong_output(sizes)

    def _wrong_output(self, sizes: Sizes) -> str | None:
        for texts, actual in zip(self.extents, _flat(sizes.outputs), strict=True):
            if texts and actual not in (_extent(text, sizes.values) for text in texts):
                return f"an output axis has size {actual}, not {texts[0]}"
        return None

    @staticmethod
    def _agreed(texts: Sequence[str], values: Mapping[str, int]) -> int | None:
        first = compiled(texts[0])(values)
        return first if all(compiled(text)(values) == first for text in texts[1:]) else None

    # to and from the catalog

    def to_json(self) -> Json:
        """Return the form as JSON values."""
        item = {
            "skeleton": self.skeleton,
            "numbers": [list(texts) if len(texts) > 1 else texts[0] for texts in self.numbers],
            "extents": [list(texts) for texts in self.extents],
            "levels": list(self.levels),
            "seen": list(map(sizes_to_json, self.seen)),
            "dropped": sorted(self.dropped),
        }
        flags = {name: True for name in ("trusted", "picked") if getattr(self, name)}
        return {**item, **flags}

    @classmethod
    def from_json(cls, item: Json) -> Self:
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
            item.get("trusted", False),
            item.get("picked", False),
        )


def sizes_to_json(sizes: Sizes) -> Json:
    """Return the sizes of a call as JSON values."""
    item = [sizes.inputs, sizes.outputs, sizes.args]
    return [*item, sizes.fixed] if sizes.fixed else item


def sizes_from_json(item: Json) -> Sizes:
    """Undo ``sizes_to_json``."""
    inputs, outputs, *integers = item
    return Sizes(tuple(map(tuple, inputs)), tuple(map(tuple, outputs)), *map(tuple, integers))


def _flat(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return list(itertools.chain.from_iterable(shapes))


def _value(text: str, values: Mapping[str, int]) -> int | None:
    try:
        return compiled(text)(values)
    except ZeroDivisionError:
        return None


def _extent(text: str, values: Mapping[str, int]) -> int | None:
    """Return the size of an output axis: where a formula goes below 0, nothing is left."""
    value = _value(text, values)
    return None if value is None else max(value, 0)
