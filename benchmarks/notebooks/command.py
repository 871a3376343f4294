"""How much of a notebook DSLog could follow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dslog.cli.command import LOOK, command
from dslog.cli.printer import Report

if TYPE_CHECKING:
    from benchmarks.notebooks.counting import Counts

PLACE = 96
commands = typer.Typer()


@dataclass(frozen=True, slots=True)
class Coverage(Report):
    """Counts of some notebooks; ``paper`` are the means of the paper's hand-counted ones."""

    counts: Sequence["Counts"]
    paper: Mapping[str, tuple[float, float, float]]
    listed: bool

    def text(self) -> Iterator[RenderableType]:
        """Give a line per notebook, then the paper's means."""
        table = Table(box=None, pad_edge=False)
        table.add_column("notebook")
        for heading in ("operations", "compressible", "", "longest chain", "cells skipped"):
            table.add_column(heading, justify="right")
        for one in self.counts:
            numbers = (one.operations, one.compressible, f"{one.share:.0%}", one.longest_chain)
            table.add_row(one.notebook, *map(str, numbers), str(one.skipped))
        for name, (operations, compressible, chain) in self.paper.items():
            row = (f"{operations:.1f}", f"{compressible:.1f}", f"{compressible / operations:.0%}")
            table.add_row(f"paper, mean of {name}", *row, f"{chain:.1f}", "-", style="dim")
        yield table
        if self.listed:
            yield from self._listing()

    def _listing(self) -> Iterator[RenderableType]:
        for one in self.counts:
            for found in one.found:
                kind = "compressible" if found.compressible else "by value"
                yield Text(f"{one.notebook}  {found.name:20} {kind:13} step {found.depth}")

    def data(self) -> Mapping[str, object]:
        """Give the counts, with every operation."""
        return {
            "notebooks": [asdict(one) for one in self.counts],
            "paper": {name: list(numbers) for name, numbers in self.paper.items()},
        }


@command(commands, panel=LOOK, examples=("dslog coverage analysis.ipynb",))
def coverage(
    notebooks: Annotated[list[Path], typer.Argument(help="Notebooks, or Python scripts.")],
    *,
    listed: Annotated[bool, typer.Option("--list", help="List every operation.")] = False,
) -> Report:
    """Count a notebook's array operations, how many are compressible, and the longest chain.

    Nothing is run: the counts come from the syntax tree. An operation is compressible when its
    lineage follows rows, columns or whole ranges whatever the values are.
    """
    from benchmarks.evaluation.kaggle import means
    from benchmarks.notebooks.counting import count_notebook

    return Coverage([count_notebook(path) for path in notebooks], means(), listed)
