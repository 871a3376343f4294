"""Boxes of a group of axes as intervals of their C-order linear index, and back.

Reshape-like relations are the identity on the linear index, so a Factor may run over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


def explode(
    source: I64, lo: I64, hi: I64, axis: int, where: npt.NDArray[np.bool_]
) -> tuple[I64, I64, I64]:
    """Split boxes into single cells along one axis, where asked; ``source`` follows."""
    repeats = np.where(where, hi[:, axis] - lo[:, axis] + 1, 1)
    if bool((repeats == 1).all()):
        return source, lo, hi
    again = np.repeat(np.arange(len(lo)), repeats)
    t = np.arange(len(again)) - (np.cumsum(repeats) - repeats)[again]
    source, lo, hi, where = source[again], lo[again], hi[again], where[again]
    lo[:, axis] += np.where(where, t, 0)
    hi[:, axis] = np.where(where, lo[:, axis], hi[:, axis])
    return source, lo, hi


def to_intervals(boxes: I64, shape: Sequence[int]) -> tuple[I64, I64]:
    """Return (source, boxes (p, 1, 2)): the linear intervals of each box, in order.

    A box is contiguous from its first axis of more than one cell on if all later axes are full.
    """
    lo, hi = boxes[:, :, 0], boxes[:, :, 1]
    source = np.arange(len(boxes))
    for axis in range(len(shape) - 1):
        rest_full = np.ones(len(lo), bool)
        for later in range(axis + 1, len(shape)):
            rest_full &= (lo[:, later] == 0) & (hi[:, later] == shape[later] - 1)
        source, lo, hi = explode(source, lo, hi, axis, ~rest_full)
    stride = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], np.int64)
    flat = np.stack([lo @ stride, hi @ stride], axis=-1)[:, None, :]
    return source, flat


def from_intervals(flat: I64, shape: Sequence[int]) -> tuple[I64, I64]:
    """Return (source, boxes): the boxes that make up each linear interval (k, 1, 2)."""
    lo, hi = flat[:, 0, 0], flat[:, 0, 1]
    source = np.arange(len(flat))
    inner = math.prod(shape[1:])
    if len(shape) == 0:
        return source, np.zeros((len(flat), 0, 2), np.int64)
    if len(shape) == 1:
        return source, flat.copy()
    first, last = lo // inner, hi // inner
    parts = []
    one = first == last
    parts.append(_lead(source[one], first[one], first[one], lo[one], hi[one], inner, shape))
    many = ~one
    src, f, e, a, b = source[many], first[many], last[many], lo[many], hi[many]
    head_cut = a % inner != 0
    tail_cut = b % inner != inner - 1
    f2, e2 = f + head_cut, e - tail_cut
    whole = f2 <= e2
    full = np.zeros(int(whole.sum()), np.int64)
    parts.append(_lead(src[whole], f2[whole], e2[whole], full, full + inner - 1, inner, shape))
    h, t = head_cut, tail_cut
    parts.append(_lead(src[h], f[h], f[h], a[h], (f[h] + 1) * inner - 1, inner, shape))
    parts.append(_lead(src[t], e[t], e[t], e[t] * inner, b[t], inner, shape))
    return (
        np.concatenate([p[0] for p in parts]),
        np.concatenate([p[1] for p in parts]),
    )


def _lead(
    source: I64, first: I64, last: I64, lo: I64, hi: I64, inner: int, shape: Sequence[int]
) -> tuple[I64, I64]:
    """Boxes whose first axis is first..last and whose other axes are a linear interval."""
    rest = np.stack([lo % inner, hi % inner], axis=-1)[:, None, :]
    back, boxes = from_intervals(rest, shape[1:])
    lead = np.stack([first[back], last[back]], axis=-1)[:, None, :]
    return source[back], np.concatenate([lead, boxes], axis=1)
