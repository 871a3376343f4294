"""A call passes few files: whoever follows it reads no more than these."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "count_files.py"
MOST = {"np.sort(x)": 20, "x + 1": 12, "store.lineage": 16, "store.prov_query": 18}


def run(*options):
    return subprocess.run(
        [sys.executable, SCRIPT, *options], capture_output=True, text=True, check=True
    ).stdout


def test_calls_pass_few_files():
    counts = dict(re.findall(r"^(.+): (\d+) files", run(), re.MULTILINE))
    assert {name for name, most in MOST.items() if int(counts[name]) > most} == set()


def test_numpy_calls_of_dslog_pass_no_substitutes_while_a_store_tracks():
    calls = re.findall(r"^(\S.*): \d+ files.*((?:\n  .+)+)", run("--files"), re.MULTILINE)
    passing = {name for name, files in calls if "stand_in.py" in files or "substitute.py" in files}
    assert len(calls) == len(MOST) + 1
    assert passing <= {"np.sort(x)"}  # the one that the program itself calls


def test_the_files_are_named():
    text = run("--files")
    count = int(re.search(r"^x \+ 1: (\d+)", text, re.MULTILINE)[1])
    files = text.partition("x + 1")[2].splitlines()[1:]
    assert len(files) == count
    assert "  capture/numpy/array.py" in files
