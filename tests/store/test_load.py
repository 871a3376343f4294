"""What is asked of a few operations looks at no table as a whole, however many others there are."""

import os

import numpy as np
import pytest

import dslog
from dslog.store.connection import Connection
from dslog.store.files import CATALOG
from dslog.store.store_cost import StoreCost


@pytest.fixture
def many(tmp_path):
    """A store of chains: its directory, and the end of the last one."""
    with dslog.open(tmp_path, leaks="ignore") as store:
        for number in range(300):
            y = store.track(np.arange(6.0), f"x{number}")
            for _ in range(5):
                y = y + 1
        float(y[0])
        name = y.name
    return tmp_path, name


QUESTIONS = {
    "why": lambda s, name: s.why(name, 3),
    "impact": lambda s, name: s.impact("x299", 3),
    "prov_query": lambda s, name: s.prov_query(["x299.add", "x299"], 3),
    "backward": lambda s, name: s.backward(name, 3, "x299"),
    "listing": lambda s, name: s.listing(20),
    "signature": lambda s, name: s._catalog.signature("base_sig", "none"),
    "no lineage": lambda s, name: s._catalog.without_lineage(name, "x3"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_table_is_scanned(many, question):
    path, name = many
    statements = {}
    with dslog.open(path, "r") as store:
        rows = Connection.rows

        def noted(self, sql, *values):
            statements.setdefault(sql, values)
            return rows(self, sql, *values)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Connection, "rows", noted)
            QUESTIONS[question](store, name)
        assert statements
        for sql, values in statements.items():
            if sql.startswith("PRAGMA") or "LIMIT" in sql or " leaks " in sql:
                continue  # leaks are few: one for each place in a program
            plan = rows(store._catalog, f"EXPLAIN QUERY PLAN {sql}", *values)
            for *_, step in plan:
                table = step.split()[1] if step.startswith("SCAN") else ""
                assert table in ("", "json_each", "met", "CONSTANT", "(subquery"), (sql, step)


def test_the_log_is_emptied_while_others_read(tmp_path, choose):
    choose(StoreCost, log_bytes=1 << 16)
    most = 0
    with dslog.open(tmp_path) as store, dslog.open(tmp_path, "r") as other:
        for number in range(400):
            store.array(f"a{number}", (number,))
            other.prov_query([f"a{number}"], ...) if number else None
            most = max(most, os.path.getsize(tmp_path / f"{CATALOG}-wal"))  # noqa: PTH202
    assert most < 1 << 19
