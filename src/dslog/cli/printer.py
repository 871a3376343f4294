"""How a command answers: one report, printed for people or as JSON.

A command returns a :class:`Report` and never prints. Which :class:`Printer` shows it is decided
once, by ``--json``; so every command has both forms and neither can say more than the other.
"""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

_PIPE_WIDTH = 1000  # columns where nobody's window wraps the lines


class Report(ABC):
    """What a command found. ``ok`` is False when it found problems: the exit code is then 1."""

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        return True

    @abstractmethod
    def text(self) -> Iterable[RenderableType]:
        """Give what a person reads, piece by piece."""

    @abstractmethod
    def data(self) -> Mapping[str, object]:
        """Give the same facts as JSON values."""


class Printer(ABC):
    """Shows reports on stdout and errors on stderr."""

    @abstractmethod
    def report(self, report: Report) -> None:
        """Show what a command found."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Tell a person that waits what happens; not part of the answer."""

    @abstractmethod
    def fail(self, error: BaseException, hint: str = "") -> None:
        """Show an error as one line."""


class ConsolePrinter(Printer):
    """For people: text, colours when the output is a terminal."""

    def __init__(self) -> None:
        self._out = _console(sys.stdout)
        self._err = _console(sys.stderr)

    def report(self, report: Report) -> None:
        """Print the report's text."""
        for piece in report.text():
            self._out.print(piece, soft_wrap=isinstance(piece, Text))

    def say(self, text: str) -> None:
        """Print a line on stderr."""
        self._err.print(Text(text, style="dim"), soft_wrap=True)

    def fail(self, error: BaseException, hint: str = "") -> None:
        """Print ``dslog: message`` on stderr."""
        line = Text("dslog: ", style="bold red").append(_one_line(error), style="not bold default")
        if hint:
            line.append(f" {hint}", style="not bold dim default")
        self._err.print(line, soft_wrap=True)


class JsonPrinter(Printer):
    """For programs: one line of JSON on stdout, errors as one line of JSON on stderr."""

    def report(self, report: Report) -> None:
        """Print the report's data."""
        _write_json(report.data(), sys.stdout)

    def say(self, text: str) -> None:
        """Print nothing: stdout is the answer, and stderr is for errors."""

    def fail(self, error: BaseException, hint: str = "") -> None:
        """Print ``{"error": kind, "message": ...}`` on stderr."""
        message = " ".join(filter(None, [_one_line(error), hint]))
        _write_json({"error": type(error).__name__, "message": message}, sys.stderr)


def make_printer(*, as_json: bool) -> Printer:
    """Return the printer that a command's ``--json`` asks for."""
    return JsonPrinter() if as_json else ConsolePrinter()


def _console(stream: TextIO) -> Console:
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # a picture in an ASCII terminal is no reason to stop
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _write_json(value: Mapping[str, object], stream: TextIO) -> None:
    stream.write(json.dumps(value, ensure_ascii=False) + "\n")
    stream.flush()
