"""Relations that come from a mask over an image: LIME, D-RISE, and a filter of pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.inputs import DIGIT, DRISE, LIME, Inputs
from benchmarks.evaluation.parts import Operation, Part

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
FRAME = 416  # YOLOv4 sees 416 x 416 cells
THRESHOLD = 0.5


def lime_mask(inputs: Inputs) -> tuple[Mask, str]:
    """Return the cells that LIME holds responsible for a detection, and where they are from."""
    given = inputs.load(LIME)
    if given is not None:
        return given.astype(float) > THRESHOLD, "the paper's example"
    return superpixels(FRAME, pieces=14, seed=1), "generated superpixels"


def drise_mask(inputs: Inputs) -> tuple[Mask, str]:
    """Return the cells that D-RISE holds responsible for a detection, and where they are from."""
    given = inputs.load(DRISE)
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


def filter_image(inputs: Inputs, widen: int) -> Operation:
    """The cells of an image above 0, in order: each pixel of a digit ``widen`` cells wide."""
    given = inputs.load(DIGIT)
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
