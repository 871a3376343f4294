"""Look after a store."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from dslog.cells.text import counted
from dslog.cli.command import KEEP, command
from dslog.cli.options import StorePath, open_existing
from dslog.cli.printer import Report, Told, size_text

PLACE = 40
commands = typer.Typer()


@command(
    commands,
    panel=KEEP,
    examples=("dslog verify lineage.dslog", "dslog verify lineage.dslog --json"),
)
def verify(
    store: StorePath,
    *,
    public_key: Annotated[
        Path | None, typer.Option(help="Check the seal with this key, a PEM file.")
    ] = None,
) -> Report:
    """Re-read everything in a store and check it.

    Checks the catalog, the checksum and content of every file, and that lineage names no cell
    outside its arrays. The exit code is 1 when something is wrong.
    """
    with open_existing(store) as opened:
        found = opened.verify(public_key)
    checked = f"{counted(found.lineages, 'lineage')} and {counted(found.files, 'file')}"
    lines = [Text(f"{store} is sound: checked {checked}")]
    if not found.ok:
        count = counted(len(found.problems), "problem")
        lines = [Text(f"{store} is damaged: {count} in {checked}", style="bold red")]
        lines += [Text(f"  {problem}") for problem in found.problems]
    facts = {"ok": found.ok, **asdict(found), "problems": list(found.problems)}
    return Told(lines, facts, ok=found.ok)


@command(commands, panel=KEEP, examples=("dslog seal lineage.dslog --key private.pem",))
def seal(
    store: StorePath,
    *,
    key: Annotated[Path, typer.Option(help="A private key, Ed25519 in a PEM file.")],
) -> Report:
    """Sign all that was committed, so that whoever has the public key can check a copy.

    'openssl genpkey -algorithm ed25519 -out private.pem' makes a key, and 'openssl pkey -in
    private.pem -pubout -out public.pem' its public half.
    """
    with open_existing(store, "a") as opened:
        made = opened.seal(key)
    return Told([f"sealed {store}: commit {made.number}, {made.digest[:16]}"], asdict(made))


@command(commands, panel=KEEP, examples=("dslog gc lineage.dslog",))
def gc(
    store: StorePath,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Remove young files as well; only when nobody writes.")
    ] = False,
) -> Report:
    """Remove files that a writer left behind when it was interrupted.

    Files younger than an hour stay, because a writer may be about to commit them.
    """
    with open_existing(store, "a") as opened:
        removed = opened.gc(force=force)
    files = counted(removed.files, "file")
    lines = [f"removed {files} that no lineage names, {size_text(removed.bytes)}"]
    if removed.kept:
        lines.append(
            f"kept {counted(removed.kept, 'file')} younger than an hour: a writer may be about to "
            f"commit them (--force removes them too)"
        )
    return Told(lines, asdict(removed))


@command(commands, panel=KEEP, examples=("dslog repair lineage.dslog",))
def repair(store: StorePath) -> Report:
    """Keep what is sound of a damaged store, and list what is lost.

    Nobody may have the store open. The catalog as it was stays beside the new one. Answers that may
    miss cells because of what is lost say so. The exit code is 1 when something is lost.
    """
    from dslog.store.repair import repair as repair_store

    open_existing(store).close()
    found = repair_store(store)
    lines = [Text(f"{store} is sound: nothing was changed")]
    if found.lost:
        lines = [Text(f"{store} lost something; its old catalog is {found.kept}", style="bold red")]
        lines += [Text(f"  {what}") for what in found.lost]
    return Told(lines, asdict(found), ok=not found.lost)
