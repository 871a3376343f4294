"""Query cells that come as a Spark DataFrame: checked and merged on the executors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dslog.cells.cellset import CellSet
from dslog.cells.selection import select
from dslog.engine.spark_join import SparkJoins
from dslog.errors import EngineError, SelectionError
from dslog.query.follow import Cells

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MARK = "dslog-bad-cell"
_BAD = re.compile(_MARK + r"(\[[^\]]*\])")


def read_cells(frame: DataFrame, shape: tuple[int, ...], name: str, joins: SparkJoins) -> Cells:
    """Return the cells that a frame names: one per row, or one box of them per row.

    Columns are ``i0, i1, ..`` (as ``CellSet.to_spark`` gives them), or ``b0, ..`` or ``a0, ..`` (as
    a relation has them), or ``lo0, hi0, ..`` for boxes. Other columns are left alone.
    """
    session = frame.sparkSession
    joins = replace(joins, session=lambda: session)
    low, high = _columns(frame, len(shape), name)
    if not shape:
        return CellSet.full(()) if frame.limit(1).count() else CellSet.empty(())
    inside = " and ".join(
        f"{lo} >= 0 and {lo} <= {hi} and {hi} < {size}L"
        for lo, hi, size in zip(low, high, shape, strict=True)
    )
    row = ", ".join(f"cast({column} as string)" for column in [*low, *high])
    message = f"concat('{_MARK}', to_json(array({row})))"
    ends = [column for pair in zip(low, high, strict=True) for column in pair]
    refused = f"cast(raise_error({message}) as bigint)"
    first = f"case when {inside} then cast({ends[0]} as bigint) else {refused} end as c0"
    others = [f"cast({column} as bigint) as c{k}" for k, column in enumerate(ends[1:], start=1)]
    with _explained(shape, name):
        return joins.boxes_of(frame.selectExpr(first, *others), shape)


def _columns(frame: DataFrame, ndim: int, name: str) -> tuple[list[str], list[str]]:
    """Find the columns with the lower and the upper ends; the same ones for single cells."""
    from pyspark.sql.types import IntegralType

    kinds = {field.name: field.dataType for field in frame.schema.fields}
    for low, high in (("i", "i"), ("b", "b"), ("a", "a"), ("lo", "hi")):
        lows, highs = ([f"{letter}{axis}" for axis in range(ndim)] for letter in (low, high))
        if all(column in kinds for column in [*lows, *highs]):
            for column in [*lows, *highs]:
                if not isinstance(kinds[column], IntegralType):
                    raise SelectionError(
                        f"column {column} of the cells of {name!r} has type "
                        f"{kinds[column].simpleString()}, but must be an integer"
                    )
            return lows, highs
    wanted = ", ".join(f"i{axis}" for axis in range(ndim))
    raise SelectionError(
        f"a DataFrame of cells of {name!r}, which has {ndim} axes, needs the columns {wanted} "
        f"(or b0, ..; a0, ..; lo0, hi0, ..), but it has {list(kinds)}"
    )


@contextmanager
def _explained(shape: tuple[int, ...], name: str) -> Iterator[None]:
    """Turn what Spark raises for a bad cell into the SelectionError that names it."""
    try:
        yield
    except EngineError as error:
        found = _BAD.search(str(error.__cause__))
        if found is None:
            raise
        ends = json.loads(found[1])
        if any(end is None for end in ends):
            raise SelectionError(f"the cells of {name!r} have nulls: drop those rows") from None
        low, high = (tuple(map(int, some)) for some in (ends[: len(shape)], ends[len(shape) :]))
        select([low, high], shape, name)
        raise SelectionError(
            f"a box of {name!r} goes from {low} to {high}: its upper end lies before its lower end"
        ) from None
