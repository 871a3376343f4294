"""The public names: each one is there, whatever was imported before, and nothing comes early."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dslog


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def places_for_type_checkers():
    """What `from a import b as c` says under TYPE_CHECKING: {c: "a.b"}."""
    tree = ast.parse(Path(dslog.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        for alias in node.names
    }


def test_type_checkers_see_the_same_names():
    assert sorted(places_for_type_checkers()) == sorted(dslog.__all__)


@pytest.mark.parametrize("name", dslog.__all__)
def test_name_comes_from_where_type_checkers_look(name):
    module, _, attribute = places_for_type_checkers()[name].rpartition(".")
    assert getattr(dslog, name) is getattr(importlib.import_module(module), attribute)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = dslog.opne
    assert set(dslog.__all__) <= set(dir(dslog))


@pytest.mark.parametrize(
    "code",
    [
        "import dslog.compress.encoder, dslog; assert callable(dslog.compress)",
        "import dslog, dslog.compress.provrc; assert callable(dslog.compress)",
        "from dslog.compress import kernels; import dslog; assert callable(dslog.compress)",
        "import dslog; dslog.compress; import dslog.compress.provrc; dslog.compress([], (), ())",
        "from dslog import *; assert callable(compress)",
    ],
)
def test_the_function_compress_wins_over_the_package(code):
    result = run(code)
    assert result.returncode == 0, result.stderr


def test_importing_dslog_is_light():
    code = "import sys, dslog; print(*sys.modules)"
    assert not {"numba", "numpy", "pyarrow", "pyspark"} & set(run(code).stdout.split())
