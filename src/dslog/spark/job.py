"""Running a Spark job: stopped when its caller stops, its failures in one line.

A line on the terminal while a long Spark job runs: its stages, their tasks, and rows.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dslog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REASON = re.compile(r"^(?:E? *: |Caused by: )?[\w.]*?(\w+(?:Error|Exception): .*)", re.MULTILINE)


def cores(session: SparkSession) -> int:
    """Return how many tasks the session runs at a time, about."""
    if hasattr(session, "_jsparkSession"):
        return int(session.sparkContext.defaultParallelism)
    return int(session.conf.get("spark.sql.shuffle.partitions", "8") or 8)  # Connect won't say


@contextmanager
def cancelled_on_error(session: SparkSession) -> Iterator[None]:
    """Stop what still runs on Spark when the block fails or is interrupted."""
    tag = f"dslog-{uuid4().hex}"
    session.addTag(tag)
    try:
        yield
    except BaseException:
        session.interruptTag(tag)
        raise
    finally:
        session.removeTag(tag)


@contextmanager
def job_failures() -> Iterator[None]:
    """Turn what Spark raises into an EngineError that says why."""
    try:
        yield
    except spark_errors() as error:
        raise EngineError(f"a Spark job failed: {reason(error)}") from error


def spark_errors() -> tuple[type[Exception], ...]:
    """Return what a job that fails or is cancelled may raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def reason(error: BaseException) -> str:
    r"""Return the line that says most: the innermost cause, or else the first.

    >>> reason(RuntimeError("a.Outer: no\nCaused by: a.b.DiskError: full\n\tat a.b.Writer"))
    'DiskError: full'
    """
    text = str(error)
    reasons = _REASON.findall(text)
    return reasons[-1] if reasons else text.partition("\n")[0]


PATIENCE = 2.0
"""Seconds that a job may take without a word."""
_PERIOD = 0.25


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage that runs: its number, and how many of its tasks are done."""

    number: int
    tasks: int
    done: int


@contextmanager
def shown(session: SparkSession, what: str, rows: int = 0) -> Iterator[None]:
    """Show how far the session's jobs are while the block runs, if somebody is looking.

    Only on a terminal, only after two seconds, and not for Connect, whose sessions don't tell.
    ``rows`` is about how many rows a stage goes through.
    """
    console = Console(stderr=True)
    if not sys.stderr.isatty() or not hasattr(session, "_jsparkSession"):
        yield
        return
    tracker = session.sparkContext.statusTracker()
    others = set(tracker.getActiveStageIds())
    done = threading.Event()
    watch = Watch(console, what, rows, lambda: stages(tracker, others))
    thread = threading.Thread(target=watch.run, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def stages(tracker: Any, others: set[int]) -> list[Stage]:
    """Return the active stages, but those that ran before."""
    found = []
    for number in sorted(set(tracker.getActiveStageIds()) - others):
        info = tracker.getStageInfo(number)
        if info is not None:
            found.append(Stage(number, info.numTasks, info.numCompletedTasks))
    return found


class Watch:
    """Asks for the stages now and then, and draws a bar for each."""

    def __init__(
        self, console: Console, what: str, rows: int, ask: Callable[[], list[Stage]]
    ) -> None:
        self._what = what
        self._rows = rows
        self._ask = ask
        self._bars: dict[int, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} tasks{task.fields[rows]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def run(self, done: threading.Event, patience: float = PATIENCE) -> None:
        """Draw until ``done`` is set."""
        if done.wait(patience):
            return
        with self._progress:
            while not done.wait(_PERIOD):
                self.update(self._ask())

    def update(self, running: list[Stage]) -> None:
        """Draw the stages that run, and drop the bars of those that have ended."""
        for number in set(self._bars) - {stage.number for stage in running}:
            self._progress.remove_task(self._bars.pop(number))
        for stage in running:
            if stage.number not in self._bars:
                text = f"{self._what}, stage {stage.number}"
                self._bars[stage.number] = self._progress.add_task(text, total=None, rows="")
            self._progress.update(
                self._bars[stage.number],
                total=stage.tasks,
                completed=stage.done,
                rows=self._rows_text(stage),
            )

    def _rows_text(self, stage: Stage) -> str:
        if not self._rows or not stage.tasks:
            return ""
        return f", about {self._rows * stage.done // stage.tasks:,} of {self._rows:,} rows"
