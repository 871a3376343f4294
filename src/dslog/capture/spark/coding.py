"""Groups told apart by a hash of their keys, which the pass over the rows numbers as they come.

Rows come by in the order of their positions, so groups come in the order of their first rows, which
is how they are numbered: the pass has no need to wait for the groups themselves. Equal keys have
equal hashes, so if there are as many hashes as groups, no two groups share one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from dslog.capture.spark.rows import Trail

I64 = npt.NDArray[np.int64]

_PLAIN = (BinaryType, BooleanType, DateType, NumericType, TimestampNTZType, TimestampType)


def has_hash(kind: DataType) -> bool:
    """Whether values of a type that are one group always have one hash.

    Of text that compares by a language they may not; maps have no hash.
    """
    if isinstance(kind, StringType):
        return kind.collation == "UTF8_BINARY"
    if isinstance(kind, ArrayType):
        return has_hash(kind.elementType)
    if isinstance(kind, StructType):
        return all(has_hash(field.dataType) for field in kind.fields)
    return isinstance(kind, _PLAIN)


def hash_of(keys: Sequence[Column], trail: Trail) -> Column:
    """Return a number that rows of the same group share; keys of ended rows are not looked at."""
    hashed = F.xxhash64(*(part for key in keys for part in (key, key.isNull())))
    return F.when(trail.alive, hashed) if trail.ends else hashed


def number(values: I64) -> tuple[int, I64]:
    """Number different values in the order in which they come; return how many, and the numbers.

    >>> count, numbers = number(np.array([30, 10, 30, 20]))
    >>> count, numbers.tolist()
    (3, [0, 1, 0, 2])
    """
    found = pa.array(values).dictionary_encode()
    return len(found.dictionary), found.indices.to_numpy().astype(np.int64)
