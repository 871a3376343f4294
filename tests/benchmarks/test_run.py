"""A whole run of `python -m benchmarks`, as small as can be, without looking at times."""

import json
import re

import pytest
from markupsafe import escape
from tiny import TINY

from benchmarks.experiment import Target
from benchmarks.report import page, render
from benchmarks.results import (
    EXPERIMENTS,
    ExperimentError,
    Results,
    ResultsError,
    check_experiments,
    compare,
    run,
)
from benchmarks.units import share

# Calls where values leave unseen, or that fail, and why that is so.
NOT_SEEN = {
    "datetime.timedelta(seconds=a[0]).total_seconds()": "as decimal.Decimal(a[0])",
    "transform.hough_line(blobs)": "unwatched, compiled code refuses what is no ndarray",
    "morphology.remove_small_objects(blobs, max_size=3)": "the same",
    "morphology.remove_small_holes(blobs, max_size=3)": "the same",
    'feature.haar_like_feature(transform.integral_image(image), 0, 0, 4, 4, "type-2-x")': "too",
    "decimal.Decimal(a[0])": "it takes Python's own numbers alone, and asks for nothing",
    "signal.welch(image, nperseg=4, axis=1)": "the same, in the last bit",
    "signal.coherence(signal1, signal2, nperseg=8)": "unwatched, np.asarray(x) is not itself twice",
}


@pytest.fixture(scope="module")
def results(spark):
    assert spark.range(3).count() == 3  # Spark's part of it runs in the session of the tests
    heard = {}
    found = run(TINY, say=lambda name, text: heard.setdefault(name, []).append(text))
    assert list(heard) == list(EXPERIMENTS)
    assert all(len(texts) > 1 and texts[-1] == "" for texts in heard.values())
    return found


def all_ratios(results):
    found = [r for name, one in EXPERIMENTS.items() for r in one.ratios(results.of(name))]
    assert len({ratio.name for ratio in found}) == len(found)
    return found


def test_everything_was_measured(results):
    assert len({row.operation for row in results.of("storage")}) >= 12
    assert {row.kind for row in results.of("latency")} == {"elementwise", "aggregate"}
    assert {row.direction for row in results.of("queries")} == {"forward", "backward"}
    assert all(results.of(name) for name in EXPERIMENTS)
    assert {row.relation for row in results.of("scale")} == {"elementwise", "permutation"}
    assert len(results.of("coverage")) == 136
    assert {row.what for row in results.of("tracked")} == {"chain", "add", "sum"}
    assert {row.how for row in results.of("reuse")} > {"no capture", "probed", "dim_sig"}
    assert results.machine["commit"]
    assert results.machine["numpy"]


def test_no_answer_is_wrong(results):
    assert [row for row in results.of("queries") if row.wrong] == []
    assert [row for row in results.of("tables") if row.wrong] == []
    assert all(row.agreed for row in results.of("asked"))
    assert not any(row.errors for row in results.of("coverage"))


def test_library_calls_lose_nothing_in_silence(results):
    rows = results.of("foreign")
    bad = {row.call for row in rows if {row.watched, row.unwatched} & {"SILENT", "WRONG", "VALUES"}}
    assert bad <= set(NOT_SEEN)
    assert sum(row.watched == "exact" for row in rows) >= len(rows) // 2


def test_structured_operations_are_small(results):
    rows = [row for row in results.of("storage") if row.structured and row.format == "DSLog"]
    assert len(rows) == 6
    assert all(row.nbytes <= 256 for row in rows)


def test_capture_needs_no_memory(results):
    assert all(row.exact and row.peak_bytes < 1 << 20 for row in results.of("capture"))


def test_results_come_back(results, tmp_path):
    results.write(tmp_path / "results.json")
    back = Results.read(tmp_path / "results.json")
    assert back.to_json() == results.to_json()
    assert json.loads((tmp_path / "results.json").read_text())["size"] == "quick"
    assert render(back) == render(results)


def test_results_of_the_first_format_are_read_but_for_their_coverage(results, tmp_path):
    data = {**results.to_json(), "format": 1, "coverage": {"rows": [["sin", "1"]]}}
    del data["compress"]  # there was none
    (tmp_path / "old.json").write_text(json.dumps(data))
    old = Results.read(tmp_path / "old.json")
    assert (old.of("coverage"), old.of("compress")) == ([], [])
    assert old.of("queries") == results.of("queries")
    assert not any(change.regressed for change in compare(old, results))


def test_report_stands_alone(results):
    text = render(results)
    assert text.startswith("<!doctype html>")
    assert text.count("<svg") == 2 + 6  # storage, latency, and each group of workflows
    for outside in ("http://", "https://", "<script", "<link", "@import"):
        assert outside not in text
    assert not re.search(r"url\((?!#)", text)  # within the page, a figure's parts have names
    for target in results.targets():
        assert escape(target.name) in text
    for experiment in EXPERIMENTS.values():
        assert f"<h2>{experiment.title}</h2>" in text


def test_pages_have_the_rows(results):
    assert "| Sort | " in page("evaluation.md", results)
    assert "| `cumsum` | " in page("coverage.md", results)


def test_every_target_is_judged(results):
    names = [target.name for target in results.targets()]
    assert len(names) == len(set(names))
    assert len(names) >= 18
    assert Results("quick", {}).targets() == []
    assert "DSLog" in render(Results("quick", {}))


def test_a_run_does_not_regress_against_itself(results):
    changes = list(compare(results, results))
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


def test_a_target_is_met_without_misses():
    assert Target("a", "-", "b", "c").met
    assert not Target("a", "-", "b", "c", ("d",)).met
    assert list(Target.of_ratios("a", "-", "b", [])) == []


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
