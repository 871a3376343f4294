"""The commands: dslog bench, dslog bench compare, dslog coverage."""

import json

import pytest
from typer.testing import CliRunner

from dslog.cli.main import app


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bench")
    done = call("bench", "--quick", "--only", "latency", "--only", "capture", "-o", directory)
    assert done.exit_code == 0, done.output
    assert "met" in done.stdout
    return directory


def test_writes_report_and_results(out):
    assert (out / "report.html").stat().st_size > 1000
    assert json.loads((out / "results.json").read_text())["storage"] == []


def test_json(tmp_path):
    done = call("bench", "--quick", "--only", "capture", "-o", tmp_path, "--json")
    found = json.loads(done.stdout)
    assert found["targets"][0]["met"] is True
    assert found["report"] == str(tmp_path / "report.html")


def test_compare(out):
    path = out / "results.json"
    done = call("bench", "compare", path, path)
    assert done.exit_code == 0
    assert "0 of 6 ratios got worse" in done.stdout


def test_compare_fails_on_a_regression(out, tmp_path):
    data = json.loads((out / "results.json").read_text())
    for row in data["latency"]:
        if row["format"] == "DSLog":
            row["seconds"] *= 10
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps(data))
    done = call("bench", "compare", out / "results.json", worse)
    assert done.exit_code == 1
    assert "elementwise" in done.stdout
    assert json.loads(call("bench", "compare", worse, worse, "--json").stdout)["ok"] is True


def test_unknown_experiment(tmp_path):
    done = call("bench", "--quick", "--only", "speed", "-o", tmp_path)
    assert done.exit_code == 1
    assert "queries" in done.stderr


def test_bad_results(tmp_path):
    done = call("bench", "compare", tmp_path / "a.json", tmp_path / "b.json")
    assert done.exit_code == 1
    assert "can't read" in done.stderr


@pytest.fixture
def notebook(tmp_path):
    source = "import numpy as np\nx = np.array([1])\ny = np.sort(x) + 1"
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    return path


def test_coverage(notebook):
    done = call("coverage", notebook, "--list")
    assert done.exit_code == 0
    assert "50%" in done.stdout
    assert "paper, mean of Flight" in done.stdout
    assert "by value" in done.stdout


def test_coverage_json(notebook):
    (one,) = json.loads(call("coverage", notebook, "--json").stdout)["notebooks"]
    assert (one["operations"], one["compressible"], one["longest_chain"]) == (2, 1, 2)


def test_coverage_of_something_else(tmp_path):
    done = call("coverage", tmp_path / "none.ipynb")
    assert done.exit_code == 1
    assert "can't read" in done.stderr
