"""The questions on the command line say what they say in Python."""

import json

import numpy as np
import pytest

import dslog


@pytest.fixture
def runs(tmp_path):
    """Two runs with another limit, values kept; their directories."""
    paths = []
    for limit in (11, 13):
        paths.append(tmp_path / f"run{limit}")
        with dslog.open(paths[-1]) as store, np.errstate(invalid="ignore"):
            points = store.track(
                np.array([[9.0, 7.0], [3.0, 9.0], [-1.0, 6.0]]), "points", keep_values=True
            )
            score = points.sum(axis=1).named("score")
            score[dslog.plain(score) > limit].named("passed")
            np.sqrt(points).named("roots")
    return paths


QUESTIONS = {
    "why": (["passed", "--cells", "1"], lambda store: store.why("passed", 1)),
    "impact": (["points", "-c", "1, 0"], lambda store: store.impact("points", (1, 0))),
    "dropped": (["points", "2"], lambda store: store.dropped("points", 2)),
    "first-nan": (["roots"], lambda store: store.first_nan("roots")),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_text_and_json_are_those_of_python(run, runs, question):
    arguments, ask = QUESTIONS[question]
    with dslog.open(runs[0], "r") as store:
        expected = ask(store)
    result = run(question, runs[0], *arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out.rstrip() == str(expected)
    assert run(question, runs[0], *arguments, "--json").json == json.loads(
        json.dumps(expected.to_dict())
    )
    assert "NaN" not in run(question, runs[0], *arguments, "--json").out


def test_answers(run, runs):
    assert "getitem" in run("dropped", runs[0], "points", 2).out
    assert "brought in by sqrt() of points" in run("first-nan", runs[0], "roots").out
    assert run("why", runs[0], "passed", "-c", "0", "--json").json["sources"] == ["points"]


def test_diff(run, runs):
    result = run("diff", *runs)
    assert result.code == 0
    assert "2 operations the same, 1 changed, 0 removed, 0 added" in result.out
    assert "shape of passed: 2 -> 1" in result.out
    assert run("diff", *runs, "--json").json["same"] == 2
    assert "are the same: 3 operations" in run("diff", runs[0], runs[0]).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["why", "STORE", "pased"], "Did you mean 'passed'?"),
        (["impact", "STORE", "points", "-c", "9, 9"], "out of range"),
        (["why", "STORE", "points", "-c", "0, price"], "'price' selects no cells"),
        (["dropped", "STORE", "points", "7"], "out of range"),
        (["first-nan", "STORE", "points.getitem"], "no array 'points.getitem'"),
        (["diff", "STORE", "nowhere.dslog"], "there is no store at nowhere.dslog"),
    ],
)
def test_bad_questions(run, runs, arguments, words):
    result = run(*(str(runs[0]) if one == "STORE" else one for one in arguments))
    assert (result.code, result.out) == (1, "")
    assert words in result.err


def test_values_that_are_not_kept(run, store):
    result = run("first-nan", store, "total")
    assert result.code == 1
    assert "no values of 'total' are known: track its inputs with keep_values=True" in result.err
