"""Run benchmarks, each a module ``bench_NAME.py`` with a ``main`` that tells if its targets held.

    python -m benchmarks             all of them
    python -m benchmarks compress    some of them
    python -m benchmarks --list      what there is

Every benchmark measures its baseline in the same run: on a shared machine only ratios mean
something. The exit code is 1 when a target was missed.
"""

import argparse
import pkgutil
import sys
from importlib import import_module
from pathlib import Path


def names() -> list[str]:
    """Return the names of all benchmarks."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    prefix = "bench_"
    return sorted(m.name.removeprefix(prefix) for m in found if m.name.startswith(prefix))


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; all if none")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    given = parser.parse_args()
    known = names()
    if unknown := sorted(set(given.names) - set(known)):
        parser.error(f"no benchmark {', '.join(unknown)}: choose from {', '.join(known)}")
    if given.list:
        print(*known, sep="\n")
        return 0
    missed = []
    for name in given.names or known:
        print(f"== {name}", flush=True)
        if not import_module(f"benchmarks.bench_{name}").main():
            missed.append(name)
    if missed:
        print(f"targets missed: {', '.join(missed)}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
