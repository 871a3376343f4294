"""Which DSLog this is."""

import platform
from importlib.metadata import PackageNotFoundError, version

import typer
from rich.text import Text

from dslog.cli.command import TRY, command
from dslog.cli.printer import Report, Told

PLACE = 90
commands = typer.Typer()

_PARTS = ("numpy", "numba", "pyarrow", "pyspark")


@command(commands, name="version", panel=TRY, examples=("dslog version --json",))
def show_version() -> Report:
    """Print the version of DSLog and of the packages it runs on."""
    ours, python = _version("dslog"), platform.python_version()
    parts = {name: _version(name) for name in _PARTS}
    rest = ", ".join(f"{name} {number}" for name, number in {"Python": python, **parts}.items())
    facts = {"dslog": ours, "python": python, "parts": parts}
    return Told([f"dslog {ours}", Text(rest, style="dim")], facts)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
