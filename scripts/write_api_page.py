"""Write docs/api.md from the signatures and docstrings of the public names.

Run it after a change to them; tests/test_api_page.py fails until then.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import dslog
from dslog.capture.store import Store
from dslog.cells.cellset import Leak
from dslog.query.explanation import Explanation
from dslog.questions.diff import Changed, Diff
from dslog.questions.dropped import Dropped
from dslog.questions.first_nan import FirstNan, NanOrigin
from dslog.questions.reach import Impact, Touched, Why
from dslog.store.catalog import ArrayInfo, LineageInfo

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
FUNCTIONS = ("open", "compress", "spark", "operation", "watch", "foreign", "plain")
CLASSES: tuple[tuple[str, str, type], ...] = (
    ("The store", "store", Store),
    ("Cells", "cells", dslog.CellSet),
    ("Lineage", "lineage", dslog.Lineage),
    ("Tracked arrays", "array", dslog.TrackedArray),
    ("Explanations", "found", dslog.explain.Attribution),
)
RECORDS = (
    *(dslog.Operation, ArrayInfo, LineageInfo, Leak, Explanation),
    *(Touched, Why, Impact, Dropped, FirstNan, NanOrigin, Diff, Changed),
)
ONLY = {dslog.TrackedArray: ("name", "named")}  # the rest is numpy's
HIDDEN = {"session", "encode", "of_table", "terms", "backward_boxes", "forward_boxes"}

HEAD = """# Python API

<!-- written by scripts/write_api_page.py: change the docstrings, then run it -->

Everything is under `import dslog`. What an error means is on [Errors](errors.md).

## Cells in a query

Wherever a `query` is asked for, for an array with n axes:

| query | cells |
|---|---|
| `None`, `...` | all |
| `5` | one cell, if n is 1 |
| `(0, 1)` | one cell: a tuple of integers is always one cell |
| `[(0, 1), (2, 3)]` | these cells; also as an integer array of shape (k, n) |
| `np.s_[0:2, :]` | what numpy's indexing takes; axes left out count whole |
| a boolean array of the array's shape | the cells where it is true |
| a `CellSet` | its cells |
| a list of such selections | their union |

A negative integer is an error; in a slice it counts from the end, as in numpy.

`engine` is `"auto"`, which picks by size, `"local"` for this process, or `"spark"`.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, "## Functions\n"]
    parts += [_function(f"dslog.{name}", getattr(dslog, name)) for name in FUNCTIONS]
    parts += [
        _function(f"dslog.explain.{f.__name__}", f)
        for f in (dslog.explain.lime, dslog.explain.drise)
    ]
    parts += [
        _function(f"dslog.tables.{f.__name__}", f)
        for f in (dslog.tables.group_by, dslog.tables.inner_join)
    ]
    for title, variable, kind in CLASSES:
        parts.append(f"## {title}\n\n{_prose(kind)}\n")
        parts += [_member(variable, kind, name) for name in _members(kind)]
    parts.append("## Records\n")
    parts += [f"### {kind.__name__}\n\n{_prose(kind)}\n\n{_fields(kind)}\n" for kind in RECORDS]
    return "\n".join(parts)


def _members(kind: type) -> Iterator[str]:
    """Public names in the order in which classes define them, the base class first."""
    seen: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("dslog."):
            seen |= dict.fromkeys(vars(base))
    for name in ONLY.get(kind, tuple(seen)):
        if not name.startswith("_") and name not in HIDDEN and _kind_of(kind, name):
            yield name


def _kind_of(kind: type, name: str) -> str:
    value = inspect.getattr_static(kind, name)
    if isinstance(value, property | cached_property):
        return "property"
    return "method" if inspect.isfunction(value) or isinstance(value, classmethod) else ""


def _member(variable: str, kind: type, name: str) -> str:
    value = inspect.getattr_static(kind, name)
    if _kind_of(kind, name) == "property":
        return f"### `{variable}.{name}`\n\n{_prose(value)}\n"
    if isinstance(value, classmethod):
        return _function(f"{kind.__name__}.{name}", value.__func__)
    return _function(f"{variable}.{name}", value)


def _function(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    plain = str(inspect.Signature(parameters)).replace("'", '"')
    return f"### `{name}{plain}`\n\n{_prose(function)}\n"


def _fields(kind: type) -> str:
    return "Fields: " + ", ".join(f"`{one.name}`" for one in dataclasses.fields(kind)) + "."


def _prose(documented: Any) -> str:
    """Return a docstring as Markdown; examples and literal blocks become code."""
    text = inspect.getdoc(documented) or ""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text).replace("``", "`")
    paragraphs = []
    for paragraph in text.split("\n\n"):
        code = paragraph.startswith((">>>", "    "))
        paragraphs.append(f"```pycon\n{inspect.cleandoc(paragraph)}\n```" if code else paragraph)
    return re.sub(r"::(?=\n\n```)", ":", "\n\n".join(paragraphs))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
