"""Joining what partitions compressed apart.

A partition holds a range of the pairs' order. Only rows that reach its first or last output cells
can merge with rows of a neighbour: they are set apart as the *seam*, and the seams of all
partitions are compressed once more, together. The rest of a partition's rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dslog.compress.folds import fold
from dslog.compress.provrc import provrc_ranges
from dslog.engine.blocks import Split
from dslog.engine.kernels import join_progressions
from dslog.lineage.table import Table, concat

I64 = npt.NDArray[np.int64]
_ENDS = 64  # rows at either end that are taken when far too many reach the border
_GAIN = 4
_MANY = 1 << 10


def split_seam(table: Table, split: Split, part: int, most: int) -> tuple[Table, Table]:
    """Return a plain table's inner rows and its seam, the rows that a neighbour could continue.

    With more than ``most`` rows at the border (the array's first axis is short and the others are
    long) only those at both ends of the order are taken: some merges are lost, memory is not.
    """
    if split.parts == 1 or len(table) == 0:
        return table, table.take(slice(0, 0))
    seam = np.ones(len(table), bool)
    if table.num_out:
        seam[:] = False
        if part > 0:
            first = split.packing.first_output(split.bounds[part - 1])
            seam |= table.out_lo[:, 0] <= first + 1
        if part < split.parts - 1:
            last = split.packing.first_output(split.bounds[part])
            seam |= table.out_hi[:, 0] >= last - 1
    if np.count_nonzero(seam) > most:
        ends = np.flatnonzero(seam)
        seam[:] = False
        seam[ends[:_ENDS]] = seam[ends[-_ENDS:]] = True
    return table.take(~seam), table.take(seam)


def join_seams(seams: Sequence[Table]) -> Table:
    """Compress the seams of all partitions together."""
    return provrc_ranges(concat(list(seams)))


def fold_rows(table: Table) -> Table:
    """Fold a long table if that leaves a fraction of its rows, in order of the first output."""
    if len(table) < _MANY:
        return table
    folded = fold(table)
    if len(folded) * _GAIN > len(table):
        return table
    if folded.num_out == 0:
        return folded
    return folded.take(np.argsort(folded.bounds[0][:, 0], kind="stable"))


def join_folds(table: Table) -> Table:
    """Join rows, in order, whose progressions continue each other.

    Partitions cut a progression into folded pieces of any length with plain rows, the seams, in
    between; a row that lies where the one before would have gone on belongs to it.
    """
    if len(table) < 2 or table.levels == 0:
        return table
    inner = [table.ref, table.count[:, 1:], table.step[:, 1:].reshape(len(table), -1)]
    count, step = table.count[:, 0].copy(), table.step[:, 0].copy()
    head = np.empty(len(table), np.int64)
    k = join_progressions(table.rows, np.concatenate(inner, axis=1), count, step, head)
    joined = table.take(head[:k])
    counts, steps = joined.count, joined.step
    counts[:, 0], steps[:, 0] = count[:k], step[:k]
    return Table(table.num_out, table.num_in, joined.rows, joined.ref, counts, steps)
