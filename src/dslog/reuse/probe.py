"""Compare an answer with a capture on a few cells, before the capture is skipped.

Corners and cells beside the edges come first: that is where formulas go wrong. A capture that
fails, or that gives anything unexpected, disagrees; it is then read in full and says why itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from os import PathLike
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.cells.cellset import CellSet
from dslog.engine.frames import is_frame
from dslog.lineage.factor import Shape, join_term
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import read
from dslog.reuse.same import num_pairs, some_cells
from dslog.store.seams import Pair

I64 = npt.NDArray[np.int64]
_MOST_ITEMS = 1000  # of what a callable gives for one cell


def agrees(
    lineage: Lineage | None,
    capture: object,
    pair: Pair,
    count: int,
    rng: np.random.Generator,
) -> bool:
    """Whether a capture gives the lineage's cells for a few output cells."""
    if lineage is None or capture is None:
        return lineage is None and capture is None
    if isinstance(capture, Lineage):
        if (capture.out_shape, capture.in_shape) != (lineage.out_shape, lineage.in_shape):
            return False
        if capture == lineage:
            return True
    cells = some_cells(pair.out.shape, count, rng)
    try:
        return _agrees(lineage, capture, pair, cells)
    except Exception:  # noqa: BLE001 (whatever it is, the capture is about to be read in full)
        return False


def _agrees(lineage: Lineage, capture: object, pair: Pair, cells: I64) -> bool:
    expected = _boxes(lineage, cells)
    if isinstance(capture, Lineage):
        if capture.exact != lineage.exact:
            return False
        found = _boxes(capture, cells)
        shape = pair.in_.shape
        return all(
            CellSet.from_boxes(shape, one) == CellSet.from_boxes(shape, two)
            for one, two in zip(expected, found, strict=True)
        )
    if not len(cells):
        return num_pairs(lineage) == 0
    return all(
        _same_cells(boxes, answer, pair.in_.shape)
        for boxes, answer in zip(expected, _answers(capture, pair, cells), strict=True)
    )


def _boxes(lineage: Lineage, cells: I64) -> list[I64]:
    """Return the input boxes of each of some output cells."""
    along = lineage.orientation == "backward"
    sides = (lineage.out_shape, lineage.in_shape)
    absolute, relative = sides if along else sides[::-1]
    queries = np.repeat(cells[:, :, None], 2, axis=2)
    found: list[list[I64]] = [[] for _ in cells]
    for term in lineage.terms:
        hits = join_term(term, absolute, relative, queries, backward=along)
        for query, box in zip(hits.query.tolist(), hits.boxes, strict=True):
            found[query].append(box)
    ndim = len(lineage.in_shape)
    return [np.array(boxes, np.int64).reshape(len(boxes), ndim, 2) for boxes in found]


def _same_cells(boxes: I64, answer: tuple[I64, bool], shape: Shape) -> bool:
    """Whether some cells, all or the first ones, are those of the boxes."""
    cells, complete = answer
    different = set(map(tuple, cells.tolist()))
    if len(boxes) == 1:  # nearly always, and then numpy would take longer
        ranges = boxes[0].tolist()
        inside = all(
            lo <= at <= hi for cell in different for at, (lo, hi) in zip(cell, ranges, strict=True)
        )
        total = math.prod(hi - lo + 1 for lo, hi in ranges)
    else:
        within = (cells[:, None] >= boxes[None, :, :, 0]) & (cells[:, None] <= boxes[None, :, :, 1])
        inside = bool(np.all(np.any(np.all(within, axis=2), axis=1)))
        total = CellSet.from_boxes(shape, boxes).count if complete else 0
    return inside and (not complete or len(different) == total)


def _answers(capture: object, pair: Pair, cells: I64) -> Iterator[tuple[I64, bool]]:
    """Give what a capture says of each cell, and whether that is all of it."""
    if callable(capture) and not isinstance(capture, np.ndarray):
        yield from _called(cast("Callable[[Any], Iterable[Any]]", capture), pair, cells)
        return
    l = len(pair.out.shape)
    relation = read(_near(capture, cells), pair.out.shape, pair.in_.shape)
    for cell in cells:
        yield relation[(relation[:, :l] == cell).all(axis=1), l:], True


def _called(
    capture: Callable[[Any], Iterable[Any]], pair: Pair, cells: I64
) -> Iterator[tuple[I64, bool]]:
    ndim = len(pair.in_.shape)
    for cell in cells.tolist():
        remaining = iter(capture(tuple(cell)))
        items = list(islice(remaining, _MOST_ITEMS))
        complete = len(items) < _MOST_ITEMS or next(remaining, None) is None
        array = np.array(items).reshape(len(items), ndim)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(items)
        yield array.astype(np.int64), complete


def _near(capture: object, cells: I64) -> Any:
    """Return the part of a relation that has these output cells; all of it if it is in memory."""
    tests = [[(f"b{j}", "==", index) for j, index in enumerate(cell)] for cell in cells.tolist()]
    if isinstance(capture, str | PathLike):
        return pq.read_table(capture, filters=tests if cells.shape[1] else None)
    if is_frame(capture):
        text = " OR ".join(
            "(" + (" AND ".join(f"{name} = {index}" for name, _, index in test) or "true") + ")"
            for test in tests
        )
        return cast("Any", capture).where(text).toArrow()
    if not isinstance(capture, np.ndarray) and hasattr(capture, "__arrow_c_stream__"):
        return pa.table(capture)
    return capture
