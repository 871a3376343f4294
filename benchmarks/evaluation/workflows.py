"""The paper's hand-made workflows: image, ResNet block, relational.

Image: area resize to the detector's 416 x 416, luminosity, rot90, fliplr, LIME on the detector.
ResNet block: 3 x 3 convolution with zero padding, batch norm, ReLU, convolution, batch norm,
addition of the skip input, ReLU. Relational: inner join on tconst, drop rows with missing values
(the endYear may be), a column from two others, one-hot of the first genre, a constant added.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.explained import lime_mask
from benchmarks.evaluation.inputs import Inputs
from benchmarks.evaluation.parts import Part, Shape, Workflow
from benchmarks.evaluation.tables import BASICS_COLUMNS, EPISODE_COLUMNS, Titles, join_part
from dslog.testing.operations import Case, cells, convolution, moved, resize

I64 = npt.NDArray[np.int64]
GENRES = 28
_JOINED = BASICS_COLUMNS + EPISODE_COLUMNS - 1
_GENRE_COLUMN = 8
_ADDED = (2, 7)  # the columns that the new one is made of


def _part(case: Case) -> Part:
    relation, out_shape, in_shape = case
    return Part(out_shape, in_shape, lambda: relation)


def _same(shape: Shape) -> Part:
    return _part(moved(shape, lambda p: p))


def image(frame: tuple[int, int], side: int, inputs: Inputs) -> Workflow:
    """Five steps from a camera frame to one detection."""
    small = (side, side)
    mask = lime_mask(inputs)[0]
    pick = np.arange(side) * len(mask) // side  # the detector may be smaller than the mask
    found = np.argwhere(mask[np.ix_(pick, pick)])
    explained = np.concatenate([np.zeros((len(found), 2), np.int64), found], axis=1)
    steps = (
        _part(resize(frame, small)),
        _same(small),
        _part(moved(small, np.rot90)),
        _part(moved(small, np.fliplr)),
        _part((explained, (1, 1), small)),
    )
    return Workflow("image", steps, ("resize", "luminosity", "rot90", "fliplr", "LIME"))


def resnet(frame: tuple[int, int]) -> Workflow:
    """Seven steps of a ResNet block, on one channel."""
    same, window = _same(frame), _part(convolution(frame, padding=1))
    steps = (window, same, same, window, same, same, same)
    labels = ("conv", "norm", "ReLU", "conv", "norm", "skip", "ReLU")
    return Workflow("ResNet block", steps, labels)


def relational(rows: int) -> Workflow:
    """Five steps from a table of titles to a table of features."""
    titles = Titles(rows)
    kept = np.flatnonzero(titles.complete)
    n = len(kept)
    join = join_part(rows, BASICS_COLUMNS, titles.episodes, 0, _JOINED)
    drop = join_part(len(titles.episodes), _JOINED, kept, 0, _JOINED)
    added = _part(_columns(n, _JOINED, _with_sum()))
    encoded = _part(_columns(n, _JOINED + 1, _one_hot()))
    steps = (join, drop, added, encoded, _same(encoded.out_shape))
    labels = ("inner join", "drop missing", "add columns", "one-hot", "add constant")
    return Workflow("relational", steps, labels)


def _with_sum() -> list[list[int]]:
    """Which input columns each output column reads: all as they are, and one from two."""
    return [*([column] for column in range(_JOINED)), list(_ADDED)]


def _one_hot() -> list[list[int]]:
    """Every column but the genre as it is, then a column per genre."""
    kept = [[column] for column in range(_JOINED + 1) if column != _GENRE_COLUMN]
    return kept + [[_GENRE_COLUMN]] * GENRES


def _columns(rows: int, columns: int, reads: list[list[int]]) -> Case:
    """Each row by itself; output column c reads the input columns ``reads[c]``."""
    pairs = np.array([(c, a) for c, ins in enumerate(reads) for a in ins], np.int64)
    index = cells((rows, len(pairs)))
    row, pick = index[:, 0], pairs[index[:, 1]]
    relation = np.stack([row, pick[:, 0], row, pick[:, 1]], axis=1)
    return np.ascontiguousarray(relation), (rows, len(reads)), (rows, columns)
