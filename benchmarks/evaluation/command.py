"""The evaluation, and the comparison of two of its results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dslog.cli.command import TRY, Debug, Json, command
from dslog.cli.printer import Report, make_printer
from dslog.errors import DslogError

if TYPE_CHECKING:
    from benchmarks.evaluation.compare import Change
    from benchmarks.evaluation.targets import Target

PLACE = 95
commands = typer.Typer()
group = typer.Typer(invoke_without_command=True)
commands.add_typer(group, name="bench", rich_help_panel=TRY)


@dataclass(frozen=True, slots=True)
class Judged(Report):
    """Which targets a run met, and where its report is. A missed target is no error."""

    targets: Sequence["Target"]
    report: Path
    results: Path

    def text(self) -> Iterator[RenderableType]:
        """Give a table of targets and the two paths."""
        table = Table("target", "found", "", box=None, pad_edge=False)
        for target in self.targets:
            verdict = Text("met", "green") if target.met else Text("missed", "red")
            table.add_row(target.name, target.found, verdict)
            for miss in target.misses:
                table.add_row("", Text(miss, "dim"), "")
        yield table
        yield Text(f"report   {self.report}")
        yield Text(f"results  {self.results}")

    def data(self) -> Mapping[str, object]:
        """Give the targets and the paths."""
        return {
            "targets": [asdict(target) for target in self.targets],
            "report": str(self.report),
            "results": str(self.results),
        }


@group.callback()
def bench(  # noqa: PLR0913 (a command has as many options as it needs)
    context: typer.Context,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: about a minute.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's sizes: hours.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="An experiment: storage, latency, queries, capture, coverage, spark."),
    ] = None,
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
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rerun the paper's experiments beside their baselines and write one HTML report.

    Without a size, the paper's sizes where they fit half an hour. Missed targets are shown, and are
    no error; `dslog bench compare` fails when a ratio got worse.
    """
    if context.invoked_subcommand is not None:
        return
    size = "full" if full else "quick" if quick else "standard"
    printer = make_printer(as_json=json)
    try:
        printer.report(_run(size, only or [], output, shared, scratch, quiet=json))
    except DslogError as error:
        if debug:
            raise
        printer.fail(error)
        raise typer.Exit(1) from error


def _run(
    size: str,
    only: Sequence[str],
    output: Path,
    shared: Path | None,
    scratch: Path | None,
    *,
    quiet: bool,
) -> Judged:
    from benchmarks.evaluation import run as bench_run
    from benchmarks.evaluation.inputs import Inputs
    from benchmarks.evaluation.sizes import SIZES
    from benchmarks.evaluation.targets import judge

    bench_run.check_experiments(only)
    sizes = next(s for name, s in SIZES.items() if name == size)
    if quiet:
        results = bench_run.run(sizes, only, Inputs(shared), None, scratch)
    else:
        with bench_run.bars(Console(stderr=True)) as watch:
            results = bench_run.run(sizes, only, Inputs(shared), watch, scratch)
    report, data = bench_run.write(results, output)
    return Judged(judge(results), report, data)


@dataclass(frozen=True, slots=True)
class Compared(Report):
    """Ratios of two runs; not ok when one got worse."""

    changes: Sequence["Change"]

    @property
    def ok(self) -> bool:
        """Whether no ratio got worse."""
        return not any(change.regressed for change in self.changes)

    def text(self) -> Iterable[RenderableType]:
        """Give the ratios that got worse, and a count."""
        worse = [change for change in self.changes if change.regressed]
        if worse:
            table = Table("ratio to the best other", "old", "new", box=None, pad_edge=False)
            for change in worse:
                table.add_row(change.name, f"{change.old:.3g}", f"{change.new:.3g}")
            yield table
        yield Text(f"{len(worse)} of {len(self.changes)} ratios got worse")

    def data(self) -> Mapping[str, object]:
        """Give every ratio."""
        return {"ok": self.ok, "changes": [asdict(change) for change in self.changes]}


@command(
    group,
    name="compare",
    panel=TRY,
    examples=("dslog bench compare old/results.json new/results.json",),
)
def compare_results(
    old: Annotated[Path, typer.Argument(help="Results of the earlier run.")],
    new: Annotated[Path, typer.Argument(help="Results of the later run.")],
    size_tolerance: Annotated[
        float, typer.Option(min=0, help="How much a ratio of sizes may grow.")
    ] = 0.01,
    time_tolerance: Annotated[
        float, typer.Option(min=0, help="How much a ratio of times may grow.")
    ] = 0.5,
) -> Report:
    """Compare two results; fail when DSLog lost ground to its best rival anywhere."""
    from benchmarks.evaluation.compare import compare
    from benchmarks.evaluation.results import Results

    changes = compare(Results.read(old), Results.read(new), size_tolerance, time_tolerance)
    return Compared(changes)
