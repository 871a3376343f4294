"""Where a formula may be believed: which calls are like those it was solved from.

A *regime* is a range of shapes in which an operation follows one formula. Where it ends can't be
known, so a formula is applied to a further call only when that call is like those seen:

- Sizes 0, 1 and "2 or more" form a pattern over all axes, and the pattern of the call must have
  been seen: an axis of size 0 or 1 can't tell apart what larger ones can. To the pattern belongs
  where an argument lies on each input axis: first, inside, last, just behind, counted from the end,
  or outside, a multiple of the size or not. What follows is about the calls seen whose axes are no
  smaller in this sense.
- An argument that is the same in all calls lay on an axis before, or went beyond it, and was a
  multiple of its size or not, as it does now: ``roll`` by 20 does nothing to 5 cells. The same for
  all cells of an input together.
- What never varied can't be interpolated: an axis that had one size in all calls seen must have it
  again, unless that size was 8 or more.
- An axis is *delicate* if a number beyond level 0 (see ``solver``) depends on its size, or might.
  Such an axis has a size that was seen, or 3 different sizes were seen, or sizes that are 4 or
  more apart; of fewer than 8 cells, it is no smaller than the smallest seen; and of two input axes,
  one of them delicate, that one is larger which always was.
- An argument that a number depends on lies between the smallest and the largest seen, until four
  were seen. One that no number depends on was seen: turns by 90 and by 450 degrees are the same, by
  270 not.

So a formula is extrapolated along axes that were seen to vary, and hardly to smaller sizes.
"""

import itertools
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Self

from dslog.reuse.expression import Sizes
from dslog.reuse.reuse_cost import ReuseCost

Pattern = tuple[int, ...]
Reaches = frozenset[tuple[int, str, int]]


def pattern(sizes: Sizes) -> Pattern:
    """Say of each axis whether it has 0, 1 or more cells, and where each argument lies on it."""
    return (*(min(size, 2) for size in sizes.dims), *places(sizes))


def places(sizes: Sizes) -> Pattern:
    """Say where each argument lies on each input axis, and on all cells of an input."""
    axes = [size for shape in sizes.inputs for size in shape]
    totals = [prod(shape) for shape in sizes.inputs if len(shape) > 1]
    return (
        *(_place(value, size) for value in sizes.args for size in axes),
        *(_beyond(value, size) for value in sizes.args for size in totals),
    )


def reaches(sizes: Sizes) -> Reaches:
    """Say whether each argument of the key goes beyond each input axis, and beyond all cells.

    Arguments are given by number, axes and inputs by name.
    """
    if not sizes.fixed:
        return frozenset()
    spans = {name: size for name, size in sizes.values.items() if name.startswith("i")}
    for k, shape in enumerate(sizes.inputs):
        if len(shape) > 1:
            spans[f"i{k}"] = prod(shape)
    return frozenset(
        (place, name, _beyond(value, size))
        for place, value in enumerate(sizes.fixed)
        for name, size in spans.items()
    )


def _place(index: int, size: int) -> int:
    """Return 0 for the first cell of an axis, 2 for the last, 1 between, 3 just behind.

    6 is a cell counted from the end; what is further out is 5 if it is a multiple of the size,
    else 4.
    """
    if 0 <= index <= size:
        return 1 + max(index - size + 2, 0) if index else 0
    return 6 if -size <= index < 0 else 4 + (size > 1 and index % size == 0)


def _beyond(value: int, size: int) -> int:
    """Return 0 for what lies on an axis, 2 for further multiples of its size, 1 for the rest.

    With no cell, or a single one, there is nothing to tell: 3.
    """
    if size < 2:
        return 3
    return 0 if abs(value) < size else 1 + (value % size == 0)


def is_like(sizes: Sizes, wanted: Pattern) -> bool:
    """Whether a call has no smaller axes than a pattern says, and its arguments in the places."""
    axes = len(sizes.dims)
    have = pattern(sizes)
    return have[axes:] == wanted[axes:] and all(
        one >= other for one, other in zip(have[:axes], wanted[:axes], strict=True)
    )


@dataclass(frozen=True)
class Scope:
    """The calls seen that tell about calls of one pattern."""

    calls: tuple[Sizes, ...]

    @classmethod
    def of(cls, seen: Iterable[Sizes], wanted: Pattern) -> Self:
        """Choose among the calls seen."""
        return cls(tuple(sizes for sizes in seen if is_like(sizes, wanted)))

    def outside(
        self, sizes: Sizes, delicate: AbstractSet[str], used: AbstractSet[str]
    ) -> str | None:
        """Say why a call of the pattern is not like those seen, or None if it is.

        ``used`` are the names that occur in the formula.
        """
        for name, value in sizes.values.items():
            reason = (
                self._unseen_argument(name, value, used)
                if name.startswith("x")
                else self._unseen_size(name, value, delicate)
            )
            if reason is not None:
                return reason
        pair = self._unseen_order(sizes, delicate)
        if pair is not None:
            return f"{axis_name(pair[0])} and {axis_name(pair[1])} compare as in no call seen"
        return self._unseen_reach(sizes)

    def _unseen_argument(self, name: str, value: int, used: AbstractSet[str]) -> str | None:
        cost = ReuseCost.current()
        low, high = self.ranges[name]
        different = len(self._sizes[name])
        if name not in used:
            known = value in self._sizes[name] or different >= cost.ignored_argument
            return None if known else f"an argument is {value}, as in no call seen"
        if low <= value <= high or different >= cost.open_argument:
            return None
        return f"an argument is {value}; calls seen had {low} to {high}"

    def _unseen_size(self, name: str, value: int, delicate: AbstractSet[str]) -> str | None:
        cost = ReuseCost.current()
        low, high = self.ranges[name]
        if low == high:
            known = low == value or (low >= cost.certain and name not in delicate)
            return None if known else f"{axis_name(name)} has size {value}; all calls had {low}"
        if name not in delicate or name.startswith("o") or value in self._sizes[name]:
            return None
        if high - low < cost.apart and len(self._sizes[name]) < cost.several:
            return f"{axis_name(name)} has size {value}; calls seen had {low} to {high}, too close"
        if value < min(low, cost.certain):
            return f"{axis_name(name)} has size {value}; calls seen had {low} or more"
        return None

    def _unseen_order(self, sizes: Sizes, delicate: AbstractSet[str]) -> tuple[str, str] | None:
        for (one, two), signs in self.orders.items():
            if one in delicate or two in delicate:
                sign = _sign(sizes.values[one] - sizes.values[two])
                if sign not in signs and not {-1, 1} <= signs:
                    return one, two
        return None

    def _unseen_reach(self, sizes: Sizes) -> str | None:
        for place, name, _ in sorted(reaches(sizes) - self.reaches):
            what = axis_name(name) if "_" in name else f"input {name[1:]}"
            return f"an argument is {sizes.fixed[place]}, and {what} has a size as in no call seen"
        return None

    @cached_property
    def reaches(self) -> Reaches:
        """How far the arguments of the key went on every input axis."""
        return frozenset(itertools.chain.from_iterable(map(reaches, self.calls)))

    @cached_property
    def _sizes(self) -> dict[str, set[int]]:
        names = self.calls[0].values
        return {name: {sizes.values[name] for sizes in self.calls} for name in names}

    @cached_property
    def orders(self) -> dict[tuple[str, str], set[int]]:
        """Whether the first of two input axes was smaller (-1), equal (0) or larger (1)."""
        names = [name for name in self.calls[0].values if name.startswith("i")]
        return {
            (one, two): {_sign(s.values[one] - s.values[two]) for s in self.calls}
            for one, two in itertools.combinations(names, 2)
        }

    @cached_property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The smallest and largest value of every size and argument."""
        return {name: (min(values), max(values)) for name, values in self._sizes.items()}


def unseen_pattern(sizes: Sizes, patterns: Iterable[Pattern]) -> str:
    """Say what is new about a call whose pattern was not seen."""
    names = [name for name in sizes.values if not name.startswith("x")]
    for place, (name, size) in enumerate(zip(names, sizes.dims, strict=True)):
        if all(known[place] != min(size, 2) for known in patterns):
            return f"{axis_name(name)} has size {size}; no call seen had an axis like that"
    return "axes of size 0 or 1 come together as in no call seen"


def axis_name(name: str) -> str:
    """Say which axis a name in an expression means.

    >>> axis_name("i0_1")
    'axis 1 of input 0'
    """
    side, axis = name.split("_")
    return f"axis {axis} of {'input' if side[0] == 'i' else 'output'} {side[1:]}"


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)
