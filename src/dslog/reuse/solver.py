"""Find the expressions that one number of a lineage follows over several calls.

Candidates come in levels, simplest first, and only those of the first level that fits all calls are
kept: all of them, because a prediction is made only where they agree.

===== =============================================================== ==========================
level candidates                                                      example
===== =============================================================== ==========================
0     what the paper's index reshaping finds: the ends 0 and D-1 of   ``[0, D-1]``, a flip
      the number's own axis, its size as a count, steps of one cell
1     a constant; the size of its own axis, or an argument, and a     windows, shifts, padding
      constant
2     any one size, product of sizes of an array, sum over the first  concatenation, kron
      inputs, or what is left of an argument beyond its own axis,
      and a constant
3     sums and differences of two, multiples, products, quotients;    several parts, resize,
      half, a third, a quarter of a size; the smaller or larger of    fftshift, diagonal
      two
===== =============================================================== ==========================

Levels 2 and 3 take further calls to be believed (``ReuseCost.extra_calls``), because more
candidates fit by accident.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dslog.reuse.expression import Sizes, evaluate, product_text, shifted_text
from dslog.reuse.reuse_cost import ReuseCost
from dslog.reuse.skeleton import Kind, Role

HIGHEST = 3
_DIVISORS = (2, 3, 4)
_SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))

Values = tuple[int, ...]
Known = tuple[str, Values]  # an expression and its value in every call


@dataclass(frozen=True, slots=True)
class Solved:
    """Expressions that agree on all calls seen, and their level."""

    level: int
    expressions: tuple[str, ...]


class Solver:
    """Solves numbers of calls with the same numbers of axes; remembers what it solved."""

    def __init__(self, calls: Sequence[Sizes]) -> None:
        self._calls = calls
        self._memory: dict[tuple[Role, Values, int], Solved | None] = {}
        self._sizes = self._known(list(calls[0].values))
        self._args = [known for known in self._sizes if known[0].startswith("x")]
        arrays = [
            [f"{side}{k}_{axis}" for axis in range(len(shape))]
            for side, shapes in (("i", calls[0].inputs), ("o", calls[0].outputs))
            for k, shape in enumerate(shapes)
        ]
        self._products = self._known(
            [product_text(run) for names in arrays for run in _runs(names)]
        )
        self._totals = self._known([product_text(names) for names in arrays if names])
        self._sums = self._known(list(_sums(calls[0].ranks[0])))

    def _known(self, texts: Sequence[str]) -> list[Known]:
        return [(text, self.values(text)) for text in texts]

    def values(self, text: str) -> Values:
        """Return an expression's value in every call."""
        return tuple(evaluate(text, sizes) for sizes in self._calls)

    def solve(self, part: Role, values: Values, highest: int = HIGHEST) -> Solved | None:
        """Return the simplest expressions of a number, or None when nothing fits."""
        key = (part, values, highest)
        if key not in self._memory:
            self._memory[key] = self._solve(part, values, highest)
        return self._memory[key]

    def _solve(self, part: Role, values: Values, highest: int) -> Solved | None:
        own = self._known(part.own)
        levels = (
            _expected(part.kind, own, values, self._calls[0].fixed),
            self._own(own, values),
            self._single(own, values),
            self._combined(values),
        )
        most = ReuseCost.current().candidates
        for level, candidates in enumerate(levels[: highest + 1]):
            found = tuple(dict.fromkeys(itertools.islice(candidates, most)))
            if found:
                return Solved(level, found)
        return None

    def _own(self, own: Sequence[Known], values: Values) -> Iterator[str]:
        """Level 1, with rivals.

        What is left of an argument is one: 10 and 10%D differ for small D only. To an argument
        whatever fits is, since it may have gone with a size by accident.
        """
        found = [*_constant(values), *_off_by_constant(own, values)]
        by_argument = list(_off_by_constant(_signed(self._args), values))
        yield from (*found, *by_argument)
        if found:
            yield from _off_by_constant(_signed(self._remainders(own)), values)
        elif by_argument:
            yield from self._single(own, values)

    def _single(self, own: Sequence[Known], values: Values) -> Iterator[str]:
        everything = [*own, *self._remainders(own), *self._sizes, *self._products, *self._sums]
        yield from _off_by_constant(_signed(everything), values)
        if len(own) == 2:
            yield from _off_by_constant([_added(own[0], own[1], 1, -1)], values)

    def _remainders(self, own: Sequence[Known]) -> Iterator[Known]:
        """Arguments that go beyond an axis, taken as they go round it."""
        first = self._calls[0]
        fixed = [(str(value), (value,) * len(self._calls)) for value in dict.fromkeys(first.fixed)]
        for (text, at), (axis, sizes) in itertools.product([*fixed, *self._args], own):
            if min(sizes) > 0 and any(abs(a) >= n > 1 for a, n in zip(at, sizes, strict=True)):
                left = f"{text}%({axis})" if "*" in axis else f"{text}%{axis}"
                yield left, tuple(a % n for a, n in zip(at, sizes, strict=True))
                rest = tuple(n - a % n for a, n in zip(at, sizes, strict=True))
                yield f"{axis}-{left}", rest

    def _shares(self, divisors: Iterable[int]) -> Iterator[Known]:
        for (text, at), divisor in itertools.product(self._sizes, divisors):
            for more in range(divisor):
                share = f"({shifted_text(text, more)})//{divisor}" if more else f"{text}//{divisor}"
                yield share, tuple((a + more) // divisor for a in at)

    def _combined(self, values: Values) -> Iterator[str]:
        yield from _off_by_constant(self._quotients(), values)
        yield from _off_by_constant(_signed(self._shares(_DIVISORS)), values)
        for one, two in itertools.product(self._sizes, self._shares(_DIVISORS[:1])):
            yield from _off_by_constant([_added(one, two, *signs) for signs in _SIGNS], values)
        for one, two in itertools.combinations([*self._sizes, *self._products], 2):
            yield from _off_by_constant([_added(one, two, *signs) for signs in _SIGNS], values)
        for one, two in itertools.combinations_with_replacement(self._sizes, 2):
            pairs = list(zip(one[1], two[1], strict=True))
            both = tuple(a * b for a, b in pairs)
            yield from _off_by_constant(_signed([(f"{one[0]}*{two[0]}", both)]), values)
            extremes = [
                (f"min({one[0]}, {two[0]})", tuple(min(pair) for pair in pairs)),
                (f"max({one[0]}, {two[0]})", tuple(max(pair) for pair in pairs)),
            ]
            yield from _off_by_constant(_signed(extremes), values)
        yield from _multiples([*self._sizes, *self._products], values)

    def _quotients(self) -> Iterator[Known]:
        knowns = dict.fromkeys([*self._totals, *self._sizes])
        for (one, at), (two, by) in itertools.permutations(knowns, 2):
            if min(by) > 1 and at != by:
                pairs = list(zip(at, by, strict=True))
                a, b = (f"({text})" if "*" in text else text for text in (one, two))
                yield f"{a}//{b}", tuple(x // y for x, y in pairs)
                yield f"{a}%{b}", tuple(x % y for x, y in pairs)
                yield f"{a}-{a}%{b}", tuple(x - x % y for x, y in pairs)


def _runs(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Two or more neighbouring axes: their products are the strides and sizes of an array."""
    for first, last in itertools.combinations(range(len(names) + 1), 2):
        if last - first > 1:
            yield names[first:last]


def _sums(ranks: Sequence[int]) -> Iterator[str]:
    """Sizes of one axis of the first inputs, added up: where the next one begins behind them."""
    for axis in range(min(ranks, default=0)):
        for count in range(2, len(ranks) + 1):
            yield "+".join(f"i{k}_{axis}" for k in range(count))


def _expected(
    kind: Kind, own: Sequence[Known], values: Values, fixed: Sequence[int]
) -> Iterator[str]:
    """Level 0; a constant is a rival where the axis is short, or an argument says the same."""
    if kind == "step":
        if values[0] in (-1, 1):
            yield from _constant(values)
        return
    if kind == "offset" or not any(values):
        if not any(values):
            yield "0"
        if kind == "offset":
            return
    less = 1 if kind == "position" else 0
    fitting = [(text, at) for text, at in own if tuple(a - less for a in at) == values]
    yield from (shifted_text(text, -less) for text, _ in fitting)
    if fitting and any(values):
        told = any(abs(values[0] - value) <= 1 for value in fixed)
        if told or min(fitting[0][1]) < ReuseCost.current().certain:
            yield from _constant(values)


def _constant(values: Values) -> Iterator[str]:
    if len(set(values)) == 1:
        yield str(values[0])


def _signed(knowns: Iterable[Known]) -> Iterator[Known]:
    for text, at in knowns:
        yield text, at
        inner = text if text.replace("_", "").isalnum() else f"({text})"
        yield f"-{inner}", tuple(-a for a in at)


def _added(one: Known, two: Known, sign_one: int, sign_two: int) -> Known:
    text = f"{'-' if sign_one < 0 else ''}{one[0]}{'-' if sign_two < 0 else '+'}{two[0]}"
    return text, tuple(sign_one * a + sign_two * b for a, b in zip(one[1], two[1], strict=True))


def _off_by_constant(knowns: Iterable[Known], values: Values) -> Iterator[str]:
    """Those that differ from the values by the same constant in every call."""
    for text, at in knowns:
        constant = values[0] - at[0]
        if all(v - a == constant for v, a in zip(values, at, strict=True)):
            yield shifted_text(text, constant)


def _multiples(knowns: Iterable[Known], values: Values) -> Iterator[str]:
    most = ReuseCost.current().multiple
    for text, at in knowns:
        other = next((k for k, a in enumerate(at) if a != at[0]), None)
        if other is None:
            continue
        factor, rest = divmod(values[other] - values[0], at[other] - at[0])
        if rest == 0 and 1 < abs(factor) <= most:
            yield from _off_by_constant(
                [(f"{factor}*{text}", tuple(factor * a for a in at))], values
            )
