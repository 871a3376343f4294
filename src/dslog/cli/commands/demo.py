"""Show DSLog at work."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from dslog.cli.command import TRY, command
from dslog.cli.printer import Printer, Report, indented, listing, size_text
from dslog.errors import StoreError

if TYPE_CHECKING:
    from dslog.cli.demo.flights import Flights
    from dslog.cli.demo.lineage_size import Size
    from dslog.cli.demo.photo import Photo

PLACE = 80
commands = typer.Typer()

_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Shown(Report):
    """What the demo found and where it is."""

    photo: "Photo"
    flights: "Flights"
    store: Path
    page: Path
    seconds: float

    def text(self) -> Iterator[RenderableType]:
        """Give the findings, the sizes, and where to go on."""
        from dslog.cli.demo.page import findings

        for finding in findings(self.photo, self.flights, str(self.store)):
            yield from _heading(finding.title)
            for paragraph in (finding.question, finding.answer):
                yield Text("\n".join(_folded(paragraph)))
            yield Text(f"\n  $ {finding.command}", style="cyan")
            yield indented(finding.printed)
        yield from _heading("What the lineage takes")
        yield _size_table([*self.photo.sizes, *self.flights.sizes])
        yield from _heading("Look and ask")
        wrong = ", ".join(map(str, self.photo.wrong))
        yield Text(f"  {self.page.resolve().as_uri()}")
        yield Text(f"  dslog ls {self.store}")
        yield Text(f"  dslog query {self.store} final photo --backward --cells '{wrong}'")
        yield Text(f"  dslog impact {self.store} flights --cells '{self.flights.cause}, arr_delay'")
        yield Text(f"\nDone in {self.seconds:.0f} s.", style="dim")

    def data(self) -> Mapping[str, object]:
        """Give the figures."""
        photo, flights = self.photo, self.flights
        return {
            "store": str(self.store),
            "page": str(self.page),
            "seconds": round(self.seconds, 3),
            "photo": {
                "wrong": list(photo.wrong),
                "made_it": photo.made_it.boxes.tolist(),
                "cause": list(photo.cause),
                "touched": photo.touched.count,
                "touched_exactly_nans": photo.touched_exactly_nans,
                "query_seconds": photo.query_seconds,
            },
            "flights": {
                "group": flights.group,
                "average": flights.average,
                "made_it": flights.made_of,
                "cause": flights.cause,
                "without": flights.without,
                "vanished": flights.vanished,
                "dropped_by": flights.dropped.operation.name if flights.dropped.operation else None,
                "query_seconds": flights.query_seconds,
                "spark_seconds": flights.spark_seconds,
            },
            "sizes": [asdict(size) for size in (*photo.sizes, *flights.sizes)],
        }


@command(commands, panel=TRY, examples=("dslog demo", "dslog demo --to dslog-demo"))
def demo(
    printer: Printer,
    to: Annotated[
        Path | None,
        typer.Option(help="A new or empty directory for the store and the page.", metavar="DIR"),
    ] = None,
) -> Report:
    """Trace one wrong pixel of a photo and one odd average of a table to their causes.

    Then ask where a row went. The photo goes through numpy, the table through Spark in this
    machine. Leaves a store to ask and a page to look at, by default in a temporary directory.
    """
    begun = perf_counter()
    directory = _directory(to)
    printer.say(f"Working in {directory}; about a minute.")
    from dslog.capture.store import open_store
    from dslog.cli.demo.flights import run_flights
    from dslog.cli.demo.page import write_page
    from dslog.cli.demo.photo import run_photo

    store, page = directory / "store", directory / "index.html"
    with tempfile.TemporaryDirectory() as scratch, open_store(store) as opened:
        photo = run_photo(opened, printer.say)
        flights = run_flights(opened, Path(scratch), printer.say)
    write_page(page, photo, flights, store)
    return Shown(photo, flights, store, page, perf_counter() - begun)


def _directory(to: Path | None) -> Path:
    if to is None:
        return Path(tempfile.mkdtemp(prefix="dslog-demo-"))
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StoreError(f"{to} is there already: give a new or empty directory.")
    to.mkdir(parents=True, exist_ok=True)
    return to


def _heading(text: str) -> Iterator[RenderableType]:
    yield Text(f"\n{text}", style="bold")


def _folded(text: str) -> list[str]:
    from shutil import get_terminal_size
    from textwrap import wrap

    width = min(_WIDTH, get_terminal_size().columns)
    return wrap(text, width, initial_indent="  ", subsequent_indent="  ")


def _size_table(sizes: Sequence["Size"]) -> RenderableType:
    from dslog.cli.demo.lineage_size import total

    headings = ("  to", "pairs", "raw", "Parquet", "DSLog", "less")
    rows = [
        (
            f"  {size.step}",
            f"{size.pairs:,}",
            *map(size_text, (size.raw, size.parquet, size.dslog)),
            size.times,
        )
        for size in (*sizes, total(sizes))
    ]
    return listing(headings, rows, numbers=headings[1:])
