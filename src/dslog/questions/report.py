"""``report``: all that made some cells, in one file for a person or for a machine."""

import csv
import io
import json
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from dslog.cells.text import counted
from dslog.errors import StoreError
from dslog.questions.history import History
from dslog.questions.reach import Outcome, Touched, Why, cells_text, first_cells
from dslog.store.arguments import call_text
from dslog.store.catalog import Operation
from dslog.store.run import RunInfo
from dslog.store.source_identity import Reading

_SHOWN = 10_000


@dataclass(frozen=True)
class CellReport(Outcome):
    """What made cells: values, the operations on the way, source cells, sources, the run.

    ``head`` is the digest of the store's last commit. At most 10,000 cells of a source are listed;
    where there are more, the report says so.
    """

    why: Why
    operations: tuple[Operation, ...]
    readings: tuple[Reading, ...]
    run: RunInfo | None
    head: str

    def cells_of(self, touched: Touched) -> list[tuple[list[int], object]]:
        """The first cells of an array, each with its value where that is known."""
        cells = first_cells(touched.cells, _SHOWN).tolist()
        values = touched.values or ()
        return [(cell, values[k] if k < len(values) else None) for k, cell in enumerate(cells)]

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            **self.why.to_dict(),
            "operations": [
                {
                    "id": one.id,
                    "call": one.name,
                    "args": dict(one.args),
                    "text": one.text,
                    "inputs": one.inputs,
                    "outputs": one.outputs,
                    "place": None if one.place is None else str(one.place),
                    **one.labels.to_dict(),
                }
                for one in self.operations
            ],
            "read": [{"array": one.array, **one.source.about} for one in self.readings],
            "run": None if self.run is None else self.run.to_dict(),
            "head": self.head,
        }

    @property
    def csv(self) -> str:
        """A line for each source cell: array, its indices, value."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(["array", "cell", "value"])
        for touched in self.why.sources:
            for cell, value in self.cells_of(touched):
                writer.writerow([touched.array, " ".join(map(str, cell)), _text(value)])
        return out.getvalue()

    @property
    def html(self) -> str:
        """One page that needs no other file."""
        why, run = self.why, self.run
        labels = "; ".join(why.labels.notes.values()) or "exact"
        value = ", ".join(map(_text, (why.asked.values or ())[:4]))
        steps = [
            [
                ", ".join(one.outputs),
                one.text or call_text(one.name, one.args),
                ", ".join(one.inputs),
                str(one.place or ""),
                "; ".join(one.labels.notes.values()) or "exact",
            ]
            for one in self.operations
        ]
        read = [[one.array, str(one)] for one in self.readings]
        parts = [f"<h1>{escape(str(why.asked))}{' = ' + escape(value) if value else ''}</h1>"]
        parts.append(f"<p>{escape(labels)}; sealed up to commit {escape(self.head[:16])}</p>")
        if run is not None:
            about = ", ".join(f"{k} {v}" for k, v in run.about.items())
            parts.append(
                f"<p>Run {run.number}, {escape(run.name)}, {run.began:%Y-%m-%d %H:%M} UTC, "
                f"{escape(run.state)}; {escape(about)}</p>"
            )
        parts.append("<h2>Steps</h2>" + _table(("made", "by", "of", "at", "label"), steps))
        parts.append("<h2>Sources</h2>" + _table(("array", "what it is"), read))
        for touched in why.sources:
            rows = [[str(cell), _text(found)] for cell, found in self.cells_of(touched)]
            note = f"{cells_text(touched.cells)}: {counted(touched.cells.count, 'cell')}"
            if touched.cells.count > len(rows):
                note += f", the first {len(rows):,} listed"
            title = f"<h2>{escape(touched.array)}</h2><p>{escape(note)}</p>"
            parts.append(title + _table(("cell", "value"), rows))
        title = escape(str(why.asked))
        head = f'<!doctype html><meta charset="utf-8"><title>{title}</title>{_STYLE}'
        return head + "\n".join(parts)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as HTML, JSON or CSV, as the name of the file says."""
        target = Path(path)
        if target.suffix not in (".html", ".json", ".csv"):
            raise StoreError(f"{target} names no kind of report: end it in .html, .json or .csv")
        text = {".html": lambda: self.html, ".csv": lambda: self.csv}.get(
            target.suffix, lambda: json.dumps(self.to_dict(), indent=1, default=str)
        )()
        target.write_text(text, encoding="utf-8")
        return target

    def __str__(self) -> str:
        return str(self.why)


_STYLE = (
    "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{border-bottom:1px solid #ccc;padding:2px 8px;text-align:left}</style>"
)


def _table(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = ["".join(f"<th>{escape(one)}</th>" for one in heads)]
    lines += ["".join(f"<td>{escape(one)}</td>" for one in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def report(why: Why, history: History, head: str) -> CellReport:
    """Gather what is behind an answer."""
    arrays = [why.asked.array, *(one.array for one in why.arrays)]
    made, _ = history.catalog.made_by(arrays)
    operations = tuple(one for one in made if one.inputs)
    readings = tuple(
        found[-1] for one in why.sources if (found := history.catalog.readings(name=one.array))
    )
    number = history.catalog.found([why.asked.array])[why.asked.array].run
    return CellReport(why, operations, readings, history.catalog.run(number), head)
