"""Lineage too large to load: a union of products, one factor of which may be in part files.

Files are ruled out by their bounds, row groups by the statistics in the files' footers, so a
selective query reads a few thousand rows of however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from dslog.cells.cellset import PLAIN, SUPERSET, Labels
from dslog.errors import CorruptError
from dslog.lineage.codec import decode_factor, encode_axes, encode_factor
from dslog.lineage.factor import Factor, Term
from dslog.lineage.lineage import Lineage, Orientation, encode_header
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.part_files import PartFile, group_bounds, meets, read_footer, read_groups
from dslog.lineage.table import Table, attribute_names, concat
from dslog.types import I64, Json, Shape

Blob: TypeAlias = pa.Table | tuple[PartFile, ...]
"""Columns to be written to a file, or the part files that hold them."""


class File(Protocol):
    """A file as a store lists it."""

    @property
    def name(self) -> str:
        """Its name below the store's root."""

    @property
    def nbytes(self) -> int:
        """Its size."""

    @property
    def checksum(self) -> bytes:
        """The checksum of its bytes."""


@dataclass(frozen=True)
class PartTable:
    """A table whose rows are in part files below ``root``, all with as many fold levels."""

    root: Path
    num_out: int
    num_in: int
    parts: tuple[PartFile, ...]

    def __len__(self) -> int:
        """Rows in all parts."""
        return sum(part.rows for part in self.parts)

    @cached_property
    def _bounds(self) -> I64:
        ends = [part.bounds for part in self.parts]
        return np.array(ends, np.int64).reshape(len(ends), self.num_out + self.num_in, 2)

    def parts_met(self, axes: slice, boxes: I64) -> Iterator[PartFile]:
        """Yield the parts whose bounds along some of the table's axes meet some of the boxes."""
        for place in np.flatnonzero(meets(self._bounds[:, axes], boxes)):
            yield self.parts[place]


@dataclass(frozen=True, slots=True)
class PartFactor:
    """A factor of a product whose table is in part files."""

    out_axes: Shape
    in_axes: Shape
    table: PartTable


LargeTerm = tuple[Factor | PartFactor, ...]
"""A product; at most one of its factors is in part files."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is read at a time: row groups of a part file, by default all of them.

    ``term`` says which product the rows are a factor of. Without a path it is a product in memory;
    with one, ``part`` is the file.
    """

    term: int
    rows: int
    path: Path | None = None
    part: PartFile | None = None
    groups: tuple[int, ...] = ()

    @property
    def levels(self) -> int:
        """How many fold levels the rows have."""
        return self.part.levels if self.part else 0


@dataclass(frozen=True)
class LargeLineage:
    """Lineage some of whose factors are in part files; see ``Lineage`` for what is alike."""

    out_shape: Shape
    in_shape: Shape
    terms: tuple[LargeTerm, ...]
    exact: bool = True
    orientation: Orientation = "backward"

    @property
    def labels(self) -> Labels:
        """What is said of every answer that comes through it."""
        return PLAIN if self.exact else SUPERSET

    @property
    def num_rows(self) -> int:
        """Compressed rows, over all factors."""
        return sum(len(factor.table) for term in self.terms for factor in term)

    @property
    def is_union(self) -> bool:
        """Whether it is a union of tables over all axes, so that a file's rows stand alone."""
        return self.orientation == "backward" and all(len(term) == 1 for term in self.terms)

    def shapes(self, *, backward: bool) -> tuple[Shape, Shape]:
        """Return the shapes of the array that is asked about and of the one that answers."""
        shapes = self.out_shape, self.in_shape
        return shapes if backward else shapes[::-1]

    def without_parts(self) -> LargeLineage:
        """Leave the part files out: what tasks need to know of the terms."""
        terms = tuple(
            tuple(
                replace(f, table=replace(f.table, parts=())) if isinstance(f, PartFactor) else f
                for f in term
            )
            for term in self.terms
        )
        return replace(self, terms=terms)

    @property
    def is_filed(self) -> bool:
        """Whether any of it is in part files."""
        return any(self._filed(number) for number in range(len(self.terms)))

    def in_memory(self) -> Lineage:
        """Return the terms that are not in part files."""
        terms = [self._with_table(k, None) for k in range(len(self.terms)) if not self._filed(k)]
        return self._lineage(terms)

    def units(self) -> list[Unit]:
        """Return all there is, a file at a time."""
        return [
            unit
            for number in range(len(self.terms))
            for unit in self._units(number, slice(0, 0), np.zeros((1, 0, 2), np.int64))
        ]

    def units_met(self, boxes: I64, *, backward: bool) -> list[Unit]:
        """Return the files that must be read to answer for boxes over the array asked about."""
        units: list[Unit] = []
        for number in range(len(self.terms)):
            units += self._units(number, *self._asked(number, boxes, backward=backward))
        return units

    def pruned(self, unit: Unit, boxes: I64, *, backward: bool, most: int) -> list[Unit]:
        """Rule out row groups of a file; the rest comes ``most`` rows or so at a time."""
        return self._pruned(unit, *self._asked(unit.term, boxes, backward=backward), most)

    def units_within(self, window: I64, most: int) -> list[Unit]:
        """Return what must be read for a box over all axes, outputs and inputs."""
        units: list[Unit] = []
        for number in range(len(self.terms)):
            factor = self._filed(number)
            sides = window[: len(self.out_shape)], window[len(self.out_shape) :]
            absolute, relative = sides if self.orientation == "backward" else sides[::-1]
            axes = (factor.out_axes, factor.in_axes) if factor else ((), ())
            box = np.concatenate([absolute[list(axes[0])], relative[list(axes[1])]])[None]
            for unit in self._units(number, slice(None), box):
                units += self._pruned(unit, slice(None), box, most)
        return units

    def lineage_of(self, units: Sequence[Unit]) -> Lineage:
        """Read units as a Lineage of their rows alone."""
        tables: dict[int, list[Table]] = {}
        for unit in units:
            held = tables.setdefault(unit.term, [])
            if unit.path is not None:
                held.append(self.table_of(unit))
        return self.of_tables([(k, concat(some) if some else None) for k, some in tables.items()])

    def table_of(self, unit: Unit) -> Table:
        """Read the rows of a unit in a part file."""
        assert unit.path is not None  # noqa: S101
        assert unit.part is not None  # noqa: S101
        shapes = self.table_shapes(unit.term)
        table = read_groups(unit.path, unit.part, unit.groups, *map(len, shapes))
        if not table.is_inside(*shapes):
            raise CorruptError(f"the file {unit.path} names cells outside its arrays")
        return table

    def of_tables(self, tables: Iterable[tuple[int, Table | None]]) -> Lineage:
        """Return a Lineage of some terms; a table takes the place of a term's part files."""
        return self._lineage([self._with_table(number, table) for number, table in tables])

    def table_shapes(self, number: int) -> tuple[Shape, Shape]:
        """Return how long the axes of a term's part files are, absolute ones first."""
        factor = self._filed(number)
        assert factor is not None  # noqa: S101 (asked of what was read from part files)
        absolute, relative = self.shapes(backward=self.orientation == "backward")
        outs = tuple(absolute[axis] for axis in factor.out_axes)
        return outs, tuple(relative[axis] for axis in factor.in_axes)

    def axis_bounds(
        self, number: int, table: Table, axis: int, *, backward: bool
    ) -> tuple[I64, I64] | None:
        """Return how far rows of a term reach along an axis of the array that is asked about.

        None if its part files know nothing of that axis.
        """
        factor = self._filed(number)
        assert factor is not None  # noqa: S101
        along = self._along(backward=backward)
        axes = factor.out_axes if along else factor.in_axes
        if axis not in axes:
            return None
        out_lo, out_hi, in_lo, in_hi = table.bounds
        lo, hi = (out_lo, out_hi) if along else (in_lo, in_hi)
        return lo[:, axes.index(axis)], hi[:, axes.index(axis)]

    def encode(self) -> tuple[str, list[Blob]]:
        """Return the stored form: a header, compact JSON, and the blobs it refers to."""
        blobs: list[Blob] = []
        inline = LineageCost.current().inline_rows
        shapes = self.shapes(backward=self.orientation == "backward")
        terms = [
            [
                encode_factor(f, term, *shapes, inline, blobs)
                if isinstance(f, Factor)
                else _encode_parts(f, term, *shapes, blobs)
                for f in term
            ]
            for term in self.terms
        ]
        header = encode_header(self.out_shape, self.in_shape, terms, self.exact, self.orientation)
        return header, blobs

    def _along(self, *, backward: bool) -> bool:
        return backward == (self.orientation == "backward")

    def _filed(self, number: int) -> PartFactor | None:
        """Return the factor of a term that is in part files."""
        found = [f for f in self.terms[number] if isinstance(f, PartFactor)]
        return found[0] if found else None

    def _with_table(self, number: int, table: Table | None) -> Term:
        return tuple(
            f
            if isinstance(f, Factor)
            else Factor(
                f.out_axes, f.in_axes, table or Table.empty(f.table.num_out, f.table.num_in)
            )
            for f in self.terms[number]
        )

    def _lineage(self, terms: Sequence[Term]) -> Lineage:
        return Lineage(self.out_shape, self.in_shape, tuple(terms), self.exact, self.orientation)

    def _asked(self, number: int, boxes: I64, *, backward: bool) -> tuple[slice, I64]:
        """Return which axes of a term's part files are asked about, and the boxes over them."""
        factor = self._filed(number)
        if factor is None:
            return slice(0, 0), boxes[:, :0]
        if self._along(backward=backward):
            return slice(0, factor.table.num_out), boxes[:, factor.out_axes]
        return slice(factor.table.num_out, None), boxes[:, factor.in_axes]

    def _units(self, number: int, axes: slice, boxes: I64) -> Iterator[Unit]:
        factor = self._filed(number)
        if factor is None:
            yield Unit(number, sum(len(f.table) for f in self.terms[number]))
            return
        for part in factor.table.parts_met(axes, boxes):
            yield Unit(number, part.rows, factor.table.root / part.name, part)

    def _pruned(self, unit: Unit, axes: slice, boxes: I64, most: int) -> list[Unit]:
        factor = self._filed(unit.term)
        if factor is None or unit.path is None or unit.part is None or unit.groups:
            return [unit]
        footer = read_footer(unit.path, unit.part)
        bounds = group_bounds(footer, factor.table.num_out, factor.table.num_in, unit.levels)
        units: list[Unit] = []
        held: list[int] = []
        rows = 0
        met = np.flatnonzero(meets(bounds[:, axes], boxes)).tolist()
        for group in met:
            held.append(group)
            rows += footer.row_group(group).num_rows
            if rows >= most or group == met[-1]:
                units.append(replace(unit, rows=rows, groups=tuple(held)))
                held, rows = [], 0
        return units


def _encode_parts(
    factor: PartFactor, term: LargeTerm, out_shape: Shape, in_shape: Shape, blobs: list[Blob]
) -> Json:
    """Return what a header says of part files: as of any blob, and the rows and bounds of each."""
    table, parts = factor.table, factor.table.parts
    item = encode_axes(factor.out_axes, factor.in_axes, term, out_shape, in_shape)
    blobs.append(parts)
    return item | {
        "n": len(table),
        "k": parts[0].levels,
        "c": {},
        "w": {
            name: ["plain"]
            for name in attribute_names(table.num_out, table.num_in, parts[0].levels)
        },
        "blob": len(blobs) - 1,
        "parts": [[part.rows, part.bounds, part.sums] for part in parts],
    }


def is_large(header: Json) -> bool:
    """Whether a header names part files with their bounds, so that they can be read one by one."""
    return any("parts" in factor for term in header["t"] for factor in term)


def decode_large(
    header: Json, files: Mapping[int, Sequence[File]], blobs: Mapping[int, pa.Table], root: Path
) -> LargeLineage:
    """Undo ``encode``: blobs that are part files are given by name, the others as they were."""
    shapes = tuple(header["b"]), tuple(header["a"])
    forward = bool(header.get("forward", False))
    absolute, relative = shapes[::-1] if forward else shapes

    def decode(item: Json) -> Factor | PartFactor:
        if "parts" not in item:
            return decode_factor(item, absolute, relative, blobs)
        parts = tuple(
            PartFile(
                f.name,
                rows,
                item["k"],
                f.nbytes,
                f.checksum,
                tuple(map(tuple, bounds)),
                tuple(sums[0]) if sums else (),
            )
            for f, (rows, bounds, *sums) in zip(files[item["blob"]], item["parts"], strict=True)
        )
        outs = tuple(item.get("b", range(len(absolute))))
        ins = tuple(item.get("a", range(len(relative))))
        return PartFactor(outs, ins, PartTable(root, len(outs), len(ins), parts))

    terms = tuple(tuple(decode(item) for item in term) for term in header["t"])
    exact = header.get("exact", True)
    return LargeLineage(*shapes, terms, exact, "forward" if forward else "backward")
