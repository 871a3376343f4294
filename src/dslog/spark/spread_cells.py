"""Cells that stay on the executors' side: files of boxes that later steps read again."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from dslog.cells.boxes import volume
from dslog.cells.cellset import PLAIN, CellSet, Labelled, Labels
from dslog.errors import EngineError
from dslog.lineage.lineage import Lineage
from dslog.query.execute import Cells, Followed
from dslog.query.plan import Direction
from dslog.spark.join_task import BoxSlice, map_boxes, write_boxes
from dslog.spark.spark_cost import SparkCost
from dslog.types import I64, Shape

if TYPE_CHECKING:
    from dslog.spark.join_job import SparkJoins


class Scratch:
    """A directory that goes when nothing refers to it any more."""

    def __init__(self, root: Path) -> None:
        self.path = root / f"scratch-{uuid4().hex}"
        self.path.mkdir(parents=True)
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class BoxFile:
    """A file of boxes, in a scratch directory that lives as long as this does."""

    scratch: Scratch
    name: str
    boxes: int

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.scratch.path / self.name

    @classmethod
    def write(cls, boxes: I64, scratch: Scratch) -> BoxFile:
        """Write boxes to a file of their own."""
        return cls(scratch, write_boxes(boxes, scratch.path), len(boxes))


@dataclass(frozen=True, slots=True)
class SpreadCells(Labelled):
    """Cells in files of boxes; ``disjoint`` says whether no two boxes overlap."""

    shape: Shape
    files: tuple[BoxFile, ...]
    joins: SparkJoins
    labels: Labels = PLAIN
    disjoint: bool = False

    @property
    def num_boxes(self) -> int:
        """The number of boxes in all files."""
        return sum(file.boxes for file in self.files)

    @property
    def count(self) -> int:
        """The number of cells."""
        if not self.disjoint:
            return self.joins.merge(self).count
        return sum(volume(boxes) for boxes in self._read())

    def with_labels(self, labels: Labels) -> SpreadCells:
        """The same cells under other labels."""
        return replace(self, labels=labels)

    def unite(self, other: Cells) -> Cells:
        """The cells in either."""
        if isinstance(other, CellSet):
            other = self.joins.spread(other)
        assert isinstance(other, SpreadCells)  # noqa: S101 (a query has one engine)
        labels = self.labels.joined(other.labels)
        both = replace(self, files=self.files + other.files, labels=labels, disjoint=False)
        return self.joins.merge(both)

    def follow(self, lineage: Lineage, direction: Direction) -> Followed:
        """Follow lineage that is loaded, without bringing the cells here."""
        return self.joins.share(lineage, self, direction)

    def gather(self) -> CellSet:
        """Bring the cells here."""
        size = min(16 * max(len(self.shape), 1) * self.num_boxes, prod(self.shape))
        if size > SparkCost.current().result_bytes:
            raise EngineError(
                f"the result has {self.num_boxes:,} boxes in an array of shape {self.shape}: too "
                f"many for one process. Ask for fewer cells, or for an array with fewer cells"
            )
        boxes = [np.zeros((0, len(self.shape), 2), np.int64), *self._read()]
        return CellSet.from_boxes(self.shape, np.concatenate(boxes)).with_labels(self.labels)

    def slices(self) -> list[BoxSlice]:
        """Cut the files into what a task reads at a time."""
        return [
            BoxSlice(file.path, start, min(start + SparkCost.current().slice_boxes, file.boxes))
            for file in self.files
            for start in range(0, file.boxes, SparkCost.current().slice_boxes)
        ]

    def _read(self) -> Iterator[I64]:
        for file in self.files:
            yield np.array(map_boxes(file.path))
