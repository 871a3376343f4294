"""What every command has in common: ``--json``, ``--debug``, examples, errors, exit codes.

A command is a function from its arguments to a :class:`Report`. ``command`` registers it with
typer and adds the rest, so that a new command is one function in one module of
``dslog.cli.commands``::

    commands = typer.Typer()

    @command(commands, panel=ASK, examples=("dslog why STORE B --cells 0",))
    def why(store: StorePath, array: str) -> Report:
        '''Say where cells come from.'''

A function that takes a ``printer`` can tell a waiting person what it is doing.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from dslog.cli.printer import Printer, Report, make_printer
from dslog.errors import DslogError

MAKE = "Make and fill a store"
LOOK = "Look at what is there"
ASK = "Ask where cells come from and go to"
DEBUG = "Find out what went wrong"
KEEP = "Look after a store"
TRY = "Try it"

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

_EXIT_PROBLEM = 1
_EXTRA = {"json": Json, "debug": Debug}


def command(
    app: typer.Typer, *, panel: str, examples: Sequence[str] = (), name: str | None = None
) -> Callable[[Callable[..., Report]], Callable[..., Report]]:
    """Register a function as a command of ``app``; the function itself stays as it is."""

    def register(function: Callable[..., Report]) -> Callable[..., Report]:
        app.command(name, help=_help(function, examples), rich_help_panel=panel)(_wrap(function))
        return function

    return register


def _wrap(function: Callable[..., Report]) -> Callable[..., None]:
    signature = inspect.signature(function)
    wants_printer = "printer" in signature.parameters

    @functools.wraps(function)
    def run(*, json: bool, debug: bool, **arguments: Any) -> None:
        printer = make_printer(as_json=json)
        if wants_printer:
            arguments["printer"] = printer
        report = _attempt(function, arguments, printer, debug=debug)
        printer.report(report)
        if not report.ok:
            raise typer.Exit(_EXIT_PROBLEM)

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        if parameter.name != "printer"
    ]
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in _EXTRA.items()
    ]
    run.__signature__ = inspect.Signature([*own, *extra])  # type: ignore[attr-defined]
    annotations = {**inspect.get_annotations(function), **_EXTRA}
    annotations.pop("printer", None)
    run.__annotations__ = {**annotations, "return": None}
    return run


def _attempt(
    function: Callable[..., Report], arguments: dict[str, Any], printer: Printer, *, debug: bool
) -> Report:
    try:
        return function(**arguments)
    except DslogError as error:
        if debug:
            raise
        printer.fail(error)
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except Exception as error:
        if debug:
            raise
        printer.fail(error, f"(an unexpected {type(error).__name__}; --debug shows where)")
    raise typer.Exit(_EXIT_PROBLEM)


def _help(function: Callable[..., Report], examples: Sequence[str]) -> str:
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    text = "\n\n".join(escape(paragraph.replace("\n", " ")) for paragraph in paragraphs)
    if examples:
        lines = "\n".join(f"  {escape(line)}" for line in examples)
        text += f"\n\n[bold]Examples[/bold]\n\n{lines}"
    return text
