"""Look after a store."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import counted
from dslog.cli.command import KEEP, LOOK, command
from dslog.cli.options import StorePath, open_existing
from dslog.cli.printer import Report, facts, size_text

if TYPE_CHECKING:
    from dslog.store.maintenance import GcReport, VerifyReport

PLACE = 40
commands = typer.Typer()


@dataclass(frozen=True, slots=True)
class Stats(Report):
    """Counts and sizes."""

    stats: Mapping[str, object]

    def text(self) -> Iterator[RenderableType]:
        """Give one line per fact."""
        count = {key: value for key, value in self.stats.items() if isinstance(value, int)}
        yield facts(
            {
                "store": str(self.stats["path"]),
                "arrays": f"{count['arrays']:,}",
                "operations": f"{count['operations']:,}, of which "
                f"{count['reused_operations']:,} reused earlier lineage",
                "lineages": f"{count['lineages']:,}, of which "
                f"{counted(count['superset_lineages'], 'superset')}; "
                f"{count['stored_lineages']:,} different ones stored",
                "compressed rows": f"{count['rows']:,}",
                "lineage": f"{size_text(count['lineage_bytes'])}, of which "
                f"{size_text(count['file_bytes'])} in {counted(count['files'], 'file')}",
                "on disk": f"{size_text(count['store_bytes'])} with the catalog",
            }
        )

    def data(self) -> Mapping[str, object]:
        """Give the store's own figures."""
        return self.stats


@dataclass(frozen=True, slots=True)
class Verified(Report):
    """What a check of everything found."""

    path: Path
    found: "VerifyReport"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.found.ok

    def text(self) -> Iterator[RenderableType]:
        """Say what was checked, then a line per problem."""
        checked = (
            f"{counted(self.found.lineages, 'lineage')} and {counted(self.found.files, 'file')}"
        )
        if self.ok:
            yield Text(f"{self.path} is sound: checked {checked}")
            return
        count = counted(len(self.found.problems), "problem")
        yield Text(f"{self.path} is damaged: {count} in {checked}", style="bold red")
        for problem in self.found.problems:
            yield Text(f"  {problem}")

    def data(self) -> Mapping[str, object]:
        """Give the problems."""
        return {
            "ok": self.ok,
            "lineages": self.found.lineages,
            "files": self.found.files,
            "problems": list(self.found.problems),
        }


@dataclass(frozen=True, slots=True)
class Collected(Report):
    """What a clean-up removed."""

    removed: "GcReport"

    def text(self) -> Iterator[RenderableType]:
        """Say what went and what stayed."""
        files = counted(self.removed.files, "file")
        yield Text(f"removed {files} that no lineage names, {size_text(self.removed.bytes)}")
        if self.removed.kept:
            young = counted(self.removed.kept, "file")
            yield Text(
                f"kept {young} younger than an hour: a writer may be about to commit them "
                f"(--force removes them too)"
            )

    def data(self) -> Mapping[str, object]:
        """Give the counts."""
        return {
            "files": self.removed.files,
            "bytes": self.removed.bytes,
            "kept": self.removed.kept,
        }


@command(commands, panel=LOOK, examples=("dslog stats lineage.dslog",))
def stats(store: StorePath) -> Report:
    """Count what a store holds, and what it takes on disk."""
    with open_existing(store) as opened:
        return Stats(opened.stats())


@command(
    commands,
    panel=KEEP,
    examples=("dslog verify lineage.dslog", "dslog verify lineage.dslog --json"),
)
def verify(store: StorePath) -> Report:
    """Re-read everything in a store and check it.

    Checks the catalog, the checksum and content of every file, and that lineage names no cell
    outside its arrays. The exit code is 1 when something is wrong.
    """
    with open_existing(store) as opened:
        return Verified(store, opened.verify())


@command(commands, panel=KEEP, examples=("dslog gc lineage.dslog",))
def gc(
    store: StorePath,
    *,
    force: Annotated[
        bool,
        typer.Option("--force", help="Remove young files as well; only when nobody writes."),
    ] = False,
) -> Report:
    """Remove files that a writer left behind when it was interrupted.

    Files younger than an hour stay, because a writer may be about to commit them.
    """
    with open_existing(store, "a") as opened:
        return Collected(opened.gc(force=force))
