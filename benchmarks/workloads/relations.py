"""Raw relations of well-known array operations, made cell by cell from their definition.

Each returns (relation, output shape, input shape). Used by tests and benchmarks; nothing here
looks at how DSLog captures or compresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dslog.types import I64, Shape

Case = tuple[I64, Shape, Shape]


def cells(shape: Sequence[int]) -> I64:
    """All cells of a shape in C order, (n, ndim)."""
    return np.stack([axis.ravel() for axis in np.indices(shape)], axis=1).astype(np.int64)


def moved(shape: Sequence[int], function: Callable[[npt.NDArray[np.int64]], object]) -> Case:
    """The relation of a function that only moves cells: it is run on their positions."""
    positions = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    result = np.asarray(function(positions))
    ins = np.stack(np.unravel_index(result.ravel(), tuple(shape)), axis=1)
    return _pairs(cells(result.shape), ins), result.shape, tuple(shape)


def _pairs(outs: I64, ins: npt.NDArray[np.int64]) -> I64:
    return np.ascontiguousarray(np.concatenate([outs, ins], axis=1).astype(np.int64))


def windows(
    shape: Sequence[int], reach: Callable[[int, int, int], tuple[int, int]], out: Shape
) -> Case:
    """Each output cell reads a box: ``reach(axis, b, size)`` gives the interval on that axis."""
    parts = []
    for axis, (size, out_size) in enumerate(zip(shape, out, strict=True)):
        ends = [reach(axis, b, size) for b in range(out_size)]
        parts.append(
            np.array([(b, a) for b, (lo, hi) in enumerate(ends) for a in range(lo, hi + 1)])
        )
    index = cells([len(p) for p in parts])
    outs = np.stack([p[index[:, k], 0] for k, p in enumerate(parts)], axis=1)
    ins = np.stack([p[index[:, k], 1] for k, p in enumerate(parts)], axis=1)
    rows = _pairs(outs, ins)
    return rows[np.lexsort(rows.T[::-1])], tuple(out), tuple(shape)


def reduction(shape: Sequence[int], axis: int) -> Case:
    """Sum and the like over one axis."""
    ins = cells(shape)
    out = tuple(s for k, s in enumerate(shape) if k != axis)
    rows = _pairs(np.delete(ins, axis, axis=1), ins)
    return rows[np.lexsort(rows.T[::-1])], out, tuple(shape)


def scan(n: int) -> Case:
    """Cumulative sum of a vector."""
    b, a = np.tril_indices(n)
    return np.stack([b, a], axis=1).astype(np.int64), (n,), (n,)


def matmul(n: int, k: int, m: int) -> tuple[Case, Case]:
    """(n, k) @ (k, m): the relation with the left and with the right input."""
    index = cells((n, m, k))
    left = _pairs(index[:, :2], index[:, [0, 2]])
    right = _pairs(index[:, :2], index[:, [2, 1]])
    return (left, (n, m), (n, k)), (right, (n, m), (k, m))


def kron(p: int, q: int, r: int, s: int) -> tuple[Case, Case]:
    """Kronecker product of (p, q) and (r, s): the relations with the left and the right input."""
    outs = cells((p * r, q * s))
    left = _pairs(outs, outs // np.array([r, s]))
    right = _pairs(outs, outs % np.array([r, s]))
    return (left, (p * r, q * s), (p, q)), (right, (p * r, q * s), (r, s))


def outer(n: int, m: int) -> Case:
    """Outer product, the left vector."""
    outs = cells((n, m))
    return _pairs(outs, outs[:, :1]), (n, m), (n,)


def resize(shape: tuple[int, int], out: tuple[int, int]) -> Case:
    """Area resize: output i reads inputs floor(i*n/m) up to floor((i+1)*n/m), at least one."""

    def reach(axis: int, b: int, size: int) -> tuple[int, int]:
        low = b * size // out[axis]
        return low, max(low, -(-(b + 1) * size // out[axis]) - 1)

    return windows(shape, reach, out)


def convolution(
    shape: tuple[int, int], *, padding: int = 0, stride: int = 1, size: int = 3
) -> Case:
    """A square filter; outside cells do not exist."""
    out = tuple((s + 2 * padding - size) // stride + 1 for s in shape)

    def reach(_axis: int, b: int, n: int) -> tuple[int, int]:
        first = b * stride - padding
        return max(first, 0), min(first + size - 1, n - 1)

    return windows(shape, reach, (out[0], out[1]))


def dilated(shape: tuple[int, int], dilation: int) -> Case:
    """A 3 x 3 filter whose taps are ``dilation`` apart, without padding."""
    out = tuple(s - 2 * dilation for s in shape)
    index = cells((*out, 3, 3))
    rows = _pairs(index[:, :2], index[:, :2] + dilation * index[:, 2:])
    return rows, (out[0], out[1]), shape
