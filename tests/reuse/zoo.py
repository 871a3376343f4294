"""Operations as their definitions say, cell by cell, for any shape: what reuse is judged by."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Shape = tuple[int, ...]
Cells = list[tuple[int, ...]]


@dataclass(frozen=True)
class Operation:
    """``shapes`` makes input shapes of free sizes; ``out`` the output's; ``reads`` the lineage."""

    name: str
    sizes: int
    shapes: Callable[..., Sequence[Shape]]
    out: Callable[..., Shape]
    reads: Callable[..., Sequence[Cells]]
    args: dict[str, object] | None = None

    def relations(self, *shapes: Shape) -> list[np.ndarray]:
        """One relation per input, sorted."""
        out = self.out(*shapes)
        found: list[list[tuple[int, ...]]] = [[] for _ in shapes]
        for cell in itertools.product(*map(range, out)):
            for pairs, cells in zip(found, self.reads(cell, *shapes), strict=True):
                pairs += [(*cell, *one) for one in cells]
        width = [len(out) + len(shape) for shape in shapes]
        return [
            np.array(sorted(set(pairs)), np.int64).reshape(-1, n)
            for pairs, n in zip(found, width, strict=True)
        ]

    def captures(self, *shapes: Shape) -> list[Callable]:
        return [
            lambda cell, place=place: self.reads(cell, *shapes)[place]
            for place in range(len(shapes))
        ]


def box(*ranges: Sequence[int]) -> Cells:
    return list(itertools.product(*ranges))


def moved(name: str, ndim: int, function: Callable, **args: object) -> Operation:
    """A function that only moves cells: run on their positions."""

    def positions(shape: Shape) -> np.ndarray:
        return function(np.arange(int(np.prod(shape))).reshape(shape))

    def reads(cell, shape):
        at = positions(shape)[cell]
        return [[tuple(map(int, np.unravel_index(at, shape)))] if at >= 0 else []]

    return Operation(
        name,
        ndim,
        lambda *sizes: [sizes],
        lambda shape: positions(shape).shape,
        reads,
        dict(args),
    )


def clipped(n: int, low: int, high: int) -> range:
    return range(max(low, 0), min(high, n - 1) + 1)


def one(name, sizes, out, reads, **args) -> Operation:
    return Operation(
        name, sizes, lambda *s: [s], out, lambda cell, shape: [reads(cell, shape)], dict(args)
    )


def kron_reads(cell, a, b):
    return [
        [tuple(c // n for c, n in zip(cell, b, strict=True))],
        [tuple(c % n for c, n in zip(cell, b, strict=True))],
    ]


def concatenated(*shapes: Shape) -> Shape:
    return (sum(s[0] for s in shapes), *shapes[0][1:])


def concat_reads(cell, *shapes):
    first = 0
    found: list[Cells] = []
    for shape in shapes:
        inside = first <= cell[0] < first + shape[0]
        found.append([(cell[0] - first, *cell[1:])] if inside else [])
        first += shape[0]
    return found


def cross_out(shape: Shape) -> Shape:
    return shape if shape[1] == 3 else shape[:1]


def cross_reads(cell, shape):
    if len(cell) == 1:
        return box([cell[0]], range(shape[1]))
    return [(cell[0], k) for k in range(shape[1]) if k != cell[1]]


def convolve_reads(cell, a, b):
    k = cell[0]
    return [
        [(i,) for i in range(a[0]) if 0 <= k - i < b[0]],
        [(j,) for j in range(b[0]) if 0 <= k - j < a[0]],
    ]


ZOO = [
    moved("copy", 2, np.copy),
    moved("flip", 2, lambda x: np.flip(x, 0), axis=0),
    moved("flip", 2, lambda x: np.flip(x, 1), axis=1),
    moved("transpose", 2, np.transpose),
    moved("transpose3", 3, lambda x: np.transpose(x, (2, 0, 1))),
    moved("rot90", 2, np.rot90),
    moved("ravel", 2, np.ravel),
    moved("stack_self", 1, lambda x: np.stack([x, x])),
    moved("tile", 2, lambda x: np.tile(x, (2, 1)), reps=[2, 1]),
    moved("repeat", 2, lambda x: np.repeat(x, 3, 1), repeats=3, axis=1),
    moved("pad", 2, lambda x: np.pad(x, 1, constant_values=-1), width=1),
    moved("head", 1, lambda x: x[:3]),
    moved("tail", 1, lambda x: x[2:]),
    moved("every_other", 1, lambda x: x[::2]),
    moved("triu", 2, lambda x: np.where(np.triu(np.ones_like(x)) > 0, x, -1)),
    moved("diagonal", 2, np.diagonal),
    moved("fftshift", 1, np.fft.fftshift),
    moved("halves", 1, lambda x: x[: x.shape[0] // 2]),
    one("sum", 2, lambda s: s[1:], lambda c, s: box(range(s[0]), [c[0]]), axis=0),
    one("sum", 2, lambda s: s[:1], lambda c, s: box([c[0]], range(s[1])), axis=1),
    one("total", 2, lambda s: (), lambda c, s: box(range(s[0]), range(s[1]))),
    one("cumsum", 1, lambda s: s, lambda c, s: box(range(c[0] + 1))),
    one("softmax", 2, lambda s: s, lambda c, s: box([c[0]], range(s[1]))),
    one("diff", 1, lambda s: (max(s[0] - 1, 0),), lambda c, s: box([c[0], c[0] + 1])),
    one(
        "blur",
        2,
        lambda s: s,
        lambda c, s: box(clipped(s[0], c[0] - 1, c[0] + 1), clipped(s[1], c[1] - 1, c[1] + 1)),
    ),
    one("pool", 1, lambda s: (s[0] // 2,), lambda c, s: box(range(2 * c[0], 2 * c[0] + 2))),
    one("cross", 2, cross_out, cross_reads),
    one("nothing", 1, lambda s: s, lambda c, s: []),
    Operation(
        "outer",
        2,
        lambda n, m: [(n,), (m,)],
        lambda a, b: (*a, *b),
        lambda c, a, b: [[(c[0],)], [(c[1],)]],
    ),
    Operation(
        "matmul",
        3,
        lambda n, k, m: [(n, k), (k, m)],
        lambda a, b: (a[0], b[1]),
        lambda c, a, b: [box([c[0]], range(a[1])), box(range(a[1]), [c[1]])],
    ),
    Operation("kron", 2, lambda n, m: [(n,), (m,)], lambda a, b: (a[0] * b[0],), kron_reads),
    Operation(
        "concatenate", 3, lambda n, m, k: [(n, k), (m, k)], concatenated, concat_reads, {"axis": 0}
    ),
    Operation("concatenate3", 3, lambda n, m, k: [(n,), (m,), (k,)], concatenated, concat_reads),
    Operation(
        "add_row", 2, lambda n, m: [(n, m), (m,)], lambda a, b: a, lambda c, a, b: [[c], [c[1:]]]
    ),
    Operation(
        "convolve",
        2,
        lambda n, m: [(n,), (m,)],
        lambda a, b: (max(a[0] + b[0] - 1, 0),),
        convolve_reads,
    ),
]
