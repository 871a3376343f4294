"""A lineage as plain rows over all axes: products multiplied, folds undone, linear views expanded.

SQL can expand such rows by itself. The rows may be many more than the stored ones.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dslog.compress.provrc import provrc
from dslog.errors import DslogError
from dslog.lineage.factor import Factor, Shape, Term
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat

I64 = npt.NDArray[np.int64]

MOST_ROWS = 1 << 24


def plain_table(lineage: Lineage) -> Table:
    """Return one plain table over all axes that means the same as a lineage."""
    out_shape, in_shape = lineage.out_shape, lineage.in_shape
    l, m = len(out_shape), len(in_shape)
    if lineage.orientation == "forward":
        return provrc(lineage.to_relation(), out_shape, in_shape)
    tables = [_multiply(term, out_shape, in_shape) for term in lineage.terms]
    return concat([Table.empty(l, m), *tables])


def _multiply(term: Term, out_shape: Shape, in_shape: Shape) -> Table:
    tables = [_plain(factor, out_shape, in_shape) for factor in term]
    total = math.prod(map(len, tables))
    if total > MOST_ROWS:
        raise DslogError(
            f"as plain rows this lineage has {total:,} rows: too many for a view. "
            f"Ask the store itself, or read it with Spark"
        )
    l, m = len(out_shape), len(in_shape)
    rows = np.empty((total, 2 * (l + m)), np.int64)
    ref = np.full((total, m), -1, np.int64)
    t = np.arange(total)
    for factor, table in zip(term, tables, strict=True):
        outs, ins = list(factor.out_axes), list(factor.in_axes)
        columns = [*outs, *(l + j for j in outs)]
        columns += [*(2 * l + i for i in ins), *(2 * l + m + i for i in ins)]
        pick = t % max(len(table), 1)
        rows[:, columns] = table.rows[pick]
        renumber = np.array([*outs, -1], np.int64)  # the last entry answers for -1
        ref[:, ins] = renumber[table.ref[pick]]
        t //= max(len(table), 1)
    return Table.plain(l, m, rows, ref)


def _plain(factor: Factor, out_shape: Shape, in_shape: Shape) -> Table:
    if not (factor.out_flat or factor.in_flat):
        return factor.table.unfold()
    outs = tuple(out_shape[j] for j in factor.out_axes)
    ins = tuple(in_shape[i] for i in factor.in_axes)
    alone = Factor(
        tuple(range(len(outs))),
        tuple(range(len(ins))),
        factor.table,
        factor.out_flat,
        factor.in_flat,
    )
    return provrc(Lineage(outs, ins, ((alone,),)).to_relation(), outs, ins)
