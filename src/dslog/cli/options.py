"""What several commands take: a store, cells, limits."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dslog.errors import StoreError

if TYPE_CHECKING:
    from dslog.capture.store import Store


class Engine(StrEnum):
    """Where a step runs."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    Engine, typer.Option(help="Where to run: in this process, on Spark, or whichever suits.")
]
ArrayPath = Annotated[
    list[str],
    typer.Argument(metavar="ARRAY", help="Arrays along the path, the one asked about first."),
]
Cells = Annotated[
    str,
    typer.Option(
        "--cells",
        "-c",
        metavar="CELLS",
        help="Cells of the first array, as in numpy: '0:2, :' or '(0, 1); (2, 3)'.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        min=0,
        metavar="N",
        help="Show at most N lines, 0 for all; 20 by default, all with --json.",
    ),
]


def limited(limit: int | None, total: int, default: int = 20) -> int:
    """Return how many of ``total`` a text shows.

    >>> limited(None, 100), limited(0, 100), limited(50, 30)
    (20, 100, 30)
    """
    chosen = default if limit is None else limit
    return min(chosen, total) if chosen else total


StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="A store's directory.")]


def open_existing(path: Path, mode: Literal["a", "r"] = "r") -> "Store":
    """Open a store that is there, for reading unless asked otherwise; a typo must not make one."""
    from dslog.capture.store import open_store

    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"there is no store at {path}. Make one: dslog init {path}")
    return open_store(path, mode)
