"""Queries by bitmap: for rows of one cell, look the cell up instead of joining boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dslog.cells.boxes import unpaint
from dslog.lineage.factor import Term
from dslog.lineage.join import join
from dslog.lineage.table import Table

I64 = npt.NDArray[np.int64]
_MANY = 256  # with fewer rows, boxes are as good


def suits_bitmap(terms: Sequence[Term], *, backward: bool) -> bool:
    """Whether a bitmap of the asked array can be looked up row by row."""
    if len(terms) != 1 or len(terms[0]) != 1:
        return False
    factor = terms[0][0]
    flat = factor.out_flat or factor.in_flat
    table = factor.table
    if flat or table.levels or len(table) < _MANY:
        return False
    return bool(np.count_nonzero(_single(table, backward=backward)) * 2 > len(table))


def join_bitmap(terms: Sequence[Term], mask: npt.NDArray[np.bool_], *, backward: bool) -> I64:
    """Return result boxes for a bitmap over the asked array."""
    factor = terms[0][0]
    table = factor.table
    axes = factor.out_axes if backward else factor.in_axes
    result_axes = factor.in_axes if backward else factor.out_axes
    mask = mask.transpose(axes)
    single = _single(table, backward=backward)
    at = table.bounds[0] if backward else table.bounds[2]
    hit = np.zeros(len(table), bool)
    hit[single] = mask[tuple(at[single, j] for j in range(at.shape[1]))]
    side = table.bounds[2:] if backward else table.bounds[:2]
    boxes = np.stack([side[0][hit], side[1][hit]], axis=-1)
    if not single.all():
        rest = join(table.take(~single), unpaint(np.ascontiguousarray(mask)), backward=backward)
        boxes = np.concatenate([boxes, rest.boxes])
    return boxes[:, np.argsort(result_axes)]


def _single(table: Table, *, backward: bool) -> npt.NDArray[np.bool_]:
    """Rows of one cell on the asked side: such a row answers with its whole other side.

    Backward that holds because its output is one cell, so relative inputs are intervals; forward
    because one input cell forces every output axis that it refers to.
    """
    lo, hi = (table.bounds[0], table.bounds[1]) if backward else (table.bounds[2], table.bounds[3])
    single: npt.NDArray[np.bool_] = (lo == hi).all(axis=1)
    return single
