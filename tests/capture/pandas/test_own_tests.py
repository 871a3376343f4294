"""A sample of pandas' own tests, with tracked frames: scripts/pandas_tests.py runs the rest."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "scripts" / "pandas_tests.py"
SAMPLE = ["frame/methods/test_dropna.py", "frame/methods/test_sort_values.py"]


def test_pandas_own_tests_pass_tracked():
    command = [sys.executable, str(SCRIPT), *SAMPLE, "--fail-under", "95"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
