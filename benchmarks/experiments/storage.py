"""Size on disk and time to write: per operation and format, and over array sizes (the paper's).

The first is the paper's storage table, the second its figure of compression latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.baselines.formats import FORMATS, PROVRC, Format, ProvRc
from benchmarks.clock import timed
from benchmarks.experiment import Experiment, Kind, Ratio, Setting, Target
from benchmarks.paper import LATENCY_CLAIM, TWELVE
from benchmarks.workloads.operations import operations
from benchmarks.workloads.part import Part
from benchmarks.workloads.relations import moved, reduction
from dslog.capture.store import open_store
from dslog.types import I64, Shape

OURS = "DSLog"
STRUCTURED_BYTES = 256
_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class StorageRow:
    """One operation in one format; ``estimated`` when it was scaled up from a slab."""

    operation: str
    format: str
    pairs: int
    nbytes: int
    seconds: float
    estimated: bool
    structured: bool
    note: str


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Seconds to read a relation from memory, compress it and flush it to disk."""

    kind: str
    cells: int
    format: str
    seconds: float
    nbytes: int


class Written(NamedTuple):
    """What writing took."""

    nbytes: int
    seconds: float


def storage_table(setting: Setting) -> Iterator[StorageRow]:
    """Measure every operation in every format."""
    for operation in operations(setting.size, setting.shared):
        for form in (*FORMATS, *PROVRC, None):
            name = form.name if form else OURS
            setting.tick(f"{operation.name}: {name}")
            parts = [_write(part, form, setting) for part in operation.parts]
            scaled = form is not None and not isinstance(form, ProvRc)
            yield StorageRow(
                operation=operation.name,
                format=name,
                pairs=sum(part.pairs for part in operation.parts),
                nbytes=sum(part.nbytes for part in parts),
                seconds=sum(part.seconds for part in parts),
                estimated=scaled and any(part.times > 1 for part in operation.parts),
                structured=operation.structured,
                note=operation.note,
            )
        for part in operation.parts:
            part.forget()


def latency_table(setting: Setting) -> Iterator[LatencyRow]:
    """Measure both kinds of operation at every size, in every format."""
    for cells in setting.size.latency:
        shape = (cells // _COLUMNS, _COLUMNS)
        kinds = {
            "elementwise": Part(shape, shape, partial(_same, shape)),
            "aggregate": Part((_COLUMNS,), shape, partial(_sums, shape)),
        }
        for kind, part in kinds.items():
            for form in (*FORMATS, *PROVRC, None):
                name = form.name if form else OURS
                setting.tick(f"{kind}, {cells:,} cells: {name}")
                found = _write(part, form, setting)
                yield LatencyRow(kind, cells, name, found.seconds, found.nbytes)
            part.forget()


def _same(shape: Shape) -> I64:
    return moved(shape, lambda p: p)[0]


def _sums(shape: Shape) -> I64:
    return reduction(shape, 0)[0]


def _write(part: Part, form: Format | None, setting: Setting) -> Written:
    """Write a part in a format, None being ours; slabs count for all that they stand for."""
    with setting.folder() as folder:
        repeats = setting.size.repeats
        if form is None:
            return write_ours(part, repeats, folder)
        path = form.path(folder / "part")
        if isinstance(form, ProvRc) and part.whole is not None:
            # lineage that a rule gave, for a relation that can't be made
            seconds, _ = timed(partial(form.write_lineage, part.whole(), path), repeats)
            return Written(path.stat().st_size, seconds)
        store = partial(form.store, part.relation, len(part.out_shape), folder / "part")
        seconds, _ = timed(store, repeats)
        return Written(path.stat().st_size * part.times, seconds * part.times)


def write_ours(part: Part, repeats: int, folder: Path) -> Written:
    """Compress a part and store it; return what it adds to the store, and the seconds.

    A store is open already, as it is when a pipeline runs. The catalog's own pages, some tens of KB
    for any number of lineages, are not counted; headers are, though they live in the catalog.
    """
    best, nbytes = float("inf"), 0
    for turn in range(repeats):
        with open_store(folder / f"store{turn}") as store:
            store.array("B", part.out_shape)
            store.array("A", part.in_shape)
            given = part.relation if part.whole is None else part.whole()
            seconds, info = timed(partial(store.lineage, "B", "A", given))
            best, nbytes = min(best, seconds), info.nbytes
    return Written(nbytes, best)


def by_operation(rows: Sequence[StorageRow]) -> dict[str, dict[str, StorageRow]]:
    """Gather rows by operation and format, in order of appearance."""
    found: dict[str, dict[str, StorageRow]] = {}
    for row in rows:
        found.setdefault(row.operation, {})[row.format] = row
    return found


def storage_ratios(rows: Sequence[StorageRow]) -> Iterator[Ratio]:
    """Bytes against the smallest other format, ProvRC included; seconds against Parquet."""
    for operation, formats in by_operation(rows).items():
        mine = formats.get(OURS)
        others = [row for name, row in formats.items() if name != OURS]
        if mine is None or not others:
            continue
        best = min(others, key=lambda row: row.nbytes)
        yield Ratio(f"size {operation}", "bytes", mine.nbytes, best.nbytes, best.format)
        if "Parquet" in formats:
            theirs = formats["Parquet"].seconds
            yield Ratio(f"write {operation}", "seconds", mine.seconds, theirs, "Parquet")


def storage_targets(rows: Sequence[StorageRow]) -> Iterator[Target]:
    """Smaller than any other format, and no slower to write than Parquet."""
    ratios = list(storage_ratios(rows))

    def twelve(kind: Kind) -> list[Ratio]:
        return [r for r in ratios if r.kind == kind and r.name.partition(" ")[2] in TWELVE]

    yield from Target.of_ratios(
        "size of the 12 operations",
        "behind Parquet-GZip on Sort and Group By",
        "smallest of all formats on all 12",
        twelve("bytes"),
    )
    small = [row for row in rows if row.structured and row.format == OURS]
    if small:
        yield Target(
            "size of structured operations",
            "about 10 KB each",
            f"at most {STRUCTURED_BYTES} bytes",
            f"{min(r.nbytes for r in small)} to {max(r.nbytes for r in small)} bytes",
            tuple(f"{r.operation}: {r.nbytes} bytes" for r in small if r.nbytes > STRUCTURED_BYTES),
        )
    yield from _no_slower("of the 12 operations", twelve("seconds"))


def latency_ratios(rows: Sequence[LatencyRow]) -> Iterator[Ratio]:
    """Seconds to compress and store against pyarrow writing the raw relation as Parquet."""
    found = {(row.kind, row.cells, row.format): row.seconds for row in rows}
    for kind in ("elementwise", "aggregate"):
        for cells in sorted({row.cells for row in rows}):
            mine, theirs = (found.get((kind, cells, form)) for form in (OURS, "Parquet"))
            if mine is not None and theirs is not None:
                yield Ratio(f"write {kind}, {cells:,} cells", "seconds", mine, theirs, "Parquet")


def latency_targets(rows: Sequence[LatencyRow]) -> Iterator[Target]:
    """No slower to write than Parquet."""
    return _no_slower("over array sizes", list(latency_ratios(rows)))


def _no_slower(what: str, ratios: Sequence[Ratio]) -> Iterator[Target]:
    return Target.of_ratios(
        f"compress + store latency {what}",
        "up to 10x slower than Parquet",
        "no slower than pyarrow writing the relation as Parquet",
        ratios,
    )


EXPERIMENTS = (
    Experiment(
        "storage",
        "Size on disk",
        "One relation per input array, summed. A star marks an estimate from one slab of a "
        "relation that is too large to make. DSLog's size is what a lineage adds to a store: its "
        "header in the catalog and its files.",
        storage_table,
        StorageRow,
        storage_ratios,
        storage_targets,
    ),
    Experiment(
        "latency",
        "Compression latency",
        f"From a relation in memory to a flushed file. The paper: {LATENCY_CLAIM}.",
        latency_table,
        LatencyRow,
        latency_ratios,
        latency_targets,
    ),
)
