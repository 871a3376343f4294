"""The twelve operations of the paper's storage table, and two more on real flights.

Relations are made from what each operation means, by index arithmetic; nothing here looks at how
DSLog captures or compresses, but for Matrix*Matrix, whose 10^9 pairs per input nobody can make.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.explained import drise_mask, explained, filter_image, lime_mask
from benchmarks.evaluation.inputs import Inputs
from benchmarks.evaluation.parts import Operation, Part, Shape
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.tables import Titles, flight_operations, title_operations
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.resolve import find_lineages
from dslog.lineage.lineage import Lineage
from dslog.testing.operations import cells, moved, reduction

I64 = npt.NDArray[np.int64]
SLAB = 1 << 20  # pairs of Matrix*Matrix that are made for baselines


def operations(sizes: Sizes, inputs: Inputs) -> Iterator[Operation]:
    """Give the operations of the storage table, in the paper's order."""
    n = sizes.side
    square = (n, n)
    same = Part(square, square, lambda: moved(square, lambda p: p)[0])
    yield Operation("Negative", (same,), structured=True)
    yield Operation("Addition", (same, Part(square, square, same.make)), structured=True)
    total = Part((n,), square, lambda: reduction(square, 0)[0])
    yield Operation("Aggregate", (total,), structured=True, note="sum over axis 0")
    yield _repetition(sizes.tile)
    yield _matrix_vector(n)
    yield _matrix_matrix(n)
    yield _sort(sizes.sort)
    yield filter_image(inputs, sizes.widen)
    mask, note = lime_mask(inputs)
    yield explained("Lime", mask, sizes.upscale, note)
    mask, note = drise_mask(inputs)
    yield explained("DRISE", mask, sizes.upscale, note)
    yield from title_operations(Titles(sizes.titles))
    yield from flight_operations(sizes.flights)


def _repetition(length: int) -> Operation:
    shape = (10, length)
    out = (20, 2 * length)
    part = Part(out, shape, lambda: moved(shape, lambda p: np.tile(p, (2, 2)))[0])
    return Operation("Repetition", (part,), structured=True, note=f"10 x {length}, tiled (2, 2)")


def _matrix_vector(n: int) -> Operation:
    def matrix() -> I64:
        index = cells((n, n))
        return np.ascontiguousarray(index[:, [0, 0, 1]])

    def vector() -> I64:
        return cells((n, n))

    parts = Part((n,), (n, n), matrix), Part((n,), (n,), vector)
    return Operation("Matrix*Vector", parts, structured=True)


def _matrix_matrix(n: int) -> Operation:
    """Cut the outputs into slabs of whole rows; they differ in nothing but the row's number."""
    shape = (n, n)
    rows = max(1, min(n, SLAB // (n * n)))
    while n % rows:
        rows -= 1
    first = (n - rows) // 2  # numbers of usual length, for text formats

    def slab(columns: list[int]) -> I64:
        index = cells((rows, n, n)) + np.array([first, 0, 0])
        return np.ascontiguousarray(index[:, columns])

    left = Part(shape, shape, lambda: slab([0, 1, 0, 2]), n // rows, lambda: _product(shape, 0))
    right = Part(shape, shape, lambda: slab([0, 1, 2, 1]), n // rows, lambda: _product(shape, 1))
    note = f"baselines estimated from one of {n // rows} equal slabs"
    return Operation("Matrix*Matrix", (left, right), structured=True, note=note)


def _product(shape: Shape, place: int) -> Lineage:
    """The lineage of a matrix product with one input, from its rule."""
    left, right, out = np.empty(shape), np.empty(shape), np.empty(shape)
    call = Call("matmul", np.matmul, (left, right), {}, (left, right), (out,))
    lineage = find_lineages(call)[0][place]
    assert lineage is not None
    return lineage


def _sort(length: int) -> Operation:
    shape = (length, 10)

    def make() -> I64:
        order = np.argsort(np.random.default_rng(3).random(shape), axis=0)
        return moved(shape, lambda p: np.take_along_axis(p, order, axis=0))[0]

    note = f"{length} x 10 random numbers along axis 0"
    return Operation("Sort", (Part(shape, shape, make),), note=note)
