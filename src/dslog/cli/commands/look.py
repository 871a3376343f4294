"""Look at what a store holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cells.text import counted, shape_text
from dslog.cli.command import LOOK, command
from dslog.cli.options import Limit, StorePath, limited, open_existing
from dslog.cli.printer import (
    JsonPrinter,
    Printer,
    Report,
    Told,
    facts,
    indented,
    listing,
    more_text,
    size_text,
)
from dslog.store.arguments import call_text

if TYPE_CHECKING:
    from dslog.capture.store import Store
    from dslog.store.catalog import ArrayInfo, LineageInfo, Operation

PLACE = 20
_SHOWN = 50
commands = typer.Typer()


@dataclass(frozen=True, slots=True)
class Contents(Report):
    """Arrays, operations and lineages: all, or what text shows of them."""

    path: str
    counts: Mapping[str, int]
    arrays: Sequence["ArrayInfo"]
    operations: Sequence["Operation"]
    lineages: Sequence["LineageInfo"]
    limit: int | None

    def text(self) -> Iterator[RenderableType]:
        """Give a line per array: its shape, and how it was made."""
        yield Text(
            f"{self.path}: {counted(self.counts['arrays'], 'array')}, "
            f"{counted(self.counts['operations'], 'operation')}, "
            f"{counted(self.counts['lineages'], 'lineage')}"
        )
        made = _made_by(self.operations, self.lineages)
        shown = limited(self.limit, self.counts["arrays"], default=_SHOWN)
        rows = [
            (f"  {array.name}", shape_text(array.shape), made.get(array.name, "given"))
            for array in self.arrays[:shown]
        ]
        if rows:
            yield listing(("  array", "shape", "made by"), rows)
        if note := more_text(shown, self.counts["arrays"], "arrays"):
            yield Text(f"  {note}", style="dim")

    def data(self) -> Mapping[str, object]:
        """Give everything."""
        shown = limited(self.limit or 0, len(self.arrays))
        return {
            "path": self.path,
            "arrays": [
                {"name": array.name, "shape": list(array.shape)} for array in self.arrays[:shown]
            ],
            "operations": [_operation_data(operation) for operation in self.operations],
            "lineages": [_lineage_data(lineage) for lineage in self.lineages],
        }


@command(commands, panel=LOOK, examples=("dslog ls lineage.dslog", "dslog ls lineage.dslog --json"))
def ls(store: StorePath, *, limit: Limit = None, printer: Printer) -> Report:
    """List the arrays of a store and how each was made."""
    with open_existing(store) as opened:
        some = opened.listing(limited(limit, 1 << 62, default=_SHOWN))
        operations, lineages = some.operations, some.lineages
        if isinstance(printer, JsonPrinter):
            some = opened.listing(limited(limit or 0, 1 << 62))
            operations, lineages = opened.operations(), opened.lineages()
        return Contents(str(store), some.counts, some.arrays, operations, lineages, limit)


@command(
    commands,
    panel=LOOK,
    examples=("dslog show lineage.dslog total", "dslog show lineage.dslog total image"),
)
def show(
    store: StorePath,
    array: Annotated[str, typer.Argument(metavar="ARRAY", help="An array.")],
    in_: Annotated[
        str | None, typer.Argument(metavar="[INPUT]", help="Show only lineage from this input.")
    ] = None,
) -> Report:
    """Show an array: how it was made, and its lineage as formulas.

    In the formulas b0, b1, ... are the indices of an output cell and a0, a1, ... those of the input
    cells that made it; intervals include both ends.
    """
    with open_existing(store) as opened:
        if in_ is None:
            return _portrait(opened, array)
        pair = _read(opened, array, in_)
    return Told([*_lineage_text(*pair)], {"lineages": _with_formulas(*pair)})


@command(commands, panel=LOOK, examples=("dslog runs lineage.dslog"))
def runs(store: StorePath, *, limit: Limit = None) -> Report:
    """List the runs of a store, the newest first: who ran what when, and how it ended."""
    with open_existing(store) as opened:
        most = 20 if limit is None else limit
        found, total = opened.last_runs(most), opened.stats()["runs"]
    rows = [
        (
            f"  {run.number}",
            run.name,
            f"{run.began:%Y-%m-%d %H:%M:%S}",
            run.state if run.error is None else f"{run.state}: {run.error}",
            f"{count:,}",
            ", ".join(f"{key}={value}" for key, value in run.params.items()),
        )
        for run, count in found.items()
    ]
    head = ("  run", "name", "began, UTC", "state", "operations", "parameters")
    lines: list[Text | RenderableType] = [Text(f"{store}: {counted(cast('int', total), 'run')}")]
    lines += [listing(head, rows, numbers=("operations",))] if rows else []
    data = [{**run.to_dict(), "operations": count} for run, count in found.items()]
    return Told(lines, {"runs": data})


@command(commands, panel=LOOK, examples=("dslog leaks lineage.dslog",))
def leaks(store: StorePath, *, limit: Limit = None) -> Report:
    """List where values left tracked arrays, so that what was made of them has no lineage.

    A decision (an `if` on values) moves none: it is listed, and makes no answer incomplete.
    """
    with open_existing(store) as opened:
        found = opened.leaks()
    shown = limited(limit, len(found))
    losses = sum(leak.loses for leak in found)
    said = f"{store}: values left at {counted(losses, 'place')}, decided at {len(found) - losses}"
    lines: list[RenderableType] = [Text(said if found else f"{store}: no value left tracking")]
    if found:
        head = ("  array", "way", "times", "place", "in", "inside")
        rows = [
            (
                f"  {leak.array}",
                leak.way if leak.loses else f"{leak.way} (decides)",
                f"{leak.count:,}",
                leak.place,
                leak.function,
                leak.inside,
            )
            for leak in found[:shown]
        ]
        lines.append(listing(head, rows))
    if note := more_text(shown, len(found), "places"):
        lines.append(Text(f"  {note}", style="dim"))
    return Told(lines, {"path": str(store), "leaks": [asdict(leak) for leak in found]})


@command(commands, panel=LOOK, examples=("dslog stats lineage.dslog",))
def stats(store: StorePath) -> Report:
    """Count what a store holds, and what it takes on disk."""
    with open_existing(store) as opened:
        found = opened.stats()
    count = {key: value for key, value in found.items() if isinstance(value, int)}
    lines = {
        "store": str(found["path"]),
        "arrays": f"{count['arrays']:,}",
        "operations": f"{count['operations']:,}, of which "
        f"{count['reused_operations']:,} reused earlier lineage",
        "lineages": f"{count['lineages']:,}, of which "
        f"{counted(count['superset_lineages'], 'superset')} and "
        f"{count['predicted_lineages']:,} predicted; "
        f"{count['stored_lineages']:,} different ones stored",
        "compressed rows": f"{count['rows']:,}",
        "lineage": f"{size_text(count['lineage_bytes'])}, of which "
        f"{size_text(count['file_bytes'])} in {counted(count['files'], 'file')}",
        "on disk": f"{size_text(count['store_bytes'])} with the catalog",
    }
    return Told([facts(lines)], found)


def _operation_data(operation: "Operation") -> dict[str, object]:
    return {**asdict(operation), "created": operation.created.isoformat()}


def _lineage_data(info: "LineageInfo") -> dict[str, object]:
    return {
        "out": info.out,
        "in": info.in_,
        "operation": info.op,
        "rows": info.num_rows,
        "bytes": info.nbytes,
        **info.labels.to_dict(),
        "where": info.where,
    }


def _portrait(store: "Store", name: str) -> Report:
    """One array: how it was made, what was made of it, and its lineage in words."""
    info = store.find(name)
    name, shape = info.name, info.shape
    made_by, used_by, from_ = store.around(name)
    inputs = dict.fromkeys(info.in_ for info in from_)
    pairs = [_read(store, name, in_) for in_ in inputs]
    lineages = [info for infos, _ in pairs for info in infos]
    formulas = [formula for _, formulas in pairs for formula in formulas]
    cells = counted(prod(shape), "cell")
    known = f"{shape_text(shape)}, {cells}" if len(shape) > 1 else cells
    lines = [Text(f"{name}: {known}", style="bold")]
    if not made_by and not lineages:
        lines.append(indented("given: nothing in the store made it"))
    lines += [indented(f"made by {_operation_text(operation)}") for operation in made_by]
    lines += [indented(f"used by {_operation_text(operation)}") for operation in used_by]
    data = {
        "name": name,
        "shape": list(shape),
        "made_by": [_operation_data(operation) for operation in made_by],
        "used_by": [_operation_data(operation) for operation in used_by],
        "lineages": _with_formulas(lineages, formulas),
    }
    return Told([*lines, *_lineage_text(lineages, formulas)], data)


def _read(store: "Store", out: str, in_: str) -> tuple[list["LineageInfo"], list[str]]:
    formulas = [lineage.describe() for lineage in store.load(out, in_)]
    end = store.find(in_).name
    return [info for info in store.around(out)[2] if info.in_ == end], formulas


def _made_by(
    operations: Sequence["Operation"], lineages: Sequence["LineageInfo"]
) -> dict[str, str]:
    """Return how each array was made, in words."""
    made: dict[str, list[str]] = {}
    for operation in operations:
        for name in operation.outputs:
            made.setdefault(name, []).append(_call_of(operation))
    for info in lineages:
        if info.op is None:
            label = f" ({info.labels})" if info.labels.notes else ""
            made.setdefault(info.out, []).append(f"lineage from {info.in_}{label}")
    return {name: "; ".join(ways) for name, ways in made.items()}


def _call_of(operation: "Operation") -> str:
    text = call_text(operation.name, operation.args)
    if operation.inputs:
        text += f" of {', '.join(operation.inputs)}"
    loose = "estimate" if operation.args.get("estimate") is True else "superset"
    labels = operation.labels
    return f"{text} ({labels.text(loose)})" if labels.notes else text


def _operation_text(operation: "Operation") -> str:
    text = f"{_call_of(operation)}: operation {operation.id}, "
    text += f"{operation.created:%Y-%m-%d %H:%M} UTC"
    text += f", run {operation.run}" + (f", {operation.place}" if operation.place else "")
    text += f", reused by {operation.reused}" if operation.reused else ""
    if operation.compared is None:
        return text
    return f"{text}, compared on {counted(operation.compared, 'cell')}"


def _lineage_text(lineages: Sequence["LineageInfo"], formulas: Sequence[str]) -> Iterator[Text]:
    for info, formula in zip(lineages, formulas, strict=True):
        head = Text(f"{info.out} <- {info.in_}", style="bold")
        head.append(
            f": {counted(info.num_rows, 'compressed row')}, {size_text(info.nbytes)} in the "
            f"{info.where}, {info.labels.text('not exact')}",
            style="not bold",
        )
        yield head
        yield indented(formula)


def _with_formulas(
    lineages: Sequence["LineageInfo"], formulas: Sequence[str]
) -> list[dict[str, object]]:
    return [
        {**_lineage_data(info), "formula": formula.splitlines()}
        for info, formula in zip(lineages, formulas, strict=True)
    ]
