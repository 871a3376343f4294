"""Sections of the report about size and about time to write."""

from __future__ import annotations

from benchmarks.evaluation.paper import LATENCY_CLAIM, STORAGE_FORMATS, STORAGE_MB
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.storage import OURS, StorageRow
from benchmarks.report.html import Cell, folded, legend, paragraph, section, table
from benchmarks.report.svg import Dot, Point, Series, dot_chart, line_chart
from benchmarks.report.wording import nbytes, seconds, times

STYLES = {
    "Raw": "text",
    "Array": "array",
    "Parquet": "duck",
    "Parquet-GZip": "duck-dash",
    "Parquet-zstd-delta": "duck-dot",
    "Turbo-RC": "turbo",
    "ProvRC": "provrc",
    "ProvRC-GZip": "provrc-dash",
    OURS: "ours",
}


def storage_section(results: Results) -> str:
    """Sizes and times of the storage table."""
    if not results.storage:
        return ""
    grouped: dict[str, dict[str, StorageRow]] = {}
    for row in results.storage:
        grouped.setdefault(row.operation, {})[row.format] = row
    dots = [
        (
            name,
            [Dot(STYLES[f], row.nbytes, f"{f}: {nbytes(row.nbytes)}") for f, row in rows.items()],
        )
        for name, rows in grouped.items()
    ]
    notes = [[name, next(iter(rows.values())).note or "-"] for name, rows in grouped.items()]
    return section(
        "Size on disk",
        paragraph(
            "One relation per input array, summed. A star marks an estimate from one slab of a "
            "relation that is too large to make. DSLog's size is what a lineage adds to a store: "
            "its header in the catalog and its files."
        ),
        dot_chart(dots, title="bytes, logarithmic", x_text=nbytes),
        legend(list(STYLES.items())),
        _sizes(grouped),
        folded("the paper's figures, MB", _paper()),
        folded("time to compress and write, flushed to disk", _times(grouped)),
        folded("what was measured", table(["operation", ""], notes, "words")),
    )


def _sizes(grouped: dict[str, dict[str, StorageRow]]) -> str:
    forms = list(STYLES)
    rows = []
    for name, found in grouped.items():
        others = [row.nbytes for form, row in found.items() if form != OURS]
        least = min(row.nbytes for row in found.values())
        cells: list[Cell | str] = [name, f"{next(iter(found.values())).pairs:,}"]
        for form in forms:
            row = found[form]
            style = ("ours " if form == OURS else "") + ("best" if row.nbytes == least else "")
            cells.append(Cell(nbytes(row.nbytes) + ("*" if row.estimated else ""), style.strip()))
        ratio = found[OURS].nbytes / min(others)
        cells.append(Cell(times(ratio), "met" if ratio <= 1 else "missed"))
        rows.append(cells)
    return table(["operation", "pairs", *forms, "against the best other"], rows)


def _times(grouped: dict[str, dict[str, StorageRow]]) -> str:
    forms = list(STYLES)
    rows = []
    for name, found in grouped.items():
        cells: list[Cell | str] = [name]
        for form in forms:
            row = found[form]
            text = seconds(row.seconds) + ("*" if row.estimated else "")
            cells.append(Cell(text, "ours" if form == OURS else ""))
        ratio = found[OURS].seconds / found["Parquet"].seconds
        cells.append(Cell(times(ratio), "met" if ratio <= 1 else "missed"))
        rows.append(cells)
    return table(["operation", *forms, "against Parquet"], rows)


def _paper() -> str:
    rows = [[name, *(f"{v:g}" for v in values)] for name, values in STORAGE_MB.items()]
    return table(["operation", *STORAGE_FORMATS], rows)


def latency_section(results: Results) -> str:
    """Time to write over array sizes."""
    if not results.latency:
        return ""
    charts = []
    for kind in ("elementwise", "aggregate"):
        rows = [row for row in results.latency if row.kind == kind]
        sizes = sorted({row.cells for row in rows})
        series = [
            Series(
                form,
                style,
                tuple(
                    Point(row.cells, row.seconds, note=f"{row.cells:,}: {seconds(row.seconds)}")
                    for row in rows
                    if row.format == form
                ),
            )
            for form, style in STYLES.items()
        ]
        charts.append(
            line_chart(
                series,
                title=f"{kind}: compress and write",
                x_ticks=[(size, f"{size:.0e}".replace("e+0", "e")) for size in sizes],
                y_text=seconds,
                x_label="cells of the array",
                width=500,
            )
        )
    return section(
        "Compression latency",
        paragraph(f"From a relation in memory to a flushed file. The paper: {LATENCY_CLAIM}."),
        f'<div class="charts">{"".join(charts)}</div>',
        legend(list(STYLES.items())),
    )
