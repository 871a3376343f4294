"""A sample of PySpark's own examples, on tracked frames; the script beside runs all of them."""

import doctest
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "pyspark_examples.py"
SAMPLE = {
    "dataframe": r"\.(colRegex|unpivot)$",
    "group": r"\.sum$",
    "functions": r"\.(map_filter|named_struct)$",
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("pyspark_examples", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("module", SAMPLE)
def test_they_give_the_same_output(module, script, spark):
    tests = list(script.docstrings(module, SAMPLE[module]))
    assert len(tests) == 1 + SAMPLE[module].count("|")
    found = script.count(module, spark, tests)
    assert found.differences == []
    assert found.agreeing == found.docstrings == len(tests)
    assert found.same == found.examples >= 2 * len(tests)
    assert found.frames >= len(tests)


def test_what_differs_is_counted(script, spark):
    text = """
    >>> 1 + 1
    2
    >>> type(spark).__name__
    'SparkSession'
    >>> spark.range(2).no_such_name
    """
    test = doctest.DocTestParser().get_doctest(text, {}, "example", None, 0)
    found = script.count("none", spark, [test])
    assert (found.docstrings, found.agreeing, found.examples, found.same) == (1, 0, 3, 2)
    (difference,) = found.differences
    assert difference.source == "type(spark).__name__\n"
    assert difference.cause == "_"
