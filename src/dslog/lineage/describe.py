"""A Lineage in words and formulas, for people."""

from __future__ import annotations

from collections.abc import Sequence

from dslog.lineage.factor import Factor, Shape, Term

_SHOWN = 8


def describe_terms(
    terms: Sequence[Term], out_shape: Shape, in_shape: Shape, *, swapped: bool = False
) -> str:
    """Describe a union of products, a line per row, the first few rows of each table."""
    if not terms:
        return "no cells are related"
    out, inp = ("a", "b") if swapped else ("b", "a")
    lines: list[str] = []
    for k, term in enumerate(terms):
        if len(terms) > 1:
            lines.append(f"part {k + 1} of {len(terms)}:")
        for n, factor in enumerate(term):
            if n:
                lines.append("and, independently,")
            lines += _describe_factor(factor, out_shape, in_shape, out, inp)
    return "\n".join(lines)


def _describe_factor(
    factor: Factor, out_shape: Shape, in_shape: Shape, out: str, inp: str
) -> list[str]:
    table = factor.table
    out_names = (
        [_flat_name(out, factor.out_axes)]
        if factor.out_flat
        else [f"{out}{j}" for j in factor.out_axes]
    )
    in_names = (
        [_flat_name(inp, factor.in_axes)]
        if factor.in_flat
        else [f"{inp}{i}" for i in factor.in_axes]
    )
    lines = [_describe_row(factor, r, out_names, in_names) for r in range(min(len(table), _SHOWN))]
    if len(table) > _SHOWN:
        lines.append(f"... {len(table) - _SHOWN} more rows")
    return lines


def _flat_name(letter: str, axes: Shape) -> str:
    return "linear(" + ", ".join(f"{letter}{k}" for k in axes) + ")"


def _describe_row(factor: Factor, r: int, out_names: list[str], in_names: list[str]) -> str:
    table = factor.table
    l, m = table.num_out, table.num_in
    row, ref = table.rows[r].tolist(), table.ref[r].tolist()
    folds = [(int(table.count[r, k]), table.step[r, k].tolist()) for k in range(table.levels)]
    folds = [f for f in folds if f[0] > 1]
    solved = _solve(folds, row, l) if len(folds) == 1 else None
    lefts, rights = [], []
    for i in range(m):
        base = out_names[ref[i]] if ref[i] >= 0 else ""
        ends = []
        for c in (2 * l + i, 2 * l + m + i):
            if solved is None:
                ends.append(_sum(base, row[c], [(s[c], f"t{k}") for k, (_, s) in enumerate(folds)]))
            else:
                j, slope = solved
                step = folds[0][1][c] * slope
                ends.append(_sum(base, row[c] - step * row[j], [(step, out_names[j])]))
        lefts.append(
            f"{in_names[i]} = {ends[0]}"
            if ends[0] == ends[1]
            else f"{in_names[i]} in [{ends[0]}, {ends[1]}]"
        )
    for j in range(l):
        if solved is not None and solved[0] == j:
            last = row[j] + (folds[0][0] - 1) * folds[0][1][j]
            rights.append(f"{out_names[j]} in [{min(row[j], last)}, {max(row[j], last)}]")
            continue
        ends = [
            _sum("", row[c], [(s[c], f"t{k}") for k, (_, s) in enumerate(folds)])
            for c in (j, l + j)
        ]
        rights.append(
            f"{out_names[j]} = {ends[0]}"
            if ends[0] == ends[1]
            else f"{out_names[j]} in [{ends[0]}, {ends[1]}]"
        )
    if solved is None:
        rights += [f"t{k} in [0, {count - 1}]" for k, (count, _) in enumerate(folds)]
    left = ", ".join(lefts) or "every pair"
    return f"{left}, for {', '.join(rights)}" if rights else left


def _solve(folds: list[tuple[int, list[int]]], row: list[int], l: int) -> tuple[int, int] | None:
    """Find an output axis that walks by one cell per t, so that t can be written by it."""
    step = folds[0][1]
    for j in range(l):
        if step[j] == step[l + j] and abs(step[j]) == 1 and row[j] == row[l + j]:
            others = [k for k in range(l) if k != j and (step[k] or step[l + k])]
            return None if others else (j, step[j])
    return None


def _sum(base: str, constant: int, terms: list[tuple[int, str]]) -> str:
    """Write base + constant + sum of factor * name, in the order people would."""
    positive, negative = [base] if base else [], []
    for factor, name in terms:
        if factor:
            word = name if abs(factor) == 1 else f"{abs(factor)}*{name}"
            (positive if factor > 0 else negative).append(word)
    if constant > 0 or not (positive or negative):
        positive.insert(0 if not positive else len(positive), str(constant))
    elif constant < 0:
        negative.append(str(-constant))
    text = " + ".join(positive)
    for word in negative:
        text = f"{text} - {word}" if text else f"-{word}"
    return text
