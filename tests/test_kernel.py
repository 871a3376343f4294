"""Kernels: plain Python while there is little to do, compiled when there is much."""

import subprocess
import sys

import numpy as np
import pytest

from dslog.cells import kernels
from dslog.kernel import Kernel, KernelCost


def total(values):
    found = 0
    for value in values:
        found += value
    return found


def doubled(values):
    return 2 * total(values)


@pytest.fixture
def made(monkeypatch):
    """Two kernels, one of which calls the other, as a module has them."""
    for function in (total, doubled):
        monkeypatch.setitem(globals(), function.__name__, Kernel(function))
    return total, doubled


def is_compiled(function):
    return hasattr(function, "py_func")


def test_small_calls_are_not_compiled_until_there_were_many(made, choose):
    choose(KernelCost, small=10, patience=25)
    for _ in range(2):
        assert doubled(np.arange(10)) == 90
        assert isinstance(doubled, Kernel)
        assert isinstance(total, Kernel)
    assert doubled(np.arange(10)) == 90
    assert is_compiled(doubled)


def test_a_large_call_is_compiled_with_all_that_it_calls(made, choose):
    choose(KernelCost, small=10, patience=25)
    held = doubled  # as a module has it that imports the function
    assert held(np.arange(11)) == 110
    assert is_compiled(doubled)
    assert is_compiled(total)
    assert held(np.arange(3)) == doubled(np.arange(3)) == 6


def test_kernels_are_what_their_modules_hold():
    kernels.merge_sorted(np.zeros((1, 1, 2), np.int64), 0)
    assert is_compiled(kernels.merge_sorted)


SMALL = """
import sys
import numpy as np
import dslog
with dslog.open(":memory:") as store:
    total = store.track(np.arange(12.0).reshape(3, 4), "x").sum(axis=1).named("total")
    assert store.backward("total", 1, to="x").count == 4
print("numba" in sys.modules)
"""


def test_a_small_store_needs_no_numba():
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_plain_and_compiled_kernels_give_the_same():
    code = """
import sys
import numpy as np
from dslog.kernel import KernelCost
from benchmarks.workloads import relations as ops
import dslog
with KernelCost.using(small=1 << 60, patience=1 << 62):
    found = [dslog.compress(*one).encode()[0] for one in (ops.scan(30), ops.dilated((9, 9), 2))]
assert "numba" not in sys.modules
with KernelCost.using(small=-1):
    again = [dslog.compress(*one).encode()[0] for one in (ops.scan(30), ops.dilated((9, 9), 2))]
assert "numba" in sys.modules
assert found == again
"""
    subprocess.run([sys.executable, "-c", code], check=True)
