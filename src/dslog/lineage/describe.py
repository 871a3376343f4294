"""A Lineage in words and formulas, for people."""

from __future__ import annotations

from collections.abc import Sequence

from dslog.lineage.factor import Factor, Term
from dslog.types import Shape

_SHOWN = 8


def describe_terms(terms: Sequence[Term], *, swapped: bool = False) -> str:
    """Describe a union of products, a line per row, the first few rows of each table.

    ``swapped`` says that the rows' absolute side is the input array.
    """
    if not terms:
        return "no cells are related"
    letters = ("a", "b") if swapped else ("b", "a")
    lines: list[str] = []
    for k, term in enumerate(terms):
        if len(terms) > 1:
            lines.append(f"part {k + 1} of {len(terms)}:")
        for n, factor in enumerate(term):
            if n:
                lines.append("and, independently,")
            lines += _describe_factor(factor, *letters)
    return "\n".join(lines)


def _describe_factor(factor: Factor, out: str, inp: str) -> list[str]:
    outs = _names(out, factor.out_axes, factor.out_flat)
    ins = _names(inp, factor.in_axes, factor.in_flat)
    n = len(factor.table)
    lines = [_Row(factor, r, outs, ins).text() for r in range(min(n, _SHOWN))]
    if n > _SHOWN:
        lines.append(f"... {n - _SHOWN} more rows")
    return lines


def _names(letter: str, axes: Shape, flat: bool) -> list[str]:
    names = [f"{letter}{k}" for k in axes]
    return [f"linear({', '.join(names)})"] if flat else names


class _Row:
    """One row, ready to be put into words."""

    def __init__(self, factor: Factor, r: int, outs: list[str], ins: list[str]) -> None:
        table = factor.table
        self.l, self.m = table.num_out, table.num_in
        self.outs, self.ins = outs, ins
        self.row: list[int] = table.rows[r].tolist()
        self.ref: list[int] = table.ref[r].tolist()
        folds = zip(table.count[r].tolist(), table.step[r].tolist(), strict=True)
        self.folds: list[tuple[int, list[int]]] = [fold for fold in folds if fold[0] > 1]
        self.walker = self._find_walker()

    def text(self) -> str:
        ins = [self._input(i) for i in range(self.m)]
        outs = [self._output(j) for j in range(self.l)]
        if self.walker is None:
            outs += [f"t{k} in [0, {count - 1}]" for k, (count, _) in enumerate(self.folds)]
        left = ", ".join(ins) or "every pair"
        return f"{left}, for {', '.join(outs)}" if outs else left

    def _find_walker(self) -> int | None:
        """An output axis that walks one cell per t, so that t can be written by it."""
        if len(self.folds) != 1:
            return None
        step = self.folds[0][1]
        moving = [j for j in range(self.l) if step[j] or step[self.l + j]]
        if len(moving) != 1:
            return None
        (j,) = moving
        one_cell = self.row[j] == self.row[self.l + j] and step[j] == step[self.l + j]
        return j if one_cell and abs(step[j]) == 1 else None

    def _input(self, i: int) -> str:
        base = self.outs[self.ref[i]] if self.ref[i] >= 0 else ""
        first = 2 * self.l + i
        return _within(self.ins[i], *(self._end(c, base) for c in (first, first + self.m)))

    def _output(self, j: int) -> str:
        if self.walker == j:
            count, step = self.folds[0]
            ends = sorted((self.row[j], self.row[j] + (count - 1) * step[j]))
            return f"{self.outs[j]} in [{ends[0]}, {ends[1]}]"
        return _within(self.outs[j], self._end(j, ""), self._end(self.l + j, ""))

    def _end(self, c: int, base: str) -> str:
        """A column's value as a formula in t, or in the output axis that walks along."""
        if self.walker is None:
            steps = [(step[c], f"t{k}") for k, (_, step) in enumerate(self.folds)]
            return _sum(base, self.row[c], steps)
        step = self.folds[0][1]
        slope = step[c] * step[self.walker]
        constant = self.row[c] - slope * self.row[self.walker]
        return _sum(base, constant, [(slope, self.outs[self.walker])])


def _within(name: str, low: str, high: str) -> str:
    return f"{name} = {low}" if low == high else f"{name} in [{low}, {high}]"


def _sum(base: str, constant: int, terms: list[tuple[int, str]]) -> str:
    """Write base + factors * names + constant, in the order people would.

    >>> _sum("", 999, [(-1, "b0")]), _sum("b0", -1, [(2, "t0")])
    ('999 - b0', 'b0 + 2*t0 - 1')
    """
    positive = [base] if base else []
    negative: list[str] = []
    for factor, name in terms:
        if factor:
            word = name if abs(factor) == 1 else f"{abs(factor)}*{name}"
            (positive if factor > 0 else negative).append(word)
    if constant > 0 or not (positive or negative):
        positive.append(str(constant))
    elif constant < 0:
        negative.append(str(-constant))
    text = " + ".join(positive)
    for word in negative:
        text = f"{text} - {word}" if text else f"-{word}"
    return text
