"""Lineage that follows cells by itself: large ones here or on Spark, small ones on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.cells.boxes import bounds
from dslog.cells.cellset import CellSet
from dslog.engine.join_tasks import Asked
from dslog.engine.large import LargeLineage, Unit
from dslog.engine.plan import How, plan_step
from dslog.engine.spark_join import UNIT_ROWS, SparkJoins
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Direction
from dslog.query.follow import Cells, Followed, trace, unite

I64 = npt.NDArray[np.int64]
_FILES = 256  # footers that the driver reads to tell how much a query would scan
_BOXES = 1 << 16  # boxes that files and row groups are ruled out by, one by one


@dataclass(frozen=True)
class SharedLineage:
    """A Lineage in memory whose steps run on Spark, because the caller wants that."""

    lineage: Lineage
    joins: SparkJoins

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""
        return self.joins.share(self.lineage, cells, direction)


@dataclass(frozen=True)
class LargeFollower:
    """A Lineage in part files. Each step reads what its bounds let through, here or on Spark.

    ``load`` reads all of it into memory, for steps that want most of a Lineage that fits.
    """

    large: LargeLineage
    engine: str
    joins: SparkJoins
    load: Callable[[], Lineage]

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""
        back = direction is Direction.BACKWARD
        if not isinstance(cells, CellSet):
            return self.joins.exchange(self.large, self._whole_files(), cells, direction)
        if not cells:
            shape = self.large.in_shape if back else self.large.out_shape
            exact = cells.exact and self.large.exact
            return Followed(CellSet.empty(shape).with_exact(exact), 0, 0, 0, "local")
        units = self._units(cells, backward=back)
        rows = sum(unit.rows for unit in units)
        asked = Asked.of(cells).nbytes
        how = plan_step(self.engine, rows, loaded=False, asked=asked, limits=self.joins.limits)
        if how is How.LOCAL:
            return self._follow_here(units, rows, cells, direction)
        if how is How.SCAN:
            return self.joins.scan(self.large, units, cells, direction)
        return self.joins.exchange(self.large, units, cells, direction)

    def _units(self, cells: CellSet, *, backward: bool) -> list[Unit]:
        boxes = cells.boxes
        if len(boxes) > _BOXES:
            boxes = bounds(boxes)[None]
        met = self.large.parts_met(boxes, backward=backward)
        footers = len(met) <= _FILES
        return self.large.units_met(boxes, backward=backward, most=UNIT_ROWS, footers=footers)

    def _whole_files(self) -> list[Unit]:
        return [Unit(part.path, part.levels, (), part.rows) for part in self.large.parts]

    def _follow_here(
        self, units: list[Unit], rows: int, cells: CellSet, direction: Direction
    ) -> Followed:
        limit = self.joins.limits.spark_rows
        if self.large.num_rows <= limit and rows * 4 > self.large.num_rows:
            return trace(self.load(), cells, direction)
        found: Cells | None = None
        scanned = matched = joined = 0
        for some in _batches(units, limit):
            step = trace(self.large.lineage_of(some), cells, direction)
            found = step.cells if found is None else unite(found, step.cells)
            scanned, matched = scanned + step.scanned, matched + step.matched
            joined += step.joined
        if found is None:
            back = direction is Direction.BACKWARD
            shape = self.large.in_shape if back else self.large.out_shape
            found = CellSet.empty(shape).with_exact(cells.exact and self.large.exact)
        return Followed(found, scanned, matched, joined, "local")


def _batches(units: list[Unit], most: int) -> Iterator[list[Unit]]:
    """Gather units into lists of ``most`` rows or so."""
    held: list[Unit] = []
    for unit in units:
        held.append(unit)
        if sum(one.rows for one in held) >= most:
            yield held
            held = []
    if held:
        yield held
