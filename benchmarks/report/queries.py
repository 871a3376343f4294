"""Sections of the report about query latency."""

from __future__ import annotations

from typing import Literal

from benchmarks.evaluation.paper import QUERY_CLAIMS
from benchmarks.evaluation.queries import OURS, QueryRow
from benchmarks.evaluation.ratios import points, share
from benchmarks.evaluation.results import Results
from benchmarks.report.html import Cell, folded, legend, paragraph, section, table
from benchmarks.report.svg import Point, Series, line_chart
from benchmarks.report.wording import seconds, times

Which = Literal["cold", "warm"]
STYLES = {
    "Array, ==": "array-dot",
    "Array, mask per hop": "array",
    "Array, mask per hop, flat int32": "array-dash",
    "Raw, DuckDB": "text",
    "Parquet, DuckDB": "duck",
    "Parquet-GZip, DuckDB": "duck-dash",
    "Parquet-zstd-delta, DuckDB": "duck-dot",
    "Turbo-RC, DuckDB": "turbo",
    "Parquet, DuckDB distinct": "duck-long",
    "Parquet-zstd-delta, DuckDB distinct": "duck-fine",
    "DSLog, ProvRC alone": "provrc",
    "DSLog-NoMerge": "ours-dash",
    OURS: "ours",
}


def queries_section(results: Results) -> str:
    """Charts and tables of every group of workflows."""
    if not results.queries:
        return ""
    present = [name for name in STYLES if any(r.engine == name for r in results.queries)]
    parts = [
        paragraph(
            "Cold: lineage is read from files (the system may have them in memory). Warm: whatever "
            "an engine would keep is in memory. Points are means over workflows and random "
            "positions of the query, bars reach from the fastest to the slowest. An engine that "
            "did not finish in time or memory has no point."
        ),
        legend([(name, STYLES[name]) for name in present]),
    ]
    for group in dict.fromkeys(row.group for row in results.queries):
        rows = [row for row in results.queries if row.group == group]
        parts += [f"<h3>{group}</h3>"]
        if group in QUERY_CLAIMS:
            parts.append(paragraph(f"The paper: {QUERY_CLAIMS[group]}.", "soft"))
        charts = [
            _chart(rows, direction, which)
            for direction in ("forward", "backward")
            for which in ("cold", "warm")
        ]
        parts.append(f'<div class="charts">{"".join(charts)}</div>')
        parts.append(folded("numbers, cold", _numbers(rows, "cold")))
        parts.append(folded("numbers, warm", _numbers(rows, "warm")))
    return section("Query latency", *parts)


def _chart(rows: list[QueryRow], direction: str, which: Which) -> str:
    some = [row for row in rows if row.direction == direction]
    shares = sorted({row.selectivity for row in some})
    series = []
    for name, style in STYLES.items():
        found = []
        for row in some:
            spread = row.cold if which == "cold" else row.warm
            if row.engine == name and spread is not None and not row.failed:
                note = f"{share(row.selectivity)}: {seconds(spread.mean)}"
                found.append(
                    Point(row.selectivity, spread.mean, spread.low, spread.high, note=note)
                )
        if found:
            series.append(Series(name, style, tuple(found)))
    return line_chart(
        series,
        title=f"{direction}, {which}",
        x_ticks=[(value, share(value)) for value in shares],
        y_text=seconds,
        x_label="cells asked for",
        width=500,
    )


def _numbers(rows: list[QueryRow], which: Which) -> str:
    engines = [name for name in STYLES if any(row.engine == name for row in rows)]
    lines = []
    for point in points(rows):
        found = {row.engine: row for row in point}
        cells: list[Cell | str] = [f"{point[0].direction}, {share(point[0].selectivity)}"]
        best, mine = float("inf"), None
        for name in engines:
            row = found.get(name)
            spread = None if row is None else row.cold if which == "cold" else row.warm
            if row is None or spread is None or row.failed:
                cells.append(Cell("not finished", "paper"))
                continue
            if name == OURS:
                mine = spread.mean
            elif not row.ours:
                best = min(best, spread.mean)
            text = f"{seconds(spread.mean)} ({seconds(spread.low)} - {seconds(spread.high)})"
            cells.append(Cell(text, "ours" if name == OURS else ""))
        ratio = float("inf") if mine is None else mine / best
        cells.append(Cell(times(ratio), "met" if ratio <= 1 else "missed"))
        lines.append(cells)
    return table(["", *engines, "against the best baseline"], lines)
