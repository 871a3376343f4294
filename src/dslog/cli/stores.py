"""The store a command works on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dslog.errors import StoreError

if TYPE_CHECKING:
    from dslog.store.store import Store

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="A store's directory.")]


def open_existing(path: Path, mode: Literal["a", "r"] = "r") -> "Store":
    """Open a store that is there, for reading unless asked otherwise; a typo must not make one."""
    from dslog.opening import open_store

    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"there is no store at {path}. Make one: dslog init {path}")
    return open_store(path, mode)
