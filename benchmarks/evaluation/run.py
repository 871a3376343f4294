"""Run experiments one after the other, with progress, and write what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.evaluation.capture import OPERATIONS as CAPTURED
from benchmarks.evaluation.capture import capture_table
from benchmarks.evaluation.coverage import coverage_table
from benchmarks.evaluation.inputs import Inputs
from benchmarks.evaluation.latency import latency_table
from benchmarks.evaluation.machine import describe_machine
from benchmarks.evaluation.queries import ENGINES, FEW, groups, query_table
from benchmarks.evaluation.results import Results
from benchmarks.evaluation.scale import scale_table
from benchmarks.evaluation.scratch import Scratch, scratch_space
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.storage import storage_table
from benchmarks.report.page import write_report
from dslog.errors import DslogError

EXPERIMENTS = ("storage", "latency", "queries", "capture", "coverage", "spark")
REPORT, RESULTS = "report.html", "results.json"
_OPERATIONS, _FORMATS = 14, 9


class ExperimentError(DslogError, ValueError):
    """An experiment that does not exist."""


class Watch(Protocol):
    """Shows a waiting person how far a run is."""

    def start(self, experiment: str, ticks: int) -> Callable[[str], None]:
        """Begin an experiment of about that many ticks; return what to call at each."""
        ...


class Quiet:
    """Shows nothing."""

    def start(self, experiment: str, ticks: int) -> Callable[[str], None]:  # noqa: ARG002
        """Return a tick that does nothing."""
        return lambda _text: None


class Bars:
    """Progress bars on a terminal, one per experiment."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, experiment: str, ticks: int) -> Callable[[str], None]:
        """Add a bar."""
        bar = self._progress.add_task(experiment, total=ticks, doing="")

        def tick(text: str) -> None:
            self._progress.update(bar, advance=1, doing=text)

        return tick


@contextmanager
def bars(console: Console) -> Iterator[Watch]:
    """Give progress bars while a run lasts."""
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}", style="dim"),
    )
    with Progress(*columns, console=console) as progress:
        yield Bars(progress)


def check_experiments(only: Sequence[str]) -> tuple[str, ...]:
    """Return the experiments to run, all of them when none is named."""
    for name in only:
        if name not in EXPERIMENTS:
            msg = f"there is no experiment {name!r}: choose from {', '.join(EXPERIMENTS)}"
            raise ExperimentError(msg)
    return tuple(name for name in EXPERIMENTS if not only or name in only)


def run(
    sizes: Sizes,
    only: Sequence[str] = (),
    inputs: Inputs | None = None,
    watch: Watch | None = None,
    scratch: Path | None = None,
) -> Results:
    """Run experiments; ``scratch`` is where the temporary files go."""
    names = check_experiments(only)
    inputs, watch = inputs or Inputs(), watch or Quiet()
    results = Results(sizes.name, describe_machine())
    with scratch_space(scratch) as space:
        for name in names:
            _experiment(name, results, sizes, inputs, watch, space)
    return results


def _experiment(
    name: str, results: Results, sizes: Sizes, inputs: Inputs, watch: Watch, space: Scratch
) -> None:
    tick = watch.start(name, expected_ticks(name, sizes, inputs))
    if name == "storage":
        results.storage.extend(storage_table(sizes, inputs, space, tick))
    elif name == "latency":
        results.latency.extend(latency_table(sizes, space, tick))
    elif name == "queries":
        results.queries.extend(query_table(sizes, inputs, space, tick))
    elif name == "capture":
        results.capture.extend(capture_table(tick))
    elif name == "coverage":
        results.coverage.update(coverage_table(sizes, tick))
    else:
        results.scale.extend(scale_table(sizes, space, tick))
    tick("done")


def expected_ticks(name: str, sizes: Sizes, inputs: Inputs) -> int:
    """Return about how many times an experiment will report."""
    if name == "storage":
        return _OPERATIONS * _FORMATS + 1
    if name == "latency":
        return len(sizes.latency) * 2 * _FORMATS + 1
    if name == "queries":
        engines = len(ENGINES) if sizes.every_engine else len(FEW)
        return sum(len(group.makers) for group in groups(sizes, inputs)) * (engines + 1) + 1
    if name == "spark":
        return len(sizes.scale) + 2
    return (len(CAPTURED) if name == "capture" else 136) + 1


def write(results: Results, directory: Path) -> tuple[Path, Path]:
    """Write the report and the results; return where they are."""
    directory.mkdir(parents=True, exist_ok=True)
    report, data = directory / REPORT, directory / RESULTS
    results.write(data)
    write_report(results, report)
    return report, data
