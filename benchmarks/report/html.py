"""Pieces of HTML: tables, legends, sections. Everything from outside is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell with a class for its style."""

    text: str
    style: str = ""
    html: str = ""  # in place of the text, already HTML


Row = Sequence[Cell | str]


def table(headings: Sequence[str], rows: Iterable[Row], style: str = "") -> str:
    """Return a table that scrolls sideways when it is wide."""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    style = f' class="{cell.style}"' if cell.style else ""
    return f"<td{style}>{cell.html or escape(cell.text)}</td>"


def section(title: str, *parts: str) -> str:
    """Return a heading and what belongs to it."""
    return f"<h2>{escape(title)}</h2>{''.join(parts)}"


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph."""
    return f'<p class="{style}">{escape(text)}</p>'


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return names (name, style) beside a piece of their line."""
    parts = (
        f'<span><svg viewBox="0 0 30 10"><g class="series {style}"><path d="M0,5 L30,5"/>'
        f'<circle cx="15" cy="5" r="3"/></g></svg>{escape(name)}</span>'
        for name, style in entries
    )
    return f'<div class="legend">{"".join(parts)}</div>'


def folded(summary: str, *parts: str) -> str:
    """Return parts that show when asked for."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"
