"""Every public numpy function has a kind; the paper's 136 operations are covered, and compact."""

import itertools
import json
import re
import runpy
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy_oracles import capture, influence, make_call, pairs_of
from perturbation import changed, stepped

import dslog
from dslog.capture.numpy.registry import KINDS, REGISTRY, public_functions

ROOT = Path(__file__).parents[3]
OPERATIONS = json.loads((ROOT / "tests" / "data" / "numpy_ops.json").read_text())
TABLE = SimpleNamespace(**runpy.run_path(str(ROOT / "scripts" / "function_table.py")))


def test_every_public_function_has_a_kind():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [row.name for row in TABLE.table() if not row.kinds or not row.note]
    assert missing == []


def test_every_kind_is_known():
    kinds = {kind for row in TABLE.table() for kind in row.kinds}
    assert kinds <= {*KINDS, "followed", "write"}


def test_nothing_is_listed_as_uncaptured_that_numpy_lacks_or_a_rule_knows():
    functions = {name.rpartition(".")[2]: function for name, function in public_functions()}
    assert set(TABLE.UNCAPTURED) <= set(functions)
    assert set(TABLE.WRITES) <= set(functions)
    assert [name for name in TABLE.UNCAPTURED if list(REGISTRY.find(functions[name]))] == []


def test_the_page_in_the_docs_is_up_to_date():
    script = runpy.run_path(str(ROOT / "scripts" / "numpy_table.py"))
    written = script["PAGE"].read_text(encoding="utf-8")
    if f"numpy {script['VERSION']}" not in written:
        pytest.skip("the page is for another version of numpy")
    assert written == script["page"](), "run: python scripts/numpy_table.py"


CALLS = SimpleNamespace(**runpy.run_path(str(ROOT / "scripts" / "numpy_calls.py")))


TOLD = [call for call in CALLS.calls().values() if "empty" not in call]  # what is in those?


@pytest.mark.parametrize("call", TOLD)
def test_calls_as_users_make_them(call):
    """Values are numpy's, and what changes is among what is said to contribute."""
    names = [n for n in CALLS.arrays() if re.search(rf"\b{n}\b", call.replace("np.i0", ""))]
    plain = {name: CALLS.arrays()[name] for name in names}

    def run():
        again = {name: values.copy() for name, values in plain.items()}
        return [np.asarray(each) for each in CALLS.results(call, again)]

    def others(value):
        return [stepped(value, 1e-7)] if value.dtype.kind in "fc" else []

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, shown = run(), changed(run, list(plain.values()), others)
        with dslog.open(":memory:", leaks="ignore") as store:
            given = {name: store.track(values.copy(), name) for name, values in plain.items()}
            made = CALLS.results(call, given)
            assert len(made) == len(expected)
            lost = any(leak.loses for leak in store.leaks())
            for result, value, by_array in zip(made, expected, shown, strict=True):
                assert np.asarray(dslog.plain(result)).tobytes() == value.tobytes()
                said = CALLS.answers(store, result, given)
                for name, pairs in zip(names, by_array, strict=True):
                    for pair in pairs:
                        index = pair[: value.ndim]
                        if store.name_of(given[name]) != store.name_of(result) and not lost:
                            cells = said[name, index].indices().tolist()
                            assert list(pair[value.ndim :]) in cells, (call, name, pair)


SMALL = {"a": 7, "b": 6, "c": 5, "d": 4, "e": 3, "x": 3, "y": 4, "z": 2}
LARGE = {"a": 13, "b": 11, "c": 9, "d": 8, "e": 7, "x": 5, "y": 7, "z": 6}
TOGETHER = ("concatenate", "stack", "block", "vstack", "hstack", "column_stack", "multi_dot")


def shaped(value, sizes):
    """Letters in a shape as numbers."""
    if isinstance(value, list):
        return [shaped(one, sizes) for one in value]
    return sizes.get(value, value) if isinstance(value, str) else value


def calls(operation, sizes):
    """All calls of an operation at some sizes."""
    rng = np.random.default_rng(5)
    func = np
    for name in operation["call"].split(".")[1:]:
        func = getattr(func, name)
    for shapes, options in operation["calls"]:
        for values in itertools.product(*options.values()):
            kwargs = dict(zip(options, values, strict=True))
            for key, value in kwargs.items():
                kwargs[key] = 1 if value == "custom" else value
                if key in ("shape", "new_shape", "axes", "reps"):
                    kwargs[key] = shaped(value, sizes)
            if operation["name"] == "msort":
                kwargs["axis"] = 0
            arrays = [rng.random(shaped(shape, sizes)) for shape in shapes]
            if operation["name"] == "interp":
                arrays[1].sort()
            arguments = [arrays] if operation["call"].rpartition(".")[2] in TOGETHER else arrays
            yield make_call(func, tuple(arguments), kwargs)


def test_there_are_136_operations_and_10_depend_on_values():
    assert len(OPERATIONS) == 136
    assert sum(one["by_value"] for one in OPERATIONS) == 10


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one["name"])
def test_operations_of_the_paper(operation):
    for small, large in zip(calls(operation, SMALL), calls(operation, LARGE), strict=True):
        kind, found = capture(small)
        assert (kind == "value") == operation["by_value"]
        changed = influence(small, 1e-9, "f")
        for mine, theirs in zip(found, changed, strict=True):
            for lineage, pairs in zip(mine, theirs, strict=True):
                assert lineage.exact
                assert pairs <= pairs_of(lineage)
        if not operation["by_value"]:
            assert kind == "rule"
            rows = [[lineage.num_rows for lineage in row] for row in found]
            assert rows == [[one.num_rows for one in row] for row in capture(large)[1]]
            assert all(n <= 6 for row in rows for n in row)
            assert all(lineage.nbytes <= 256 for row in found for lineage in row)
