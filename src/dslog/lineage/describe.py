"""A Lineage in words and formulas, for people."""

from __future__ import annotations

from collections.abc import Sequence

from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Interval, Row


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
    outs, ins = factor.axis_names(out, inp)
    n, shown = len(factor.table), LineageCost.current().described_rows
    lines = [_Text(factor.table.row(r), outs, ins).text() for r in range(min(n, shown))]
    if n > shown:
        lines.append(f"... {n - shown} more rows")
    return lines


class _Text:
    """One row, ready to be put into words."""

    def __init__(self, row: Row, outs: list[str], ins: list[str]) -> None:
        self.row, self.outs, self.ins = row, outs, ins
        self.walker = self._find_walker()

    def text(self) -> str:
        ins = [self._input(i) for i in range(len(self.ins))]
        outs = [self._output(j) for j in range(len(self.outs))]
        if self.walker is None:
            outs += [f"t{k} in [0, {fold.count - 1}]" for k, fold in enumerate(self.row.folds)]
        left = ", ".join(ins) or "every pair"
        return f"{left}, for {', '.join(outs)}" if outs else left

    def _find_walker(self) -> int | None:
        """An output axis that walks one cell per t, so that t can be written by it."""
        if len(self.row.folds) != 1:
            return None
        steps = self.row.folds[0].outs
        moving = [j for j, step in enumerate(steps) if any(step)]
        if len(moving) != 1:
            return None
        (j,) = moving
        (lo, hi), (step, step_hi) = self.row.outs[j], steps[j]
        return j if lo == hi and step == step_hi and abs(step) == 1 else None

    def _input(self, i: int) -> str:
        ref = self.row.refs[i]
        base = self.outs[ref] if ref >= 0 else ""
        steps = [fold.ins[i] for fold in self.row.folds]
        return _within(self.ins[i], *self._ends(self.row.ins[i], steps, base))

    def _output(self, j: int) -> str:
        steps = [fold.outs[j] for fold in self.row.folds]
        if self.walker == j:
            start = self.row.outs[j][0]
            ends = sorted((start, start + (self.row.folds[0].count - 1) * steps[0][0]))
            return f"{self.outs[j]} in [{ends[0]}, {ends[1]}]"
        return _within(self.outs[j], *self._ends(self.row.outs[j], steps, ""))

    def _ends(self, ends: Interval, steps: Sequence[Interval], base: str) -> list[str]:
        """Both ends as formulas in t, or in the output axis that walks along."""
        if self.walker is None:
            return [
                _sum(base, end, [(step[side], f"t{k}") for k, step in enumerate(steps)])
                for side, end in enumerate(ends)
            ]
        start, pace = self.row.outs[self.walker][0], self.row.folds[0].outs[self.walker][0]
        slopes = [steps[0][side] * pace for side in range(2)]
        name = self.outs[self.walker]
        return [
            _sum(base, end - slope * start, [(slope, name)])
            for end, slope in zip(ends, slopes, strict=True)
        ]


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
