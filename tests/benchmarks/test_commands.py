"""The commands: python -m benchmarks, its compare and its notebooks."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bench")
    done = call("latency", "capture", "--quick", "-o", directory)
    assert done.exit_code == 0, done.output
    assert "met" in done.stdout
    return directory


def test_writes_report_and_results(out):
    assert (out / "report.html").stat().st_size > 1000
    assert json.loads((out / "results.json").read_text())["storage"] == []


def test_json(tmp_path):
    done = call("--quick", "capture", "-o", tmp_path, "--json")
    found = json.loads(done.stdout)
    assert found["targets"][0]["met"] is True
    assert found["report"] == str(tmp_path / "report.html")


def test_compare(out):
    path = out / "results.json"
    done = call("compare", path, path)
    assert done.exit_code == 0
    assert "0 of 6 ratios got worse" in done.stdout


def test_compare_fails_on_a_regression(out, tmp_path):
    data = json.loads((out / "results.json").read_text())
    for row in data["latency"]:
        if row["format"] == "DSLog":
            row["seconds"] *= 10
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps(data))
    done = call("compare", out / "results.json", worse)
    assert done.exit_code == 1
    assert "elementwise" in done.stdout
    assert json.loads(call("compare", worse, worse, "--json").stdout)["ok"] is True


def test_list():
    done = call("--list")
    assert done.exit_code == 0
    assert "queries" in done.stdout
    assert list(json.loads(call("--list", "latency", "storage", "--json").stdout)) == [
        "storage",
        "latency",
    ]


def test_help_names_the_commands():
    done = call("--help")
    assert all(word in done.stdout for word in ("run", "compare", "notebooks"))


def test_unknown_experiment(tmp_path):
    done = call("--quick", "speed", "-o", tmp_path)
    assert done.exit_code == 1
    assert "queries" in done.stderr


def test_bad_results(tmp_path):
    done = call("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert done.exit_code == 1
    assert "can't read" in done.stderr


@pytest.fixture
def notebook(tmp_path):
    source = "import numpy as np\nx = np.array([1])\ny = np.sort(x) + 1"
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    return path


def test_notebooks(notebook):
    done = call("notebooks", notebook, "--list")
    assert done.exit_code == 0
    assert "50%" in done.stdout
    assert "paper, mean of Flight" in done.stdout
    assert "by value" in done.stdout


def test_notebooks_json(notebook):
    (one,) = json.loads(call("notebooks", notebook, "--json").stdout)["notebooks"]
    assert (one["operations"], one["compressible"], one["longest_chain"]) == (2, 1, 2)


def test_notebooks_of_something_else(tmp_path):
    done = call("notebooks", tmp_path / "none.ipynb")
    assert done.exit_code == 1
    assert "can't read" in done.stderr
