"""Tight loops over raw relations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

I64 = npt.NDArray[np.int64]


@njit(cache=True)
def out_of_range(array: I64, sizes: I64) -> int:
    """Return the flat position of the first index outside ``[0, size)``, or -1."""
    n, c = array.shape
    for r in range(n):
        bad = False
        for k in range(c):
            bad |= (array[r, k] < 0) | (array[r, k] >= sizes[k])
        if bad:
            for k in range(c):
                if array[r, k] < 0 or array[r, k] >= sizes[k]:
                    return r * c + k
    return -1
