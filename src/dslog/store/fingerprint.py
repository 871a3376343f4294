"""Values of arrays as short text, so that equal values are recognised without being stored."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.errors import CaptureError


def fingerprints(
    name: str, contents: Sequence[object] | None, count: int
) -> tuple[str | None, ...]:
    """Return a fingerprint of each input's values, None where they are not known."""
    if contents is None:
        return (None,) * count
    if len(contents) != count:
        raise CaptureError(
            f"operation {name!r} has {count} inputs, but contents holds {len(contents)} values: "
            f"give one per input, None where they are not at hand"
        )
    return tuple(None if values is None else fingerprint(values) for values in contents)


def fingerprint(values: object) -> str:
    """Return a digest of an array's values, their type and shape.

    >>> fingerprint(np.arange(3)) == fingerprint([0, 1, 2])
    True
    """
    array: npt.NDArray[Any] = np.asarray(values)
    digest = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    if array.dtype.hasobject:
        digest.update(repr(array.tolist()).encode())
    elif array.size:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
