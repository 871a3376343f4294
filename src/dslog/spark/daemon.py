"""The process that Spark forks Python workers from, with the kernels already loaded.

Importing numba and loading a compiled kernel takes half a second. Done here, before the fork, it
is paid once and not by every worker. Spark runs this as ``python -m dslog.spark.daemon``.
"""

import importlib
from contextlib import suppress

from pyspark import daemon

PRELOADED = (
    "pandas",
    "pyarrow.parquet",
    "dslog.spark.relation_job",
    "dslog.spark.join_task",
)


def preload() -> None:
    """Import what workers need and run it once; without that they still work, only slower."""
    for name in PRELOADED:
        with suppress(Exception):
            importlib.import_module(name)
    with suppress(Exception):
        rehearse()


def rehearse() -> None:
    """Compress and ask a tiny relation, so that the kernels are compiled or read from disk."""
    import numpy as np

    from dslog.cells.cellset import CellSet
    from dslog.lineage.lineage import Lineage
    from dslog.spark.pair_blocks import Packing, PartBlocks, Split, cut_keys
    from dslog.spark.relation_job import join_seams, split_seam

    shape = (4, 4)
    order = np.arange(16)[::-1]
    cells, others = (np.stack(np.unravel_index(at, shape), axis=1) for at in (np.arange(16), order))
    packing = Packing(shape, shape)
    split = Split(packing, (128,), combine=1)
    gathered = PartBlocks(split)
    for block in cut_keys(packing.pack(np.concatenate([cells, others], axis=1)[::-1]), split):
        gathered.add(block.kind, block.data)
    rows, seam = split_seam(gathered.table(), split, 0, 100)
    lineage = Lineage.of_table(shape, shape, join_seams([rows, seam]))
    for ask in (lineage.backward, lineage.forward):
        ask(CellSet.from_indices(shape, [(1, 2), (3, 3)]))


if __name__ == "__main__":
    preload()
    daemon.manager()
