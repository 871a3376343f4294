"""``x.flat`` of tracked arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dslog.capture.numpy.assign import write_codes
from dslog.capture.numpy.methods import Methods
from dslog.capture.numpy.state import Tracked, memory_of, node_of, plain_of


class TrackedFlat:
    """The cells of an array in C order, to read and to write; what is read is a copy."""

    def __init__(self, array: Methods) -> None:
        self.base = array

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.flatten())

    def __getitem__(self, key: Any) -> Any:
        return self.base.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        plain = plain_of(self.base)
        source = node_of(value) if isinstance(value, Tracked) else None
        content = plain_of(value) if isinstance(value, Tracked) else value
        memory = memory_of(self.base)
        codes = np.zeros(plain.shape, np.int64)
        codes.flat[key] = np.arange(1, np.size(content) + 1) if source is not None else 1
        plain.flat[key] = content
        if memory is not None:
            write_codes(memory, plain, codes, source)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return plain_of(self.base).flatten().astype(dtype or self.base.dtype)

    def copy(self) -> Any:
        """Return the cells as an array of one axis."""
        return self.base.flatten()
