"""Write docs/evaluation.md from the results of a run: every number in it is that run's.

python -m dslog.cli bench --output bench-results
python scripts/write_evaluation_page.py bench-results/results.json   # keeps them in benchmarks/
python scripts/write_evaluation_page.py --check                      # fail if the page differs
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.evaluation.paper import STORAGE_FORMATS, STORAGE_MB, TWELVE
from benchmarks.evaluation.queries import OURS as OUR_ENGINE
from benchmarks.evaluation.ratios import Ratio, points, query_ratios, share, write_ratios
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.storage import OURS, StorageRow
from benchmarks.evaluation.targets import judge
from benchmarks.report.wording import nbytes, seconds, times

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evaluation.md"
KEPT = ROOT / "benchmarks" / "results.json"
FORMATS = ("Raw", "Array", "Parquet", "Parquet-GZip", "Parquet-zstd-delta", "Turbo-RC")

INTRODUCTION = """\
# Evaluation

Every experiment of the paper's section VII, rerun beside baselines that were measured in the same
run, on the same relations. `make bench` (or `dslog bench`) does it and writes one HTML report with
charts; `--quick` takes a minute or two, `--full` the paper's sizes everywhere. This page is made
from the results of one run of size *{size}*, by `scripts/write_evaluation_page.py`; `dslog bench
compare benchmarks/results.json bench-results/results.json` tells whether a later run lost ground.

{machine}

The machine is a noisy one. Read ratios, which are to baselines beside them, not seconds, and those
not as more than they are: work elsewhere moves some by half. Each answer of each query was compared
with that of a plain mask over the raw pairs.

## Targets

"""
SIZES = """
## Size on disk

Bytes of each operation's lineage in all formats; a star marks an estimate from a slab of a relation
that is too large to make. The paper's ProvRC-GZip is the paper's own figure, of larger tables for
Group By and Inner Join.

"""
WRITING = """
## Compressing and writing

Seconds to compress and store, flushed to disk, divided by what pyarrow takes to write the raw
relation as Parquet.

"""
QUERIES = """
## Queries

Means over workflows and random positions. *In memory* is a store that stays open and a baseline
that keeps its arrays; *from files* opens and reads them each time. The baseline is the fastest one
at that point, whichever it is: mostly numpy, one boolean mask per step over arrays of all pairs.

"""
CAPTURE = """
## numpy capture of 10^9 cells

"""
SCALE = """
## Relations that Spark compresses

Spark makes an elementwise relation with gaps and compresses it into a store, under `local[2]` with
a 2 GB heap; beside it, Spark sorts the same relation and writes it as Parquet.

"""
CODA = """
The coverage of numpy, operation by operation, is on [a page of its own](coverage.md); what limits
each stage on larger machines, on [another](scale.md).
"""


def page(results: Results) -> str:
    """Return the page's text."""
    parts = [INTRODUCTION.format(size=results.size, machine=_machine(results))]
    parts += _table(["what", "target", "this run", ""], _targets(results))
    misses = [
        f"- {target.name}: {'; '.join(target.misses)}\n"
        for target in judge(results)
        if target.misses
    ]
    if misses:
        parts += ["\nMissed:\n\n", *misses]
    sections = (
        (SIZES, ["operation", *FORMATS, "paper's ProvRC-GZip", OURS], list(_sizes(results))),
        (WRITING, ["relation", "DSLog", "Parquet", "ratio"], list(_writing(results))),
        (
            QUERIES,
            ["workflow", "cells asked", "in memory", "baseline", "", "from files", "baseline", ""],
            list(_queries(results)),
        ),
        (CAPTURE, ["operation", "time", "memory", "lineage"], list(_capture(results))),
        (
            SCALE,
            ["pairs", "DSLog", "Parquet", "ratio", "rows", "workers' memory", "JVM"],
            list(_scale(results)),
        ),
    )
    for text, heading, rows in sections:
        if rows:
            parts += [text, *_table(heading, rows)]
    parts.append(CODA)
    return "".join(parts)


def _machine(results: Results) -> str:
    told = ("date", "commit", "processor", "cores", "memory", "load", "Python", "numpy", "pyarrow",
            "duckdb", "pyspark")  # fmt: skip
    return ", ".join(f"{name} {results.machine[name]}" for name in told) + "."


def _targets(results: Results) -> Iterator[list[str]]:
    for target in judge(results):
        yield [target.name, target.ours, target.found, "met" if target.met else "**missed**"]


def _sizes(results: Results) -> Iterator[list[str]]:
    for name in dict.fromkeys(row.operation for row in results.storage):
        rows = {row.format: row for row in results.storage if row.operation == name}
        paper = "-"
        if name in TWELVE:
            paper = nbytes(1e6 * STORAGE_MB[name][STORAGE_FORMATS.index("ProvRC-GZip")])
        yield [name, *(_size(rows[form]) for form in FORMATS), paper, f"**{_size(rows[OURS])}**"]


def _size(row: StorageRow) -> str:
    return nbytes(row.nbytes) + ("*" if row.estimated else "")


def _writing(results: Results) -> Iterator[list[str]]:
    for ratio in write_ratios(results):
        name = ratio.name.removeprefix("write ")
        yield [name, seconds(ratio.ours), seconds(ratio.best), f"{ratio.value:.2f}"]


def _queries(results: Results) -> Iterator[list[str]]:
    kinds = [
        {r.name.split(" ", 2)[2]: r for r in query_ratios(results, w)} for w in ("warm", "cold")
    ]
    for point in points(results.queries):
        first = point[0]
        name = f"{first.group}, {first.direction}"
        key = f"{name}, {share(first.selectivity)}"
        if any(row.engine == OUR_ENGINE for row in point):
            cells = [text for kind in kinds for text in _against(kind.get(key))]
            yield [name, share(first.selectivity), *cells]


def _against(ratio: Ratio | None) -> list[str]:
    if ratio is None:
        return ["-", "-", "-"]
    return [seconds(ratio.ours), seconds(ratio.best), times(ratio.value)]


def _capture(results: Results) -> Iterator[list[str]]:
    for row in results.capture:
        yield [
            row.operation,
            seconds(row.seconds),
            nbytes(row.peak_bytes),
            nbytes(row.lineage_bytes),
        ]


def _scale(results: Results) -> Iterator[list[str]]:
    for row in results.scale:
        yield [
            f"{row.rows:,}",
            seconds(row.seconds),
            seconds(row.plain_seconds),
            f"{row.seconds / row.plain_seconds:.2f}",
            f"{row.num_rows:,}",
            nbytes(row.worker_bytes),
            nbytes(row.jvm_bytes),
        ]


def _table(heading: Sequence[str], rows: Iterator[list[str]] | list[list[str]]) -> list[str]:
    lines = [heading, ["---"] * len(heading), *rows]
    return [f"| {' | '.join(line)} |\n" for line in lines]


def main() -> int:
    """Write the page, or compare it with the one that is there."""
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != page(Results.read(KEPT)))
    results = Results.read(Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT)
    compact = json.dumps(results.to_json(), separators=(",", ":"))
    KEPT.write_text(compact + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
