"""The twelve operations of the paper's storage table, and two more on real flights.

Relations are made from what each operation means, by index arithmetic; nothing here looks at how
DSLog captures or compresses, but for Matrix*Matrix, whose 10^9 pairs per input nobody can make.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.size import Size
from benchmarks.workloads.numpy_call import lineage_of
from benchmarks.workloads.part import Operation, Part
from benchmarks.workloads.relations import cells, moved, reduction
from benchmarks.workloads.titles import Titles, flight_operations, title_operations
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Mask, Shape

SLAB = 1 << 20  # pairs of Matrix*Matrix that are made for baselines
LIME, DRISE, DIGIT = "example_lime.npy", "example_drise.npy", "mnist.npy"  # the paper's
FRAME = 416  # YOLOv4 sees 416 x 416 cells
THRESHOLD = 0.5


def operations(size: Size, shared: Path | None = None) -> Iterator[Operation]:
    """Give the operations of the storage table, in the paper's order."""
    n = size.side
    square = (n, n)
    same = Part(square, square, lambda: moved(square, lambda p: p)[0])
    yield Operation("Negative", (same,), structured=True)
    yield Operation("Addition", (same, Part(square, square, same.make)), structured=True)
    total = Part((n,), square, lambda: reduction(square, 0)[0])
    yield Operation("Aggregate", (total,), structured=True, note="sum over axis 0")
    yield _repetition(size.tile)
    yield _matrix_vector(n)
    yield _matrix_matrix(n)
    yield _sort(size.sort)
    yield filter_image(shared, size.widen)
    mask, note = lime_mask(shared)
    yield explained("Lime", mask, size.upscale, note)
    mask, note = drise_mask(shared)
    yield explained("DRISE", mask, size.upscale, note)
    yield from title_operations(Titles(size.titles))
    yield from flight_operations(size.flights)


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
    lineage = lineage_of(np.matmul, (np.empty(shape), np.empty(shape)), {}, np.empty(shape), place)
    assert lineage is not None
    return lineage


def _sort(length: int) -> Operation:
    shape = (length, 10)

    def make() -> I64:
        order = np.argsort(np.random.default_rng(3).random(shape), axis=0)
        return moved(shape, lambda p: np.take_along_axis(p, order, axis=0))[0]

    note = f"{length} x 10 random numbers along axis 0"
    return Operation("Sort", (Part(shape, shape, make),), note=note)


def example(shared: Path | None, name: str) -> Array | None:
    """Return an array of the paper, or None when nobody has put it into ``shared``."""
    for folder in (shared, shared / "data") if shared else ():
        if (folder / name).is_file():
            found: Array = np.load(folder / name, allow_pickle=False)
            return found
    return None


def lime_mask(shared: Path | None) -> tuple[Mask, str]:
    """Return the cells that LIME holds responsible for a detection, and where they are from."""
    given = example(shared, LIME)
    if given is not None:
        return given.astype(float) > THRESHOLD, "the paper's example"
    return superpixels(FRAME, pieces=14, seed=1), "generated superpixels"


def drise_mask(shared: Path | None) -> tuple[Mask, str]:
    """Return the cells that D-RISE holds responsible for a detection, and where they are from."""
    given = example(shared, DRISE)
    if given is not None:
        return given.astype(float) > THRESHOLD, "the paper's example"
    rows, columns = np.indices((FRAME, FRAME))
    return (rows - 250) ** 2 / 38**2 + (columns - 180) ** 2 / 29**2 <= 1, "a generated blob"


def superpixels(side: int, pieces: int, seed: int) -> Mask:
    """Some neighbouring cells of a Voronoi diagram: what LIME's segments look like."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((side, side))
    nearest = np.zeros((side, side), np.int64)
    least = np.full((side, side), np.inf)
    seeds = rng.uniform(0, side, (16 * pieces, 2))
    for piece, (y, x) in enumerate(seeds):
        distance = (rows - y) ** 2 + (columns - x) ** 2
        closer = distance < least
        nearest[closer], least[closer] = piece, distance[closer]
    chosen = np.argsort(((seeds - side / 2) ** 2).sum(axis=1))[:pieces]
    return np.isin(nearest, chosen)


def explained(name: str, mask: Mask, upscale: int, note: str) -> Operation:
    """A model's one output cell, from the cells of a mask that is enlarged on both axes."""
    large = mask.repeat(upscale, axis=0).repeat(upscale, axis=1)

    def make() -> I64:
        found = np.argwhere(large)
        return np.concatenate([np.zeros((len(found), 2), np.int64), found], axis=1)

    note = f"{note}, {large.shape[0]} x {large.shape[1]}"
    return Operation(name, (Part((1, 1), (*large.shape,), make),), note=note)


def filter_image(shared: Path | None, widen: int) -> Operation:
    """The cells of an image above 0, in order: each pixel of a digit ``widen`` cells wide."""
    given = example(shared, DIGIT)
    source = "the paper's digit"
    if given is None:
        rows, columns = np.indices((28, 28))
        distance = np.hypot((rows - 14) / 10, (columns - 14) / 7)
        given, source = (np.abs(distance - 0.8) < 0.25).astype(np.float32), "a drawn zero"
    mask = (given.astype(float).reshape(28, 28) > 0).repeat(widen, axis=1)

    def make() -> I64:
        found = np.argwhere(mask)
        return np.concatenate([np.arange(len(found))[:, None], found], axis=1)

    count = int(np.count_nonzero(mask))
    note = f"{source}, {mask.shape[0]} x {mask.shape[1]}, {count} cells kept"
    return Operation("ImgFilter", (Part((count,), (*mask.shape,), make),), note=note)
