"""Ratios between DSLog and the best baseline of the same run: what targets and comparisons use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.evaluation.queries import OURS as OUR_ENGINE
from benchmarks.evaluation.queries import QueryRow
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.storage import OURS

Kind = Literal["bytes", "seconds"]
BASELINE_FORMATS = ("Raw", "Array", "Parquet", "Parquet-GZip", "Parquet-zstd-delta", "Turbo-RC")


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours divided by the best of the others, below 1 where we are ahead."""

    name: str
    kind: Kind
    ours: float
    best: float
    rival: str

    @property
    def value(self) -> float:
        """Ours divided by theirs."""
        return self.ours / self.best if self.best else float("inf")


def size_ratios(results: Results) -> list[Ratio]:
    """Bytes of every operation against its smallest other format, the paper's ProvRC included."""
    return list(_by_operation(results, "bytes", None))


def write_ratios(results: Results) -> list[Ratio]:
    """Seconds to compress and store against pyarrow writing the raw relation as Parquet."""
    found = list(_by_operation(results, "seconds", "Parquet"))
    for kind in ("elementwise", "aggregate"):
        for cells in sorted({row.cells for row in results.latency if row.kind == kind}):
            rows = {
                r.format: r.seconds for r in results.latency if (r.kind, r.cells) == (kind, cells)
            }
            if OURS in rows and "Parquet" in rows:
                name = f"write {kind}, {cells:,} cells"
                found.append(Ratio(name, "seconds", rows[OURS], rows["Parquet"], "Parquet"))
    return found


def _by_operation(results: Results, kind: Kind, rival: str | None) -> Iterator[Ratio]:
    names = dict.fromkeys(row.operation for row in results.storage)
    for name in names:
        values = {
            row.format: float(row.nbytes if kind == "bytes" else row.seconds)
            for row in results.storage
            if row.operation == name
        }
        if OURS not in values:
            continue
        others = {form: v for form, v in values.items() if form != OURS}
        best = rival or min(others, key=lambda form: others[form])
        yield Ratio(
            f"{'size' if kind == 'bytes' else 'write'} {name}",
            kind,
            values[OURS],
            others[best],
            best,
        )


def query_ratios(results: Results, which: Literal["cold", "warm"]) -> list[Ratio]:
    """Mean seconds of every point against the fastest baseline that finished all its queries."""
    return [
        ratio
        for point in points(results.queries)
        if (ratio := _query_ratio(point, which)) is not None
    ]


def points(rows: Iterable[QueryRow]) -> list[list[QueryRow]]:
    """Gather rows by group, direction and selectivity, in order of appearance."""
    found: dict[tuple[str, str, float], list[QueryRow]] = {}
    for row in rows:
        found.setdefault((row.group, row.direction, row.selectivity), []).append(row)
    return list(found.values())


def _query_ratio(point: list[QueryRow], which: Literal["cold", "warm"]) -> Ratio | None:
    times = {
        row.engine: spread.mean
        for row in point
        if (spread := getattr(row, which)) is not None
        and not row.failed
        and (not row.ours or row.engine == OUR_ENGINE)
    }
    mine = times.pop(OUR_ENGINE, None)
    if mine is None or not times:
        return None
    best = min(times, key=lambda engine: times[engine])
    first = point[0]
    name = f"query {which} {first.group}, {first.direction}, {share(first.selectivity)}"
    return Ratio(name, "seconds", mine, times[best], best)


def share(selectivity: float) -> str:
    """Write a selectivity for people.

    >>> share(0), share(0.001), share(1.0)
    ('1 cell', '0.1%', '100%')
    """
    return "1 cell" if selectivity <= 0 else f"{selectivity * 100:g}%"


def all_ratios(results: Results) -> dict[str, Ratio]:
    """Return every ratio by name."""
    everything = [
        *size_ratios(results),
        *write_ratios(results),
        *query_ratios(results, "cold"),
        *query_ratios(results, "warm"),
    ]
    return {ratio.name: ratio for ratio in everything}
