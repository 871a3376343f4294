"""Run the examples of PySpark's own documentation on tracked frames, and count how many agree.

Each docstring is run as it is, and again with a session whose DataFrames are tracked in a store;
an example agrees if it gives the output that it gives untracked. A docstring agrees if all of its
examples do, and if the store that its frames were tracked in can be closed.

    python scripts/pyspark_examples.py dataframe group          # modules of pyspark.sql
    python scripts/pyspark_examples.py functions --part 1/20    # every twentieth docstring
    python scripts/pyspark_examples.py dataframe --match rollup --verbose
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, DataFrameReader

import dslog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = {
    "dataframe": "pyspark.sql.dataframe",
    "group": "pyspark.sql.group",
    "functions": "pyspark.sql.functions.builtin",
}
SOURCES = {"createDataFrame", "range"}
"""Methods of a session that make tables of nothing that is tracked."""
TARGET = 0.95
CLOSING = "store.close()"


@dataclass(frozen=True)
class Result:
    """What an example printed, or the error that it ended in."""

    line: int
    source: str
    got: str
    passed: bool
    failed: bool


@dataclass(frozen=True)
class Difference:
    """An example that is not as it is untracked."""

    docstring: str
    line: int
    source: str
    untracked: str
    tracked: str

    @property
    def cause(self) -> str:
        """The last line of what was printed, without what differs from run to run."""
        last = (self.tracked.strip().splitlines() or ["(nothing)"])[-1]
        return re.sub(r"'[^']*'|\d+", "_", last)[:120]


@dataclass(frozen=True)
class Count:
    """How many examples and docstrings of a module agree."""

    module: str
    docstrings: int
    agreeing: int
    examples: int
    same: int
    frames: int
    differences: Sequence[Difference]


class TrackedSession:
    """A SparkSession, or one of its readers, whose DataFrames are tracked in a store."""

    def __init__(self, inner: Any, store: dslog.Store) -> None:
        self._inner = inner
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return self._wrapped(getattr(self._inner, name), name)

    def _wrapped(self, value: Any, name: str) -> Any:
        if isinstance(value, DataFrameReader):
            return TrackedSession(value, self._store)
        if type(value).__name__ != "TrackedFrame" and isinstance(value, DataFrame):
            source = name in SOURCES or isinstance(self._inner, DataFrameReader)
            return self._store.track(value) if source else self._store.record(value)
        if not callable(value) or isinstance(value, type):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._wrapped(value(*args, **kwargs), name)

        return call


class Recorder(doctest.DocTestRunner):
    """Runs a docstring and keeps what its examples print."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=FLAGS)
        self.results: list[Result] = []

    def _keep(self, example: doctest.Example, got: str, *, passed: bool, failed: bool) -> None:
        self.results.append(Result(example.lineno, example.source, got, passed, failed))

    def report_success(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:  # noqa: ARG002
        """Keep what was as documented."""
        self._keep(example, got, passed=True, failed=False)

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:  # noqa: ARG002
        """Keep what was not."""
        self._keep(example, got, passed=False, failed=False)

    def report_unexpected_exception(
        self,
        out: Any,  # noqa: ARG002
        test: Any,  # noqa: ARG002
        example: doctest.Example,
        exc_info: Any,
    ) -> None:
        """Keep an error that is not documented."""
        text = str(exc_info[1]).strip().splitlines() or [""]
        got = f"{exc_info[0].__name__}: {text[0]}"
        self._keep(example, got, passed=False, failed=True)


def docstrings(module: str, match: str = "") -> Iterator[doctest.DocTest]:
    """Yield the docstrings of a module that have examples."""
    loaded = importlib.import_module(MODULES[module])
    for test in doctest.DocTestFinder().find(loaded, globs=dict(loaded.__dict__)):
        if test.examples and re.search(match, test.name):
            yield test


def run(test: doctest.DocTest, globs: Mapping[str, Any], spark: SparkSession) -> list[Result]:
    """Run a docstring, with other names for its examples, and leave no view behind."""
    recorder = Recorder()
    again = doctest.DocTest(
        test.examples, {**test.globs, **globs}, test.name, None, test.lineno, test.docstring
    )
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorder.run(again, out=lambda _text: None)
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)
        else:
            spark.sql(f"drop table if exists {table.name}")
    return recorder.results


def agree(untracked: Result, tracked: Result) -> bool:
    """Whether an example gave what it gives untracked, or what the documentation says."""
    if untracked.failed or tracked.failed:
        return untracked.failed and tracked.failed
    if untracked.passed and tracked.passed:
        return True
    return doctest.OutputChecker().check_output(untracked.got, tracked.got, FLAGS)


def compare(
    test: doctest.DocTest, spark: SparkSession
) -> tuple[Sequence[Result], int, Sequence[Difference]]:
    """Run a docstring untracked and tracked; return its results, tracked frames and differences."""
    untracked = run(test, {"spark": spark, "sc": spark.sparkContext}, spark)
    differences = []
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(dslog.open(":memory:"))
        session = TrackedSession(spark, store)
        tracked = run(test, {"spark": session, "sc": spark.sparkContext}, spark)
        for before, after in zip(untracked, tracked, strict=True):
            if not agree(before, after):
                differences.append(
                    Difference(test.name, after.line, after.source, before.got, after.got)
                )
        frames = len(store.arrays())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                stack.close()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            text = f"{type(error).__name__}: {error}"
            differences.append(Difference(test.name, 0, CLOSING, "", text))
    return tracked, frames, differences


def count(
    module: str,
    spark: SparkSession,
    tests: Iterable[doctest.DocTest],
    note: Callable[[str], None] = lambda _text: None,
) -> Count:
    """Compare docstrings of a module."""
    examples = agreeing = ran = frames = 0
    differences: list[Difference] = []
    for test in tests:
        note(test.name)
        results, made, found = compare(test, spark)
        ran += 1
        examples += len(results)
        frames += made
        agreeing += not found
        differences += found
    same = examples - sum(one.source != CLOSING for one in differences)
    return Count(module, ran, agreeing, examples, same, frames, differences)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print, and fail if fewer agree than the target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], default=list(MODULES))
    parser.add_argument("--match", default="", help="a regular expression for docstrings' names")
    parser.add_argument("--part", default="1/1", help="k/n: the k-th of n parts")
    parser.add_argument("--json", type=Path, help="where to write what was found")
    parser.add_argument("--verbose", action="store_true", help="show every difference")
    options = parser.parse_args(arguments)
    part, parts = map(int, options.part.split("/"))
    note = (lambda text: print(text, file=sys.stderr, flush=True)) if options.verbose else None
    found = []
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        spark = dslog.spark({"spark.master": "local[2]", "spark.sql.shuffle.partitions": 2})
        for module in options.modules:
            tests = list(docstrings(module, options.match))[part - 1 :: parts]
            found.append(count(module, spark, tests, note or (lambda _text: None)))
        spark.stop()
    report(found, verbose=options.verbose)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1))
    most = sum(one.docstrings for one in found)
    return int(sum(one.agreeing for one in found) < TARGET * most)


def report(found: Sequence[Count], *, verbose: bool) -> None:
    """Print what was counted, and what differs by what it ended in."""
    for one in found:
        print(
            f"{one.module}: {one.agreeing} of {one.docstrings} docstrings, "
            f"{one.same} of {one.examples} examples ({one.same / max(1, one.examples):.1%}), "
            f"{one.frames} arrays"
        )
    differences = [item for one in found for item in one.differences]
    for cause, times in Counter(item.cause for item in differences).most_common():
        print(f"{times:5} {cause}")
    for item in differences if verbose else ():
        print(f"\n{item.docstring}, line {item.line}: {item.source.strip()}")
        print(f"untracked:\n{item.untracked}\ntracked:\n{item.tracked}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
