"""The getting-started page, run three times in one directory, each time by a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

import dslog

PAGE = Path(__file__).parents[2] / "docs" / "getting-started.md"


def test_the_page_runs_three_times(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|console)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code = ["import subprocess, sys"]
    for language, block in blocks:
        if language == "python":
            code.append(block)
            continue
        for command in re.findall(r"^\$ dslog (ingest .*)$", block, re.MULTILINE):
            call = [sys.executable, "-m", "dslog.cli", *command.split()]
            code.append(f"subprocess.run({call!r}, check=True)")
    (tmp_path / "page.py").write_text("\n".join(code), encoding="utf-8")
    printed = {
        subprocess.run(
            [sys.executable, "page.py"], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.partition("<-")[0]
        for _ in range(3)
    }
    assert len(printed) == 1
    with dslog.open(tmp_path / "grades.dslog", "r") as store:
        assert [run.state for run in store.runs()] == ["done"] * 3
        assert store.prov_query(["reversed", "pairs", "raw"], 0).indices().tolist() == [[4], [5]]
        assert store.verify().ok
