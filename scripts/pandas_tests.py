"""Run pandas' own tests, which ship in its wheel, plain and with tracked frames, and compare.

    python scripts/pandas_tests.py frame/methods series/indexing --fail-under 95

Of the tests that pass plain, so many pass tracked; those that do not are listed by file.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd

TESTS = Path(pd.__file__).parent / "tests"
GROUPS = ("frame", "series", "groupby", "reshape", "indexing", "window", "resample", "strings")


def passed(paths: list[str], *, tracked: bool) -> tuple[set[str], dict[str, str]]:
    """Return the tests that pass, and the messages of those that do not."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        env = os.environ | {"DSLOG_TRACK": str(int(tracked))}
        here = str(Path(__file__).parent)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [here, env.get("PYTHONPATH", "")]))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "--maxfail=1000000",
            "-p",
            "pandas_plugin",
        ]
        command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(TESTS.parent)]
        command += ["-m", "not slow and not network and not db", f"--junitxml={report}", *paths]
        subprocess.run(command, env=env, check=False, stdout=subprocess.DEVNULL, cwd=folder)
        good, bad = set(), {}
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 (our own file)
            name = f"{case.get('classname')}::{case.get('name')}"
            problem = next((one for one in case if one.tag in ("failure", "error")), None)
            if problem is not None:
                bad[name] = str(problem.get("message"))
            elif not any(one.tag == "skipped" for one in case):
                good.add(name)
        return good, bad


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", default=list(GROUPS))
    parser.add_argument("--fail-under", type=float, default=0.0)
    parser.add_argument("--show", type=int, default=20, help="failing tests to show")
    given = parser.parse_args()
    paths = [str(TESTS / group) for group in given.groups]
    plain, _ = passed(paths, tracked=False)
    tracked, bad = passed(paths, tracked=True)
    both = plain & tracked
    share = 100 * len(both) / max(len(plain), 1)
    print(f"{len(both)} of {len(plain)} tests that pass plain pass tracked: {share:.1f}%")
    lost = sorted(plain - tracked)
    for file, count in Counter(name.split("::")[0] for name in lost).most_common(given.show):
        print(f"  {count:5}  {file}")
    for name in lost[: given.show]:
        print(name, re.sub(r"\s+", " ", bad.get(name, "?"))[:160])
    return int(share < given.fail_under)


if __name__ == "__main__":
    sys.exit(main())
