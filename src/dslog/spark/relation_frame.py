"""Relations as Spark DataFrames: checked, and packed into numbers on the executors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from dslog.errors import EngineError, RelationError
from dslog.relation.relation import read
from dslog.spark.job import reason, spark_errors
from dslog.spark.pair_blocks import Packing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MARK = "dslog-bad-row"
_BAD = re.compile(_MARK + r"(\{[^}]*\})")


def check_columns(frame: DataFrame, packing: Packing) -> None:
    """Raise the RelationError that an Arrow table with these columns would."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DecimalType

    columns = {}
    for field in frame.schema.fields:
        kind = field.dataType
        whole = isinstance(kind, DecimalType) and kind.scale == 0  # unsigned longs come as these
        columns[field.name] = pa.array([], pa.int64() if whole else to_arrow_type(kind))
    read(pa.table(columns), packing.out_shape, packing.in_shape)


def pack_frame(frame: DataFrame, packing: Packing) -> DataFrame:
    """Return a frame of numbers k0, k1, ...; a row out of range, or with a null, stops the job.

    The message of that failure carries the row, so that ``explained`` can say what is wrong.
    """
    check_columns(frame, packing)
    names = packing.names
    keys = []
    for number, group in enumerate(packing.groups):
        strides = packing.strides(group)
        terms = [
            f"cast({_quote(names[axis])} as bigint) * {stride}L"
            for axis, stride in zip(group, strides, strict=True)
        ]
        keys.append(f"{_checked(' + '.join(terms) or '0L', packing, number)} as k{number}")
    return frame.selectExpr(*keys)


def _checked(key: str, packing: Packing, number: int) -> str:
    if number or not packing.sizes:
        return key
    columns = list(zip(packing.names, packing.sizes, strict=True))
    inside = " and ".join(f"{_quote(n)} >= 0 and {_quote(n)} < {size}L" for n, size in columns)
    row = ", ".join(f"cast({_quote(name)} as string) as {_quote(name)}" for name, _ in columns)
    message = f"concat('{_MARK}', to_json(struct({row})))"
    return f"case when {inside} then {key} else cast(raise_error({message}) as bigint) end"


@contextmanager
def explained(packing: Packing) -> Iterator[None]:
    """Turn what Spark raises for a bad row into the RelationError that names it."""
    try:
        yield
    except spark_errors() as error:
        found = _BAD.search(str(error))
        if found is None:
            raise EngineError(f"a Spark job failed: {reason(error)}") from error
        row = json.loads(found[1])
        _refuse(row, packing)
        raise


def _refuse(row: dict[str, str], packing: Packing) -> None:
    """Raise what reading this one row in process would raise."""
    values = {name: row.get(name) for name in packing.names}
    columns = {
        name: pa.array([None if value is None else int(value)], pa.int64())
        for name, value in values.items()
    }
    try:
        read(pa.table(columns), packing.out_shape, packing.in_shape)
    except RelationError as error:
        message = str(error).replace("row 0 of the relation", "a row of the relation")
        raise RelationError(message.replace("has 1 nulls", "has nulls")) from None


def _quote(name: str) -> str:
    return f"`{name}`"
