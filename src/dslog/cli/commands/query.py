"""Ask where cells come from, where they go, and what a question cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import box_text, counted, shape_text
from dslog.cli.command import ASK, command
from dslog.cli.options import (
    ArrayPath,
    Cells,
    Engine,
    EngineOption,
    Limit,
    StorePath,
    limited,
    open_existing,
)
from dslog.cli.printer import Report, Told, listing, more_text
from dslog.errors import PathError

if TYPE_CHECKING:
    from dslog.capture.store import Store
    from dslog.cells.cellset import CellSet
    from dslog.query.explanation import StepReport
    from dslog.query.plan import Direction

PLACE = 30
commands = typer.Typer()

_MASK_COLUMNS = 200
_NUMBERS = ("rows", "scanned", "matched", "boxes", "merged", "cells", "ms")


class Format(StrEnum):
    """How to print cells."""

    BOXES = "boxes"
    CELLS = "cells"
    MASK = "mask"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class FoundCells(Report):
    """Cells of the last array of a path, and the question they answer."""

    path: tuple[str, ...]
    asked: str
    way: str | None
    cells: "CellSet"
    form: Format
    limit: int | None
    picture: bool

    def text(self) -> Iterator[RenderableType]:
        """Give the answer in a line, then the cells, then a picture."""
        if self.form is Format.COUNT:
            yield Text(str(self.cells.count))
            return
        yield self._headline()
        if self.form is Format.BOXES:
            yield from self._boxes()
        elif self.form is Format.CELLS:
            yield from self._list()
        else:
            yield from self._mask()
        if self.picture:
            yield from self._picture()

    def data(self) -> Mapping[str, object]:
        """Give the count, and the cells in the form asked for."""
        found: dict[str, object] = {
            "path": list(self.path),
            "asked": self.asked,
            "way": self.way,
            "shape": list(self.cells.shape),
            "count": self.cells.count,
            **self.cells.labels.to_dict(),
        }
        if self.form is Format.BOXES:
            shown = self._shown(self.cells.num_boxes, every=True)
            found["num_boxes"] = self.cells.num_boxes
            found["boxes"] = self.cells.boxes[:shown].tolist()
        elif self.form is Format.CELLS:
            shown = self._shown(self.cells.count, every=True)
            found["cells"] = self.cells.indices()[:shown].tolist()
        elif self.form is Format.MASK:
            found["mask"] = self.cells.mask().astype(int).tolist()
        return found

    def _headline(self) -> Text:
        asked = f"{self.path[0]}[{'all' if self.asked == '...' else self.asked}]"
        link = f" -> every path {self.way} -> " if self.way else " -> "
        shape = f" ({shape_text(self.cells.shape)})" if self.cells.ndim else ""
        head = Text(link.join([asked, *self.path[1:]]) + shape, style="bold")
        total = counted(prod(self.cells.shape), "cell")
        head.append(f": {self.cells.count:,} of {total}, ", style="not bold")
        notes = self.cells.labels.notes.values()
        return head.append(
            "; ".join(notes) or "exact", style="not bold yellow" if notes else "not bold green"
        )

    def _boxes(self) -> Iterator[RenderableType]:
        cells = self.cells
        shown = self._shown(cells.num_boxes)
        volumes = (cells.boxes[:shown, :, 1] - cells.boxes[:shown, :, 0] + 1).prod(axis=1)
        rows = [
            (f"  {box_text(box, cells.shape)}", f"{volume:,}")
            for box, volume in zip(cells.boxes[:shown].tolist(), volumes, strict=True)
        ]
        if rows:
            yield listing(("  box", "cells"), rows, numbers=("cells",))
        yield from self._rest(shown, cells.num_boxes, "boxes")

    def _list(self) -> Iterator[RenderableType]:
        shown = self._shown(self.cells.count)
        for index in self.cells.indices()[:shown].tolist():
            yield _line(", ".join(map(str, index)) or "()")
        yield from self._rest(shown, self.cells.count, "cells")

    def _mask(self) -> Iterator[RenderableType]:
        mask = self.cells.mask()
        if mask.ndim < 2:
            mask = mask.reshape(1, -1)
        rows = mask.reshape(-1, mask.shape[-1])
        shown = self._shown(len(rows))
        for row in rows[:shown, :_MASK_COLUMNS].tolist():
            yield _line("".join("1" if lit else "0" for lit in row))
        yield from self._rest(shown, len(rows), "lines")
        if rows.shape[1] > _MASK_COLUMNS:
            yield _note(f"the first {_MASK_COLUMNS} of {rows.shape[1]:,} columns shown")

    def _picture(self) -> Iterator[RenderableType]:
        from dslog.cli.picture import draw

        drawn = draw(self.cells)
        if drawn is None:
            return
        yield Text("\n".join(f"  {line}" for line in drawn.lines))
        if drawn.caption:
            yield _note(drawn.caption)

    def _rest(self, shown: int, total: int, what: str) -> Iterator[RenderableType]:
        if note := more_text(shown, total, what):
            yield _note(note)

    def _shown(self, total: int, *, every: bool = False) -> int:
        """Return how many lines to show; JSON shows all unless told."""
        return limited(0 if every and self.limit is None else self.limit, total)


def _line(text: str) -> Text:
    return Text(f"  {text}")


def _note(text: str) -> Text:
    return Text(f"  {text}", style="dim")


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
    path: ArrayPath,
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
    from dslog.query.plan import Direction

    if backward and forward:
        raise typer.BadParameter("--backward and --forward are two questions: ask one.")
    way = Direction.BACKWARD if backward else Direction.FORWARD if forward else None
    with open_existing(store) as opened:
        if way is None:
            start = _select(opened, path[0], cells)
            found = opened.prov_query(path, start, merge=merge, engine=engine.value)
        else:
            found = _walk(opened, path, cells, way, engine)
    return FoundCells(
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
    path: ArrayPath,
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
        whole = opened.explain(path, start, merge=merge, engine=engine.value)
    engines = " and ".join(dict.fromkeys(step.engine for step in whole.steps))
    head = Text(
        f"{' -> '.join(whole.path)}: {counted(whole.cells, 'cell')} in "
        f"{counted(whole.boxes, 'box', 'boxes')}, {whole.labels.text('not exact')}, "
        f"{whole.seconds * 1000:,.2f} ms" + (f" on {engines}" if engines else "")
    )
    steps = listing(("step", "way", *_NUMBERS), map(_row, whole.steps), numbers=_NUMBERS)
    return Told([head, steps] if whole.steps else [head], whole.to_dict())


def _walk(
    store: "Store", path: list[str], cells: str, way: "Direction", engine: Engine
) -> "CellSet":
    if len(path) != 2:
        raise PathError(
            f"--{way.value} takes two arrays, where to start and where to end, not "
            f"{len(path)}: {' '.join(path)}. It finds the arrays in between by itself."
        )
    start = _select(store, path[0], cells)
    walk = store.backward if way == "backward" else store.forward
    return walk(path[0], start, to=path[1], engine=engine.value)


def _select(store: "Store", name: str, text: str) -> "CellSet":
    from dslog.cells.selection import parse_cells

    # the path of one array checks the name, and gives the shape
    shape = store.prov_query([name], ...).shape
    return parse_cells(text, shape, name)


def _row(step: "StepReport") -> tuple[str, ...]:
    numbers = (step.rows, step.scanned, step.matched, step.boxes_joined, step.boxes_merged)
    label = step.labels.text("not exact")
    return (
        f"{step.source} -> {step.target}",
        f"{step.direction} ({label})" if step.labels.notes else step.direction,
        *(f"{number:,}" for number in (*numbers, step.cells)),
        f"{step.seconds * 1000:,.2f}",
    )
