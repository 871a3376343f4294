"""Calls of other libraries on tracked arrays: their values, and what is said of their lineage."""

from collections import Counter

import numpy as np
import pytest

from benchmarks.experiments.foreign import (
    Finding,
    ForeignRow,
    Subject,
    by_library,
    examine,
    foreign_targets,
    main,
    sample,
    subjects,
)
from benchmarks.workloads.foreign_functions import arrays_for, compiled, make_arrays
from benchmarks.workloads.influence import (
    changed_cells,
    influence,
    leaves_of,
    outcome_of,
    same_bits,
    sizes_for,
)

SUBJECTS = list(subjects())


def found(run, *names):
    """What is found of a program, without watching libraries."""
    subject = Subject("test", "test", names, lambda values: run(*values.values()))
    arrays = {name: make_arrays()[name] for name in names}
    plain = outcome_of(subject.run, arrays)
    return examine(subject, plain, influence(subject.run, arrays, plain))


def test_there_are_many_calls_and_programs():
    names = [subject.name for subject in SUBJECTS]
    assert len(set(names)) == len(names) > 230
    counts = Counter(subject.library for subject in SUBJECTS)
    assert counts["programs"] >= 30
    assert all(subject.arrays for subject in SUBJECTS)


def test_a_call_takes_the_arrays_that_it_names():
    code = compiled("f(image, [g(v) for v in places], lambda t: t + side)")
    assert arrays_for(code) == ("image", "places", "side")


def test_the_sample_is_even_and_fixed():
    few = sample(SUBJECTS, 60)
    assert few == sample(SUBJECTS, 60)
    assert len({subject.name for subject in few}) == 60
    assert len({subject.library for subject in few}) > 15
    assert sample(SUBJECTS, 10**6) == SUBJECTS


def test_values_of_arrays_are_generic():
    for name, array in make_arrays().items():
        if array.dtype.kind == "f" and name not in ("gaps", "spd"):  # with NaN, symmetric
            assert len(np.unique(array)) == array.size


# what is found


def test_an_exact_answer():
    one = found(lambda x: x[:2] * 2, "a")
    assert (one.verdict, one.pairs, one.beyond, one.decided) == ("exact", 2, 0, 0)


def test_a_leak_that_is_told():
    assert found(lambda x: float(x[0]) + 1, "a").verdict == "incomplete"


def test_a_decision_moves_no_value():
    limit = make_arrays()["a"][0] + 0.1
    one = found(lambda x: 1 if x[0] > limit else 2, "a")
    assert (one.verdict, one.decided) == ("exact", 1)


def test_what_is_lost_in_silence(monkeypatch):
    monkeypatch.setattr("dslog.capture.leaks.LeakLog.note", lambda *_args, **_kwargs: None)
    one = found(lambda x: float(x[0]) + 1, "a")
    assert one.verdict == "SILENT"
    assert "no leak of a is noted" in one.reason


def test_cells_that_are_missing(monkeypatch):
    monkeypatch.setattr("benchmarks.experiments.foreign.answered", _nothing)
    one = found(lambda x: x * 2, "a")
    assert one.verdict == "WRONG"
    assert "10 of 10 cells of a missing" in one.reason


def _nothing(_store, _ends, shape):
    from benchmarks.experiments.foreign import Answers

    return Answers(np.zeros(shape, bool))


def test_other_values():
    calls = iter(range(10**6))
    assert found(lambda x: x + next(calls), "a").verdict == "VALUES"
    assert found(lambda x: x + (0 if next(calls) % 2 else 1j), "side").verdict == "VALUES"


def test_errors_are_compared():
    def fails(x):
        raise ValueError(f"{len(x)} is too long")

    def fails_once(x, seen=[]):  # noqa: B006 (it is to be remembered)
        seen.append(x)
        if len(seen) > 1:
            raise ValueError

    assert found(fails, "a").verdict == "exact"
    assert found(fails_once, "a").verdict == "VALUES"


def test_the_worst_counts():
    one = Finding()
    for verdict in ("superset", "WRONG", "exact"):
        one.add(verdict, verdict)
    assert (one.verdict, one.reason) == ("WRONG", "superset; WRONG; exact")


def test_arguments_that_are_written_are_results():
    def doubles(x):
        x *= 2

    assert (found(doubles, "a").verdict, found(doubles, "a").pairs) == ("exact", 10)


# results taken apart


def test_leaves():
    class Model:
        def __init__(self):
            self.coef_, self._hidden = np.ones(2), 3

    leaves = leaves_of({"a": [1, (2.5, "x")], "m": Model(), "f": len})
    assert list(leaves) == ["result['a'][0]", "result['a'][1][0]", "result['a'][1][1]",
                            "result['m'].coef_"]  # fmt: skip
    masked = leaves_of(np.ma.masked_less(np.arange(3.0), 1))
    assert masked["result.mask"].tolist() == [True, False, False]
    assert leaves_of(np.array([1, None], object)) == {"result[0]": 1, "result[1]": None}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.0, 1.0, True),
        (1.0, np.float64(1), False),
        (np.zeros(2), np.zeros(2), True),
        (np.zeros(2), -np.zeros(2), False),
        (np.zeros(2), np.zeros(2, np.float32), False),
        (float("nan"), float("nan"), True),
        ("a", "b", False),
    ],
)
def test_bits(one, other, same):
    assert same_bits(one, other) == same


def test_rounding_is_no_change():
    old = np.array([1.0, 2, np.nan, np.inf])
    assert not changed_cells(old, old + 1e-16).any()
    assert changed_cells(old, old + 1e-9).tolist() == [True, True, False, False]
    assert changed_cells("a", "b").tolist() is True


def test_what_is_a_name_has_no_tiny_change():
    assert len(sizes_for(np.zeros(3))) == 2
    assert sizes_for(np.array([0, 1])) == sizes_for(np.zeros(2, bool)) != sizes_for(np.arange(99))


# rows


def row(**changes):
    kept = {"library": "scipy", "call": "f(x)", "watched": "exact", "unwatched": "incomplete",
            "pairs": 1, "beyond": 0, "decided": 0, "why": "", "why_unwatched": "float"}  # fmt: skip
    return ForeignRow(**{**kept, **changes})


def test_targets():
    assert all(target.met for target in foreign_targets([row()]))
    bad = row(watched="SILENT", why="lost", unwatched="VALUES", why_unwatched="1 instead of 2")
    missed = [target for target in foreign_targets([row(), bad]) if not target.met]
    assert [target.misses for target in missed] == [
        ("scipy: f(x): lost",),
        ("scipy: f(x): 1 instead of 2",),
    ]
    assert any(not target.met for target in foreign_targets([row(watched="superset")] * 2))


def test_counts():
    counts = by_library([row(), row(watched="superset"), row(library="skimage")])
    assert counts["scipy"] == {"exact": 1, "superset": 1}
    assert counts["all"]["exact"] == 2


def test_some_are_shown(capsys):
    assert main(["horner", "programs: kalman"]) == 0
    text = capsys.readouterr().out
    assert "programs: horner\n    exact (0 beyond, 0 by decision)" in text
    assert "programs" in text
