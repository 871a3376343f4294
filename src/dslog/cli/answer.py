"""The cells a query found, in every form the command line prints them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import box_text, counted, shape_text
from dslog.cli.options import limited
from dslog.cli.printer import Report, listing, more_text

if TYPE_CHECKING:
    from dslog.cells.cellset import CellSet

_MASK_COLUMNS = 200


class Format(StrEnum):
    """How to print cells."""

    BOXES = "boxes"
    CELLS = "cells"
    MASK = "mask"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Answer(Report):
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
            "exact": self.cells.exact,
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
        if self.cells.exact:
            return head.append("exact", style="not bold green")
        label = "not exact: some lineage on the way is a superset, or an estimate"
        return head.append(label, style="not bold yellow")

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
