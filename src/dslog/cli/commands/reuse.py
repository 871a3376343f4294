"""Look at what reuse knows, and carry it from store to store."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import counted
from dslog.cli.command import LOOK, command
from dslog.cli.options import StorePath, open_existing
from dslog.cli.printer import Report, Told, indented, listing
from dslog.errors import NotFoundError, did_you_mean

if TYPE_CHECKING:
    from dslog.store.catalog import OperationReuse, SignatureInfo

PLACE = 25
commands = typer.Typer()

_NUMBERS = ("hits", "misses", "refusals", "saved")


@dataclass(frozen=True, slots=True)
class Reused(Report):
    """What was reused of every operation; the signatures too, of one."""

    operations: Sequence["OperationReuse"]
    one: bool

    def text(self) -> Iterator[RenderableType]:
        """Give a line per operation, and its formulas."""
        if not self.operations:
            yield Text("nothing is known yet: operations are learned from when they are registered")
            return
        rows = [
            (op.name, *map(str, (op.hits, op.misses, op.refusals)), _seconds(op.saved), _known(op))
            for op in self.operations
        ]
        yield listing(("operation", *_NUMBERS, "known"), rows, _NUMBERS)
        for op in self.operations:
            for signature in _all(op) if self.one else _formulas(op):
                yield Text("")
                yield Text(f"{op.name}{_call(signature)}", style="bold")
                yield indented(f"{signature.kind}, {signature.state}; {signature.shapes}")
                for line in signature.formulas:
                    yield indented(line)

    def data(self) -> Mapping[str, object]:
        """Give everything."""
        return {"operations": [asdict(operation) for operation in self.operations]}


@command(
    commands,
    panel=LOOK,
    examples=(
        "dslog reuse lineage.dslog",
        "dslog reuse lineage.dslog flip",
        "dslog reuse lineage.dslog --export formulas.json",
    ),
)
def reuse(
    store: StorePath,
    operation: Annotated[
        str | None, typer.Argument(help="An operation, to see all that is known of it.")
    ] = None,
    *,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the formulas to this file.")
    ] = None,
    take: Annotated[
        Path | None, typer.Option("--import", help="Take the formulas of this file.")
    ] = None,
) -> Report:
    """Show what was reused: hits, misses, refusals, time saved, and formulas.

    A hit is a call that was not captured, because earlier calls showed its lineage. A miss is a
    guess that a capture proved wrong; a refusal is a call whose shape was too different.
    """
    if export is not None or take is not None:
        return _carry(store, export, take)
    with open_existing(store) as opened:
        known = opened.reuse_stats()
    if operation is not None:
        names = [one.name for one in known]
        known = [one for one in known if one.name == operation]
        if not known:
            raise NotFoundError(
                f"nothing is known of an operation {operation!r}.{did_you_mean(operation, names)}"
            )
    return Reused(known, one=operation is not None)


def _carry(store: Path, export: Path | None, take: Path | None) -> Report:
    from dslog.reuse.library import export_signatures, import_signatures

    if take is not None:
        with open_existing(store, "a") as opened:
            count, path, what = import_signatures(opened, take), take, "took"
    if export is not None:
        with open_existing(store) as opened:
            count, path, what = export_signatures(opened, export), export, "wrote"
    line = f"{what} {counted(count, 'formula')}: {path}"
    return Told([line], {"count": count, "path": str(path), "what": what})


def _known(operation: "OperationReuse") -> str:
    best = [s.kind for s in operation.signatures if s.state == "permanent" and s.kind != "base_sig"]
    notes = [line for s in operation.signatures for line in s.formulas if s.kind == "first_calls"]
    if best:
        return ", ".join(sorted(set(best), reverse=True))
    return notes[0] if notes else "too little so far"


def _all(operation: "OperationReuse") -> Iterator["SignatureInfo"]:
    """Everything but calls on the same arrays, of which there may be very many."""
    kinds = ("dim_sig", "gen_sig", "tracked")
    yield from (one for one in operation.signatures if one.kind in kinds)


def _formulas(operation: "OperationReuse") -> Iterator["SignatureInfo"]:
    """The general formulas, without those that say the same with an argument left open."""
    told: set[tuple[str, ...]] = set()
    for signature in operation.signatures:
        if signature.kind in ("gen_sig", "tracked") and signature.state == "permanent":
            if signature.formulas and signature.formulas not in told:
                yield signature
            told.add(signature.formulas)


def _call(signature: "SignatureInfo") -> str:
    shown = (f"{name}={_value(value)}" for name, value in signature.args.items())
    return f"({', '.join(shown)})"


def _value(value: object) -> str:
    """Write an argument: one that is left open as dots, the output's shape by its name."""
    match value:
        case {"$open": _}:
            return "..."
        case {"$shape": name}:
            return f"out{str(name)[1:]}.shape" if name != "o0" else "out.shape"
        case list():
            return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"
