"""Folds: rows in arithmetic progression become one row with a count and steps.

Flip, repeat, strided slices, pooling, cumsum and ravel are one row each this way, where ProvRC
alone needs a row per cell of an axis. Folding repeats over folded rows, for nested progressions
(pooling over two axes is a fold of a fold).
"""

from __future__ import annotations

import numpy as np

from dslog.compress.compress_cost import CompressCost
from dslog.compress.kernels import progressions
from dslog.lineage.table import Table


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
    k = progressions(table.matrix[:ends], fixed, head, times, leasts)
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
