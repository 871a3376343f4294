"""Track pandas programs that know nothing of it.

``python -m dslog.pandas --store PATH script.py args`` runs a script, ``%load_ext dslog.pandas``
goes into a notebook, ``dslog.pandas.install(store)`` into a program.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from dslog.capture.leaks import LeakWarning
from dslog.capture.pandas.installation import install, uninstall
from dslog.capture.store import open_store

__all__ = ["LeakWarning", "install", "uninstall"]


def load_ipython_extension(shell: Any) -> None:
    """Track a notebook, in the store that ``DSLOG_STORE`` names or in one beside it."""
    store = install(os.environ.get("DSLOG_STORE", "lineage.dslog"))
    shell.push({"store": store})


def unload_ipython_extension(_: Any) -> None:
    """Stop tracking."""
    uninstall()


def main() -> None:
    """Run a script with pandas tracked."""
    parser = argparse.ArgumentParser(
        prog="python -m dslog.pandas", description="Run a script with pandas tracked."
    )
    parser.add_argument("--store", required=True, help="the directory of the store")
    parser.add_argument("--leaks", default="ignore", choices=("warn", "error", "ignore"))
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    store = open_store(given.store, leaks=given.leaks)
    sys.argv = [given.script, *given.args]
    sys.path[0] = str(Path(given.script).resolve().parent)
    install(store)
    try:
        runpy.run_path(given.script, run_name="__main__")
    finally:
        uninstall()
        store.close()


if __name__ == "__main__":
    main()
