"""The report of a run as one HTML file, and the pages of the documentation that a run fills.

What they say is in ``templates``; here are the tables and the charts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks import paper
from benchmarks.experiment import Ratio
from benchmarks.experiments.coverage import CoverageRow, counts, kinds
from benchmarks.experiments.queries import (
    OURS,
    QueryRow,
    Which,
    points,
    query_ratio,
)
from benchmarks.experiments.storage import (
    LatencyRow,
    StorageRow,
    by_operation,
    latency_ratios,
    storage_ratios,
)
from benchmarks.results import EXPERIMENTS, Results
from benchmarks.units import nbytes, seconds, share, times
from dslog.cli.demo.page import to_svg

Style = dict[str, Any]
WAYS: tuple[Which, ...] = ("cold", "warm")
_GREY, _BROWN, _VIOLET, _RED, _GREEN, _BLUE = (
    "#8a8f98", "#c9741a", "#8f5fd0", "#c2486f", "#1a9a80", "#2a84e0",
)  # fmt: skip
FORMAT_STYLES: dict[str, Style] = {
    "Raw": {"c": _GREY},
    "Array": {"c": _BROWN},
    "Parquet": {"c": _VIOLET},
    "Parquet-GZip": {"c": _VIOLET, "ls": "--", "marker": "s"},
    "Parquet-zstd-delta": {"c": _VIOLET, "ls": ":", "marker": "^"},
    "Turbo-RC": {"c": _RED},
    "ProvRC": {"c": _GREEN},
    "ProvRC-GZip": {"c": _GREEN, "ls": "--", "marker": "s"},
    OURS: {"c": _BLUE, "lw": 3, "ms": 8},
}
ENGINE_STYLES: dict[str, Style] = {
    "Array, ==": {"c": _BROWN, "ls": ":"},
    "Array, mask per hop": {"c": _BROWN},
    "Array, mask per hop, flat int32": {"c": _BROWN, "ls": "--"},
    "Raw, DuckDB": {"c": _GREY},
    "Parquet, DuckDB": {"c": _VIOLET},
    "Parquet-GZip, DuckDB": {"c": _VIOLET, "ls": "--"},
    "Parquet-zstd-delta, DuckDB": {"c": _VIOLET, "ls": ":"},
    "Turbo-RC, DuckDB": {"c": _RED},
    "Parquet, DuckDB distinct": {"c": _VIOLET, "ls": "-."},
    "Parquet-zstd-delta, DuckDB distinct": {"c": _VIOLET, "ls": (0, (8, 2, 2, 2))},
    "DSLog, ProvRC alone": {"c": _GREEN},
    "DSLog-NoMerge": {"c": _BLUE, "ls": "--"},
    OURS: {"c": _BLUE, "lw": 3},
}


class Cell(str):
    """A table's cell with a class for its style."""

    __slots__ = ("style",)
    style: str

    @classmethod
    def of(cls, text: str, style: str) -> Cell:
        """Make a cell."""
        cell = cls(text)
        cell.style = style
        return cell


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text; ``summary`` when it shows only when asked for."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Charts and tables under a heading."""

    title: str
    about: str = ""
    charts: Sequence[Figure] = ()
    tables: Sequence[Table] = field(default_factory=tuple)
    level: int = 2


def render(results: Results) -> str:
    """Return the report as HTML that needs nothing else."""
    return _render("report.html", results, sections=list(sections(results)))


def page(name: str, results: Results) -> str:
    """Return a page of the documentation: "evaluation.md" or "coverage.md"."""
    return _render(name, results)


def _render(template: str, results: Results, **more: Any) -> str:
    shown = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=template.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shown.filters |= {"nbytes": nbytes, "seconds": seconds, "times": times, "svg": to_svg}
    known = {
        "results": results,
        "targets": results.targets(),
        "paper": paper,
        "storage": by_operation(results.of("storage")),
        "written": list(written(results)),
        "asked": list(asked(results.of("queries"))),
        "coverage": {
            name: (counts(rows), paper.COVERAGE[name])
            for name, rows in kinds(results.of("coverage")).items()
        },
        "operations": listed("coverage", results).rows,
    }
    return shown.get_template(template).render({**known, **more})


def sections(results: Results) -> Iterator[Section]:
    """Give the sections of the report, of the experiments that were run."""
    special: dict[str, Callable[[Any], Section]] = {
        "storage": storage_section,
        "latency": latency_section,
        "coverage": coverage_section,
    }
    for name, experiment in EXPERIMENTS.items():
        rows = results.of(name)
        if rows and name == "queries":
            yield Section(experiment.title, experiment.about)
            for group in dict.fromkeys(row.group for row in rows):
                yield query_section(group, [row for row in rows if row.group == group])
        elif rows and name in special:
            yield special[name](rows)
        elif rows:
            yield Section(experiment.title, experiment.about, tables=[listed(name, results)])


def listed(name: str, results: Results) -> Table:
    """Return the rows of an experiment as its columns say."""
    columns = EXPERIMENTS[name].columns
    rows = [[str(text(row)) for text in columns.values()] for row in results.of(name)]
    return Table(list(columns), rows)


def storage_section(rows: Sequence[StorageRow]) -> Section:
    """Sizes, and times, of the storage table."""
    grouped = by_operation(rows)
    figure = Figure(figsize=(10, 1.6 + 0.3 * len(grouped)), layout="constrained")
    axes = figure.subplots()
    for form, style in FORMAT_STYLES.items():
        sizes = [formats[form].nbytes for formats in grouped.values()]
        axes.plot(sizes, list(grouped), **{"marker": "o", **style, "ls": ""}, label=form)
    axes.set(xscale="log", title="bytes, logarithmic")
    axes.invert_yaxis()
    axes.grid(visible=True, alpha=0.3)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: nbytes(value)))
    figure.legend(loc="outside lower center", ncols=5, frameon=False)
    names = list(FORMAT_STYLES)
    theirs = [[name, *(f"{v:g}" for v in mb)] for name, mb in paper.STORAGE_MB.items()]
    sized = [_row(name, formats, "nbytes", nbytes) for name, formats in grouped.items()]
    timed = [_row(name, formats, "seconds", seconds) for name, formats in grouped.items()]
    notes = [[name, formats[OURS].note or "-"] for name, formats in grouped.items()]
    experiment = EXPERIMENTS["storage"]
    return Section(
        experiment.title,
        experiment.about,
        [figure],
        [
            Table(["operation", "pairs", *names, "against the best other"], sized),
            Table(["operation", *paper.STORAGE_FORMATS], theirs, "the paper's figures, MB"),
            Table(
                ["operation", "pairs", *names, "against Parquet"],
                timed,
                "time to compress and write, flushed to disk",
            ),
            Table(["operation", ""], notes, "what was measured"),
        ],
    )


def _row(
    name: str, formats: dict[str, StorageRow], what: str, text: Callable[[float], str]
) -> list[str]:
    """One operation in all formats: its bytes or seconds, and ours divided by another's."""
    values = {form: getattr(formats[form], what) for form in FORMAT_STYLES}
    least = min(values.values())
    cells = [name, f"{formats[OURS].pairs:,}"]
    for form, value in values.items():
        style = "ours" * (form == OURS) + " best" * (value == least)
        cells.append(Cell.of(text(value) + "*" * formats[form].estimated, style.strip()))
    others = [value for form, value in values.items() if form != OURS]
    return [
        *cells,
        _against(values[OURS] / (min(others) if what == "nbytes" else values["Parquet"])),
    ]


def _against(ratio: float) -> Cell:
    return Cell.of(times(ratio), "met" if ratio <= 1 else "missed")


def latency_section(rows: Sequence[LatencyRow]) -> Section:
    """Time to write over array sizes."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2), ("elementwise", "aggregate"), strict=True):
        for form, style in FORMAT_STYLES.items():
            found = [row for row in rows if (row.kind, row.format) == (kind, form)]
            places = [row.cells for row in found]
            axes.plot(places, [row.seconds for row in found], **{"marker": "o", **style})
        axes.set(xscale="log", xlabel="cells of the array", title=f"{kind}: compress and write")
        _in_seconds(axes)
    figure.legend(list(FORMAT_STYLES), loc="outside lower center", ncols=5, frameon=False)
    experiment = EXPERIMENTS["latency"]
    return Section(experiment.title, experiment.about, [figure])


def _in_seconds(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.grid(visible=True, alpha=0.3)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def query_section(group: str, rows: Sequence[QueryRow]) -> Section:
    """Charts and numbers of one group of workflows."""
    engines = [name for name in ENGINE_STYLES if any(row.engine == name for row in rows)]
    claim = paper.QUERY_CLAIMS.get(group)
    return Section(
        group,
        f"The paper: {claim}." if claim else "",
        [query_chart(rows, engines)],
        [
            Table(
                ["", *engines, "against the best baseline"],
                [_point(point, engines, which) for point in points(rows)],
                f"numbers, {which}",
            )
            for which in WAYS
        ],
        level=3,
    )


def query_chart(rows: Sequence[QueryRow], engines: Sequence[str]) -> Figure:
    """Draw both directions, cold and warm, over the cells that were asked for."""
    figure = Figure(figsize=(10, 6.6), layout="constrained")
    shares = sorted({row.selectivity for row in rows})
    charts = iter(figure.subplots(2, 2).flat)
    lines = {}
    for direction in ("forward", "backward"):
        for which in WAYS:
            axes = next(charts)
            for engine in engines:
                found = {
                    shares.index(row.selectivity): spread
                    for row in rows
                    if (row.engine, row.direction) == (engine, direction)
                    and (spread := row.spread(which)) is not None
                }
                means = [spread.mean for spread in found.values()]
                lines[engine] = axes.errorbar(
                    list(found),
                    means,
                    yerr=[
                        [spread.mean - spread.low for spread in found.values()],
                        [spread.high - spread.mean for spread in found.values()],
                    ],
                    **{"marker": "o", "ms": 4, "elinewidth": 0.8, **ENGINE_STYLES[engine]},
                )
            axes.set(title=f"{direction}, {which}", xlabel="cells asked for")
            axes.set_xticks(range(len(shares)), [share(one) for one in shares])
            _in_seconds(axes)
    figure.legend(
        list(lines.values()), list(lines), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _point(point: Sequence[QueryRow], engines: Sequence[str], which: Which) -> list[str]:
    found = {row.engine: row for row in point}
    cells = [f"{point[0].direction}, {share(point[0].selectivity)}"]
    for engine in engines:
        spread = found[engine].spread(which) if engine in found else None
        if spread is None:
            cells.append(Cell.of("not finished", "paper"))
        else:
            text = f"{seconds(spread.mean)} ({seconds(spread.low)} - {seconds(spread.high)})"
            cells.append(Cell.of(text, "ours" if engine == OURS else ""))
    ratio = query_ratio(point, which)
    return [*cells, _against(ratio.value) if ratio else "-"]


def coverage_section(rows: Sequence[CoverageRow]) -> Section:
    """Counts beside the paper's, and every operation."""
    lines = []
    for name, group in kinds(rows).items():
        for who, style, numbers in (
            ("paper", "paper", paper.COVERAGE[name]),
            ("ours", "ours", counts(group)),
        ):
            lines.append([Cell.of(str(text), style) for text in (f"{name}, {who}", *numbers)])
    headings = ["operations", "total", "compressed", "dim_sig", "gen_sig", "errors"]
    experiment = EXPERIMENTS["coverage"]
    every = [[str(text(row)) for text in experiment.columns.values()] for row in rows]
    return Section(
        experiment.title,
        experiment.about,
        tables=[
            Table(headings, lines),
            Table(list(experiment.columns), every, "every operation"),
        ],
    )


def written(results: Results) -> Iterator[Ratio]:
    """Give the ratios of writing: of operations, then over array sizes."""
    yield from (r for r in storage_ratios(results.of("storage")) if r.kind == "seconds")
    yield from latency_ratios(results.of("latency"))


def asked(rows: Sequence[QueryRow]) -> Iterator[tuple[str, str, dict[Which, Ratio | None]]]:
    """Give every point of the queries: the workflow, the cells, and its ratio warm and cold."""
    for point in points(rows):
        first = point[0]
        if any(row.engine == OURS for row in point):
            ratios = {which: query_ratio(point, which) for which in WAYS}
            yield f"{first.group}, {first.direction}", share(first.selectivity), ratios
