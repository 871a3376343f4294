"""The command line: ``dslog COMMAND``.

Every module of ``dslog.cli.commands`` that has a ``commands`` app adds its commands; nothing here
needs to change for a new one. Modules import what their commands need inside the functions, so
that ``dslog --help`` starts quickly.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import typer

from dslog.cli import commands as package

_EPILOG = "Exit codes: 0 all is well, 1 an error or problems found, 2 wrong usage."
_LAST = 100


def make_app() -> typer.Typer:
    """Put the commands together."""
    made = typer.Typer(
        name="dslog",
        help="Cell-level data lineage: which input cells made which output cells.",
        epilog=_EPILOG,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for module in sorted(_modules(), key=lambda module: getattr(module, "PLACE", _LAST)):
        made.add_typer(module.commands)
    return made


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{found.name}")
        if hasattr(module, "commands"):
            yield module


app = make_app()
