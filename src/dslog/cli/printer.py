"""How a command answers: one report, printed for people or as JSON.

A command returns a :class:`Report` and never prints. Which :class:`Printer` shows it is decided
once, by ``--json``; so every command has both forms and neither can say more than the other.

Tables for people have no lines, but a heading, and columns that fold rather than vanish.
"""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dslog.cells.text import counted

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


@dataclass(frozen=True, slots=True)
class Told(Report):
    """A report that is ready: lines for people, and the same facts by name."""

    lines: Sequence[RenderableType]
    facts: Mapping[str, object]
    ok: bool = True

    def text(self) -> Iterable[RenderableType]:
        """Give the lines."""
        return (Text(line) if isinstance(line, str) else line for line in self.lines)

    def data(self) -> Mapping[str, object]:
        """Give the facts."""
        return self.facts


class Printer:
    """Shows reports on stdout and errors on stderr, to people: colours if that is a terminal."""

    def report(self, report: Report) -> None:
        """Show what a command found."""
        out = _console(sys.stdout)
        for piece in report.text():
            out.print(piece, soft_wrap=isinstance(piece, Text))

    def say(self, text: str) -> None:
        """Tell a person that waits what happens; not part of the answer."""
        _console(sys.stderr).print(Text(text, style="dim"), soft_wrap=True)

    def fail(self, error: BaseException, hint: str = "") -> None:
        """Show an error as one line."""
        line = Text("dslog: ", style="bold red").append(_one_line(error), style="not bold default")
        if hint:
            line.append(f" {hint}", style="not bold dim default")
        _console(sys.stderr).print(line, soft_wrap=True)


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
    return JsonPrinter() if as_json else Printer()


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


def facts(pairs: Mapping[str, str]) -> Table:
    """Return a table of names and values without a heading."""
    table = _bare(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(name), Text(value))
    return table


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()
) -> Table:
    """Return a table with a heading; the columns named in ``numbers`` are flush right."""
    table = _bare(show_header=True)
    right = set(numbers)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table


def indented(text: str) -> Text:
    """Return lines moved to the right."""
    return Text(indent(text, "  "))


def _bare(*, show_header: bool) -> Table:
    return Table(
        box=None, show_header=show_header, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0)
    )


_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def size_text(nbytes: int) -> str:
    """Return a number of bytes with a unit that keeps it short.

    >>> size_text(1), size_text(999), size_text(1500), size_text(123456789)
    ('1 byte', '999 bytes', '1.5 KB', '123 MB')
    """
    if nbytes < 1000:
        return counted(nbytes, "byte")
    value = float(nbytes)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 99.5 else f"{value:.0f} {unit}"


def more_text(shown: int, total: int, what: str) -> str:
    """Say what a limit left out; ``""`` when nothing.

    >>> more_text(20, 1024, "boxes")
    '20 of 1,024 boxes shown; --limit 0 shows all'
    """
    return "" if shown >= total else f"{shown:,} of {total:,} {what} shown; --limit 0 shows all"
