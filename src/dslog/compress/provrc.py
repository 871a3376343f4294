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

Folds, which the paper does not have: rows in arithmetic progression become one row with a count and
steps. Flip, repeat, strided slices, pooling, cumsum and ravel are one row each this way, where
ProvRC alone needs a row per cell of an axis. Folding repeats over folded rows, for nested
progressions (pooling over two axes is a fold of a fold).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from dslog.cells.boxes import lexicographic_order
from dslog.compress import kernels
from dslog.compress.compress_cost import CompressCost
from dslog.lineage.kernels import is_constant
from dslog.lineage.table import Table, same
from dslog.relation.relation import sort_unique
from dslog.types import I64

I8 = npt.NDArray[np.int8]
MOST_INPUTS = 6  # patterns of moving inputs are an int8 of bits


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
        return Table.point()
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
        axes = [j for j in range(l - 2, -1, -1) if thorough or _may_merge(table.matrix, l, m, j)]
        if axes and len(table) > 1:
            rows = np.ascontiguousarray(table.matrix.T)
            return _to_table(_output_passes(rows, l, m, axes), l, m)
        return Table(l, m, _settled(table.matrix, l, m)) if table.has_matrix else table
    rows = _input_passes(rows, l, m, range(m - 2, -1, -1))
    axes = [j for j in range(l - 1, -1, -1) if thorough or _rows_may_merge(rows, l, m, j)]
    if not axes and l == m == 1:
        return _run_columns(rows)
    return _to_table(_output_passes(rows, l, m, axes), l, m)


def _fixed_inputs(relation: I64, l: int, m: int) -> dict[int, int]:
    """Input axes on which all of many pairs have the same cell: the others can do without them.

    One input axis at least is left.
    """
    if len(relation) <= CompressCost.current().many_rows:
        return {}
    fixed = [i for i in range(m) if is_constant(relation[:, l + i])]
    return {i: int(relation[0, l + i]) for i in fixed[-(m - 1) :]} if m > 1 else {}


def _with_fixed(table: Table, kept: Sequence[int], fixed: Mapping[int, int]) -> Table:
    """Put axes back on which every row has one and the same cell."""
    m, n = len(kept) + len(fixed), len(table)
    outs = table.num_out
    named = {
        name: column
        for name, column in table.named(implied=table.ordered is not None).items()
        if name[0] == "b"
    }
    for at, i in enumerate(kept):
        ends = zip(("", "w", "r"), table.said_of(outs + at), strict=True)
        named |= {f"a{i}{end}": column for end, column in ends}
    for i, value in fixed.items():
        named |= {f"a{i}": same(value, n), f"a{i}w": same(0, n), f"a{i}r": same(-1, n)}
    return Table.of_named(outs, m, named, ordered=table.ordered)


def _most_chains(relation: I64, out_shape: Sequence[int], in_shape: Sequence[int]) -> float:
    """The share of rows above which chains are not worth their lengths.

    With one input cell for each output cell the outputs may be all cells in order, which need not
    be written down: smaller than chains that hold hardly more than a cell.
    """
    cost = CompressCost.current()
    if len(relation) < cost.enough_cells or len(relation) != prod(out_shape):
        return 1.0
    bits = sum(max(s - 1, 1).bit_length() for s in in_shape)
    return bits / (bits + cost.chain_bits)


def provrc_ranges(table: Table) -> Table:
    """Compress rows that are ranges already; folds are undone first."""
    table = table.unfold()
    l, m = table.num_out, table.num_in
    if len(table) < 2:
        return table
    rows = np.ascontiguousarray(table.matrix.T)
    if m == 0:
        rows = np.unique(rows, axis=0)
    rows = _input_passes(rows, l, m, range(m - 1, -1, -1))
    rows = _output_passes(rows, l, m, range(l - 1, -1, -1))
    return _to_table(rows, l, m)


# Passes sort whole rows, so what they work on lies in memory row by row, ``rows[row, column]``; a
# kernel gets its transpose, columns like any other.


def _to_table(rows: I64, l: int, m: int) -> Table:
    rows = sort_rows(rows, range(l + m))
    return Table(l, m, _settled(np.ascontiguousarray(rows.T), l, m))


def _settled(columns: I64, l: int, m: int) -> I64:
    """Let rows of one output cell, whose inputs are both absolute and relative, follow the others.

    Columns then stay in step: an input that some rows have relative to axis j, or that is always
    the same distance from it, becomes relative to j wherever the row has one cell there.
    """
    n, axes, cost = columns.shape[1], l + m, CompressCost.current()
    if n <= cost.few_rows or not (columns[2 * axes :, : cost.few_rows] == -1).any():
        return columns
    sample = columns[:, np.linspace(0, n - 1, cost.settle_rows).astype(np.int64)]
    for i in range(m):
        for j in range(l):
            distance = sample[l + i] - sample[j]
            absolute = sample[2 * axes + i] == -1
            steady = absolute.all() and (distance == distance[0]).all()
            held = absolute & (sample[axes + j] > 0)
            follow = np.count_nonzero(sample[2 * axes + i] == j) > np.count_nonzero(held)
            if steady or follow:
                kernels.make_relative(columns, l, axes, i, j)
                break
    return columns


def _one_pass(relation: I64, l: int, m: int, most: float) -> tuple[int, Table]:
    """Compress a sorted relation of one run per cell; the status says if it is no such thing."""
    n, cost = len(relation), CompressCost.current()
    if m > MOST_INPUTS:
        return _check_order(relation), Table.empty(l, m)
    head, times, length = (np.empty(n, np.int64) for _ in range(3))
    axis, pattern = (np.empty(n, np.int8) for _ in range(2))
    found = head, times, length, axis, pattern
    status, k = kernels.chain_cells(relation, l, most, cost.probe_pairs, *found)
    if status == kernels.SORTED and k > most * n:
        status = kernels.SCATTERED
    if status != kernels.SORTED:
        return status, Table.empty(l, m)
    head, times, length, axis, pattern = head[:k], times[:k], length[:k], axis[:k], pattern[:k]
    if l == 1 and k > cost.many_rows:
        return status, _chain_columns(relation, head, times, length, axis, pattern)
    columns = np.empty((2 * l + 3 * m, k), np.int64)
    kernels.write_chains(relation, l, head, times, length, axis, pattern, columns)
    return status, Table(l, m, columns)


def _chain_columns(
    relation: I64, head: I64, times: I64, length: I64, axis: I8, pattern: I8
) -> Table:
    """Return many chains along a vector as columns, settled, without a matrix in between."""
    n, m = len(head), relation.shape[1] - 1
    some = np.linspace(0, n - 1, CompressCost.current().settle_rows).astype(np.int64)
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
        named[f"a{i}w"] = np.where(along, length - 1, 0) if along.any() else same(0, n)
        if relative in (0, n):
            named[f"a{i}r"] = same(0 if relative else -1, n)
        else:
            tied = (pattern >> i) & 1 == 1
            named[f"a{i}r"] = np.where(tied | (times == 1) if follow else tied, 0, -1)
    kernels.chain_places(relation, head, head)
    times -= 1
    return Table.of_named(1, m, {"b0": head, "b0w": times} | named)


def _cell_by_cell(relation: I64, out_shape: Sequence[int], m: int, least: float) -> Table | None:
    """Return a sorted relation of one input cell for each output cell as columns of inputs.

    All cells in order need no outputs: a merge here and there would cost them that. None where at
    least a share of ``least`` of the pairs merge along some axis, or are out of order after all.
    """
    n, l = len(relation), len(out_shape)
    samples = np.linspace(0, n - 1, CompressCost.current().merge_samples).astype(np.int64)
    for j in range(l - 1):
        stride = prod(out_shape[j + 1 :])
        first = samples[samples < n - stride]
        moved = relation[first + stride, l:] - relation[first, l:]
        merging = ((moved == 0) | (moved == 1)).all(axis=1)
        if np.count_nonzero(merging) > least * len(samples):
            return None
    follows = _follows(relation, l, m)
    columns = np.empty((m, n), np.int64)
    if not kernels.split_cells(relation, l, follows, columns):
        return None
    widths = [same(0, n)] * (l + m)
    refs = [same(ref, n) for ref in follows.tolist()]
    return Table(l, m, [*[None] * l, *columns, *widths, *refs], ordered=out_shape)


def _follows(relation: I64, l: int, m: int) -> I64:
    """For each input, the output axis it stays the same distance from, by a sample; or -1."""
    rows = CompressCost.current().settle_rows
    sample = relation[np.linspace(0, len(relation) - 1, rows).astype(np.int64)]
    follows = np.full(m, -1, np.int64)
    for i in range(m):
        for j in reversed(range(l)):
            if np.ptp(sample[:, l + i] - sample[:, j]) == 0:
                follows[i] = j
    return follows


def _check_order(relation: I64) -> int:
    ordered = kernels.is_sorted(relation.T, np.arange(relation.shape[1]))
    repeats = ordered and bool((relation[1:] == relation[:-1]).all(axis=1).any())
    return kernels.SEVERAL if ordered and not repeats else kernels.UNSORTED


def _rows_of_runs(relation: I64, l: int, m: int) -> I64 | None:
    """Return a row for each run along the last input; None if pairs are out of order, or repeat."""
    starts = np.empty(len(relation), np.int64)
    runs = kernels.last_axis_runs(relation, l, starts)
    if runs < 0:
        return None
    rows = np.empty((runs, 2 * l + 3 * m), np.int64)
    kernels.write_runs(relation, l, starts[:runs], rows.T)
    return rows


def _run_columns(rows: I64) -> Table:
    """Return the runs of a vector, of which each output cell has several, as columns."""
    n = len(rows)
    b, a, width = (np.ascontiguousarray(rows[:, c]) for c in (0, 1, 3))
    return Table(1, 1, [b, a, same(0, n), width, same(-1, n)])


def _input_passes(rows: I64, l: int, m: int, inputs: Sequence[int]) -> I64:
    """Step 1: range-encode input axes, in the given order."""
    axes = l + m
    for i in inputs:
        axis = l + i
        others = [c for c in range(2 * axes + m) if c not in (axis, axes + axis)]
        rows = sort_rows(rows, [*others, axis])
        rows = rows[: kernels.merge_ranges(rows.T, axis, axes)]
    return rows


def _output_passes(rows: I64, l: int, m: int, outputs: Sequence[int]) -> I64:
    """Step 2: merge along output axes, in the given order."""
    for j in outputs:
        if len(rows) > 1:
            rows = _output_pass(rows, l, m, j)
    return rows


def _may_merge(columns: I64, l: int, m: int, j: int) -> bool:
    """Whether a pass along axis j is worth it: some row of a sample merges, or rows are few."""
    n, cost = columns.shape[1], CompressCost.current()
    if n < cost.many_rows:
        return True
    samples = np.linspace(0, n - 1, cost.merge_samples).astype(np.int64)
    return kernels.sample_links(columns, l, l + m, j, samples, cost.looks) > 0


def _rows_may_merge(rows: I64, l: int, m: int, j: int) -> bool:
    cost = CompressCost.current()
    if len(rows) < cost.many_rows:
        return True
    if m == 1:
        samples = np.linspace(0, len(rows) - 1, cost.merge_samples).astype(np.int64)
        return kernels.sample_cells(rows.T, l, j, samples) * cost.rare > cost.merge_samples
    if not kernels.is_sorted(rows.T, np.arange(l)):
        return True
    return _may_merge(rows.T, l, m, j)


def _output_pass(rows: I64, l: int, m: int, j: int) -> I64:
    axes = l + m
    rows = rows.copy()
    pattern = np.empty(len(rows), np.int64)
    kernels.begin_pass(rows.T, l, axes, j, pattern)
    others = [k for k in range(l) if k != j]
    outs = [*others, *(axes + k for k in others), j, axes + j]
    refs, starts, widths = range(2 * axes, 2 * axes + m), range(l, axes), range(axes + l, 2 * axes)
    order = sort_order(rows, [*outs, *refs, *starts, *widths])
    if order is not None:
        rows, pattern = rows[order], pattern[order]
    slabs = np.empty(len(rows) + 1, np.int64)
    slabs = slabs[: kernels.find_slabs(rows.T, l, axes, j, slabs) + 1]
    after = np.full(len(rows), -1, np.int64)
    before = np.full(len(rows), -1, np.int64)
    kernels.link_rows(rows.T, l, axes, j, slabs, pattern, after, before)
    return rows[: kernels.collapse(rows.T, l, axes, j, pattern, after, before)]


def sort_rows(rows: I64, columns: Sequence[int]) -> I64:
    """Return the rows in lexicographic order of the given columns."""
    order = sort_order(rows, columns)
    return rows if order is None else rows[order]


def sort_order(rows: I64, columns: Sequence[int]) -> I64 | None:
    """Return the order that sorts the rows by the given columns, None if they are sorted."""
    if kernels.is_sorted(rows.T, np.array(columns, np.int64)):
        return None
    return lexicographic_order([rows[:, c] for c in columns])


def fold(table: Table) -> Table:
    """Fold a table as far as it goes; the result means the same relation."""
    cost = CompressCost.current()
    least = cost.fold_rows if len(table) < cost.fold_many else cost.fold_rows_of_many
    long = cost.fold_windows * cost.fold_window
    if len(table) > long and not _sample_folds(table, least, cost):
        return table
    table = _interleave(table, cost)
    while table.levels < cost.most_levels:
        folded = _fold_once(table, least)
        if len(folded) == len(table):
            break
        table = folded
    return table


def _sample_folds(table: Table, least: int, cost: CompressCost) -> bool:
    """Whether any of some windows of a long table folds."""
    size = cost.fold_window
    starts = np.linspace(0, len(table) - size, cost.fold_windows).astype(np.int64)
    windows = (_interleave(table.take(slice(at, at + size)), cost) for at in starts.tolist())
    return any(len(_fold_once(window, least)) < len(window) for window in windows)


def _fold_once(table: Table, least: int) -> Table:
    n, ends = len(table), 2 * table.num_axes
    steps = table.step.reshape(table.levels * ends, n)
    fixed = np.concatenate([table.ref, table.count, steps])
    head, times = np.empty(n, np.int64), np.empty(n, np.int64)
    leasts = np.where((table.count > 1).any(axis=0), 2, least)
    k = kernels.progressions(table.matrix[:ends], fixed, head, times, leasts)
    if k == n:
        return table
    head, times = head[:k], times[:k]
    following = np.minimum(head + 1, n - 1)
    columns = table.matrix[:ends]
    step = np.where(times > 1, columns[:, following] - columns[:, head], 0)
    first = table.take(head)
    return Table(
        table.num_out,
        table.num_in,
        first.matrix,
        np.concatenate([times[None], first.count]),
        np.concatenate([step[None], first.step]),
    )


def _interleave(table: Table, cost: CompressCost) -> Table:
    """Bring interleaved progressions apart: rows r, r + lag, r + 2 lag, ... become neighbours."""
    if len(table) < 2 * cost.fold_rows:
        return table
    columns = table.take(slice(0, cost.lag_rows)).matrix[: 2 * table.num_axes]
    best, share = 1, 0.0
    for lag in range(1, min(cost.lags, columns.shape[1] // 3 + 1)):
        step = columns[:, lag:] - columns[:, :-lag]
        alike = (step[:, lag:] == step[:, :-lag]).all(axis=0)
        steady = float(alike.mean()) if len(alike) else 0.0
        if steady > share + 0.05:
            best, share = lag, steady
    if best == 1 or share < 0.5:
        return table
    return table.take(np.argsort(np.arange(len(table)) % best, kind="stable"))
