"""Ask where cells come from, where they go, and what a question cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import counted
from dslog.cli.answer import Answer, Format
from dslog.cli.command import ASK, command
from dslog.cli.options import ArrayPath as Path
from dslog.cli.options import Cells, Engine, EngineOption, Limit, StorePath, open_existing
from dslog.cli.printer import Report, listing
from dslog.errors import PathError
from dslog.query.plan import Direction

if TYPE_CHECKING:
    from dslog.capture.store import Store
    from dslog.cells.cellset import CellSet
    from dslog.query.explanation import Explanation, StepReport

PLACE = 30
commands = typer.Typer()

_NUMBERS = ("rows", "scanned", "matched", "boxes", "merged", "cells", "ms")


@dataclass(frozen=True, slots=True)
class Explained(Report):
    """What a query did."""

    explanation: "Explanation"

    def text(self) -> Iterator[RenderableType]:
        """Give the result in a line and a table of steps."""
        whole = self.explanation
        engines = " and ".join(dict.fromkeys(step.engine for step in whole.steps))
        yield Text(
            f"{' -> '.join(whole.path)}: {counted(whole.cells, 'cell')} in "
            f"{counted(whole.boxes, 'box', 'boxes')}, {'exact' if whole.exact else 'not exact'}, "
            f"{whole.seconds * 1000:,.2f} ms" + (f" on {engines}" if engines else "")
        )
        if whole.steps:
            yield listing(("step", "way", *_NUMBERS), map(_row, whole.steps), numbers=_NUMBERS)

    def data(self) -> Mapping[str, object]:
        """Give every figure of every step."""
        return self.explanation.to_dict()


@command(
    commands,
    panel=ASK,
    examples=(
        "dslog query lineage.dslog total image --cells 1",
        "dslog query lineage.dslog image total --cells '0:2, :'",
        "dslog query lineage.dslog final photo --backward --cells '9, 9; 9, 12'",
        "dslog query lineage.dslog final photo --backward --format count",
    ),
)
def query(  # noqa: PLR0913 (one parameter per option)
    store: StorePath,
    path: Path,
    *,
    cells: Cells = "...",
    backward: Annotated[
        bool, typer.Option("--backward", help="What made the cells, over every path.")
    ] = False,
    forward: Annotated[
        bool, typer.Option("--forward", help="What the cells touched, over every path.")
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", "-f", help="How to print the cells.")
    ] = Format.BOXES,
    limit: Limit = None,
    picture: Annotated[
        bool | None,
        typer.Option("--picture/--no-picture", help="Draw the array (by default with boxes)."),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge/--no-merge", help="Merge boxes between steps.")
    ] = True,
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Follow cells along a path of arrays.

    Each pair of neighbours is followed the way its lineage is stored: from an output to its input
    this asks what made the cells, from an input to an output what they touched. With --backward
    or --forward only the two ends are named, and every path between them counts.

    Boxes are printed as --cells takes them: 0:2 means 0 and 1, and : a whole axis.
    """
    if backward and forward:
        raise typer.BadParameter("--backward and --forward are two questions: ask one.")
    way = Direction.BACKWARD if backward else Direction.FORWARD if forward else None
    with open_existing(store) as opened:
        if way is None:
            start = _select(opened, path[0], cells)
            found = opened.prov_query(path, start, merge=merge, engine=engine.value)
        else:
            found = _walk(opened, path, cells, way, engine)
    return Answer(
        path=tuple(path),
        asked=cells.strip(),
        way=way.value if way else None,
        cells=found,
        form=form,
        limit=limit,
        picture=form is Format.BOXES if picture is None else picture,
    )


@command(
    commands,
    panel=ASK,
    examples=(
        "dslog explain lineage.dslog total image --cells 1",
        "dslog explain lineage.dslog final flipped photo --no-merge --json",
    ),
)
def explain(
    store: StorePath,
    path: Path,
    *,
    cells: Cells = "...",
    merge: Annotated[
        bool, typer.Option("--merge/--no-merge", help="Merge boxes between steps.")
    ] = True,
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Run a query and say what each step did.

    Rows are the compressed rows of a step's lineage; the index let through those scanned, and
    those matched met the cells asked for. The join gave boxes, which were merged for the next step.
    """
    with open_existing(store) as opened:
        start = _select(opened, path[0], cells)
        return Explained(opened.explain(path, start, merge=merge, engine=engine.value))


def _walk(store: "Store", path: list[str], cells: str, way: Direction, engine: Engine) -> "CellSet":
    if len(path) != 2:
        raise PathError(
            f"--{way.value} takes two arrays, where to start and where to end, not "
            f"{len(path)}: {' '.join(path)}. It finds the arrays in between by itself."
        )
    start = _select(store, path[0], cells)
    walk = store.backward if way is Direction.BACKWARD else store.forward
    return walk(path[0], start, to=path[1], engine=engine.value)


def _select(store: "Store", name: str, text: str) -> "CellSet":
    from dslog.cells.selection import parse_cells

    # the path of one array checks the name, and gives the shape
    shape = store.prov_query([name], ...).shape
    return parse_cells(text, shape, name)


def _row(step: "StepReport") -> tuple[str, ...]:
    numbers = (step.rows, step.scanned, step.matched, step.boxes_joined, step.boxes_merged)
    return (
        f"{step.source} -> {step.target}",
        step.direction if step.exact else f"{step.direction} (not exact)",
        *(f"{number:,}" for number in (*numbers, step.cells)),
        f"{step.seconds * 1000:,.2f}",
    )
