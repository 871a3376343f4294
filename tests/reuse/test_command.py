"""dslog reuse."""

import json

import pytest
from callers import Caller
from typer.testing import CliRunner
from zoo import ZOO

import dslog
from dslog.cli.main import app

FLIP = next(operation for operation in ZOO if operation.name == "flip")


@pytest.fixture
def path(tmp_path):
    with dslog.open(tmp_path / "s.dslog") as store:
        call = Caller(store)
        for n in (4, 6, 9, 50):
            call(FLIP, n, n + 1)
    return tmp_path / "s.dslog"


def run(*arguments):
    return CliRunner().invoke(app, ["reuse", *map(str, arguments)])


def test_all_operations(path):
    done = run(path)
    assert done.exit_code == 0
    assert "out[i, j] <- in[D0-1-i, j]" in done.stdout
    assert "flip(axis=0)" in done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("flip "))
    assert line.split()[:4] == ["flip", "2", "0", "0"]


def test_one_operation(path):
    done = run(path, "flip")
    assert done.exit_code == 0
    assert "gen_sig, permanent; 2-d -> 2-d" in done.stdout


def test_an_unknown_operation(path):
    done = run(path, "flop")
    assert done.exit_code == 1
    assert "Did you mean 'flip'?" in done.stderr


def test_json(path):
    (operation,) = json.loads(run(path, "--json").stdout)["operations"]
    assert (operation["name"], operation["hits"]) == ("flip", 2)
    assert any(s["formulas"] == ["out[i, j] <- in[D0-1-i, j]"] for s in operation["signatures"])


def test_arguments_that_are_left_open(tmp_path):
    with dslog.open(tmp_path / "s.dslog") as store:
        for n, reps in ((4, (2, 3)), (6, (3, 4)), (9, (5, 2)), (5, (4, 4)), (11, (2, 5))):
            store.array(f"a{n}", (n, n + 3))
            store.array(f"b{n}", (n * reps[0], (n + 3) * reps[1]))
            capture = lambda c, n=n: [(c[0] % n, c[1] % (n + 3))]  # noqa: E731
            store.register_operation("tile", [f"a{n}"], [f"b{n}"], capture, op_args={"reps": reps})
            store.array(f"c{n}", (n * (n + 3),))
            capture = lambda c, n=n: [c[0] * (n + 3) + c[1]]  # noqa: E731
            args = {"shape": (n, n + 3)}
            store.register_operation("reshape", [f"c{n}"], [f"a{n}"], capture, op_args=args)
    printed = run(tmp_path / "s.dslog", "tile").stdout + run(tmp_path / "s.dslog", "reshape").stdout
    assert "tile(reps=[..., ...])" in printed
    assert "reshape(shape=out.shape)" in printed


def test_nothing_known(tmp_path):
    with dslog.open(tmp_path / "s.dslog") as store:
        store.array("A", 3)
    assert "nothing is known yet" in run(tmp_path / "s.dslog").stdout


def test_export_and_import(path, tmp_path):
    file = tmp_path / "formulas.json"
    assert "wrote" in run(path, "--export", file).stdout
    with dslog.open(tmp_path / "other.dslog") as store:
        store.array("A", 3)
    assert "took" in run(tmp_path / "other.dslog", "--import", file).stdout
    assert "D0-1-i" in run(tmp_path / "other.dslog").stdout
