"""Kernels do the same without the compiler: there one can step through them, or see what is run."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import dslog
from benchmarks.workloads import relations as ops
from dslog.cells.cellset import CellSet

HERE = Path(__file__).parent
KERNEL_TESTS = (
    "cells",
    "relation",
    "lineage",
    "compress/test_exact.py",
    "compress/test_paper.py",
    "spark/test_blocks.py",
)
PLACES = (str(HERE.parent), str(Path(dslog.__file__).parents[1]))
METHODS = ("provrc", "folds", "factors", "auto")


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(PLACES)},
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tests_of_kernels_pass_uncompiled():
    found = run(
        "-m",
        "pytest",
        "-qx",
        *("-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-m", "not compiled and not spark", "--hypothesis-profile=few"),
        *(HERE / path for path in KERNEL_TESTS),
    )
    assert found.returncode == 0, found.stdout


def test_compiled_and_uncompiled_give_the_same():
    found = run(__file__)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == answers()


def cases():
    """Relations of many kinds: boxes, progressions, products, folds, scattered cells."""
    random = np.random.default_rng(0)
    order = random.permutation(600)
    return {
        "convolution": ops.convolution((9, 8), padding=1),
        "strided": ops.convolution((13, 12), stride=2),
        "dilated": ops.dilated((9, 9), 2),
        "resize": ops.resize((12, 9), (7, 5)),
        "scan": ops.scan(30),
        "kron": ops.kron(3, 2, 4, 3)[1],
        "matmul": ops.matmul(4, 5, 3)[0],
        "sum": ops.reduction((6, 7), 0),
        "turn": ops.moved((6, 7), np.rot90),
        "sort": (np.stack([np.arange(600), order], axis=1), (600,), (600,)),
        "random": (np.argwhere(random.random((5, 4, 3, 4)) < 0.3), (5, 4), (3, 4)),
    }


def answers():
    """What the kernels say of the cases, as text that can be compared."""
    found = {}
    for name, (relation, out_shape, in_shape) in cases().items():
        for method in METHODS:
            lineage = dslog.compress(relation, out_shape, in_shape, method=method)
            header, blobs = lineage.encode()
            found[f"{name} {method}"] = [
                header,
                [[digest(column.to_pylist()) for column in blob.columns] for blob in blobs],
                digest(lineage.to_relation().tolist()),
                lineage.backward(some_cells(out_shape)).boxes.tolist(),
                lineage.forward(some_cells(in_shape)).boxes.tolist(),
            ]
    return {**json.loads(json.dumps(found)), "tracked": tracked()}


def some_cells(shape):
    return CellSet.from_mask(np.random.default_rng(1).random(shape) < 0.4)


def digest(value):
    return hashlib.sha256(repr(value).encode()).hexdigest()


def tracked():
    """What a store holds after some calls on tracked arrays."""
    with dslog.open(":memory:") as store:
        x = store.track(np.random.default_rng(2).random((20, 15)), "x")
        np.cumsum(np.sort(x, axis=1)[3:, ::2] + 1, axis=0).named("y")
        return [
            [info.out, info.in_, info.num_rows, info.nbytes] for info in store.lineages()
        ] + store.backward("y", np.s_[4:6, 2], to="x").boxes.tolist()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answers()))
