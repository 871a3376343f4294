"""Lineage: what one (output array, input array) pair stores, and how it answers.

A Lineage is a union of products of Tables. It answers forward and backward without being
decompressed, at a cost that follows the rows a query meets.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np
import pyarrow as pa

from dslog.cells.cellset import PLAIN, SUPERSET, CellSet, Labels
from dslog.errors import ShapeError
from dslog.lineage.bitmap import apply_bitmap
from dslog.lineage.codec import decode_terms, encode_terms, write_blob
from dslog.lineage.describe import describe_terms
from dslog.lineage.factor import Term, expand_terms, join_term, num_rows, whole
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Table
from dslog.relation.relation import as_shape
from dslog.types import I64, Json, Shape

Orientation = Literal["backward", "forward"]


@dataclass(frozen=True, slots=True)
class Joined:
    """Result boxes of one step, not merged, with what it cost."""

    boxes: I64  # (p, d, 2), may overlap
    scanned: int
    matched: int


def encode_header(
    out_shape: Shape, in_shape: Shape, terms: Json, exact: bool, orientation: Orientation
) -> str:
    """Return the header of a Lineage whose terms are encoded: compact JSON."""
    header: dict[str, Json] = {"b": list(out_shape), "a": list(in_shape), "t": terms}
    if not exact:
        header["exact"] = False
    if orientation == "forward":
        header["forward"] = True
    return json.dumps(header, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class Lineage:
    """The compressed relation between the cells of an output and an input array.

    ``orientation`` says which array's axes are absolute in the rows: the output's ("backward", the
    default) or the input's ("forward", the paper's alternative for forward-heavy work). Both answer
    both directions exactly. ``exact`` is False when the capture could only give a superset.
    """

    out_shape: Shape
    in_shape: Shape
    terms: tuple[Term, ...]
    exact: bool = True
    orientation: Orientation = "backward"

    @classmethod
    def empty(cls, out_shape: Sequence[int], in_shape: Sequence[int]) -> Lineage:
        """Make a Lineage without pairs."""
        return cls(as_shape(out_shape), as_shape(in_shape), ())

    @classmethod
    def of_table(
        cls, out_shape: Sequence[int], in_shape: Sequence[int], table: Table, *, exact: bool = True
    ) -> Lineage:
        """Make a Lineage of one table over all axes."""
        terms = (whole(table),) if len(table) else ()
        return cls(as_shape(out_shape), as_shape(in_shape), terms, exact=exact)

    @classmethod
    def decode(cls, header: str | Json, blobs: Sequence[pa.Table] = ()) -> Lineage:
        """Undo ``encode``; the header may have been parsed before."""
        item = json.loads(header) if isinstance(header, str) else header
        out_shape, in_shape = tuple(item["b"]), tuple(item["a"])
        forward = bool(item.get("forward", False))
        sides = (in_shape, out_shape) if forward else (out_shape, in_shape)
        return cls(
            out_shape,
            in_shape,
            decode_terms(item["t"], *sides, blobs),
            exact=item.get("exact", True),
            orientation="forward" if forward else "backward",
        )

    def with_exact(self, exact: bool) -> Lineage:
        """Return the same pairs under another label."""
        return replace(self, exact=exact)

    @property
    def labels(self) -> Labels:
        """What is said of every answer that comes through it."""
        return PLAIN if self.exact else SUPERSET

    @cached_property
    def num_rows(self) -> int:
        """Compressed rows, over all factors; a folded row counts once."""
        return num_rows(self.terms)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the stored form: the JSON header and the Parquet blobs."""
        header, blobs = self.encode()
        total = len(header)
        for blob in blobs:
            sink = io.BytesIO()
            write_blob(blob, sink)
            total += sink.tell()
        return total

    @cached_property
    def most_pairs(self) -> float:
        """A number of pairs that there can't be more of; those that two rows share count twice."""
        return sum(prod(f.table.most_pairs for f in term) for term in self.terms)

    @property
    def is_backward(self) -> bool:
        """Whether the output's axes are the absolute ones, as in most lineages."""
        return self.orientation == "backward"

    def encode(self, inline_rows: int | None = None) -> tuple[str, list[pa.Table]]:
        """Return the stored form: a header, compact JSON, and the blobs it refers to."""
        rows = LineageCost.current().inline_rows if inline_rows is None else inline_rows
        terms, blobs = encode_terms(self.terms, *self.sides, rows)
        shapes = self.out_shape, self.in_shape
        return encode_header(*shapes, terms, self.exact, self.orientation), blobs

    def to_relation(self) -> I64:
        """Return all pairs as an int64 array (n, l + m), sorted, without repeats."""
        if self.orientation == "backward":
            return expand_terms(self.terms, self.out_shape, self.in_shape)
        swapped = expand_terms(self.terms, self.in_shape, self.out_shape)
        m = len(self.in_shape)
        pairs = np.concatenate([swapped[:, m:], swapped[:, :m]], axis=1)
        return pairs[np.lexsort(pairs.T[::-1])] if pairs.shape[1] else pairs

    def describe(self) -> str:
        """Say in words and formulas what the rows mean."""
        return describe_terms(self.terms, swapped=self.orientation == "forward")

    def backward(self, cells: CellSet) -> CellSet:
        """Return the input cells that made the given output cells."""
        return self._query(cells, backward=True)

    def forward(self, cells: CellSet) -> CellSet:
        """Return the output cells that the given input cells touched."""
        return self._query(cells, backward=False)

    def backward_boxes(self, boxes: I64) -> Joined:
        """Join boxes over the output array; the result boxes may overlap."""
        return self._join(boxes, backward=True)

    def forward_boxes(self, boxes: I64) -> Joined:
        """Join boxes over the input array; the result boxes may overlap."""
        return self._join(boxes, backward=False)

    @property
    def sides(self) -> tuple[Shape, Shape]:
        """Shapes of the absolute side and of the possibly relative side of the rows."""
        if self.orientation == "backward":
            return self.out_shape, self.in_shape
        return self.in_shape, self.out_shape

    def is_inside(self) -> bool:
        """Whether every cell that the rows name lies inside its array."""
        return all(
            factor.table.is_inside(*factor.sizes(*self.sides))
            for term in self.terms
            for factor in term
        )

    def _join(self, boxes: I64, *, backward: bool) -> Joined:
        along = backward == (self.orientation == "backward")
        d = len(self.in_shape if backward else self.out_shape)
        parts = [join_term(term, *self.sides, boxes, backward=along) for term in self.terms]
        if len(parts) == 1:
            return Joined(parts[0].boxes, parts[0].scanned, parts[0].matched)
        found = [p.boxes for p in parts] or [np.zeros((0, d, 2), np.int64)]
        return Joined(
            np.concatenate(found), sum(p.scanned for p in parts), sum(p.matched for p in parts)
        )

    def _query(self, cells: CellSet, *, backward: bool) -> CellSet:
        asked, given = (
            (self.out_shape, self.in_shape) if backward else (self.in_shape, self.out_shape)
        )
        if cells.shape != asked:
            side = "output" if backward else "input"
            msg = f"the cells are of an array of shape {cells.shape}, the {side} has {asked}"
            raise ShapeError(msg)
        labels = cells.labels.joined(self.labels)
        if not prod(given):
            return CellSet.empty(given).with_labels(labels)
        if cells.is_whole:
            if backward not in self._images:
                found = self._follow(cells, asked, given, backward=backward)
                quick = prod(given) <= LineageCost.current().quick_cells
                if not quick and found.is_painted:
                    return found.with_labels(labels)  # not worth the memory
                self._images[backward] = found
            return self._images[backward].with_labels(labels)
        if not cells:
            return CellSet.empty(given).with_labels(labels)
        return self._follow(cells, asked, given, backward=backward).with_labels(labels)

    @cached_property
    def _images(self) -> dict[bool, CellSet]:
        """What the whole array leads to, backward and forward, once it was asked."""
        return {}

    def _follow(self, cells: CellSet, asked: Shape, given: Shape, *, backward: bool) -> CellSet:
        size, cost = prod(asked), LineageCost.current()
        painted = cells.is_painted and size <= cost.quick_cells
        if painted and prod(given) > cost.spreads * size:
            painted = False
        if painted or cells.is_bitmap or self._is_scattered(cells):
            along = backward == (self.orientation == "backward")
            bits = apply_bitmap(self.terms, asked, given, cells.mask(), backward=along)
            if bits is not None:
                return CellSet.from_mask(bits)
        return CellSet.from_boxes(given, self._join(cells.boxes, backward=backward).boxes)

    def _is_scattered(self, cells: CellSet) -> bool:
        """Whether a bitmap is quicker, though boxes would take fewer bytes.

        That is so when boxes are many for the array, or meet many rows of hardly a cell each. Rows
        of many cells that are not few are better joined with boxes.
        """
        cost = LineageCost.current()
        tables = [factor.table for term in self.terms for factor in term]
        size = prod(cells.shape)
        largest = max(tables, key=len, default=None)
        if largest is None or size > cost.bitmap_cells:
            return False
        rows = len(largest)
        if rows > cost.few_rows and largest.most_pairs > cost.cells_per_row * rows:
            return False
        if cells.num_boxes * cost.cells_per_box > size:
            return True
        if rows <= cost.many_rows:
            return False
        quick = size <= cost.quick_cells
        share = cost.cells_per_join if quick else cost.cells_per_join_large
        return cells.count * share > size or (size <= 16 * rows and largest.prefers_bitmap())

    def __eq__(self, other: object) -> bool:
        """Compare the compressed form, not the pairs it stands for."""
        if not isinstance(other, Lineage):
            return NotImplemented
        return self.encode(1 << 62)[0] == other.encode(1 << 62)[0]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        label = "exact" if self.exact else "superset"
        return f"Lineage({self.out_shape} <- {self.in_shape}, rows={self.num_rows}, {label})"
