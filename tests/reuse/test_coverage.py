"""The paper's coverage experiment, a few runs of operations of every kind."""

import pytest

from dslog.bench.coverage_136 import PAPER, load_operations, measure, totals

OPERATIONS = {operation.name: operation for operation in load_operations()}
VALUES = [
    "unwrap", "interp", "unique", "sort", "msort", "partition", "percentile", "quantile", "median",
    "trim_zeros",
]  # fmt: skip


def test_the_list_is_the_paper_s():
    assert len(OPERATIONS) == 136
    assert sum(op.element for op in OPERATIONS.values()) == 75
    assert sum(op.paper_dim for op in OPERATIONS.values()) == PAPER["dim_sig"]
    assert sum(op.paper_gen for op in OPERATIONS.values()) == PAPER["gen_sig"]
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
    assert row.why
    assert totals([row])["gen_sig"] == 0
