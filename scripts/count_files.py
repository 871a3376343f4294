"""Count the files of dslog that a call passes: what somebody reads who follows it in a debugger.

    python scripts/count_files.py            # how many files each call passes
    python scripts/count_files.py --files    # and which, in the order they come

Kernels run uncompiled here, so that they count too, and the clock stands still, since calls that
take long are remembered and would pass more. Each call has been made once before: what is only
imported, or made ready the first time, does not count. Another store tracks all the while.
"""

import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

os.environ["NUMBA_DISABLE_JIT"] = "1"  # numba reads it when it is imported
time.perf_counter = lambda: 0.0

import numpy as np  # noqa: E402

import dslog  # noqa: E402

ROOT = Path(dslog.__file__).parent
MOST = {"np.sort(x)": 20, "x + 1": 12, "store.lineage": 16, "store.prov_query": 18}
CELLS = 40
RELATION = np.array([(b, a) for b in range(CELLS) for a in range(max(0, b - 1), min(CELLS, b + 2))])


def files_passed(call: Callable[[], object]) -> list[str]:
    """Names of the files below dslog whose functions a call runs, in the order they come."""
    passed: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            passed.setdefault(path.relative_to(ROOT).as_posix())

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(passed)


def count() -> dict[str, list[str]]:
    """The files that each call passes, in a new store."""
    with dslog.open(":memory:") as other, dslog.open(":memory:") as store:
        other.track(np.zeros(3), "tracked")
        for name in ("A", "B"):
            store.array(name, (CELLS,))
        calls = {
            "dslog.compress": lambda: dslog.compress(RELATION, (CELLS,), (CELLS,)),
            "store.lineage": lambda: store.lineage("B", "A", RELATION),
            "store.prov_query": lambda: store.prov_query(["B", "A"], [(3,)]),
        }
        passed = {name: files_passed(call) for name, call in calls.items()}
        x = store.track(np.random.default_rng(0).random(50), "x")
        tracked = {"np.sort(x)": lambda: np.sort(x), "x + 1": lambda: x + 1}
        return passed | {name: files_passed(call) for name, call in tracked.items()}


def main() -> None:
    """Print the counts."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", action="store_true", help="name the files")
    with_files = parser.parse_args().files
    count()
    for name, files in count().items():
        most = f" (at most {MOST[name]})" if name in MOST else ""
        print(f"{name}: {len(files)} files{most}")
        if with_files:
            print(*(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
