"""Make a store and fill it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dslog.cells.text import counted
from dslog.cli.command import MAKE, command
from dslog.cli.options import Engine, EngineOption, StorePath, open_existing
from dslog.cli.printer import Report, Told, size_text
from dslog.errors import NotFoundError, did_you_mean

if TYPE_CHECKING:
    from dslog.capture.store import Store

PLACE = 10
commands = typer.Typer()


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
    done = "made an empty store" if created else "there is a store already"
    return Told([f"{done} at {store}"], {"path": str(store), "created": created})


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
        str | None, typer.Option(help="The input's shape; needed if it is new.", metavar="SHAPE")
    ] = None,
    engine: EngineOption = Engine.AUTO,
) -> Report:
    """Compress a relation from Parquet and store it as lineage.

    The relation has an integer column per axis: b0, b1, ... for the output and a0, a1, ... for the
    input; each row says that one input cell contributed to one output cell. It goes to the newest
    run, or to one of its own where that has OUT already.
    """
    shapes = {"--out-shape": (out, out_shape), "--in-shape": (in_, in_shape)}
    with open_existing(store, "a") as opened:
        opened.go_on(out)
        _define(opened, shapes, path)
        stored = opened.lineage(out, in_, path, engine=engine.value)
    read = _bytes_of(path)
    line = (
        f"{out} <- {in_}: {counted(stored.num_rows, 'compressed row')}, "
        f"{size_text(stored.nbytes)} in the {stored.where}; {path} has {size_text(read)}"
    )
    facts = {
        "out": out,
        "in": in_,
        "source": str(path),
        "source_bytes": read,
        "rows": stored.num_rows,
        "bytes": stored.nbytes,
        "where": stored.where,
    }
    return Told([line], facts)


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
