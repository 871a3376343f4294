"""Ask what one asks when a result looks wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cli.command import DEBUG, command
from dslog.cli.options import Engine, EngineOption, StorePath, open_existing
from dslog.cli.printer import Report, Told

if TYPE_CHECKING:
    from dslog.questions.reach import Outcome

PLACE = 35
commands = typer.Typer()

Array = Annotated[str, typer.Argument(metavar="ARRAY", help="The array asked about.")]
Cells = Annotated[
    str,
    typer.Option(
        "--cells",
        "-c",
        metavar="CELLS",
        help="Cells, as in numpy: '0:2, :'; of a table also '3, price'.",
    ),
]


@dataclass(frozen=True, slots=True)
class Printed(Report):
    """What a question found, printed as it prints itself."""

    found: "Outcome"

    def text(self) -> Iterator[RenderableType]:
        """Give the first line in bold, then the rest."""
        head, _, rest = str(self.found).partition("\n")
        yield Text(head, style="bold")
        if rest:
            yield Text(rest)

    def data(self) -> Mapping[str, object]:
        """Give the same as JSON values."""
        return self.found.to_dict()


@command(
    commands,
    panel=DEBUG,
    examples=(
        "dslog why lineage.dslog total --cells 1",
        "dslog why lineage.dslog delays --cells '3, average'",
    ),
)
def why(
    store: StorePath, array: Array, *, cells: Cells = "...", engine: EngineOption = Engine.AUTO
) -> Report:
    """Say what made cells: the cells of every array behind them, with values where kept."""
    with open_existing(store) as opened:
        return Printed(opened.why(array, cells, engine=engine.value))


@command(
    commands,
    panel=DEBUG,
    examples=("dslog report lineage.dslog delays --cells '3, average' --out why.html",),
)
def report(
    store: StorePath,
    array: Array,
    *,
    cells: Cells = "...",
    out: Annotated[Path, typer.Option(help="A file to write: .html, .json or .csv.")] = Path(
        "report.html"
    ),
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Write all that made cells into one file: values, steps, source cells, sources, the run."""
    with open_existing(store) as opened:
        opened.report(array, cells, engine=engine.value).save(out)
    return Told([f"wrote {out}"], {"path": str(out)})


@command(commands, panel=DEBUG, examples=("dslog impact lineage.dslog image --cells '0, 1'",))
def impact(
    store: StorePath, array: Array, *, cells: Cells = "...", engine: EngineOption = Engine.AUTO
) -> Report:
    """Say what cells touched: the cells of every array made with them."""
    with open_existing(store) as opened:
        return Printed(opened.impact(array, cells, engine=engine.value))


@command(commands, panel=DEBUG, examples=("dslog dropped lineage.dslog orders 17",))
def dropped(
    store: StorePath,
    array: Array,
    row: Annotated[
        str, typer.Argument(metavar="ROW", help="The number of a row; or cells, as in numpy.")
    ],
    *,
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Find the step where the lineage of a row ends, and what is left of it.

    An operation drops cells of an array when it takes others of that array, but none of these.
    """
    with open_existing(store) as opened:
        return Printed(opened.dropped(array, row, engine=engine.value))


@command(
    commands, panel=DEBUG, name="first-nan", examples=("dslog first-nan lineage.dslog average",)
)
def first_nan(store: StorePath, array: Array, *, engine: EngineOption = Engine.AUTO) -> Report:
    """Find the earliest step and cells that brought in the NaNs, or nulls, of an array.

    This needs values: track with keep_values=True. Arrays without values are looked through.
    """
    with open_existing(store) as opened:
        return Printed(opened.first_nan(array, engine=engine.value))


@command(
    commands,
    panel=DEBUG,
    examples=("dslog diff lineage.dslog 41 42", "dslog diff monday.dslog tuesday.dslog"),
)
def diff(
    store: StorePath,
    other: Annotated[
        Path, typer.Argument(metavar="OTHER", help="The earlier run; or the store of the later.")
    ],
    later: Annotated[
        int | None, typer.Argument(metavar="[LATER]", help="The later run, the newest by default.")
    ] = None,
) -> Report:
    """Say which operations, sources and lineage changed from one run to another.

    Runs are two of one store, by number, or all that there is in two stores.
    """
    if str(other).isdecimal():
        with open_existing(store) as opened:
            return Printed(opened.diff(int(str(other)), later))
    with open_existing(store) as before, open_existing(other) as after:
        return Printed(before.diff(before, after))
