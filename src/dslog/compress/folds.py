"""Folds: rows in arithmetic progression become one row with a count and steps.

Flip, repeat, strided slices, pooling, cumsum and ravel are one row each this way, where ProvRC
alone needs a row per cell of an axis. Folding repeats over folded rows, for nested progressions
(pooling over two axes is a fold of a fold).
"""

from __future__ import annotations

import numpy as np

from dslog.compress import row_kernels
from dslog.lineage.table import Table

_LEAST = 3  # two rows are always "in progression": folding them saves nothing
_LEAST_OF_MANY = 8  # in a long table short progressions are chance, and a folded row is wider
_MANY = 1 << 10
_WINDOWS, _WINDOW = 12, 256
_MOST_LEVELS = 4
_LAGS = 9  # progressions may interleave, up to this many at a time
_SAMPLE = 4096


def fold(table: Table) -> Table:
    """Fold a table as far as it goes; the result means the same relation."""
    least = _LEAST if len(table) < _MANY else _LEAST_OF_MANY
    if len(table) > _WINDOWS * _WINDOW and not _sample_folds(table, least):
        return table
    table = _interleave(table)
    while table.levels < _MOST_LEVELS:
        folded = _fold_once(table, least)
        if len(folded) == len(table):
            break
        table = folded
    return table


def _sample_folds(table: Table, least: int) -> bool:
    """Whether any of some windows of a long table folds."""
    starts = np.linspace(0, len(table) - _WINDOW, _WINDOWS).astype(np.int64)
    windows = (_interleave(table.take(slice(at, at + _WINDOW))) for at in starts.tolist())
    return any(len(_fold_once(window, least)) < len(window) for window in windows)


def _fold_once(table: Table, least: int) -> Table:
    n, levels = len(table), table.levels
    fixed = np.concatenate(
        [table.ref, table.count, table.step.reshape(n, levels * table.width)], axis=1
    )
    head, times = np.empty(n, np.int64), np.empty(n, np.int64)
    leasts = np.where((table.count > 1).any(axis=1), 2, least)
    k = row_kernels.progressions(table.rows, fixed, head, times, leasts)
    if k == n:
        return table
    head, times = head[:k], times[:k]
    following = np.minimum(head + 1, n - 1)
    step = np.where((times > 1)[:, None], table.rows[following] - table.rows[head], 0)
    return Table(
        table.num_out,
        table.num_in,
        table.rows[head],
        table.ref[head],
        np.concatenate([times[:, None], table.count[head]], axis=1),
        np.concatenate([step[:, None], table.step[head]], axis=1),
    )


def _interleave(table: Table) -> Table:
    """Bring interleaved progressions apart: rows r, r + lag, r + 2 lag, ... become neighbours."""
    n = len(table)
    rows = table.rows[:_SAMPLE]
    if len(rows) < 2 * _LEAST:
        return table
    best, share = 1, 0.0
    for lag in range(1, min(_LAGS, len(rows) // 3 + 1)):
        step = rows[lag:] - rows[:-lag]
        steady = (step[lag:] == step[:-lag]).all(axis=1).mean() if len(step) > lag else 0.0
        if steady > share + 0.05:
            best, share = lag, float(steady)
    if best == 1 or share < 0.5:
        return table
    return table.take(np.argsort(np.arange(n) % best, kind="stable"))
