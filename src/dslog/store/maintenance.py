"""Looking after a store: check everything, remove what no row names."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dslog.errors import DslogError, StoreError
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.store.catalog import ArrayInfo, Catalog, LineageInfo, Pair
from dslog.store.files import Files, StoredLineage, check_shapes
from dslog.store.store_cost import StoreCost
from dslog.types import I64, Shape


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
    """Re-read every lineage: checksums, contents, shapes, and bounds inside the arrays."""
    try:
        with catalog.snapshot():
            problems = list(catalog.problems())
            arrays = {array.name: array for array in catalog.arrays()}
            users: dict[int, list[LineageInfo]] = {number: [] for number in catalog.bodies()}
            for info in catalog.lineages():
                users[info.body].append(info)
            num_files = len(catalog.file_names())
    except StoreError as error:
        return VerifyReport((str(error),), 0, 0)
    for number, infos in users.items():
        problems += _check_body(number, infos, arrays, catalog, files)
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
            if not _inside(piece):
                yield f"{pairs}: lineage number {number} names cells outside its arrays"
                return
    except DslogError as error:
        yield f"{pairs}: {error}"


def _inside(lineage: Lineage) -> bool:
    sides = (lineage.out_shape, lineage.in_shape)
    absolute, relative = sides if lineage.orientation == "backward" else sides[::-1]
    return all(
        _table_inside(
            factor.table,
            _sizes(factor, absolute, out=True),
            _sizes(factor, relative, out=False),
        )
        for term in lineage.terms
        for factor in term
    )


def _table_inside(table: Table, out_sizes: I64, in_sizes: I64) -> bool:
    """Whether every cell of every row lies inside.

    Every column is linear in the turns of a fold, so its least and greatest values are at the
    ends: nothing is unfolded.
    """
    l, m = table.num_out, table.num_in
    if (table.ref < -1).any() or (table.ref >= l).any() or (table.count < 1).any():
        return False
    columns = np.concatenate([table.rows[:, None], table.step], axis=1)  # (n, 1 + K, 2l + 2m)
    out_lo, out_hi = columns[..., :l], columns[..., l : 2 * l]
    in_lo, in_hi = columns[..., 2 * l : 2 * l + m], columns[..., 2 * l + m :]
    if (_least(out_hi - out_lo, table.count) < 0).any():
        return False
    if (_least(in_hi - in_lo, table.count) < 0).any():
        return False
    # a relative input counts from its output axis; axis l stands for none and is all zeros
    ref = np.where(table.ref < 0, l, table.ref)[:, None]
    zero = np.zeros((*columns.shape[:2], 1), np.int64)
    in_lo = in_lo + np.take_along_axis(np.concatenate([out_lo, zero], axis=2), ref, axis=2)
    in_hi = in_hi + np.take_along_axis(np.concatenate([out_hi, zero], axis=2), ref, axis=2)
    return all(
        bool((_least(lo, table.count) >= 0).all() and (_least(-hi, table.count) > -size).all())
        for lo, hi, size in ((out_lo, out_hi, out_sizes), (in_lo, in_hi, in_sizes))
    )


def _least(columns: I64, count: I64) -> I64:
    """Return the least value over a fold's turns; ``columns[:, 0]`` start, the others step."""
    reach: I64 = np.minimum(columns[:, 1:] * (count - 1)[:, :, None], 0)
    least: I64 = columns[:, 0] + reach.sum(axis=1)
    return least


def _sizes(factor: Factor, shape: Shape, *, out: bool) -> I64:
    axes, flat = (factor.out_axes, factor.out_flat) if out else (factor.in_axes, factor.in_flat)
    sizes = np.array([shape[axis] for axis in axes], np.int64)
    return np.array([sizes.prod()], np.int64) if flat else sizes
