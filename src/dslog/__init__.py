"""Cell-level data lineage: which input cells made which output cells.

Every public name is imported when it is first used, so ``dslog --help`` needs neither numba nor
Arrow. A name stands here twice: once for type checkers, once with the place it comes from;
``tests/test_names.py`` checks that both agree.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslog import explain, pandas, tables
    from dslog.capture.foreign.foreign_call import foreign
    from dslog.capture.foreign.watch import watch
    from dslog.capture.leaks import LeakError, LeakWarning
    from dslog.capture.numpy.array import TrackedArray
    from dslog.capture.numpy.array import plain_values as plain
    from dslog.capture.numpy.group import operation
    from dslog.capture.store import Store
    from dslog.capture.store import open_store as open  # noqa: A004 (dslog.open reads as it should)
    from dslog.cells.cellset import CellSet
    from dslog.compress.encoder import compress
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
    from dslog.sql.duckdb import duckdb_view
    from dslog.sql.spark_session import spark
    from dslog.store.arguments import ArgumentError
    from dslog.store.catalog import Operation
    from dslog.store.repair import repair

__all__ = [
    "ArgumentError",
    "CaptureError",
    "CellSet",
    "CorruptError",
    "DslogError",
    "EngineError",
    "LeakError",
    "LeakWarning",
    "Lineage",
    "NotFoundError",
    "Operation",
    "PathError",
    "RelationError",
    "SelectionError",
    "ShapeError",
    "Store",
    "StoreError",
    "TrackedArray",
    "VersionError",
    "compress",
    "duckdb_view",
    "explain",
    "foreign",
    "open",
    "operation",
    "pandas",
    "plain",
    "repair",
    "spark",
    "tables",
    "watch",
]

_PLACES = {
    "ArgumentError": "dslog.store.arguments.ArgumentError",
    "CellSet": "dslog.cells.cellset.CellSet",
    "LeakError": "dslog.capture.leaks.LeakError",
    "LeakWarning": "dslog.capture.leaks.LeakWarning",
    "Lineage": "dslog.lineage.lineage.Lineage",
    "Operation": "dslog.store.catalog.Operation",
    "Store": "dslog.capture.store.Store",
    "TrackedArray": "dslog.capture.numpy.array.TrackedArray",
    "compress": "dslog.compress.encoder.compress",
    "duckdb_view": "dslog.sql.duckdb.duckdb_view",
    "explain": "dslog.explain",
    "foreign": "dslog.capture.foreign.foreign_call.foreign",
    "open": "dslog.capture.store.open_store",
    "operation": "dslog.capture.numpy.group.operation",
    "pandas": "dslog.pandas",
    "plain": "dslog.capture.numpy.array.plain_values",
    "repair": "dslog.store.repair.repair",
    "spark": "dslog.sql.spark_session.spark",
    "tables": "dslog.tables",
    "watch": "dslog.capture.foreign.watch.watch",
}  # every other name is an error, in dslog.errors

# A package that is imported takes its place in the one around it, once: let that be over before
# the function of the same name comes.
for _package in ("compress", "spark"):
    import_module(f"dslog.{_package}")
    del globals()[_package]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dslog' has no attribute {name!r}")
    place = _PLACES.get(name, f"dslog.errors.{name}")
    module, _, attribute = place.rpartition(".")
    found = import_module(place if module == "dslog" else module)
    value = globals()[name] = found if module == "dslog" else getattr(found, attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
