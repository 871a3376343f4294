"""The process that Spark forks Python workers from, with the kernels already loaded.

Importing numba and a cached kernel takes half a second. Done here, before the fork, it is paid
once and not by every worker. Spark runs this as ``python -m dslog.engine.daemon``.
"""

import importlib
from contextlib import suppress

from pyspark import daemon

PRELOADED = (
    "numpy",
    "pandas",
    "pyarrow",
    "numba",
    *(f"dslog.{package}.kernels" for package in ("cells", "relation", "lineage", "compress")),
)


def preload() -> None:
    """Import what workers need; without one of them they still run, only slower."""
    for name in PRELOADED:
        with suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    preload()
    daemon.manager()
