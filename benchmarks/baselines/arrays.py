"""Queries by numpy over raw index arrays.

``ArrayEquality`` is the paper's Array baseline: the relation is compared (``==``) with the query's
cells, a thousand at a time. ``MaskPerHop`` is what one would write instead: a boolean mask per
array, looked up at one end of every pair and set at the other. ``FlatMask`` has prepared for that:
each cell's C-order position as int32, one file per side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.baselines.engine import Engine, LimitError, Prepared, Query, path_of
from benchmarks.baselines.formats import Array
from benchmarks.workloads.part import Workflow
from dslog.types import I64, Mask, Shape

BATCH = 1000  # query cells compared at a time, as in the paper
_ROWS = 50_000  # rows compared at a time, to bound memory
_NPY = Array()


def _write(workflow: Workflow, folder: Path) -> list[Path]:
    paths = []
    for number, step in enumerate(workflow.steps):
        stem = folder / f"step{number}"
        path = _NPY.path(stem)
        if not path.exists():
            _NPY.store(step.relation, len(step.out_shape), stem)
        paths.append(path)
    return paths


def _load(path: Path) -> I64:
    array: I64 = np.load(path, allow_pickle=False)
    return array


class _Arrays(Prepared):
    """Relations as numpy arrays, in files or kept."""

    def __init__(self, workflow: Workflow, paths: list[Path], limit: float) -> None:
        self.workflow = workflow
        self.paths = paths
        self.limit = limit
        self._kept: dict[int, Any] = {}

    def load(self, step: int) -> Any:
        """Read what a step needs."""
        return _load(self.paths[step])

    def kept(self, step: int) -> Any:
        """Read what a step needs, once."""
        if step not in self._kept:
            self._kept[step] = self.load(step)
        return self._kept[step]

    def cold(self, query: Query) -> Any:
        """Answer from files."""
        return self.run(query, self.load)

    def warm(self, query: Query) -> Any:
        """Answer from memory."""
        return self.run(query, self.kept)

    def run(self, query: Query, load: Callable[[int], Any]) -> Any:
        """Follow a query through all steps."""
        raise NotImplementedError

    def sides(self, step: int, relation: I64, *, backward: bool) -> tuple[I64, I64, Shape]:
        """Return the columns a step is entered and left by, and the shape it leads to."""
        part = self.workflow.steps[step]
        outs, ins = relation[:, : len(part.out_shape)], relation[:, len(part.out_shape) :]
        return (outs, ins, part.in_shape) if backward else (ins, outs, part.out_shape)

    def mask(self, answer: Any, shape: Shape) -> Mask:
        """Return the mask."""
        found: Mask = answer.reshape(shape)
        return found


class MaskPerHop(Engine):
    """A mask per step, over the raw index arrays."""

    name = "Array, mask per hop"

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:
        """Write one numpy file per step."""
        return _Masks(workflow, _write(workflow, folder), limit)


class _Masks(_Arrays):
    def run(self, query: Query, load: Callable[[int], Any]) -> Mask:
        shapes = self.workflow.shapes
        mask = np.zeros(shapes[-1] if query.backward else shapes[0], np.bool_)
        mask[query.slices] = True
        for step in path_of(self.workflow, query):
            enter, leave, shape = self.sides(step, load(step), backward=query.backward)
            hit = mask[tuple(enter.T)]
            mask = np.zeros(shape, np.bool_)
            mask[tuple(leave[hit].T)] = True
        return mask


class FlatMask(Engine):
    """A mask per step, over positions that were made linear and narrow beforehand."""

    name = "Array, mask per hop, flat int32"

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:
        """Write two numpy files per step."""
        paths = []
        for number, step in enumerate(workflow.steps):
            path = folder / f"step{number}.flat"
            if not path.exists():
                path.mkdir()
                l = len(step.out_shape)
                for side, shape, columns in (
                    ("b", step.out_shape, step.relation[:, :l]),
                    ("a", step.in_shape, step.relation[:, l:]),
                ):
                    flat = np.ravel_multi_index(tuple(columns.T), shape)
                    np.save(path / f"{side}.npy", flat.astype(np.int32), allow_pickle=False)
            paths.append(path)
        return _FlatMasks(workflow, paths, limit)


class _FlatMasks(_Arrays):
    def load(self, step: int) -> Any:
        return _load(self.paths[step] / "b.npy"), _load(self.paths[step] / "a.npy")

    def run(self, query: Query, load: Callable[[int], Any]) -> Mask:
        shapes = self.workflow.shapes
        box = np.zeros(shapes[-1] if query.backward else shapes[0], np.bool_)
        box[query.slices] = True
        mask = box.ravel()
        for step in path_of(self.workflow, query):
            outs, ins = load(step)
            part = self.workflow.steps[step]
            enter, leave = (outs, ins) if query.backward else (ins, outs)
            hit = mask[enter]
            mask = np.zeros(
                int(np.prod(part.in_shape if query.backward else part.out_shape)), np.bool_
            )
            mask[leave[hit]] = True
        return mask


class ArrayEquality(Engine):
    """The paper's Array baseline."""

    name = "Array, =="

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:
        """Write one numpy file per step."""
        return _Equalities(workflow, _write(workflow, folder), limit)


class _Equalities(_Arrays):
    def run(self, query: Query, load: Callable[[int], Any]) -> I64:
        ranges = [np.arange(low, high + 1) for low, high in zip(query.low, query.high, strict=True)]
        cells = np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1)
        until = perf_counter() + self.limit
        for step in path_of(self.workflow, query):
            enter, leave, _ = self.sides(step, load(step), backward=query.backward)
            cells = np.unique(leave[_compare(enter, cells, until)], axis=0)
        return cells

    def mask(self, answer: Any, shape: Shape) -> Mask:
        mask = np.zeros(shape, np.bool_)
        mask[tuple(answer.T)] = True
        return mask


def _compare(enter: I64, cells: I64, until: float) -> Mask:
    """Which rows equal one of the cells, by comparing all with all."""
    hit = np.zeros(len(enter), np.bool_)
    for first in range(0, len(cells), BATCH):
        batch = cells[first : first + BATCH]
        for start in range(0, len(enter), _ROWS):
            rows = enter[start : start + _ROWS]
            same = np.ones((len(rows), len(batch)), np.bool_)
            for column in range(rows.shape[1]):
                same &= rows[:, column, None] == batch[None, :, column]
            hit[start : start + _ROWS] |= same.any(axis=1)
            if perf_counter() > until:
                msg = "too many comparisons"
                raise LimitError(msg)
    return hit
