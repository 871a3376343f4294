"""Options that several commands take."""

from enum import StrEnum
from typing import Annotated

import typer


class Engine(StrEnum):
    """Where a step runs."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


EngineOption = Annotated[
    Engine, typer.Option(help="Where to run: in this process, on Spark, or whichever suits.")
]
Path = Annotated[
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
