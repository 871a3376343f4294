"""Lineage: what one (output array, input array) pair stores, and how it answers.

A Lineage is a union of products of Tables. It answers forward and backward without being
decompressed, at a cost that follows the rows a query meets.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from dslog.cells.cellset import CellSet
from dslog.errors import ShapeError
from dslog.lineage.bitmap import apply_bitmap
from dslog.lineage.codec import encode_terms, write_blob
from dslog.lineage.describe import describe_terms
from dslog.lineage.factor import Term, expand_terms, join_term, whole
from dslog.lineage.table import Table
from dslog.types import I64, Json, Shape

Orientation = Literal["backward", "forward"]
INLINE_ROWS = 64  # a table of at most this many rows lives in the header
_FEW_ROWS = 256
_MANY_ROWS = 1 << 10
_BITMAP_CELLS = 1 << 28
_QUICK_CELLS = 1 << 20  # a bitmap so small is moved sooner than boxes are read off it
_SPREADS = 4  # times as many cells are a lot to paint for what may be a few boxes
_CELLS_PER_ROW = 4
_CELLS_PER_BOX = 256  # what joining a box costs, in cells of a bitmap
_CELLS_PER_JOIN = 128  # the same for joining a cell, while the bitmap fits a processor's cache
_CELLS_PER_JOIN_LARGE = 16  # and when it doesn't


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
        return cls(tuple(out_shape), tuple(in_shape), ())

    @classmethod
    def of_table(
        cls, out_shape: Sequence[int], in_shape: Sequence[int], table: Table, *, exact: bool = True
    ) -> Lineage:
        """Make a Lineage of one table over all axes."""
        terms = (whole(table),) if len(table) else ()
        return cls(tuple(out_shape), tuple(in_shape), terms, exact=exact)

    def with_exact(self, exact: bool) -> Lineage:
        """Return the same pairs under another label."""
        return replace(self, exact=exact)

    @cached_property
    def num_rows(self) -> int:
        """Compressed rows, over all factors; a folded row counts once."""
        return sum(len(f.table) for term in self.terms for f in term)

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

    def encode(self, inline_rows: int = INLINE_ROWS) -> tuple[str, list[pa.Table]]:
        """Return the stored form: a header, compact JSON, and the blobs it refers to."""
        terms, blobs = encode_terms(self.terms, *self._sides, inline_rows)
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
    def _sides(self) -> tuple[Shape, Shape]:
        """Shapes of the absolute side and of the possibly relative side of the rows."""
        if self.orientation == "backward":
            return self.out_shape, self.in_shape
        return self.in_shape, self.out_shape

    def _join(self, boxes: I64, *, backward: bool) -> Joined:
        along = backward == (self.orientation == "backward")
        d = len(self.in_shape if backward else self.out_shape)
        parts = [join_term(term, *self._sides, boxes, backward=along) for term in self.terms]
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
        exact = cells.exact and self.exact
        if not math.prod(given):
            return CellSet.empty(given).with_exact(exact)
        if cells.is_whole:
            if backward not in self._images:
                found = self._follow(cells, asked, given, backward=backward)
                if math.prod(given) > _QUICK_CELLS and found.is_painted:
                    return found.with_exact(exact)  # not worth the memory
                self._images[backward] = found
            return self._images[backward].with_exact(exact)
        if not cells:
            return CellSet.empty(given).with_exact(exact)
        return self._follow(cells, asked, given, backward=backward).with_exact(exact)

    @cached_property
    def _images(self) -> dict[bool, CellSet]:
        """What the whole array leads to, backward and forward, once it was asked."""
        return {}

    def _follow(self, cells: CellSet, asked: Shape, given: Shape, *, backward: bool) -> CellSet:
        size = math.prod(asked)
        painted = cells.is_painted and size <= _QUICK_CELLS
        if painted and math.prod(given) > _SPREADS * size:
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
        tables = [factor.table for term in self.terms for factor in term]
        size = math.prod(cells.shape)
        largest = max(tables, key=len, default=None)
        if largest is None or size > _BITMAP_CELLS:
            return False
        rows = len(largest)
        if rows > _FEW_ROWS and largest.most_pairs > _CELLS_PER_ROW * rows:
            return False
        if cells.num_boxes * _CELLS_PER_BOX > size:
            return True
        if rows <= _MANY_ROWS:
            return False
        share = _CELLS_PER_JOIN if size <= _QUICK_CELLS else _CELLS_PER_JOIN_LARGE
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
