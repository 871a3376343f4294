"""Tables for people: no lines, a heading, columns that fold rather than vanish."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import indent

from rich.table import Table
from rich.text import Text


def facts(pairs: Mapping[str, str]) -> Table:
    """Return a table of names and values without a heading."""
    table = _bare(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(name), Text(value))
    return table


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()
) -> Table:
    """Return a table with a heading; the columns named in ``numbers`` are flush right."""
    table = _bare(show_header=True)
    right = set(numbers)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table


def indented(text: str) -> Text:
    """Return lines moved to the right."""
    return Text(indent(text, "  "))


def _bare(*, show_header: bool) -> Table:
    return Table(
        box=None, show_header=show_header, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0)
    )
