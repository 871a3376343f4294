"""The packages import one way, and leave Spark alone until it is needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dslog

ROOT = Path(dslog.__file__).parent
ORDER = (
    "types",
    "errors",
    "config",
    "cost",
    "kernel",
    "cells",
    "relation",
    "lineage",
    "compress",
    "algebra",
    "query",
    "spark",
    "store",
    "questions",
    "sql",
    "reuse",
    "capture",
    "explain",
    "tables",
    "pandas",
    "cli",
)
ALLOWED = {layer: set(ORDER[: place + 1]) for place, layer in enumerate(ORDER)}
ALLOWED["testing"] = {*ORDER[: ORDER.index("compress") + 1], "testing"}
SPARK_AT_TOP = ("cells/dataframe.py", "spark/", "sql/datasource.py", "capture/spark/")

MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def layer_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def imports(tree: ast.AST, module: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything imported; `from a import b` gives a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = ("dslog", *module.parts[: len(module.parts) - node.level])
                base = ".".join(filter(None, [*package, base]))
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def at_top(tree: ast.Module) -> ast.Module:
    """Drop what does not run on import: functions, and blocks for the type checker."""

    class Prune(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            return None

        visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

        def visit_If(self, node):
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return Prune().visit(tree)


def parsed(module: Path) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def wrong_imports(tree: ast.Module, module: Path) -> list[str]:
    layer = layer_of(module)
    wrong = []
    for line, name in imports(tree, module):
        parts = name.split(".")
        if parts[0] != "dslog":
            continue
        target = parts[1] if len(parts) > 1 else "the package itself"
        if target not in ALLOWED[layer]:
            wrong.append(f"{module}:{line}: {layer} must not import {name}")
    return wrong


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_only_from_earlier_packages(module):
    if module == Path("__init__.py"):
        return  # it gathers the public names from everywhere
    assert layer_of(module) in ALLOWED, f"{module} is in no known package: add it to ORDER"
    assert wrong_imports(parsed(module), module) == []


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_pyspark_is_not_imported_at_the_top(module):
    if module.as_posix().startswith(SPARK_AT_TOP):
        return
    found = [name for _, name in imports(at_top(parsed(module)), module)]
    assert [name for name in found if name.split(".")[0] == "pyspark"] == []


def test_importing_dslog_does_not_import_pyspark():
    code = "import sys, dslog; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("code", "module", "count"),
    [
        ("from dslog.cells import boxes", "store/store.py", 0),
        ("from dslog.store import store", "cells/boxes.py", 1),
        ("def f():\n    import dslog.cli.main", "query/plan.py", 1),
        ("from dslog import store", "relation/relation.py", 1),
        ("from ..store import store", "cells/boxes.py", 1),
        ("from .. import errors", "cells/boxes.py", 0),
        ("from . import flat", "cells/boxes.py", 0),
        ("import dslog", "cells/boxes.py", 1),
        ("import numpy", "cells/boxes.py", 0),
    ],
)
def test_the_check_itself(code, module, count):
    assert len(wrong_imports(ast.parse(code), Path(module))) == count


def test_only_code_that_runs_on_import_is_at_the_top():
    code = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import pyspark
def f():
    import pyspark
try:
    import pyspark.sql
except ImportError:
    pass
"""
    found = [name for _, name in imports(at_top(ast.parse(code)), Path("cells/x.py"))]
    assert found == ["typing.TYPE_CHECKING", "pyspark.sql"]
