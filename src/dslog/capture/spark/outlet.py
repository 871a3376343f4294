"""The driver's side of lineage that is too large for it: the part files that executors write.

The driver sees their names, sizes and checksums. A few rows of each relation may come to it; those
of a relation that is in part files go to one too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import Part as Product
from dslog.capture.products import multiply
from dslog.capture.spark.spilling import Move, Shifting, Spill, write
from dslog.engine.jobs import cores
from dslog.engine.parts import Part
from dslog.lineage.codec import column_names
from dslog.lineage.factor import Shape
from dslog.lineage.lineage import Lineage
from dslog.lineage.serial import pack
from dslog.lineage.table import Table, concat
from dslog.store.files import Files
from dslog.store.records import Body, FileRecord

PER_FILE = 1 << 20
"""Rows of a part file, about: what a task holds at a time."""

TASKS = 4  # per core
_NOTES = "place int, note string"


@dataclass(frozen=True)
class Outlet:
    """The files of a store, and how many compressed rows of a relation may come to the driver."""

    files: Files
    rows: int

    @contextmanager
    def spilling(self, partitions: int) -> Iterator[Spill]:
        """Name a place for scratch files, which are gone afterwards."""
        directory = self.files.root.absolute() / uuid4().hex
        try:
            yield Spill(str(directory), self.rows // max(partitions, 1))
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def collect(
        self,
        session: SparkSession,
        spill: Spill,
        moves: Mapping[int, Sequence[Move]],
        loose: Mapping[int, Sequence[Table]],
    ) -> dict[int, tuple[Part, ...]]:
        """Have scratch files shifted into part files, by relation; rows on the driver too."""
        if not moves:
            return {}
        directory = self.files.root.absolute() / uuid4().hex
        directory.mkdir(parents=True)
        asked = [(number, move) for number, some in moves.items() for move in some]
        found: dict[int, tuple[Part, ...]] = {}
        try:
            parts = self._shift(session, Shifting(spill.directory, str(directory)), asked)
            for number in moves:
                tables = list(loose.get(number, ()))
                first = [write(concat(tables), directory)] if tables else []
                rest = [part for (own, _), part in zip(asked, parts, strict=True) if own == number]
                found[number] = (*first, *rest)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return found

    def _shift(
        self, session: SparkSession, job: Shifting, asked: Sequence[tuple[int, Move]]
    ) -> list[Part]:
        """Run the second job, a task for every part file or a few."""
        rows = [(place, move.to_json()) for place, (_, move) in enumerate(asked)]
        tasks = min(len(rows), TASKS * cores(session))
        spread = session.createDataFrame(rows, _NOTES).repartitionById(
            tasks, F.expr(f"place % {tasks}")
        )
        notes = spread.mapInArrow(job, _NOTES).toArrow()
        found = sorted(zip(*(c.to_pylist() for c in notes.columns), strict=True))
        return [Part.from_json(note) for _, note in found]


def store_products(
    out_shape: Shape, in_shape: Shape, products: Sequence[Product], files: Files, *, exact: bool
) -> Lineage | Body:
    """Return the lineage of products, or its stored form if some of it is in part files."""
    lineage = multiply(out_shape, in_shape, products, exact=exact)
    large = {id(p.rows.table): p.rows.parts for p in products if p.rows.parts}
    if not large:
        return lineage
    packed = pack(lineage)
    header = json.loads(packed.header)
    records = list(files.write(packed.blobs))
    num_rows, blob = lineage.num_rows, len(packed.blobs)
    for term, items in zip(lineage.terms, header["t"], strict=True):
        for place, factor in enumerate(term):
            parts = large.get(id(factor.table))
            if parts is not None:
                items[place] = _item(parts, items[place], blob, factor.table.num_in)
                records += [
                    FileRecord(blob, number, part.name, part.nbytes, part.checksum)
                    for number, part in enumerate(parts)
                ]
                num_rows += sum(part.rows for part in parts) - 1
                blob += 1
    files.adopt(records)
    return Body(json.dumps(header, separators=(",", ":")), num_rows, exact, tuple(records))


def _item(
    parts: Sequence[Part], placeholder: dict[str, object], blob: int, width: int
) -> dict[str, object]:
    """The header of a factor whose rows are in part files."""
    levels = parts[0].levels
    return {
        "b": placeholder["b"],
        "a": placeholder["a"],
        "n": sum(part.rows for part in parts),
        "k": levels,
        "c": {},
        "w": {name: ["plain"] for name in column_names(1, width, levels)},
        "blob": blob,
    }
