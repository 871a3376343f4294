"""D-RISE: which cells of an image a detector needs for each thing it found.

Masks, random and smooth, darken the image. A cell matters for a detection when the detector finds
it again more surely with the cell visible than on average; "again" is measured by the overlap of
the boxes, the score, and the class (Petsiuk et al., CVPR 2021). The detector is a black box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.capture_cost import CaptureCost
from dslog.capture.models.attribution import Attribution, check_samples, chunks, read_input
from dslog.errors import CaptureError
from dslog.types import Floats

Detector = Callable[[npt.NDArray[Any]], Any]
"""Takes an image and gives boxes, one row each: see ``drise``."""

_TOP, _LEFT, _BOTTOM, _RIGHT, _SCORE, _CLASS = range(6)


def drise(
    detector: Detector,
    image: Any,
    *,
    samples: int = 1000,
    seed: int = 0,
    grid: int = 8,
    visible: float = 0.5,
    fill: float = 0.0,
) -> Attribution:
    """Estimate what each cell of an image contributes to each detection.

    ``detector`` takes an image and gives boxes as rows (top, left, bottom, right), with bottom and
    right outside, and perhaps a score and the number of a class. What it gives for the image itself
    is explained, one output cell per box. A mask has ``grid`` blocks along each side, each of them
    ``visible`` with this chance; the rest of the image goes over to ``fill``.
    """
    values = read_input(image, 2)
    check_samples(samples)
    if grid < 1 or not 0 < visible < 1:
        raise CaptureError(
            f"grid={grid} and visible={visible} make no masks: take a grid of 1 or more and a "
            f"chance between 0 and 1"
        )
    targets = read_boxes(detector(values))
    if not len(targets):
        raise CaptureError(
            "the detector finds nothing in the image, so there is nothing to explain"
        )
    contributions = _contributions(
        detector, values, targets, _masks(values.shape[:2], samples, grid, visible, seed), fill
    )
    return Attribution(
        method="drise",
        contributions=contributions,
        outputs=tuple(range(len(targets))),
        out_shape=(len(targets),),
        in_shape=values.shape,
        samples=samples,
        seed=seed,
        settings={"grid": grid, "visible": visible},
    )


def read_boxes(found: Any) -> Floats:
    """Return boxes as rows of six numbers; what is left out is 1 (score) or 0 (class)."""
    boxes = np.asarray(found, dtype=np.float64)
    if not boxes.size:
        return np.zeros((0, 6))
    if boxes.ndim != 2 or not 4 <= boxes.shape[1] <= 6 or not np.isfinite(boxes).all():
        raise CaptureError(
            f"the detector gave boxes of shape {boxes.shape}: each is a row (top, left, bottom, "
            f"right) with perhaps a score and a class"
        )
    whole = np.zeros((len(boxes), 6))
    whole[:, _SCORE] = 1
    whole[:, : boxes.shape[1]] = boxes
    return whole


def similarity(targets: Floats, found: Floats) -> Floats:
    """Return how surely each target was found again: the best overlap x score in its class."""
    if not len(found):
        return np.zeros(len(targets))
    a, b = targets[:, None], found[None]
    height = np.minimum(a[..., _BOTTOM], b[..., _BOTTOM]) - np.maximum(a[..., _TOP], b[..., _TOP])
    width = np.minimum(a[..., _RIGHT], b[..., _RIGHT]) - np.maximum(a[..., _LEFT], b[..., _LEFT])
    shared = np.maximum(height, 0) * np.maximum(width, 0)
    union = _area(a) + _area(b) - shared
    overlap = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    same = a[..., _CLASS] == b[..., _CLASS]
    best: Floats = (overlap * b[..., _SCORE] * same).max(axis=1)
    return best


def _area(boxes: Floats) -> Floats:
    area: Floats = (boxes[..., _BOTTOM] - boxes[..., _TOP]) * (
        boxes[..., _RIGHT] - boxes[..., _LEFT]
    )
    return area


def _contributions(
    detector: Detector,
    values: npt.NDArray[Any],
    targets: Floats,
    masks: Iterator[Floats],
    fill: float,
) -> Floats:
    """Return, per target and cell, how much surer it is with the cell visible than on average."""
    extra = (1,) * (values.ndim - 2)
    weighted = np.zeros((len(targets), *values.shape[:2]))
    shown, total, count = np.zeros(values.shape[:2]), np.zeros(len(targets)), 0
    for batch in masks:
        again = np.empty((len(batch), len(targets)))
        for number, mask in enumerate(batch):
            part = mask.reshape(*mask.shape, *extra)
            sample = (values * part + fill * (1 - part)).astype(values.dtype)
            again[number] = similarity(targets, read_boxes(detector(sample)))
        weighted += np.tensordot(again.T, batch, axes=1)
        shown += batch.sum(axis=0)
        total += again.sum(axis=0)
        count += len(batch)
    seen = np.divide(weighted, shown, out=np.zeros_like(weighted), where=shown > 0)
    return np.asarray(seen - (total / count)[:, None, None])


def _masks(
    shape: tuple[int, ...], samples: int, grid: int, visible: float, seed: int
) -> Iterator[Floats]:
    """Draw masks in batches: random blocks, enlarged smoothly, moved by part of a block."""
    random = np.random.default_rng(seed)
    sides = [-(-length // grid) for length in shape]
    enlarge = [_interpolation(grid, side) for side in sides]
    size = max(1, CaptureCost.current().masks_at_once // (shape[0] * shape[1]))
    for part in chunks(samples, size):
        count = part.stop - part.start
        blocks = (random.random((count, grid + 1, grid + 1)) < visible).astype(np.float64)
        moves = random.integers(0, sides, size=(count, 2))
        large = enlarge[0] @ blocks @ enlarge[1].T
        yield np.stack(
            [
                mask[down : down + shape[0], right : right + shape[1]]
                for mask, (down, right) in zip(large, moves.tolist(), strict=True)
            ]
        )


def _interpolation(grid: int, side: int) -> Floats:
    """Return the matrix that enlarges ``grid + 1`` blocks, linearly, to ``side`` cells each."""
    at = np.clip((np.arange((grid + 1) * side) + 0.5) / side - 0.5, 0, grid)
    low = np.minimum(at.astype(np.int64), grid - 1)
    matrix = np.zeros((len(at), grid + 1))
    rows = np.arange(len(at))
    matrix[rows, low] = 1 - (at - low)
    matrix[rows, low + 1] += at - low
    return matrix
