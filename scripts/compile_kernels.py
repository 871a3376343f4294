"""Compile the kernels that most uses need, so that the first one is quick; ``make setup`` runs it.

Numba keeps what it compiled beside the sources. What is missing here is compiled when it is needed.
"""

import numpy as np

import dslog
from dslog.cli.demo.page import measure_steps
from dslog.cli.demo.stories import run_photo
from dslog.spark.daemon import rehearse

ROWS, GROUPS, MANY = 20_000, 50, 200_000


def main() -> None:
    """Do in small what a first use would do."""
    rehearse()
    with dslog.open(":memory:") as store:
        run_photo(store, lambda _: None)
    with dslog.open(":memory:") as store:
        run_table(store)
    run_vectors()


def run_vectors() -> None:
    """Compress a filter and a group-by of many rows."""
    random = np.random.default_rng(0)
    kept = np.flatnonzero(random.random(MANY) < 0.5)
    groups = np.sort(random.integers(0, GROUPS, len(kept)))
    for outs, length in ((np.arange(len(kept)), len(kept)), (groups, GROUPS)):
        pairs = np.stack([outs, kept, np.zeros_like(kept)], axis=1)
        for ins in (1, 2):
            some = np.unique(pairs[:, : 1 + ins], axis=0)
            dslog.compress(some, (length,), (MANY, 3)[:ins]).encode()


def run_table(store: dslog.Store) -> None:
    """Group and sort the rows of a table, and ask."""
    random = np.random.default_rng(0)
    for name, length in {"rows": ROWS, "groups": GROUPS, "sorted": GROUPS}.items():
        store.array(name, (length, 2))
    group_of = np.sort(random.integers(0, GROUPS, ROWS))
    grouped = np.stack([group_of, random.permutation(ROWS)], axis=1)
    ordered = np.stack([np.arange(GROUPS), random.permutation(GROUPS)], axis=1)
    for name, in_, out, pairs in (
        ("group", "rows", "groups", grouped),
        ("sort", "groups", "sorted", ordered),
    ):
        of_both = [np.insert(pairs, [1, 2], [column, column], axis=1) for column in (0, 1)]
        store.register_operation(name, [in_], [out], np.concatenate(of_both))
    store.why("sorted", (3, 1))
    store.impact("rows", (3, 1))
    store.dropped("rows", 3)
    measure_steps(store, ("groups", "sorted"))


if __name__ == "__main__":
    main()
