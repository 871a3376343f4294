"""The targets of the project, each met or missed by a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.evaluation.paper import TWELVE
from benchmarks.evaluation.ratios import Ratio, query_ratios, size_ratios, write_ratios
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.storage import OURS

STRUCTURED_BYTES = 256
CAPTURE_SECONDS = 1.0
CAPTURE_BYTES = 100 << 20
LINEAR = 1.5  # times the seconds per pair, or the memory, that more pairs may take


@dataclass(frozen=True, slots=True)
class Target:
    """One target: what the paper has, what we ask for, what a run gave."""

    name: str
    paper: str
    ours: str
    found: str
    met: bool
    misses: tuple[str, ...] = ()


def judge(results: Results) -> list[Target]:
    """Judge the targets that a run measured."""
    return [
        *_storage(results),
        *_writing(results),
        *_queries(results),
        *_coverage(results),
        *_capture(results),
        *_scale(results),
    ]


def _misses(ratios: Sequence[Ratio], limit: float = 1.0) -> tuple[str, ...]:
    return tuple(f"{r.name}: {r.value:.2f}x {r.rival}" for r in ratios if not r.value <= limit)


def _held(ratios: Sequence[Ratio], misses: Sequence[str]) -> str:
    best = min(r.value for r in ratios)
    worst = max(r.value for r in ratios)
    return (
        f"{len(ratios) - len(misses)} of {len(ratios)}; "
        f"{1 / worst:.3g}x to {1 / best:,.3g}x better than the best other"
    )


def _storage(results: Results) -> Iterator[Target]:
    twelve = [r for r in size_ratios(results) if r.name.removeprefix("size ") in TWELVE]
    if not twelve:
        return
    misses = _misses(twelve)
    yield Target(
        "size of the 12 operations",
        "behind Parquet-GZip on Sort and Group By",
        "smallest of all formats on all 12",
        _held(twelve, misses),
        not misses,
        misses,
    )
    rows = [r for r in results.storage if r.structured and r.format == OURS]
    large = tuple(f"{r.operation}: {r.nbytes} bytes" for r in rows if r.nbytes > STRUCTURED_BYTES)
    yield Target(
        "size of structured operations",
        "about 10 KB each",
        f"at most {STRUCTURED_BYTES} bytes",
        f"{min(r.nbytes for r in rows)} to {max(r.nbytes for r in rows)} bytes",
        not large,
        large,
    )


def _writing(results: Results) -> Iterator[Target]:
    ratios = write_ratios(results)
    twelve = [r for r in ratios if r.name.removeprefix("write ") in TWELVE]
    sizes = [r for r in ratios if "cells" in r.name]
    for name, some in (("of the 12 operations", twelve), ("over array sizes", sizes)):
        if some:
            misses = _misses(some)
            yield Target(
                f"compress + store latency {name}",
                "up to 10x slower than Parquet",
                "no slower than pyarrow writing the relation as Parquet",
                _held(some, misses),
                not misses,
                misses,
            )


def _queries(results: Results) -> Iterator[Target]:
    for which, meaning in (("cold", "files read"), ("warm", "in memory")):
        ratios = query_ratios(results, "cold" if which == "cold" else "warm")
        if ratios:
            misses = _misses(ratios)
            yield Target(
                f"query latency, {meaning}",
                "up to 1500x faster, slower on the most selective image queries",
                "faster than the best baseline at every point",
                _held(ratios, misses),
                not misses,
                misses,
            )
    if results.queries:
        wrong = tuple(
            f"{r.group}, {r.direction}, {r.engine}: {r.wrong} answers"
            for r in results.queries
            if r.wrong
        )
        yield Target(
            "forward and backward exactness",
            "superset on shared references",
            "exact",
            f"{sum(r.cold.runs for r in results.queries if r.cold)} answers compared",
            not wrong,
            wrong,
        )


def _coverage(results: Results) -> Iterator[Target]:
    counts = results.coverage.get("counts")
    if not counts:
        return
    found = {key: int(counts[key]) for key in ("compressed", "dim_sig", "gen_sig", "errors")}
    short = tuple(
        f"{key}: {value} of 126" for key, value in found.items() if key != "errors" and value < 126
    )
    wrong = (f"{found['errors']} errors",) if found["errors"] else ()
    yield Target(
        "numpy operations compressed / dim_sig / gen_sig / errors, of 136",
        "130 / 126 / 99 / 1",
        "126 value-independent ones in all three, 0 errors",
        " / ".join(str(value) for value in found.values()),
        not short and not wrong,
        short + wrong,
    )


def _capture(results: Results) -> Iterator[Target]:
    rows = results.capture
    if not rows:
        return
    slow = tuple(
        f"{r.operation}: {r.seconds:.2f} s, {r.peak_bytes / 2**20:.0f} MB"
        + ("" if r.exact else ", superset")
        for r in rows
        if r.seconds > CAPTURE_SECONDS or r.peak_bytes > CAPTURE_BYTES or not r.exact
    )
    yield Target(
        "numpy capture of structured operations on 10^9 cells",
        "per cell",
        "under 1 s and 100 MB",
        f"at most {max(r.seconds for r in rows) * 1e3:.1f} ms, "
        f"{max(r.peak_bytes for r in rows) / 2**20:.1f} MB",
        not slow,
        slow,
    )


def _scale(results: Results) -> Iterator[Target]:
    rows = results.scale
    if len(rows) < 2:
        return
    first, last = rows[0], rows[-1]
    each = (last.seconds / last.rows) / (first.seconds / first.rows)
    memory = max(row.worker_bytes for row in rows) / first.worker_bytes
    slow = (f"{each:.2f} times the seconds per pair",) if each > LINEAR else ()
    large = (f"{memory:.2f} times the workers' memory",) if memory > LINEAR else ()
    yield Target(
        "relations larger than memory, compressed by Spark",
        "-",
        "bounded memory, time linear in pairs",
        f"{first.rows:,} to {last.rows:,} pairs: {last.seconds / last.rows * 1e6:.2f} s per "
        f"million, {last.seconds / last.plain_seconds:.2f} of Spark writing Parquet; at most "
        f"{max(row.worker_bytes for row in rows) / 2**20:,.0f} MB in workers, "
        f"{max(row.jvm_bytes for row in rows) / 2**20:,.0f} MB in the JVM",
        not slow and not large,
        slow + large,
    )
