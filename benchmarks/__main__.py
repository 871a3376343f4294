"""The command line: ``python -m benchmarks [NAME...]``, ``compare``, ``notebooks``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from typer.core import TyperGroup

from benchmarks.experiment import Target
from benchmarks.notebooks.notebook import Counts, count_notebook
from benchmarks.paper import means
from benchmarks.report import render
from benchmarks.results import (
    EXPERIMENTS,
    SIZE_TOLERANCE,
    TIME_TOLERANCE,
    Change,
    Results,
    check_experiments,
    compare,
    run,
)
from benchmarks.size import SIZES
from dslog.cli.command import TRY, command
from dslog.cli.printer import JsonPrinter, Printer, Report, listing

REPORT, RESULTS = "report.html", "results.json"


class RunByDefault(TyperGroup):
    """What is no command is given to ``run``: names of experiments, or options alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` in front where no command is named."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="python -m benchmarks",
    cls=RunByDefault,
    help="Measure DSLog beside its baselines. Without a command: run.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass(frozen=True, slots=True)
class Listed(Report):
    """The experiments there are."""

    names: Sequence[str]

    def text(self) -> Iterator[RenderableType]:
        """Give a line per experiment."""
        yield listing(("experiment", ""), [(name, EXPERIMENTS[name].title) for name in self.names])

    def data(self) -> Mapping[str, object]:
        """Give the titles by name."""
        return {name: EXPERIMENTS[name].title for name in self.names}


@dataclass(frozen=True, slots=True)
class Judged(Report):
    """Which targets a run met, and where its report is. A missed target is no error."""

    targets: Sequence[Target]
    report: Path
    results: Path

    def text(self) -> Iterator[RenderableType]:
        """Give a table of targets and the two paths."""
        rows = []
        for target in self.targets:
            rows.append((target.name, target.found, "met" if target.met else "missed"))
            rows += [("", f"  {miss}", "") for miss in target.misses]
        yield listing(("target", "found", ""), rows)
        yield Text(f"report   {self.report}")
        yield Text(f"results  {self.results}")

    def data(self) -> Mapping[str, object]:
        """Give the targets and the paths."""
        return {
            "targets": [{**asdict(target), "met": target.met} for target in self.targets],
            "report": str(self.report),
            "results": str(self.results),
        }


@command(
    app,
    name="run",
    panel=TRY,
    examples=("python -m benchmarks --quick", "python -m benchmarks storage queries"),
)
def run_experiments(
    printer: Printer,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Experiments; all by default.")
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: about a minute.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's sizes: hours.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the experiments and stop.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the report and results go.")
    ] = Path("bench-results"),
    shared: Annotated[
        Path | None,
        typer.Option(
            envvar="DSLOG_BENCH_SHARED",
            help="A directory with the paper's example_lime.npy, example_drise.npy, mnist.npy.",
        ),
    ] = None,
    scratch: Annotated[
        Path | None, typer.Option(help="Where temporary files go, some GB with --full.")
    ] = None,
) -> Report:
    """Run experiments beside their baselines; write one HTML report, and the results as JSON.

    Without a size, the paper's sizes where they fit an hour. Missed targets are shown, and are no
    error; `compare` fails when a ratio got worse.
    """
    chosen = check_experiments(names or ())
    if listed:
        return Listed(chosen)
    size = SIZES["full" if full else "quick" if quick else "standard"]
    with bars(quiet=isinstance(printer, JsonPrinter)) as say:
        results = run(size, chosen, say=say, shared=shared, scratch=scratch)
    output.mkdir(parents=True, exist_ok=True)
    results.write(output / RESULTS)
    (output / REPORT).write_text(render(results), encoding="utf-8")
    return Judged(results.targets(), output / REPORT, output / RESULTS)


@contextmanager
def bars(*, quiet: bool) -> Iterator[Callable[[str, str], None]]:
    """Show what a run is at, a line per experiment, while it lasts."""
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        lines: dict[str, Any] = {}

        def say(name: str, text: str) -> None:
            if name not in lines:
                lines[name] = progress.add_task(name, total=None, doing="")
            done = None if text else 1
            progress.update(lines[name], doing=text, total=done, completed=done)

        yield say


@dataclass(frozen=True, slots=True)
class Compared(Report):
    """Ratios of two runs; not ok when one got worse."""

    changes: Sequence[Change]

    @property
    def ok(self) -> bool:
        """Whether no ratio got worse."""
        return not any(change.regressed for change in self.changes)

    def text(self) -> Iterator[RenderableType]:
        """Give the ratios that got worse, and a count."""
        worse = [(c.name, f"{c.old:.3g}", f"{c.new:.3g}") for c in self.changes if c.regressed]
        if worse:
            yield listing(("ratio to the best other", "old", "new"), worse, ("old", "new"))
        yield Text(f"{len(worse)} of {len(self.changes)} ratios got worse")

    def data(self) -> Mapping[str, object]:
        """Give every ratio."""
        return {"ok": self.ok, "changes": [asdict(change) for change in self.changes]}


@command(
    app,
    name="compare",
    panel=TRY,
    examples=("python -m benchmarks compare old/results.json new/results.json",),
)
def compare_results(
    old: Annotated[Path, typer.Argument(help="Results of the earlier run.")],
    new: Annotated[Path, typer.Argument(help="Results of the later run.")],
    size_tolerance: Annotated[
        float, typer.Option(min=0, help="How much a ratio of sizes may grow.")
    ] = SIZE_TOLERANCE,
    time_tolerance: Annotated[
        float, typer.Option(min=0, help="How much a ratio of times may grow.")
    ] = TIME_TOLERANCE,
) -> Report:
    """Compare two results; fail when DSLog lost ground to its best rival anywhere."""
    both = Results.read(old), Results.read(new)
    return Compared(list(compare(*both, size_tolerance, time_tolerance)))


@dataclass(frozen=True, slots=True)
class Counted(Report):
    """Counts of some notebooks; ``paper`` are the means of the paper's hand-counted ones."""

    counts: Sequence[Counts]
    paper: Mapping[str, tuple[float, float, float]]
    listed: bool

    def text(self) -> Iterator[RenderableType]:
        """Give a line per notebook, then the paper's means, then every operation if asked."""
        headings = ("notebook", "operations", "compressible", "", "longest chain", "cells skipped")
        rows = []
        for one in self.counts:
            numbers = (one.operations, one.compressible, f"{one.share:.0%}", one.longest_chain)
            rows.append((one.notebook, *map(str, numbers), str(one.skipped)))
        for name, (count, compressible, deepest) in self.paper.items():
            means = (f"{count:.1f}", f"{compressible:.1f}", f"{compressible / count:.0%}")
            rows.append((f"paper, mean of {name}", *means, f"{deepest:.1f}", "-"))
        yield listing(headings, rows, headings[1:])
        for one in self.counts if self.listed else ():
            for found in one.found:
                kind = "compressible" if found.compressible else "by value"
                yield Text(f"{one.notebook}  {found.name:20} {kind:13} step {found.depth}")

    def data(self) -> Mapping[str, object]:
        """Give the counts, with every operation."""
        return {
            "notebooks": [asdict(one) for one in self.counts],
            "paper": {name: list(numbers) for name, numbers in self.paper.items()},
        }


@command(app, panel=TRY, examples=("python -m benchmarks notebooks analysis.ipynb",))
def notebooks(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Notebooks, or Python scripts.")
    ],
    *,
    listed: Annotated[bool, typer.Option("--list", help="List every operation.")] = False,
) -> Report:
    """Count a notebook's array operations, how many are compressible, and the longest chain.

    Nothing is run: the counts come from the syntax tree. An operation is compressible when its
    lineage follows rows, columns or whole ranges whatever the values are.
    """
    return Counted([count_notebook(path) for path in files], means(), listed)


if __name__ == "__main__":
    app()
