"""A notebook's operations: how many, how many of them compressible, the longest chain."""

from __future__ import annotations

import ast
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

from benchmarks.notebooks.reader import Found, Reader
from dslog.errors import DslogError

_MAGIC = ("%", "!", "?")


class NotebookError(DslogError, ValueError):
    """A file that is not a notebook."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a notebook does with arrays. ``skipped`` cells could not be read as Python."""

    notebook: str
    operations: int
    compressible: int
    longest_chain: int
    cells: int
    skipped: int
    found: tuple[Found, ...]

    @property
    def share(self) -> float:
        """Compressible operations among all, 0 when there are none."""
        return self.compressible / self.operations if self.operations else 0.0


def count_notebook(path: Path) -> Counts:
    """Count a notebook (``.ipynb``) or a script (``.py``)."""
    return count_cells(read_cells(path), path.name)


def count_cells(sources: list[str], name: str = "") -> Counts:
    """Count code that comes in cells, read one after the other."""
    reader = Reader()
    skipped = 0
    for source in sources:
        tree = _parse(source)
        if tree is None:
            skipped += 1
        else:
            reader.read(tree.body)
    found = tuple(reader.found)
    return Counts(
        notebook=name,
        operations=len(found),
        compressible=sum(one.compressible for one in found),
        longest_chain=max((one.depth for one in found), default=0),
        cells=len(sources),
        skipped=skipped,
        found=found,
    )


def read_cells(path: Path) -> list[str]:
    """Return the code cells of a notebook in order; a script is one cell."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"can't read {path}: {error}"
        raise NotebookError(msg) from error
    if path.suffix == ".py":
        return [text]
    try:
        notebook = json.loads(text)
        sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        return [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{path} is no Jupyter notebook: give an .ipynb file, or a Python script"
        raise NotebookError(msg) from error


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return "".join(source) if isinstance(source, list) else str(source)


def _parse(source: str) -> ast.Module | None:
    """Parse a cell without its magic lines; None when it still is no Python."""
    if source.lstrip().startswith("%%"):
        first, _, rest = source.lstrip().partition("\n")
        if first.split()[0] not in ("%%time", "%%timeit", "%%capture"):
            return None
        source = rest
    lines = []
    for line in source.splitlines():
        bare = line.strip()
        magic = bare.startswith(_MAGIC) or bare.endswith("?")
        indent = line[: len(line) - len(line.lstrip())]
        lines.append(f"{indent}pass" if magic else line)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # a regex without r"" is fine here
            return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
