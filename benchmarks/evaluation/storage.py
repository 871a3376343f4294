"""Size on disk and time to write, per operation and format (the paper's storage table)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.baselines.formats import FORMATS, Format
from benchmarks.baselines.provrc import PROVRC, ProvRc
from benchmarks.evaluation.inputs import Inputs
from benchmarks.evaluation.operations import operations
from benchmarks.evaluation.parts import Operation, Part
from benchmarks.evaluation.scratch import Scratch
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.timing import timed
from dslog.capture.store import open_store

OURS = "DSLog"
Tick = Callable[[str], None]


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


def storage_table(
    sizes: Sizes, inputs: Inputs, scratch: Scratch, tick: Tick
) -> Iterator[StorageRow]:
    """Measure every operation in every format."""
    for operation in operations(sizes, inputs):
        for form in (*FORMATS, *PROVRC):
            tick(f"{operation.name}: {form.name}")
            yield _baseline(operation, form, sizes.repeats, scratch)
        tick(f"{operation.name}: {OURS}")
        yield _ours(operation, sizes.repeats, scratch)
        for part in operation.parts:
            part.forget()


def _baseline(operation: Operation, form: Format, repeats: int, scratch: Scratch) -> StorageRow:
    nbytes, seconds, estimated = 0, 0.0, False
    for part in operation.parts:
        if isinstance(form, ProvRc) and part.whole is not None:
            size, spent = _provrc_whole(part, form, repeats, scratch)
            nbytes, seconds = nbytes + size, seconds + spent
            continue
        estimated = estimated or part.times > 1
        size, spent = write_baseline(part, form, repeats, scratch)
        nbytes, seconds = nbytes + size * part.times, seconds + spent * part.times
    return _row(operation, form.name, nbytes, seconds, estimated=estimated)


def write_baseline(part: Part, form: Format, repeats: int, scratch: Scratch) -> tuple[int, float]:
    """Write a part's pairs to a file; return its bytes and the seconds."""
    relation, num_out = part.relation, len(part.out_shape)
    with scratch.folder() as folder:
        seconds, path = timed(lambda: form.store(relation, num_out, folder / "part"), repeats)
        return path.stat().st_size, seconds


def _provrc_whole(part: Part, form: ProvRc, repeats: int, scratch: Scratch) -> tuple[int, float]:
    """Write lineage that a rule gave, for relations that can't be made."""
    assert part.whole is not None
    lineage = part.whole()
    with scratch.folder() as folder:
        path = form.path(folder / "part")
        seconds, _ = timed(lambda: form.write_lineage(lineage, path), repeats)
        return path.stat().st_size, seconds


def _ours(operation: Operation, repeats: int, scratch: Scratch) -> StorageRow:
    nbytes, seconds = 0, 0.0
    for part in operation.parts:
        size, spent = write_ours(part, repeats, scratch)
        nbytes, seconds = nbytes + size, seconds + spent
    return _row(operation, OURS, nbytes, seconds, estimated=False)


def write_ours(part: Part, repeats: int, scratch: Scratch) -> tuple[int, float]:
    """Compress a part and store it; return what it adds to the store, and the seconds.

    A store is open already, as it is when a pipeline runs. The catalog's own pages, some tens of KB
    for any number of lineages, are not counted; headers are, though they live in the catalog.
    """
    capture = part.relation if part.whole is None else part.whole
    with scratch.folder() as folder:
        return _store_again(part, capture, repeats, folder)


def _store_again(part: Part, capture: object, repeats: int, folder: Path) -> tuple[int, float]:
    stores = iter(range(1_000_000))
    best, nbytes = float("inf"), 0
    for _ in range(repeats):
        with open_store(folder / f"store{next(stores)}") as store:
            store.array("B", part.out_shape)
            store.array("A", part.in_shape)
            given = capture() if callable(capture) else capture
            seconds, info = timed(partial(store.lineage, "B", "A", given), 1)
            best, nbytes = min(best, seconds), info.nbytes
    return nbytes, best


def _row(
    operation: Operation, form: str, nbytes: int, seconds: float, *, estimated: bool
) -> StorageRow:
    return StorageRow(
        operation=operation.name,
        format=form,
        pairs=sum(part.pairs for part in operation.parts),
        nbytes=nbytes,
        seconds=seconds,
        estimated=estimated,
        structured=operation.structured,
        note=operation.note,
    )
