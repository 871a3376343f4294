"""Lineage that no library captures, given by hand: an average over the neighbours in a grid.

Each cell of ``smooth`` was made from the cell of ``grid`` at its place and those beside it, above
and below it, as far as they exist. The capture is a function that says so for one cell.
"""

from collections.abc import Iterator

import dslog

SHAPE = (40, 60)


def neighbours(index: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Give the cells that one cell of the result was made from."""
    row, column = index
    for i, j in (
        (row, column),
        (row - 1, column),
        (row + 1, column),
        (row, column - 1),
        (row, column + 1),
    ):
        if 0 <= i < SHAPE[0] and 0 <= j < SHAPE[1]:
            yield i, j


def main() -> None:
    """Register two rounds of smoothing and ask how far a cell reaches."""
    with dslog.open(":memory:") as store:
        for name in ("grid", "smooth", "smoother"):
            store.array(name, SHAPE)
        store.register_operation("smooth", ["grid"], ["smooth"], neighbours)
        store.register_operation("smooth", ["smooth"], ["smoother"], neighbours)
        for lineage in store.lineages():
            pairs = len(store.load(lineage.out, lineage.in_)[0].to_relation())
            print(
                f"{lineage.out} <- {lineage.in_}: {pairs:,} pairs in {lineage.num_rows} rows, "
                f"{lineage.nbytes} bytes"
            )
        made = store.backward("smoother", (10, 10), to="grid")
        print(f"smoother[10, 10] was made from {made.count} cells of grid:")
        for row in made.mask()[7:14, 7:14]:
            print("  " + " ".join("#" if lit else "." for lit in row))


if __name__ == "__main__":
    main()
