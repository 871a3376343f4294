"""Make a store and fill it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import counted
from dslog.cli.command import MAKE, command
from dslog.cli.options import Engine, EngineOption, StorePath, open_existing
from dslog.cli.printer import Report, size_text
from dslog.errors import NotFoundError, did_you_mean

if TYPE_CHECKING:
    from dslog.capture.store import Store

PLACE = 10
commands = typer.Typer()


@dataclass(frozen=True, slots=True)
class Made(Report):
    """A store that is there now."""

    path: Path
    created: bool

    def text(self) -> Iterator[RenderableType]:
        """Say what was done."""
        done = "made an empty store" if self.created else "there is a store already"
        yield Text(f"{done} at {self.path}")

    def data(self) -> Mapping[str, object]:
        """Give the path, and whether it is new."""
        return {"path": str(self.path), "created": self.created}


@dataclass(frozen=True, slots=True)
class Ingested(Report):
    """Lineage that was stored."""

    out: str
    in_: str
    source: Path
    source_bytes: int
    num_rows: int
    nbytes: int
    where: str

    def text(self) -> Iterator[RenderableType]:
        """Say what was stored, beside what was read."""
        yield Text(
            f"{self.out} <- {self.in_}: {counted(self.num_rows, 'compressed row')}, "
            f"{size_text(self.nbytes)} in the {self.where}; "
            f"{self.source} has {size_text(self.source_bytes)}"
        )

    def data(self) -> Mapping[str, object]:
        """Give the sizes."""
        return {
            "out": self.out,
            "in": self.in_,
            "source": str(self.source),
            "source_bytes": self.source_bytes,
            "rows": self.num_rows,
            "bytes": self.nbytes,
            "where": self.where,
        }


@command(commands, panel=MAKE, examples=("dslog init lineage.dslog",))
def init(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A new or empty directory.")],
) -> Report:
    """Make an empty store.

    A store is a directory: a catalog, and Parquet files for lineage too large for it. Where there
    is a store already, nothing changes.
    """
    from dslog.capture.store import open_store
    from dslog.store.files import CATALOG

    created = not (store / CATALOG).exists()
    open_store(store).close()
    return Made(store, created)


@command(
    commands,
    panel=MAKE,
    examples=(
        "dslog ingest lineage.dslog total image sum.parquet --out-shape 3 --in-shape 3,2",
        "dslog ingest lineage.dslog total image parts/ --engine spark",
    ),
)
def ingest(
    store: StorePath,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The output array.")],
    in_: Annotated[str, typer.Argument(metavar="IN", help="The input array.")],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A Parquet file, or a directory of them.")
    ],
    out_shape: Annotated[
        str | None,
        typer.Option(help="The output's shape, such as 3,2; needed if it is new.", metavar="SHAPE"),
    ] = None,
    in_shape: Annotated[
        str | None,
        typer.Option(help="The input's shape; needed if it is new.", metavar="SHAPE"),
    ] = None,
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Compress a relation from Parquet and store it as lineage.

    The relation has an integer column per axis: b0, b1, ... for the output and a0, a1, ... for the
    input; each row says that one input cell contributed to one output cell.
    """
    shapes = {"--out-shape": (out, out_shape), "--in-shape": (in_, in_shape)}
    with open_existing(store, "a") as opened:
        _define(opened, shapes, path)
        stored = opened.lineage(out, in_, path, engine=engine.value)
    return Ingested(out, in_, path, _bytes_of(path), stored.num_rows, stored.nbytes, stored.where)


def _define(store: "Store", shapes: dict[str, tuple[str, str | None]], path: Path) -> None:
    """Define the arrays that are new, once all that can be checked without reading rows fits."""
    from dslog.relation.parquet import check_footers

    known = {array.name: array.shape for array in store.arrays()}
    given = {name: read_shape(text) for name, text in shapes.values() if text is not None}
    for option, (name, _) in shapes.items():
        if name not in known and name not in given:
            hint = did_you_mean(name, known) or f" If it is new, give its shape: {option} 3,2"
            raise NotFoundError(f"there is no array {name!r} in the store.{hint}")
    for name in known.keys() & given.keys():
        store.array(name, given[name])  # refuses another shape
    (out, _), (in_, _) = shapes.values()
    every = given | known
    check_footers(path, every[out], every[in_])
    for name, shape in given.items():
        store.array(name, shape)


def read_shape(text: str) -> tuple[int, ...]:
    """Read a shape as people write it.

    >>> read_shape("3,2"), read_shape("(3, 2)"), read_shape("3x2"), read_shape("()")
    ((3, 2), (3, 2), (3, 2), ())
    """
    inner = text.strip().strip("()[]").replace("x", ",")
    parts = [part.strip() for part in inner.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is no shape: write lengths, such as 3,2.")
    return tuple(int(part) for part in parts)


def _bytes_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(part.stat().st_size for part in path.rglob("*") if part.is_file())
