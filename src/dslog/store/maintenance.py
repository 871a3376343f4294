"""Looking after a store: check everything, remove what no row names."""

from collections.abc import Iterator
from dataclasses import dataclass

from dslog.errors import DslogError, StoreError
from dslog.store.catalog import ArrayInfo, Catalog, LineageInfo, Pair
from dslog.store.files import Files, StoredLineage, check_shapes
from dslog.store.store_cost import StoreCost


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What ``verify`` looked at and what is wrong with it."""

    problems: tuple[str, ...]
    lineages: int
    files: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        checked = f"{self.lineages} lineages, {self.files} files checked"
        return "\n".join([f"{checked}: {'ok' if self.ok else 'damaged'}", *self.problems])


@dataclass(frozen=True, slots=True)
class GcReport:
    """What ``gc`` removed; ``kept`` files have no row either, but are too young to tell."""

    files: int
    bytes: int
    kept: int

    def __str__(self) -> str:
        young = f"; {self.kept} younger ones kept" if self.kept else ""
        return f"{self.files} files removed, {self.bytes:,} bytes{young}"


def verify(catalog: Catalog, files: Files) -> VerifyReport:
    """Re-read every lineage: checksums, contents, shapes, bounds inside the arrays; the chain."""
    problems: list[str] = []
    try:
        with catalog.snapshot():
            problems += catalog.problems()
            arrays = {array.name: array for array in catalog.arrays()}
            users: dict[int, list[LineageInfo]] = {number: [] for number in catalog.bodies()}
            for info in catalog.lineages(influence=None):
                users[info.body].append(info)
            num_files = len(catalog.file_names())
    except StoreError as error:
        return VerifyReport((*problems, str(error)), 0, 0)
    for number, infos in users.items():
        problems += _check_body(number, infos, arrays, catalog, files)
    problems += catalog.chain_problems()
    return VerifyReport(tuple(problems), len(users), num_files)


def collect_garbage(catalog: Catalog, files: Files, *, force: bool) -> GcReport:
    """Remove files that no committed row names, except young ones unless forced.

    Holds the catalog's write lock, under which writers check that their files are there: a commit
    either comes first and its files stay, or fails.
    """
    removed = size = kept = 0
    with catalog.transaction():
        committed = catalog.file_names()
        for file in files.listing():
            if file.name in committed:
                continue
            if file.age < StoreCost.current().grace and not force:
                kept += 1
                continue
            files.remove([file.name])
            removed, size = removed + 1, size + file.nbytes
    return GcReport(removed, size, kept)


def _check_body(
    number: int,
    infos: list[LineageInfo],
    arrays: dict[str, ArrayInfo],
    catalog: Catalog,
    files: Files,
) -> Iterator[str]:
    pairs = ", ".join(f"{info.out!r} <- {info.in_!r}" for info in infos[:3]) or "no pair"
    pairs += f" and {len(infos) - 3} more" if len(infos) > 3 else ""
    try:
        for piece in StoredLineage(number, catalog.body(number), files.root).pieces():
            for info in infos:
                check_shapes(piece, Pair(arrays[info.out], arrays[info.in_]))
            if not piece.is_inside():
                yield f"{pairs}: lineage number {number} names cells outside its arrays"
                return
    except DslogError as error:
        yield f"{pairs}: {error}"
