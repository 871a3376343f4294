"""A whole run of `dslog bench --quick`, without looking at times."""

import json

import pytest

from benchmarks.evaluation.compare import compare
from benchmarks.evaluation.ratios import all_ratios, share
from benchmarks.evaluation.results import Results, ResultsError
from benchmarks.evaluation.run import (
    EXPERIMENTS,
    ExperimentError,
    Quiet,
    check_experiments,
    run,
    write,
)
from benchmarks.evaluation.sizes import QUICK
from benchmarks.evaluation.targets import judge
from benchmarks.report.page import render


class Counting(Quiet):
    """Remembers what it was told."""

    def __init__(self):
        self.started = []

    def start(self, experiment, ticks):
        self.started.append((experiment, ticks))
        return lambda _text: None


@pytest.fixture(scope="module")
def results(spark):
    assert spark.range(3).count() == 3  # Spark's part of it runs in the session of the tests
    watch = Counting()
    found = run(QUICK, watch=watch)
    assert [name for name, _ in watch.started] == list(EXPERIMENTS)
    assert all(ticks > 1 for _, ticks in watch.started)
    return found


def test_everything_was_measured(results):
    assert len({row.operation for row in results.storage}) >= 12
    assert {row.kind for row in results.latency} == {"elementwise", "aggregate"}
    assert {row.direction for row in results.queries} == {"forward", "backward"}
    assert results.machine["commit"]
    assert results.machine["numpy"]


def test_no_answer_is_wrong(results):
    assert [row for row in results.queries if row.wrong] == []


def test_structured_operations_are_small(results):
    rows = [row for row in results.storage if row.structured and row.format == "DSLog"]
    assert len(rows) == 6
    assert all(row.nbytes <= 256 for row in rows)


def test_capture_needs_no_memory(results):
    assert all(row.exact and row.peak_bytes < 1 << 20 for row in results.capture)


def test_results_come_back(results, tmp_path):
    report, data = write(results, tmp_path / "new" / "place")
    back = Results.read(data)
    assert back.to_json() == results.to_json()
    assert json.loads(data.read_text())["size"] == "quick"
    assert report.read_text() == render(results)


def test_report_stands_alone(results):
    page = render(results)
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") > 10
    for outside in ("http://", "https://", "<script", "<link", "@import", "url("):
        assert outside not in page
    for target in judge(results):
        assert target.name in page


def test_every_target_is_judged(results):
    names = [target.name for target in judge(results)]
    assert len(names) == len(set(names))
    assert len(names) >= 8
    assert judge(Results("quick", {})) == []
    assert "DSLog" in render(Results("quick", {}))


def test_a_run_does_not_regress_against_itself(results):
    changes = compare(results, results)
    assert len(changes) == len(all_ratios(results)) > 30
    assert not any(change.regressed for change in changes)


def doubled(results, **changes):
    data = json.loads(json.dumps(results.to_json()))
    for row in data["storage"]:
        if row["format"] == "DSLog":
            row.update({key: change(row[key]) for key, change in changes.items()})
    return Results.from_json(data)


def test_larger_sizes_are_a_regression(results):
    worse = [c for c in compare(results, doubled(results, nbytes=lambda n: 2 * n)) if c.regressed]
    assert worse
    assert all(change.name.startswith("size") for change in worse)
    better = compare(doubled(results, nbytes=lambda n: 2 * n), results)
    assert not any(change.regressed for change in better)


def test_tolerance_is_for_noise(results):
    slower = doubled(results, seconds=lambda s: 1.3 * s)
    assert not any(change.regressed for change in compare(results, slower))
    assert any(change.regressed for change in compare(results, slower, time_tolerance=0.1))


def test_a_ratio_that_vanished_is_a_regression(results):
    data = json.loads(json.dumps(results.to_json()))
    data["storage"] = [row for row in data["storage"] if row["operation"] != "Sort"]
    worse = [c.name for c in compare(results, Results.from_json(data)) if c.regressed]
    assert worse == ["size Sort", "write Sort"]
    data["storage"] = []  # left out on purpose
    assert not any(c.regressed for c in compare(results, Results.from_json(data)))


def test_unknown_experiment():
    with pytest.raises(ExperimentError, match="storage"):
        check_experiments(["storge"])
    assert check_experiments(["queries", "storage"]) == ("storage", "queries")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ("[]", "no results"), ('{"format": 1, "size": "x"}', "lacks")],
)
def test_bad_results(text, message, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=message):
        Results.read(path)


def test_missing_results(tmp_path):
    with pytest.raises(ResultsError, match="can't read"):
        Results.read(tmp_path / "none.json")


def test_shares_read_well():
    assert [share(x) for x in (0.0, 0.0001, 0.1, 1.0)] == ["1 cell", "0.01%", "10%", "100%"]
