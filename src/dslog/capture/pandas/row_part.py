"""Parts of the lineage between two tables: which rows, times which columns.

An array is a table (rows x columns) or one column (rows). A part is a product of what happens to
rows and what happens to columns, so it costs rows + columns, not cells; rows are encoded when the
lineage is built, which is off the caller's path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dslog.algebra.positions import find_affine, pairs_of_cells
from dslog.capture.table_product import Pairs
from dslog.compress.encoder import compress, encode_table
from dslog.compress.provrc import fold, provrc, provrc_ranges
from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Row, Table
from dslog.types import I64, Shape


@dataclass(frozen=True, eq=False)
class RowLink:
    """Which rows of an input made which rows of an output.

    ``same``: each the one in its place, which is ``first`` rows further on in the output. ``all``:
    all of them every one. ``taken``: output row i reads input row ``lo[i]``, none if that is
    negative. ``into``: input row i made output row ``lo[i]``. ``spans``: output row ``out[i]``, or
    i, reads input rows ``lo[i]`` to ``hi[i]``.
    """

    kind: Literal["same", "all", "taken", "into", "spans"]
    lo: I64 | None = None
    hi: I64 | None = None
    out: I64 | None = None
    first: int = 0

    def terms(self, out: int, in_: int, *, forward: bool) -> Sequence[Term]:
        """Return tables over the rows of both sides, the input's absolute if ``forward``."""
        sides = (in_, out) if forward else (out, in_)
        if not out or not in_:
            return ()
        if self.kind == "all":
            return _whole(
                Table.of_rows(1, 1, [Row(((0, sides[0] - 1),), ((0, sides[1] - 1),), (-1,))])
            )
        if self.kind == "same":
            count = min(in_, out - self.first)
            start, shift = (0, self.first) if forward else (self.first, -self.first)
            row = Row(((start, start + count - 1),), ((shift, shift),), (0,))
            return _whole(Table.of_rows(1, 1, [row])) if count > 0 else ()
        if self.lo is None:
            raise AssertionError("rows without positions")
        if self.kind == "spans":
            return self._spans(self.lo, sides, forward=forward)
        taken = self.kind == "taken"
        if taken != forward:
            formula = (
                find_affine(self.lo, (sides[1],)) if len(self.lo) and self.lo.min() >= 0 else None
            )
            if formula is not None:
                return formula.terms
        at = np.flatnonzero(self.lo >= 0)
        pairs = np.stack([at, self.lo[at]] if taken != forward else [self.lo[at], at], axis=1)
        table = provrc(pairs.astype(np.int64), sides[:1], sides[1:])
        return encode_table(table, sides[:1], sides[1:])

    def _spans(self, lo: I64, sides: tuple[int, int], *, forward: bool) -> Sequence[Term]:
        hi = lo if self.hi is None else self.hi
        out = np.arange(len(lo)) if self.out is None else self.out
        some = hi >= lo
        ends = (out[some], out[some], lo[some], hi[some])
        table = Table.of_boxes(*(ends[2:] + ends[:2] if forward else ends))
        return encode_table(provrc_ranges(table), sides[:1], sides[1:])


SAME = RowLink("same")
ALL = RowLink("all")


def taken(positions: I64) -> RowLink:
    """Output row i reads input row ``positions[i]``."""
    return RowLink("taken", np.ascontiguousarray(positions, np.int64))


def into(groups: I64) -> RowLink:
    """Given row i makes output row ``groups[i]``."""
    return RowLink("into", np.ascontiguousarray(groups, np.int64))


def row_spans(lo: I64, hi: I64) -> RowLink:
    """Output row i reads input rows ``lo[i]`` to ``hi[i]``."""
    return RowLink("spans", np.asarray(lo, np.int64), np.asarray(hi, np.int64))


def row_pairs(out: I64, in_: I64) -> RowLink:
    """Output row ``out[i]`` reads input row ``in_[i]``."""
    lo = np.asarray(in_, np.int64)
    return RowLink("spans", lo, lo, np.asarray(out, np.int64))


@dataclass(frozen=True, eq=False)
class Straight:
    """Rows from rows, times columns from columns."""

    rows: RowLink
    columns: Pairs


@dataclass(frozen=True, eq=False)
class Across:
    """Output rows from input columns: (output row, input column), each from some input rows.

    ``rows`` are the first and the last input row, by default all; ``columns`` those of the output.
    """

    across: Pairs
    rows: tuple[int, int] | None = None
    columns: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class Crossed:
    """Output columns from input rows: (output column, input row), in all output rows."""

    across: Pairs
    columns: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class Whole:
    """Lineage that was found as a whole."""

    found: Lineage


@dataclass(frozen=True, eq=False)
class Later:
    """Parts that are found when the lineage is built."""

    parts: Callable[[], Sequence[Part]]


Part: TypeAlias = Straight | Across | Crossed | Whole | Later


def cells(out: I64, in_: I64, out_shape: Shape, in_shape: Shape) -> Part:
    """Pairs of cells, given by their positions."""

    def found() -> list[Part]:
        both = pairs_of_cells(out, out_shape, in_, in_shape)
        return [Whole(compress(both, out_shape, in_shape, orientation="backward"))]

    return Later(found)


def every_cell(out_shape: Shape, in_shape: Shape) -> list[Part]:
    """Every output cell from every input cell."""
    wide = [shape[1] if len(shape) > 1 else 1 for shape in (out_shape, in_shape)]
    if not in_shape:
        return [Whole(Lineage(out_shape, in_shape, _from_number(out_shape)))]
    if not out_shape:
        every = frozenset((0, c) for c in range(wide[1]))
        return [Across(every)] if len(in_shape) > 1 else [Straight(ALL, frozenset({(0, 0)}))]
    return [Straight(ALL, frozenset((c, d) for c in range(wide[0]) for d in range(wide[1])))]


def _from_number(out_shape: Shape) -> tuple[Term, ...]:
    if 0 in out_shape:
        return ()
    table = Table.of_rows(len(out_shape), 0, [Row(tuple((0, n - 1) for n in out_shape), (), ())])
    return ((Factor(tuple(range(len(out_shape))), (), table),),)


def lineage_of_parts(
    out_shape: Shape, in_shape: Shape, parts: Sequence[Part], *, exact: bool = True
) -> Lineage:
    """Return the union of some parts."""
    if 0 in out_shape or 0 in in_shape:
        return Lineage(out_shape, in_shape, (), exact)
    while any(isinstance(part, Later) for part in parts):
        parts = [
            p for part in parts for p in (part.parts() if isinstance(part, Later) else (part,))
        ]
    straight = [part for part in parts if isinstance(part, Straight)]
    forward = len(straight) == len(parts) and any(part.rows.kind == "into" for part in straight)
    terms: list[Term] = []
    encoded: dict[int, Sequence[Term]] = {}
    for part in parts:
        if isinstance(part, Whole):
            if not part.found.is_backward:
                raise AssertionError("lineage that is found as a whole is backward")
            terms += part.found.terms
        elif isinstance(part, Straight):
            columns = _columns(part.columns, out_shape, in_shape, forward=forward)
            rows = encoded.get(id(part.rows))
            if rows is None:
                counts = (out_shape or (1,))[0], (in_shape or (1,))[0]
                rows = encoded[id(part.rows)] = part.rows.terms(*counts, forward=forward)
            if columns is not None:
                terms += [
                    (*_on_axes(term, out_shape, in_shape, forward=forward), *columns)
                    for term in rows
                ]
        elif isinstance(part, (Across, Crossed)):
            terms += _turned(part, out_shape, in_shape)
    return Lineage(out_shape, in_shape, tuple(terms), exact, "forward" if forward else "backward")


def is_right(found: Lineage) -> bool:
    """Whether each term has all axes of both sides once, and names cells inside of them only."""
    absolute, relative = (range(len(shape)) for shape in found.sides)
    return (
        all(
            sorted(axis for f in term for axis in f.out_axes) == list(absolute)
            and sorted(axis for f in term for axis in f.in_axes) == list(relative)
            for term in found.terms
        )
        and found.is_inside()
    )


def _on_axes(term: Term, out_shape: Shape, in_shape: Shape, *, forward: bool) -> Term:
    """Drop the row axis of a side that is one number."""
    if out_shape and in_shape:
        return term
    if out_shape:
        return tuple(_free(np.unique(f.table.expand()[:, 0]), 0) for f in term)
    if forward:
        raise AssertionError("a number has no rows to go into")
    return tuple(_reading(sorted({int(r) for r in f.table.expand()[:, 1]}), 0) for f in term)


def _columns(
    columns: Pairs, out_shape: Shape, in_shape: Shape, *, forward: bool
) -> tuple[Factor, ...] | None:
    wide = len(out_shape) > 1, len(in_shape) > 1
    if not columns:
        return None
    if wide == (False, False):
        return ()
    pairs = sorted({(i, o) for o, i in columns} if forward else columns)
    if wide == (True, True):
        sides = (in_shape, out_shape) if forward else (out_shape, in_shape)
        table = fold(provrc(np.array(pairs, np.int64), sides[0][1:], sides[1][1:]))
        return (Factor((1,), (1,), table),)
    absolute = wide[1] if forward else wide[0]
    some = sorted({pair[0 if absolute else 1] for pair in pairs})
    return (_free(some, 1) if absolute else _reading(some, 1),)


def _free(places: Iterable[int], axis: int) -> Factor:
    rows = [Row((run,), (), ()) for run in _runs(places)]
    return Factor((axis,), (), Table.of_rows(1, 0, rows))


def _reading(places: Iterable[int], axis: int) -> Factor:
    rows = [Row((), (run,), (-1,)) for run in _runs(places)]
    return Factor((), (axis,), Table.of_rows(0, 1, rows))


def _runs(places: Iterable[int]) -> list[tuple[int, int]]:
    at = np.unique(np.fromiter(places, np.int64))
    ends = np.flatnonzero(np.diff(at) != 1)
    first, last = np.append(0, ends + 1), np.append(ends, len(at) - 1)
    return [(int(at[a]), int(at[b])) for a, b in zip(first, last, strict=True)] if len(at) else []


def _turned(part: Across | Crossed, out_shape: Shape, in_shape: Shape) -> Sequence[Term]:
    """Multiply what goes from one axis of a side to the other axis of the other side."""
    if not part.across:
        return ()
    table = np.array(sorted(part.across), np.int64)
    if isinstance(part, Crossed):
        pair = Factor((1,), (0,), fold(provrc(table, out_shape[1:], in_shape[:1])))
        term: Term = (_free(range(out_shape[0]), 0), pair)
        return [term if len(in_shape) < 2 else (*term, _reading(part.columns, 1))]
    rows = part.rows or (0, in_shape[0] - 1)
    read = Factor((), (0,), Table.of_rows(0, 1, [Row((), (rows,), (-1,))]))
    if not out_shape:
        return [(read, _reading([c for _, c in part.across], 1))]
    if len(in_shape) < 2:
        return [(_free({r for r, _ in part.across}, 0), read)]
    pair = Factor((0,), (1,), fold(provrc(table, out_shape[:1], in_shape[1:])))
    return [(read, pair) if len(out_shape) < 2 else (read, pair, _free(part.columns, 1))]


def _whole(table: Table) -> Sequence[Term]:
    return ((Factor((0,), (0,), table),),)
