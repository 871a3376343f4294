"""What the demo tells, and the page it leaves behind: one HTML file with everything in it."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from dslog.cli.printer import size_text
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.store.lineage_store import LineageStore

BAR, LIT = "#3b7ddd", "#e5007f"
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "dslog"}  # text as text, the same every time


@dataclass(frozen=True, slots=True)
class Story:
    """One question, its answer, and the command that asks it again, with what that prints."""

    title: str
    path: tuple[str, ...]
    question: str
    answer: str
    command: str
    printed: str
    facts: Mapping[str, object]
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """Lineage three times: as raw int64, as Parquet (zstd), and as DSLog stores it."""

    step: str
    pairs: int
    raw: int
    parquet: int
    dslog: int

    @property
    def times(self) -> str:
        """How many times less than Parquet DSLog takes."""
        ratio = self.parquet / self.dslog
        return f"{ratio:,.0f}x" if ratio >= 9.5 else f"{ratio:.1f}x"


def total(sizes: Sequence[Size], step: str = "together") -> Size:
    """Return the sum of some sizes."""
    parts = ("pairs", "raw", "parquet", "dslog")
    return Size(step, *(sum(getattr(size, part) for size in sizes) for part in parts))


def measure_steps(store: LineageStore, named: Sequence[str]) -> list[Size]:
    """Expand lineages and write them as Parquet, to have what to compare with.

    The calls that led to each of the ``named`` arrays count together.
    """
    sizes, calls = [], []
    for operation in store.operations():
        for info in store.lineages():
            if info.op == operation.id:
                calls += [_measure(one, info.nbytes) for one in store.load(info.out, info.in_)]
        for step in set(operation.outputs).intersection(named):
            sizes.append(total(calls, step))
            calls = []
    return sizes


def _measure(lineage: Lineage, nbytes: int) -> Size:
    relation = lineage.to_relation()
    names = column_names(len(lineage.out_shape), len(lineage.in_shape))
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(names, relation.T, strict=True))), sink, compression="zstd")
    return Size("", len(relation), relation.nbytes, sink.tell(), nbytes)


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG that stands in a page; what is black takes the page's colour."""
    sink = io.StringIO()
    with mpl.rc_context(_SVG):  # type: ignore[arg-type] # wants names as literals
        figure.savefig(sink, format="svg", transparent=True, metadata={"Date": None})
    text = sink.getvalue()
    inside = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", inside).replace("#000000", "currentColor")


def write_page(path: Path, stories: Sequence[Story], sizes: Sequence[Size], store: Path) -> None:
    """Write the page."""
    shown = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    shown.filters |= {"size": size_text, "svg": to_svg}
    template = shown.from_string(
        files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    )
    text = template.render(stories=stories, sizes=[*sizes, total(sizes)], store=str(store))
    path.write_text(text, encoding="utf-8")
