"""Progress of a long capture, on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 1.0
"""Seconds of silence before a bar is shown."""

_LOOK_EVERY = 64  # cells; a clock is slow beside a quick capture


class Advance(Protocol):
    """Tells how many cells are done."""

    def __call__(self, done: int) -> None:
        """Take note, and show it when the work has become long."""
        ...


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Show a bar on stderr if the block takes long and stderr is a terminal.

    The bar goes away at the end; nothing is ever written to a file or a pipe.
    """
    if not sys.stderr.isatty():
        yield _ignore
        return
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    shown_from = monotonic() + PATIENCE

    def advance(done: int) -> None:
        if done % _LOOK_EVERY == 0 and (bar.live.is_started or monotonic() > shown_from):
            bar.start()
            bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()


def _ignore(done: int) -> None:
    """Show nothing."""
