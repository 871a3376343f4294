"""Lineage to and from what a store keeps: a JSON header and Parquet blobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from dslog.lineage.codec import decode_terms, read_blob, write_blob
from dslog.lineage.lineage import INLINE_ROWS, Lineage
from dslog.types import Json

__all__ = ["INLINE_ROWS", "Packed", "pack", "read_blob", "unpack", "write_blob"]


@dataclass(frozen=True, slots=True)
class Packed:
    """A Lineage ready to be stored."""

    header: str
    blobs: tuple[pa.Table, ...]


def pack(lineage: Lineage, inline_rows: int = INLINE_ROWS) -> Packed:
    """Return the stored form of a Lineage."""
    header, blobs = lineage.encode(inline_rows)
    return Packed(header, tuple(blobs))


def unpack(header: str | Json, blobs: Sequence[pa.Table] = ()) -> Lineage:
    """Undo ``pack``; the header may have been parsed before."""
    item = json.loads(header) if isinstance(header, str) else header
    out_shape, in_shape = tuple(item["b"]), tuple(item["a"])
    forward = bool(item.get("forward", False))
    sides = (in_shape, out_shape) if forward else (out_shape, in_shape)
    return Lineage(
        out_shape,
        in_shape,
        decode_terms(item["t"], *sides, blobs),
        exact=item.get("exact", True),
        orientation="forward" if forward else "backward",
    )
