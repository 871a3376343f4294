"""The paper's coverage experiment, a few runs of operations of every kind."""

from pathlib import Path

import pytest

from benchmarks.experiments.coverage import EXPERIMENTS, counts, load_operations, measure
from benchmarks.paper import COVERAGE

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"

OPERATIONS = {operation.name: operation for operation in load_operations()}
VALUES = [
    "unwrap", "interp", "unique", "sort", "msort", "partition", "percentile", "quantile", "median",
    "trim_zeros",
]  # fmt: skip


def test_the_list_is_the_paper_s():
    assert len(OPERATIONS) == 136
    assert sum(op.element for op in OPERATIONS.values()) == 75
    assert sum(op.paper_dim for op in OPERATIONS.values()) == COVERAGE["total"][2]
    assert sum(op.paper_gen for op in OPERATIONS.values()) == COVERAGE["total"][3]
    assert {name for name, op in OPERATIONS.items() if not op.paper_dim} == set(VALUES)


@pytest.mark.parametrize(
    "name",
    ["sin", "add", "sum", "cumsum", "diff", "cross", "reshape", "broadcast_to", "hstack", "tile",
     "repeat", "flip", "rot90", "matmul", "squeeze", "ravel"],
)  # fmt: skip
def test_structured_operations_are_reused_at_every_shape(name):
    row = measure(OPERATIONS[name], runs=8, seed=1)
    assert row.errors == []
    assert row.has_dim
    assert row.has_gen
    assert row.compressed
    assert row.base_sig == len(OPERATIONS[name].sets)


@pytest.mark.parametrize("name", ["sort", "unique", "median", "trim_zeros"])
def test_operations_on_values_are_reused_for_the_same_arrays_only(name):
    row = measure(OPERATIONS[name], runs=5, seed=1)
    assert row.errors == []
    assert (row.has_dim, row.has_gen, row.answered) == (False, False, 0)
    assert row.base_sig == len(OPERATIONS[name].sets)
    assert set(row.by) <= {None, "base_sig"}
    assert row.why
    assert counts([row.row()])[1:] == (int(row.compressed), 0, 0, 0)


def written():
    """The rows of the page, by operation."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    return {name.strip("`"): rest for name, *rest in rows}


def test_the_page_has_every_operation_and_says_what_falls_short():
    found = written()
    assert set(found) == set(OPERATIONS)
    for name, (_, _, compressed, dim, gen, base, _, errors, why) in found.items():
        assert (base, errors) == ("yes", "0")
        if name in VALUES:
            assert (dim, gen) == ("no (no)", "no (no)")
            assert why
        else:
            assert (compressed, dim[:3], gen[:3], why) == ("yes", "yes", "yes", "")


@pytest.mark.parametrize("name", ["negative", "cross", "delete", "median"])
def test_the_page_is_what_is_measured(name):
    row = measure(OPERATIONS[name]).row()
    (experiment,) = EXPERIMENTS
    assert written()[name] == [str(text(row)) for text in experiment.columns.values()][1:]
