"""Steps on tables as loops over lists of rows: values and lineage, the slow and obvious way.

A table is a list of tuples. Lineage is a set of (output row, output column, input row, input
column), one per input table.
"""

import math
from collections.abc import Callable, Sequence

Row = tuple
Pairs = set[tuple[int, int, int, int]]


def identity(rows: Sequence[tuple[int, int]], width: int) -> Pairs:
    """Every cell of an output row comes from the cell at its place in an input row."""
    return {(out, c, in_, c) for out, in_ in rows for c in range(width)}


def chosen(table: list[Row], keep: Callable[[Row], bool | None]) -> tuple[list[Row], Pairs]:
    """Rows for which a condition holds; None is not True."""
    found = [place for place, row in enumerate(table) if keep(row)]
    width = len(table[0]) if table else 0
    return [table[place] for place in found], identity(list(enumerate(found)), width)


def computed(
    table: list[Row], columns: list[tuple[Callable[[Row], object], tuple[int, ...]]]
) -> tuple[list[Row], Pairs]:
    """Columns, each a function of the row and the places that it reads."""
    values = [tuple(function(row) for function, _ in columns) for row in table]
    pairs = {
        (place, number, place, source)
        for place in range(len(table))
        for number, (_, reads) in enumerate(columns)
        for source in reads
    }
    return values, pairs


def joined(
    left: list[Row], right: list[Row], on: list[tuple[int, int]], how: str, widths: tuple[int, int]
) -> tuple[list[Row], Pairs, Pairs]:
    """Join on equal columns, which come first and from both sides; left order, then right."""
    matches = [
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if all(a[p] is not None and a[p] == b[q] for p, q in on)
    ]
    hit_left, hit_right = {i for i, _ in matches}, {j for _, j in matches}
    pairs: list[tuple[int | None, int | None]] = list(matches)
    if how in ("left", "full"):
        pairs += [(i, None) for i in range(len(left)) if i not in hit_left]
    if how in ("right", "full"):
        pairs += [(None, j) for j in range(len(right)) if j not in hit_right]
    pairs.sort(key=lambda p: tuple(math.inf if x is None else x for x in p))
    rest_left = [c for c in range(widths[0]) if c not in [p for p, _ in on]]
    rest_right = [c for c in range(widths[1]) if c not in [q for _, q in on]]
    rows, from_left, from_right = [], set(), set()
    for out, (i, j) in enumerate(pairs):
        a = left[i] if i is not None else (None,) * widths[0]
        b = right[j] if j is not None else (None,) * widths[1]
        keys = tuple(a[p] if i is not None else b[q] for p, q in on)
        rows.append((*keys, *(a[c] for c in rest_left), *(b[c] for c in rest_right)))
        if i is not None:
            places = [p for p, _ in on] + rest_left
            from_left |= {(out, c, i, p) for c, p in enumerate(places)}
        if j is not None:
            from_right |= {(out, c, j, q) for c, (_, q) in enumerate(on)}
            first = len(on) + len(rest_left)
            from_right |= {(out, first + c, j, q) for c, q in enumerate(rest_right)}
    return rows, from_left, from_right


def grouped(
    table: list[Row],
    keys: list[int],
    values: list[tuple[Callable[[list[Row]], object], tuple[int, ...]]],
) -> tuple[list[Row], Pairs]:
    """Groups by columns, numbered by their first row; values are functions of a group's rows."""
    groups: dict[object, list[int]] = {}
    for place, row in enumerate(table):
        groups.setdefault(tuple(_key(row[k]) for k in keys), []).append(place)
    rows, pairs = [], set()
    for out, members in enumerate(groups.values()):
        inside = [table[place] for place in members]
        rows.append((*(inside[0][k] for k in keys), *(f(inside) for f, _ in values)))
        for place in members:
            pairs |= {(out, c, place, k) for c, k in enumerate(keys)}
            for c, (_, reads) in enumerate(values, start=len(keys)):
                pairs |= {(out, c, place, source) for source in reads}
    return rows, pairs


def _key(value: object) -> object:
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def sorted_rows(
    table: list[Row], key: Callable[[Row], object], width: int
) -> tuple[list[Row], Pairs]:
    """Rows in another order; equal ones keep theirs."""
    order = sorted(range(len(table)), key=lambda place: key(table[place]))
    return [table[place] for place in order], identity(list(enumerate(order)), width)


def through(late: Pairs, early: Pairs) -> Pairs:
    """Pairs of a table and what the rows that it reads were made of."""
    behind: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for out, c, in_, d in early:
        behind.setdefault((out, c), []).append((in_, d))
    return {(out, c, *cell) for out, c, mid, d in late for cell in behind.get((mid, d), ())}
