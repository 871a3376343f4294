"""The target on relations larger than memory, and the page made of kept results."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.experiment import Setting
from benchmarks.experiments.scale import (
    GAP,
    WIDTH,
    ScaleRow,
    elementwise,
    permutation,
    scale_table,
)
from benchmarks.machine import watch
from benchmarks.report import page, render
from benchmarks.results import Results
from benchmarks.size import QUICK

ROOT = Path(__file__).parents[2]


def row(rows, seconds, workers):
    return ScaleRow(rows, seconds, 2 * seconds, 9 << 30, workers << 20, 7, 100, 10**6)


@pytest.mark.parametrize(
    ("later", "missed"),
    [
        (row(5_000_000, 50.0, 600), []),
        (row(5_000_000, 90.0, 600), ["1.80 times the seconds per pair"]),
        (row(5_000_000, 50.0, 1500), ["3.00 times the workers' memory"]),
    ],
)
def test_linear_time_and_bounded_memory(later, missed):
    results = Results("quick", {}, {"scale": [row(1_000_000, 10.0, 500), later]})
    target, beside = results.targets()
    assert beside.met
    assert (list(target.misses), target.met) == (missed, not missed)
    assert "0.50 of Spark writing Parquet" in target.found
    assert "5,000,000" in render(results)
    assert Results.from_json(results.to_json()).of("scale") == results.of("scale")


def test_watching():
    watched = watch(lambda: sum(range(1000)))
    assert watched.result == 499500
    assert watched.seconds >= 0
    assert watched.jvm >= 0


def test_the_pages_are_made_of_the_kept_results():
    path = ROOT / "scripts" / "write_evaluation_page.py"
    spec = importlib.util.spec_from_file_location("write_evaluation_page", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    kept = Results.read(script.KEPT)
    for name in ("evaluation.md", "coverage.md"):
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(name, kept)
    assert script.PAGES == ("evaluation.md", "coverage.md")


def test_spark_compresses_what_it_makes(spark, tmp_path):
    """With the test's own session: sizes and counts are right; times are nobody's business."""
    size = replace(QUICK, scale=(20_000, 60_000), permutation=(20_000,))
    *found, shuffled = scale_table(Setting(size, tmp_path))
    assert [row.rows for row in found] == [20_000, 60_000]
    assert all(0 < row.num_rows < 100 and row.nbytes < row.plain_bytes for row in found)
    assert (shuffled.relation, shuffled.rows) == ("permutation", 20_000)
    assert spark.range(3).count() == 3  # the session is still there


def test_the_relation_has_gaps(spark):
    frame, shape = elementwise(spark, 5_000)
    pairs = {tuple(row) for row in frame.collect()}
    cells = [divmod(n, WIDTH) for n in range(5_000 * GAP // (GAP - 1)) if n % GAP != 7]
    assert pairs == {(*cell, *cell) for cell in cells}
    assert all(row < shape[0] and column < shape[1] for row, column in cells)


def test_the_permutation_is_one(spark):
    pairs = permutation(spark, 20_000).toPandas()
    assert sorted(pairs.b0) == sorted(pairs.a0) == list(range(20_000))
    assert (pairs.b0.diff() == 1).mean() < 0.1
