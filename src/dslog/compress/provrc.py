"""ProvRC, the paper's compression (section IV), over any number of axes.

1. Sort. Range-encode the inputs from the last axis to the first: rows that agree on everything
   but one input interval that touches become one row.
2. For each output axis from the last to the first, merge rows whose outputs differ only there and
   follow each other, and whose inputs agree absolutely or relative to that axis.

Rows are re-sorted before each pass so that rows which can merge become neighbours; in step 2 they
form slabs (same outputs), and matching rectangles of consecutive slabs are found by a merge of two
sorted lists, so a cell with several rectangles still merges with its neighbours'. Rows may be
ranges already: parts compressed apart can be joined and compressed again.

We write ``a = b + offset``; the paper's text and its tables disagree on the sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dslog.compress import kernels, row_kernels
from dslog.lineage.column_table import ColumnTable
from dslog.lineage.row_kernels import is_constant
from dslog.lineage.table import Table
from dslog.relation.relation import sort_unique
from dslog.types import I64

I8 = npt.NDArray[np.int8]
_KEY_LIMIT = float(1 << 62)
_FEW = 64  # rows that are kept as readable text
_SETTLE = 64
_MANY = 1 << 15
_ENOUGH = 1 << 10  # cells of which a share means something
_CHAIN_BITS = 4  # about what the length of a chain takes
_SAMPLES = 2048
_RARE = 32  # a merge in so many rows is not worth a pass over all of them
_MOST_INPUTS = 6  # patterns of moving inputs are an int8 of bits


def provrc(
    relation: I64, out_shape: Sequence[int], in_shape: Sequence[int], *, thorough: bool = True
) -> Table:
    """Compress a raw relation (n, l + m); order and repeats do not matter.

    Unless ``thorough``, a pass over many rows is left out when a sample of them finds no merge.
    """
    l, m = len(out_shape), len(in_shape)
    if len(relation) == 0:
        return Table.empty(l, m)
    if l + m == 0:
        return Table.plain(0, 0, np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64))
    fixed = _fixed_inputs(relation, l, m)
    if fixed:
        kept = [i for i in range(m) if i not in fixed]
        some = relation[:, [*range(l), *(l + i for i in kept)]]
        table = _provrc(some, out_shape, [in_shape[i] for i in kept], thorough=thorough)
        return _with_fixed(table, kept, fixed)
    return _provrc(relation, out_shape, in_shape, thorough=thorough)


def _provrc(
    relation: I64, out_shape: Sequence[int], in_shape: Sequence[int], *, thorough: bool
) -> Table:
    l, m = len(out_shape), len(in_shape)
    most = 1.0 if thorough else _most_chains(relation, out_shape, in_shape)
    status, table = _one_pass(relation, l, m, most)
    if status == kernels.SCATTERED:
        scattered = _cell_by_cell(relation, out_shape, m, 1.0 - most)
        if scattered is not None:
            return scattered
        status, table = _one_pass(relation, l, m, 1.0)
    rows = _rows_of_runs(relation, l, m) if status == kernels.SEVERAL else None
    if status == kernels.UNSORTED or (status == kernels.SEVERAL and rows is None):
        relation = sort_unique(relation, [*out_shape, *in_shape])
        return _provrc(relation, out_shape, in_shape, thorough=thorough)
    if rows is None:
        axes = [j for j in range(l - 2, -1, -1) if thorough or _may_merge(table, j)]
        if axes and len(table) > 1:
            rows = np.concatenate([table.rows, table.ref], axis=1)
            return _to_table(_output_passes(rows, l, m, axes), l, m)
        return table if isinstance(table, ColumnTable) else _settled(table)
    rows = _input_passes(rows, l, m, range(m - 2, -1, -1))
    axes = [j for j in range(l - 1, -1, -1) if thorough or _rows_may_merge(rows, l, m, j)]
    if not axes and l == m == 1:
        return _run_columns(rows)
    return _to_table(_output_passes(rows, l, m, axes), l, m)


def _fixed_inputs(relation: I64, l: int, m: int) -> dict[int, int]:
    """Input axes on which all of many pairs have the same cell: the others can do without them.

    One input axis at least is left.
    """
    if len(relation) <= _MANY:
        return {}
    fixed = [i for i in range(m) if is_constant(relation[:, l + i])]
    return {i: int(relation[0, l + i]) for i in fixed[-(m - 1) :]} if m > 1 else {}


def _with_fixed(table: Table, kept: Sequence[int], fixed: Mapping[int, int]) -> Table:
    """Put axes back on which every row has one and the same cell."""
    l, m, n = table.num_out, len(kept) + len(fixed), len(table)
    if isinstance(table, ColumnTable):
        named = {name: column for name, column in table.columns.items() if name[0] == "b"}
        for at, i in enumerate(kept):
            named |= {f"a{i}{end}": table.columns[f"a{at}{end}"] for end in ("", "w", "r")}
        for i, value in fixed.items():
            values = {"": value, "w": 0, "r": -1}
            named |= {f"a{i}{end}": _same(v, n) for end, v in values.items()}
        return ColumnTable(l, m, n, named, table.ordered)
    rows, ref = np.empty((n, 2 * (l + m)), np.int64), np.full((n, m), -1, np.int64)
    rows[:, : 2 * l] = table.rows[:, : 2 * l]
    for end in range(2):
        start = 2 * l + end * m
        rows[:, [start + i for i in kept]] = table.rows[:, 2 * l + end * len(kept) :][
            :, : len(kept)
        ]
        for i, value in fixed.items():
            rows[:, start + i] = value
    ref[:, kept] = table.ref
    return Table.plain(l, m, rows, ref)


def _most_chains(relation: I64, out_shape: Sequence[int], in_shape: Sequence[int]) -> float:
    """The share of rows above which chains are not worth their lengths.

    With one input cell for each output cell the outputs may be all cells in order, which need not
    be written down: smaller than chains that hold hardly more than a cell.
    """
    if len(relation) < _ENOUGH or len(relation) != math.prod(out_shape):
        return 1.0
    bits = sum(max(s - 1, 1).bit_length() for s in in_shape)
    return bits / (bits + _CHAIN_BITS)


def provrc_ranges(table: Table) -> Table:
    """Compress rows that are ranges already; folds are undone first."""
    table = table.unfold()
    l, m = table.num_out, table.num_in
    if len(table) < 2:
        return table
    rows = np.concatenate([table.rows, table.ref], axis=1)
    if m == 0:
        rows = np.unique(rows, axis=0)
    rows = _input_passes(rows, l, m, range(m - 1, -1, -1))
    rows = _output_passes(rows, l, m, range(l - 1, -1, -1))
    return _to_table(rows, l, m)


def _to_table(rows: I64, l: int, m: int) -> Table:
    rows = sort_rows(rows, [*range(l), *range(2 * l, 2 * l + m)], l, m)
    width = 2 * (l + m)
    return _settled(Table.plain(l, m, rows[:, :width], rows[:, width:]))


def _settled(table: Table) -> Table:
    """Let rows of one output cell, whose inputs are both absolute and relative, follow the others.

    Columns then stay in step: an input that some rows have relative to axis j, or that is always
    the same distance from it, becomes relative to j wherever the row has one cell there.
    """
    if len(table) <= _FEW or not (table.ref[:_FEW] == -1).any():
        return table
    l, m = table.num_out, table.num_in
    sample = table.take(np.linspace(0, len(table) - 1, _SETTLE).astype(np.int64))
    for i in range(m):
        for j in range(l):
            distance = sample.in_lo[:, i] - sample.out_lo[:, j]
            absolute = sample.ref[:, i] == -1
            steady = absolute.all() and (distance == distance[0]).all()
            held = absolute & (sample.out_lo[:, j] < sample.out_hi[:, j])
            if steady or np.count_nonzero(sample.ref[:, i] == j) > np.count_nonzero(held):
                row_kernels.make_relative(table.rows, table.ref, l, i, j)
                break
    return table


def _one_pass(relation: I64, l: int, m: int, most: float) -> tuple[int, Table]:
    """Compress a sorted relation of one run per cell; the status says if it is no such thing."""
    n = len(relation)
    if m > _MOST_INPUTS:
        return _check_order(relation), Table.empty(l, m)
    head, times, length = (np.empty(n, np.int64) for _ in range(3))
    axis, pattern = (np.empty(n, np.int8) for _ in range(2))
    status, k = kernels.chain_cells(relation, l, most, head, times, length, axis, pattern)
    if status == kernels.SORTED and k > most * n:
        status = kernels.SCATTERED
    if status != kernels.SORTED:
        return status, Table.empty(l, m)
    head, times, length, axis, pattern = head[:k], times[:k], length[:k], axis[:k], pattern[:k]
    if l == 1 and k > _MANY:
        return status, _chain_columns(relation, head, times, length, axis, pattern)
    rows, ref = np.empty((k, 2 * (l + m)), np.int64), np.empty((k, m), np.int64)
    kernels.write_chains(relation, l, head, times, length, axis, pattern, rows, ref)
    return status, Table.plain(l, m, rows, ref)


def _chain_columns(
    relation: I64, head: I64, times: I64, length: I64, axis: I8, pattern: I8
) -> Table:
    """Return many chains along a vector as columns, settled, without a matrix in between."""
    n, m = len(head), relation.shape[1] - 1
    some = np.linspace(0, n - 1, _SETTLE).astype(np.int64)
    named: dict[str, I64] = {}
    for i in range(m):
        moves = (pattern[some] >> i) & 1 == 1
        distance = relation[head[some], 1 + i] - relation[head[some], 0]
        steady = not moves.any() and np.ptp(distance) == 0
        held = ~moves & (times[some] > 1)
        follow = bool(steady or np.count_nonzero(moves) > np.count_nonzero(held))
        starts = np.empty(n, np.int64)
        relative = kernels.chain_inputs(relation, i, head, times, pattern, follow, starts)
        along = axis == 1 + i
        named[f"a{i}"] = starts
        named[f"a{i}w"] = np.where(along, length - 1, 0) if along.any() else _same(0, n)
        if relative in (0, n):
            named[f"a{i}r"] = _same(0 if relative else -1, n)
        else:
            tied = (pattern >> i) & 1 == 1
            named[f"a{i}r"] = np.where(tied | (times == 1) if follow else tied, 0, -1)
    kernels.chain_places(relation, head, head)
    times -= 1
    return ColumnTable(1, m, n, {"b0": head, "b0w": times} | named)


def _same(value: int, n: int) -> I64:
    return np.broadcast_to(np.int64(value), n)


def _cell_by_cell(relation: I64, out_shape: Sequence[int], m: int, least: float) -> Table | None:
    """Return a sorted relation of one input cell for each output cell as columns of inputs.

    All cells in order need no outputs: a merge here and there would cost them that. None where at
    least a share of ``least`` of the pairs merge along some axis, or are out of order after all.
    """
    n, l = len(relation), len(out_shape)
    samples = np.linspace(0, n - 1, _SAMPLES).astype(np.int64)
    for j in range(l - 1):
        stride = math.prod(out_shape[j + 1 :])
        first = samples[samples < n - stride]
        moved = relation[first + stride, l:] - relation[first, l:]
        merging = ((moved == 0) | (moved == 1)).all(axis=1)
        if np.count_nonzero(merging) > least * len(samples):
            return None
    follows = _follows(relation, l, m)
    columns = np.empty((m, n), np.int64)
    if not kernels.split_cells(relation, l, follows, columns):
        return None
    nothing = _same(0, n)
    named: dict[str, I64] = {f"b{j}w": nothing for j in range(l)}
    for i in range(m):
        named |= {f"a{i}": columns[i], f"a{i}w": nothing}
        named[f"a{i}r"] = _same(int(follows[i]), n)
    return ColumnTable(l, m, n, named, out_shape)


def _follows(relation: I64, l: int, m: int) -> I64:
    """For each input, the output axis it stays the same distance from, by a sample; or -1."""
    sample = relation[np.linspace(0, len(relation) - 1, _SETTLE).astype(np.int64)]
    follows = np.full(m, -1, np.int64)
    for i in range(m):
        for j in reversed(range(l)):
            if np.ptp(sample[:, l + i] - sample[:, j]) == 0:
                follows[i] = j
    return follows


def _check_order(relation: I64) -> int:
    columns = np.arange(relation.shape[1])
    ordered = row_kernels.is_sorted(relation, columns)
    repeats = ordered and bool((relation[1:] == relation[:-1]).all(axis=1).any())
    return kernels.SEVERAL if ordered and not repeats else kernels.UNSORTED


def _rows_of_runs(relation: I64, l: int, m: int) -> I64 | None:
    """Return a row for each run along the last input; None if pairs are out of order, or repeat."""
    starts = np.empty(len(relation), np.int64)
    runs = kernels.last_axis_runs(relation, l, starts)
    if runs < 0:
        return None
    rows = np.empty((runs, 2 * l + 3 * m), np.int64)
    kernels.write_runs(relation, l, starts[:runs], rows)
    return rows


def _run_columns(rows: I64) -> Table:
    """Return the runs of a vector, of which each output cell has several, as columns."""
    n = len(rows)
    columns = {
        "b0": np.ascontiguousarray(rows[:, 0]),
        "b0w": _same(0, n),
        "a0": np.ascontiguousarray(rows[:, 2]),
        "a0w": rows[:, 3] - rows[:, 2],
        "a0r": _same(-1, n),
    }
    return ColumnTable(1, 1, n, columns)


def _input_passes(rows: I64, l: int, m: int, axes: Sequence[int]) -> I64:
    """Step 1: range-encode input axes, in the given order."""
    for i in axes:
        lo, hi = 2 * l + i, 2 * l + m + i
        others = [c for c in range(2 * l + 3 * m) if c not in (lo, hi)]
        rows = sort_rows(rows, [*others, lo], l, m)
        rows = rows[: row_kernels.merge_ranges(rows, lo, hi)]
    return rows


def _output_passes(rows: I64, l: int, m: int, axes: Sequence[int]) -> I64:
    """Step 2: merge along output axes, in the given order."""
    for j in axes:
        if len(rows) > 1:
            rows = _output_pass(rows, l, m, j)
    return rows


def _may_merge(table: Table, j: int) -> bool:
    """Whether a pass along axis j is worth it: some row of a sample merges, or rows are few."""
    if len(table) < _MANY:
        return True
    samples = np.linspace(0, len(table) - 1, _SAMPLES).astype(np.int64)
    return row_kernels.sample_links(table.rows, table.ref, table.num_out, j, samples) > 0


def _rows_may_merge(rows: I64, l: int, m: int, j: int) -> bool:
    if len(rows) < _MANY:
        return True
    width = 2 * (l + m)
    if m == 1:
        samples = np.linspace(0, len(rows) - 1, _SAMPLES).astype(np.int64)
        return row_kernels.sample_cells(rows, l, j, samples) * _RARE > _SAMPLES
    if not row_kernels.is_sorted(rows, np.arange(l)):
        return True
    return _may_merge(Table.plain(l, m, rows[:, :width], rows[:, width:]), j)


def _output_pass(rows: I64, l: int, m: int, j: int) -> I64:
    rows = rows.copy()
    pattern = np.empty(len(rows), np.int64)
    row_kernels.begin_pass(rows, l, m, j, pattern)
    others = [k for k in range(2 * l) if k not in (j, l + j)]
    refs = range(2 * l + 2 * m, 2 * l + 3 * m)
    columns = [*others, j, l + j, *refs, *range(2 * l, 2 * l + 2 * m)]
    order = sort_order(rows, columns, l, m)
    if order is not None:
        rows, pattern = rows[order], pattern[order]
    slabs = np.empty(len(rows) + 1, np.int64)
    slabs = slabs[: row_kernels.find_slabs(rows, l, j, slabs) + 1]
    after = np.full(len(rows), -1, np.int64)
    before = np.full(len(rows), -1, np.int64)
    row_kernels.link_rows(rows, l, m, j, slabs, pattern, after, before)
    return rows[: row_kernels.collapse(rows, l, m, j, pattern, after, before)]


def sort_rows(rows: I64, columns: Sequence[int], l: int, m: int) -> I64:
    """Return the rows in lexicographic order of the given columns."""
    order = sort_order(rows, columns, l, m)
    return rows if order is None else rows[order]


def sort_order(rows: I64, columns: Sequence[int], l: int, m: int) -> I64 | None:
    """Return the order that sorts the rows by the given columns, None if they are sorted.

    Columns are packed into one int64 key when their ranges allow it: numpy sorts those far faster
    than it sorts by several keys.
    """
    if row_kernels.is_sorted(rows, np.array(columns, np.int64)):
        return None
    plan = np.array([(c, _partner(c, columns, l, m)) for c in columns], np.int64)
    spans = row_kernels.key_spans(rows, plan)
    if np.prod(spans[:, 1].astype(float)) >= _KEY_LIMIT:
        return np.lexsort(tuple(rows[:, c] for c in reversed(columns)))
    return np.argsort(row_kernels.sort_keys(rows, plan, spans))


def _partner(c: int, columns: Sequence[int], l: int, m: int) -> int:
    """The lower end to count an upper end from, if it comes first in the order; else -1.

    Where lower ends are equal, widths order rows as upper ends do, and take fewer bits.
    """
    lower = c - l if l <= c < 2 * l else c - m if 2 * l + m <= c < 2 * l + 2 * m else -1
    before = columns[: columns.index(c)]
    return lower if lower in before else -1
