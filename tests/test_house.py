"""The tree stays one that a stranger can read: few modules, short ones, each with its own name.

What the checks forbid is allowed where it is listed below, with the reason; an entry that is not
needed any more is an error too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

import dslog

ROOT = Path(dslog.__file__).parent

MOST_MODULES = 260
MOST_LINES = 50_000
LONGEST = 700

# Functions with these decorators are named like what they stand for: a command, a numpy function.
REGISTERING = {"argument_rule", "command", "data_rule", "rule"}

# Why a name may be defined in two packages.
ALLOWED_NAMES = {
    "Plan": "of a query; of an index with arrays in it",
    "Scope": "the calls that tell about a pattern; the calls between enter and exit",
    "Step": "of a query's path; of a numpy program",
    "first_cells": "of values that are equal; of a set of cells",
    "join": "boxes with a table; two relations on the cells between",
    "paint": "boxes onto a mask; a region onto a mask",
    "place": "the axes of a part; a view in its parent",
    "read": "a relation; an axis, as a part of a product",
    "scan": "rows without an index; a running sum along an axis",
}

# Modules that gather public names from others.
GATHERING = {"__init__.py", "explain.py", "tables.py"}
# Places where a registry finds a module, or something outside of dslog.
LONE_PLACES = {
    "capture/foreign/rules/": "a family of rules: watching its library imports it",
    "capture/numpy/rules/": "a family of rules: importing the package registers it",
    "cli/commands/": "a group of commands: the command line finds it in the folder",
    "cli/__main__.py": "what python -m runs",
    "cli/main.py": "what the console script runs",
    "spark/daemon.py": "what Spark runs in place of its own worker daemon",
    "testing/": "for tests, ours and others'",
}

# Why a module that at most one other imports is not a part of that other.
ALLOWED_LONE = {
    "capture/foreign/estimator.py": "what is special of scikit-learn",
    "capture/flusher.py": "how a process ends; knows nothing of what waits",
    "capture/numpy/boundary.py": "what is special of libraries that take real arrays only",
    "capture/numpy/callback.py": "does again what numpy does with functions of a program",
    "capture/foreign/hidden_attribute.py": "stands in classes, and knows of no estimator",
    "capture/numpy/masked.py": "what is special of masked arrays",
    "capture/numpy/matrix.py": "what is special of np.matrix",
    "capture/numpy/records.py": "what is special of arrays of records",
    "capture/numpy/substitute.py": "replaces functions of numpy, which nothing else may do",
    "capture/read_capture.py": "all ways to give lineage by hand, read at one place",
    "capture/spark/column_reads.py": "what expressions read, apart from what nodes do to rows",
    "capture/spark/plan_rule.py": "a rule for each kind of node, apart from how rows are kept",
    "capture/spark/plan_table.py": "makes tables of plans, apart from the frame that a user holds",
    "capture/spark/window_runs.py": "what executors run for windows",
    "capture/spark/tracked_frame.py": "the frame that a user holds; Spark is imported with it",
    "cells/dataframe.py": "imports Spark, which a cell set must not",
    "compress/bit_runs.py": "how bits are compressed, apart from how they are joined",
    "cli/demo/stories.py": "what the demo does, apart from how it is told",
    "cli/picture.py": "draws cells as text",
    "lineage/column_code.py": "bits of a column, apart from the names of columns",
    "lineage/describe.py": "rows as formulas for people, apart from the rows",
    "lineage/join.py": "how a table answers, apart from what it is",
    "questions/diff.py": "a question of its own",
    "questions/dropped.py": "a question of its own",
    "questions/first_nan.py": "a question of its own",
    "reuse/predictor.py": "the way into the package",
    "reuse/solver.py": "expressions for numbers, apart from the calls they are learned from",
    "spark/java.py": "finds a Java; nothing else knows of machines",
    "spark/product_job.py": "a job of its own",
    "spark/relation_frame.py": "frames as relations: what of Spark's types may be one",
    "spark/spread_cells.py": "cells that stay on executors, behind the interface of cells here",
    "sql/pairs.py": "pairs within a window; knows nothing of Spark",
    "sql/datasource.py": "imports Spark's data sources, which a session must not",
    "store/schema.py": "the tables of a catalog, apart from its statements",
}

Tree = Mapping[str, ast.Module]  # the modules by path below src/dslog, parsed


def read_tree(root: Path = ROOT) -> Tree:
    return {
        path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    }


def tree_of(modules: Mapping[str, str]) -> Tree:
    """A small tree for the tests of the checks: code by path, without .py."""
    return {f"{name}.py": ast.parse(code) for name, code in modules.items()}


TREE = read_tree()


def package_of(path: str) -> str:
    return PurePosixPath(path).parent.as_posix()


def is_package(path: str) -> bool:
    return path.endswith("__init__.py")


def is_kernels(path: str) -> bool:
    return path.endswith("kernels.py")


def says_something(module: ast.Module) -> bool:
    """Whether there is more than a docstring."""
    return len(module.body) > (ast.get_docstring(module) is not None)


def doubled_stems(tree: Tree) -> set[str]:
    """Stems that two packages have."""
    places = defaultdict(set)
    for path in tree:
        if not is_package(path) and not is_kernels(path):
            places[PurePosixPath(path).stem].add(package_of(path))
    return {stem for stem, packages in places.items() if len(packages) > 1}


def gerunds(tree: Tree) -> set[str]:
    """Modules and packages that are named after doing something; `testing` is what it is called."""
    words = {part for path in tree for part in PurePosixPath(path).with_suffix("").parts}
    return {word for word in words if word.endswith("ing")} - {"testing"}


def public_definitions(module: ast.Module) -> Iterator[str]:
    """Classes and functions by a name of their own."""
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            by = {ast.unparse(one.func) for one in node.decorator_list if isinstance(one, ast.Call)}
            if not node.name.startswith("_") and not by & REGISTERING:
                yield node.name


def doubled_names(tree: Tree) -> dict[str, set[str]]:
    """Public names that two packages define, with the modules."""
    places = defaultdict(set)
    for path, module in tree.items():
        if not is_kernels(path):
            for name in public_definitions(module):
                places[name].add(path)
    return {name: at for name, at in places.items() if len(set(map(package_of, at))) > 1}


def dotted(path: str) -> str:
    name = ".".join(("dslog", *PurePosixPath(path).with_suffix("").parts))
    return name.removesuffix(".__init__")


def imported(path: str, module: ast.Module, known: Mapping[str, str]) -> set[str]:
    """Paths of the modules that one imports, anywhere in it; ``known`` has them by dotted name."""
    names = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ("dslog", *PurePosixPath(path).parts[: -node.level]) if node.level else ()
            base = ".".join(filter(None, (*above, node.module)))
            inner = {f"{base}.{alias.name}" for alias in node.names}
            names |= {base} if inner - known.keys() else set()
            names |= inner
    return {known[name] for name in names & known.keys()} - {path}


def lone_modules(tree: Tree) -> dict[str, set[str]]:
    """Modules that at most one other imports, with that one."""
    known = {dotted(path): path for path in tree}
    importers: dict[str, set[str]] = {path: set() for path in tree}
    for path, module in tree.items():
        for other in imported(path, module, known):
            importers[other].add(path)
    return {path: by for path, by in importers.items() if len(by) <= 1 and not is_package(path)}


def reason_of_its_kind(path: str, importers: set[str]) -> str | None:
    """Why any module like this one may stand alone."""
    if importers and importers <= GATHERING:
        return "its names are public: another module gathers them"
    if is_kernels(path):
        return "compiled loops, apart from the code that calls them"
    for place, reason in LONE_PLACES.items():
        if path.startswith(place):
            return reason
    return None


def line_counts(root: Path = ROOT) -> dict[str, int]:
    return {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in root.rglob("*.py")
    }


def test_a_module_has_a_name_of_its_own():
    assert doubled_stems(TREE) == set()


def test_a_module_is_a_noun():
    assert gerunds(TREE) == set()


def test_one_word_means_one_thing():
    found = doubled_names(TREE)
    assert {name: at for name, at in found.items() if name not in ALLOWED_NAMES} == {}
    assert ALLOWED_NAMES.keys() - found.keys() == set(), "these need no reason any more"


def test_a_module_that_one_other_imports_has_a_reason():
    found = {
        path: by for path, by in lone_modules(TREE).items() if not reason_of_its_kind(path, by)
    }
    assert {path: by for path, by in found.items() if path not in ALLOWED_LONE} == {}
    assert ALLOWED_LONE.keys() - found.keys() == set(), "these need no reason any more"


def test_there_are_few_modules():
    assert sum(map(says_something, TREE.values())) <= MOST_MODULES


def test_modules_are_short():
    lines = line_counts()
    assert {path: count for path, count in lines.items() if count > LONGEST} == {}
    assert sum(lines.values()) <= MOST_LINES


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        (tree_of({"cells/boxes": "", "store/boxes": ""}), {"boxes"}),
        (tree_of({"cells/boxes": "", "store/box": ""}), set()),
        (tree_of({"cells/kernels": "", "store/kernels": "", "cells/row_kernels": ""}), set()),
        (tree_of({"cells/__init__": "", "store/__init__": ""}), set()),
        (tree_of({"store": "", "store/store": ""}), {"store"}),
    ],
)
def test_the_check_of_stems(tree, found):
    assert doubled_stems(tree) == found


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        (tree_of({"questions/comparing": ""}), {"comparing"}),
        (tree_of({"writing/files": ""}), {"writing"}),
        (tree_of({"testing/__init__": "", "testing/naive": ""}), set()),
        (tree_of({"reuse/ring": ""}), {"ring"}),  # a noun, and too rare for a better check
    ],
)
def test_the_check_of_gerunds(tree, found):
    assert gerunds(tree) == found


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        (tree_of({"a/x": "class Row: ...", "b/y": "def Row(): ..."}), {"Row"}),
        (tree_of({"a/x": "class Row: ...", "a/y": "class Row: ..."}), set()),
        (tree_of({"a/x": "class _Row: ...", "b/y": "class _Row: ..."}), set()),
        (tree_of({"a/x": "def f():\n  def g(): ...", "b/y": "def g(): ..."}), set()),
        (tree_of({"a/kernels": "def join(): ...", "b/y": "def join(): ..."}), set()),
        (tree_of({"a/x": "@command(x)\ndef diff(): ...", "b/diff": "def diff(): ..."}), set()),
        (
            tree_of({"a/x": '@rule("numpy.diff")\ndef diff(): ...', "b/diff": "def diff(): ..."}),
            set(),
        ),
    ],
)
def test_the_check_of_names(tree, found):
    assert doubled_names(tree).keys() == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from dslog.cells import boxes", {"cells/boxes.py"}),
        ("from dslog.cells.boxes import box", {"cells/boxes.py"}),
        ("import dslog.cells.boxes", {"cells/boxes.py"}),
        ("from dslog.cells import box", {"cells/__init__.py"}),
        ("from dslog.cells import box, boxes", {"cells/__init__.py", "cells/boxes.py"}),
        ("from .. import cells", {"cells/__init__.py"}),
        ("from ..cells import boxes", {"cells/boxes.py"}),
        ("from . import files", {"store/files.py"}),
        ("def f():\n  from dslog.cells import boxes", {"cells/boxes.py"}),
        ("from dslog.store import store", set()),
        ("import numpy", set()),
    ],
)
def test_the_check_of_imports(code, found):
    tree = tree_of(
        {"cells/__init__": "", "cells/boxes": "", "store/files": "", "store/store": code}
    )
    known = {dotted(path): path for path in tree}
    assert imported("store/store.py", tree["store/store.py"], known) == found


def test_the_check_of_lone_modules():
    tree = tree_of(
        {
            "a/one": "",
            "a/two": "",
            "a/none": "",
            "b/x": "from dslog.a import one, two",
            "b/y": "import dslog.a.two",
        }
    )
    assert lone_modules(tree) == {
        "a/one.py": {"b/x.py"},
        "a/none.py": set(),
        "b/x.py": set(),
        "b/y.py": set(),
    }


def test_a_docstring_alone_is_no_module():
    assert not says_something(ast.parse('"""What is here."""'))
    assert not says_something(ast.parse(""))
    assert says_something(ast.parse('"""What is here."""\nX = 1'))
