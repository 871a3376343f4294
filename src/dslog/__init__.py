"""Cell-level data lineage: which input cells made which output cells."""

from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.engine.session import spark
from dslog.errors import (
    CaptureError,
    CorruptError,
    DslogError,
    EngineError,
    NotFoundError,
    PathError,
    RelationError,
    SelectionError,
    ShapeError,
    StoreError,
    VersionError,
)
from dslog.lineage.lineage import Lineage
from dslog.opening import open_store as open  # noqa: A004 (dslog.open reads as it should)
from dslog.store.arguments import ArgumentError
from dslog.store.records import Operation
from dslog.store.store import Store

__all__ = [
    "ArgumentError",
    "CaptureError",
    "CellSet",
    "CorruptError",
    "DslogError",
    "EngineError",
    "Lineage",
    "NotFoundError",
    "Operation",
    "PathError",
    "RelationError",
    "SelectionError",
    "ShapeError",
    "Store",
    "StoreError",
    "VersionError",
    "compress",
    "open",
    "spark",
]
