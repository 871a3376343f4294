"""The report: targets first, then one section per experiment, all in one HTML file."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

from benchmarks.evaluation.kaggle import KAGGLE
from benchmarks.evaluation.paper import COVERAGE, WORKFLOWS
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.scale import HEAP, MASTER
from benchmarks.evaluation.targets import Target, judge
from benchmarks.report.html import Cell, folded, paragraph, section, table
from benchmarks.report.queries import queries_section
from benchmarks.report.storage import latency_section, storage_section
from benchmarks.report.wording import nbytes, seconds


def write_report(results: Results, path: Path) -> None:
    """Write the report of a run."""
    path.write_text(render(results), encoding="utf-8")


def render(results: Results) -> str:
    """Return the report as HTML that needs nothing else."""
    style = files("benchmarks.report").joinpath("style.css").read_text(encoding="utf-8")
    body = "".join(
        [
            "<h1>DSLog: the paper's evaluation</h1>",
            paragraph(
                f"Size {results.size}. Every baseline was measured in the same run, on the same "
                "relations, and every answer was compared with that of a plain mask over the raw "
                "pairs. On a shared machine read ratios, not seconds.",
                "soft",
            ),
            _targets(judge(results)),
            storage_section(results),
            latency_section(results),
            queries_section(results),
            _capture(results),
            _coverage(results),
            _scale(results),
            _workflows(),
            _machine(results),
        ]
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>DSLog evaluation, {escape(results.size)}</title><style>{style}</style></head>"
        f"<body><main>{body}</main></body></html>"
    )


def _targets(targets: list[Target]) -> str:
    rows: list[list[Cell | str]] = []
    for target in targets:
        misses = "".join(f"<li>{escape(miss)}</li>" for miss in target.misses[:12])
        if len(target.misses) > 12:
            misses += f"<li>and {len(target.misses) - 12} more</li>"
        found = escape(target.found) + (f'<ul class="misses">{misses}</ul>' if misses else "")
        rows.append(
            [
                target.name,
                Cell(target.paper, "paper"),
                target.ours,
                Cell("", html=found),
                Cell("met" if target.met else "missed", "met" if target.met else "missed"),
            ]
        )
    return section("Targets", table(["what", "paper", "target", "this run", ""], rows, "words"))


def _capture(results: Results) -> str:
    if not results.capture:
        return ""
    rows = [
        [
            row.operation,
            f"{row.cells:,}",
            seconds(row.seconds),
            nbytes(row.peak_bytes),
            nbytes(row.lineage_bytes),
            "exact" if row.exact else "superset",
        ]
        for row in results.capture
    ]
    return section(
        "numpy capture on 10^9 cells",
        paragraph("Rules look at shapes; the array here takes no memory, and nothing is computed."),
        table(["operation", "cells", "time", "memory", "lineage", ""], rows),
    )


def _coverage(results: Results) -> str:
    counts = results.coverage.get("table")
    if not counts:
        return ""
    rows = []
    for name, paper in COVERAGE.items():
        ours = counts[name]
        rows.append([Cell(f"{name}, paper", "paper"), *(Cell(str(v), "paper") for v in paper)])
        rows.append([Cell(f"{name}, ours", "ours"), *(Cell(str(v), "ours") for v in ours)])
    listing = [[str(value) for value in row] for row in results.coverage.get("rows", [])]
    parts = [table(["operations", "total", "compressed", "dim_sig", "gen_sig", "errors"], rows)]
    if listing:
        heading = [str(text) for text in results.coverage["columns"]]
        parts.append(folded("every operation", table(heading, listing)))
    return section("numpy operations: compression and reuse", *parts)


def _scale(results: Results) -> str:
    if not results.scale:
        return ""
    rows = [
        [
            f"{row.rows:,}",
            seconds(row.seconds),
            seconds(row.plain_seconds),
            f"{row.seconds / row.plain_seconds:.2f}",
            f"{row.num_rows:,}",
            nbytes(row.nbytes),
            nbytes(row.plain_bytes),
            nbytes(row.worker_bytes),
            nbytes(row.jvm_bytes),
        ]
        for row in results.scale
    ]
    heading = ["pairs", "compress + store", "Parquet", "ratio", "rows", "bytes", "Parquet bytes"]
    return section(
        "Relations that Spark compresses",
        paragraph(
            f"Spark makes an elementwise relation with gaps, on {MASTER} with a heap of {HEAP}, "
            "and compresses it into a store; beside it, Spark sorts the same relation and writes "
            "it as Parquet. Memory is the highest resident size."
        ),
        table([*heading, "workers", "JVM"], rows),
    )


def _workflows() -> str:
    rows = [
        [name, *(f"{mean:g} ± {spread:g}" for mean, spread in numbers)]
        for name, numbers in WORKFLOWS.items()
    ]
    listing = [
        [
            one.dataset,
            one.notebook,
            str(one.operations),
            str(one.compressible),
            str(one.longest_chain),
        ]
        for one in KAGGLE
    ]
    return section(
        "Real workflows",
        paragraph(
            "The paper's authors counted the array operations of 20 Kaggle notebooks by hand. "
            "`dslog coverage notebook.ipynb` counts those of any notebook from its syntax tree."
        ),
        table(["notebooks", "operations", "compressible", "longest chain"], rows),
        folded(
            "every notebook, counted by the paper's authors",
            table(["data", "notebook", "operations", "compressible", "longest chain"], listing),
        ),
    )


def _machine(results: Results) -> str:
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in results.machine.items()
    )
    return section("Machine and versions", f"<dl>{facts}</dl>")
