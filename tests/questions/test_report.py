"""``report``: what it says is what ``why`` says, in every form."""

import csv
import io
import json

import numpy as np
import pytest

import dslog


def test_every_form_says_the_same(tmp_path):
    with dslog.open(tmp_path / "s") as store:
        with store.run("nightly", params={"day": 3}):
            x = store.track(np.arange(6.0).reshape(2, 3), "<sales>", keep_values=True)
            x.sum(axis=1).named("total")
        made = store.report("total", 1)
        for suffix in ("html", "json", "csv"):
            made.save(tmp_path / f"r.{suffix}")
        with pytest.raises(dslog.StoreError, match="no kind of report"):
            made.save(tmp_path / "r.doc")
    rows = list(csv.reader(io.StringIO((tmp_path / "r.csv").read_text())))[1:]
    assert rows == [["<sales>", f"1 {k}", str(3 + k)] for k in range(3)]
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["run"]["number"], data["run"]["params"]) == (1, {"day": 3})
    assert data["operations"][0]["args"] == {"axis": 1}
    assert "test_report.py" in data["operations"][0]["place"]
    html = (tmp_path / "r.html").read_text()
    for part in ("total[1] = 12", "sum(axis=1)", "&lt;sales&gt;", "nightly", data["head"][:16]):
        assert part in html
    assert "<sales>" not in html
