import json
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dslog
from dslog.cli.main import app

SUM = np.array([(i, i, j) for i in range(3) for j in range(2)])


@pytest.fixture
def store(tmp_path):
    """A closed store: image -> total -> grand, a sort in a file, and a guess; its directory."""
    directory = tmp_path / "lineage.dslog"
    with dslog.open(directory) as opened:
        for name, shape in {
            "image": (3, 2),
            "total": (3,),
            "grand": (),
            "list": (4000,),
            "sorted": (4000,),
            "guess": (3, 2),
        }.items():
            opened.array(name, shape)
        opened.register_operation("sum", ["image"], ["total"], SUM, op_args={"axis": 1})
        opened.register_operation("sum", ["total"], ["grand"], np.arange(3)[:, None])
        order = np.random.default_rng(0).permutation(4000)
        opened.register_operation("sort", ["list"], ["sorted"], np.c_[np.arange(4000), order])
        every = np.array([(*b, *a) for b in np.ndindex(3, 2) for a in np.ndindex(3, 2)])
        opened.lineage("guess", "image", dslog.compress(every, (3, 2), (3, 2)).with_exact(False))
    return directory


class Result:
    """What a command printed, and how it ended."""

    def __init__(self, result):
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr
        self.exception = result.exception

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run():
    """Return a function that runs a command line."""

    def call(*arguments):
        return Result(CliRunner().invoke(app, [str(argument) for argument in arguments]))

    return call


@pytest.fixture
def snapshot():
    """Return a function that gives all a store holds on disk."""

    def take(directory):
        with sqlite3.connect(directory / "catalog.sqlite") as db:
            rows = list(db.iterdump())
        db.close()
        files = sorted(path.name for path in directory.rglob("*.parquet"))
        return rows, files

    return take


@pytest.fixture
def relation(tmp_path):
    """Return a function that writes columns as a Parquet file and gives its path."""

    def write(columns, name="relation.parquet"):
        path = tmp_path / name
        pq.write_table(pa.table(columns), path)
        return path

    return write
