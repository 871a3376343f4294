"""Which DSLog this is."""

import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cli.command import TRY, command
from dslog.cli.printer import Report

PLACE = 90
commands = typer.Typer()

_PARTS = ("numpy", "numba", "pyarrow", "pyspark")


@dataclass(frozen=True, slots=True)
class Versions(Report):
    """The version of DSLog and of what decides how it behaves."""

    dslog: str
    python: str
    parts: Mapping[str, str]

    def text(self) -> Iterator[RenderableType]:
        """Give one line for DSLog and one for the rest."""
        yield Text(f"dslog {self.dslog}")
        parts = (f"{name} {number}" for name, number in self.parts.items())
        yield Text(", ".join([f"Python {self.python}", *parts]), style="dim")

    def data(self) -> Mapping[str, object]:
        """Give every version by name."""
        return asdict(self)


@command(commands, name="version", panel=TRY, examples=("dslog version --json",))
def show_version() -> Report:
    """Print the version of DSLog and of the packages it runs on."""
    return Versions(
        dslog=_version("dslog"),
        python=platform.python_version(),
        parts={name: _version(name) for name in _PARTS},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
