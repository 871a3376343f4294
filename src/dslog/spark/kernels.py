"""Tight loops of the engine. Flat int64 arrays in and out; nothing else lives here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dslog.kernel import kernel
from dslog.types import I64


@kernel
def unpack(keys: I64, strides: I64, out: I64, first: int) -> None:
    """Write the digits of each key into columns ``first``.. of ``out``.

    Each digit is kept from one key to the next while the key stays within it, so that sorted keys
    cost hardly any division.
    """
    count = len(strides)
    digit = np.zeros(count, np.int64)
    for r in range(len(keys)):
        rest = keys[r]
        for k in range(count):
            below = rest - digit[k] * strides[k]
            if below < 0 or below >= strides[k]:
                digit[k] = rest // strides[k]
                below = rest - digit[k] * strides[k]
            out[r, first + k] = digit[k]
            rest = below


@kernel
def increasing(keys: I64) -> bool:
    """Whether each key is greater than the one before."""
    for r in range(1, len(keys)):
        if keys[r] <= keys[r - 1]:
            return False
    return True


@kernel
def join_progressions(columns: I64, fixed: I64, count: I64, step: I64, head: I64) -> int:
    """Join each row to the progression before it where it lies on it; return how many are left.

    Writes the first row of each progression into ``head``, and its length and step over ``count``
    and ``step``. A row alone takes the step of the progression after it.
    """
    width, n = columns.shape
    k = -1
    for r in range(n):
        joins = k >= 0 and (count[k] > 1 or count[r] > 1)
        if joins:
            first = head[k]
            for c in range(fixed.shape[0]):
                joins &= fixed[c, r] == fixed[c, first]
            for c in range(width):
                s = step[c, k] if count[k] > 1 else step[c, r]
                joins &= columns[c, r] == columns[c, first] + count[k] * s
                joins &= count[r] == 1 or step[c, r] == s
        if joins:
            if count[k] == 1:
                step[:, k] = step[:, r]
            count[k] += count[r]
        else:
            k += 1
            head[k], count[k] = r, count[r]
            step[:, k] = step[:, r]
    return k + 1


@kernel
def set_bits(bits: npt.NDArray[np.uint8], lo: I64, hi: I64) -> None:
    """Set the bits of inclusive intervals, most significant bit of a byte first."""
    for r in range(len(lo)):
        first, last = lo[r], hi[r]
        while first <= last and first & 7:
            bits[first >> 3] |= 128 >> (first & 7)
            first += 1
        while last - first >= 7:
            bits[first >> 3] = 255
            first += 8
        while first <= last:
            bits[first >> 3] |= 128 >> (first & 7)
            first += 1
