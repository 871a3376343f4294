import sqlite3

import numpy as np
import pytest

import dslog
from dslog.store.connection import SEALED, seal
from dslog.store.files import CATALOG


@pytest.fixture
def snapshot():
    """Return a function that gives all a store holds on disk: catalog rows and file names."""

    def take(directory):
        with sqlite3.connect(directory / CATALOG) as db:
            rows = list(db.iterdump())
        db.close()
        files = {
            path.relative_to(directory).as_posix(): path.stat().st_size
            for path in directory.rglob("*")
            if path.is_file() and not path.name.startswith(CATALOG)
        }
        return rows, files

    return take


@pytest.fixture
def permutation():
    """Return a function that makes a relation of n rows that does not compress."""

    def make(n, seed=0):
        order = np.random.default_rng(seed).permutation(n)
        return np.stack([np.arange(n), order], axis=1)

    return make


@pytest.fixture
def large(tmp_path, permutation):
    """Make a closed store whose lineage B <- A is in a file; return its directory."""
    directory = tmp_path / "large"
    with dslog.open(directory) as store:
        store.array("A", (4000,))
        store.array("B", (4000,))
        store.register_operation("sort", ["A"], ["B"], permutation(4000))
    return directory


@pytest.fixture
def change():
    """Return a function that changes a catalog behind DSLog's back; sealed, as a forger would."""

    def run(path, sql, *values, sealed=""):
        path = path / CATALOG if path.is_dir() else path
        with sqlite3.connect(path) as db:
            db.create_function("seal", -1, seal)
            db.execute(sql, values)
            if sealed:
                db.execute(f"UPDATE {sealed} SET seal = seal({SEALED[sealed]})")
        db.close()

    return run
