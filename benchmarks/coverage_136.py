"""Print the paper's coverage experiment row by row: ``python -m benchmarks.coverage_136``."""

import argparse

from benchmarks.evaluation.coverage_136 import (
    COLUMNS,
    PAPER,
    RUNS,
    cells,
    counts,
    load_operations,
    measure,
    measure_all,
    totals,
)

__all__ = ["counts", "load_operations", "main", "measure", "measure_all", "totals"]

_WIDTHS = (18, 4, 8, 10, 10, 10, 8, 9, 6, 0)


def main() -> None:
    """Print the table; the paper's findings are in brackets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="operations; all of them by default")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    operations = [one for one in load_operations() if not given.names or one.name in given.names]
    rows = []
    _show(COLUMNS)
    for row in measure_all(operations, given.runs, given.seed):
        rows.append(row)
        _show(cells(row))
        for error in row.errors[:3]:
            print(f"    wrong: {error}")
    for name, count in totals(rows).items():
        print(f"{name}: {count} of {len(rows)}, the paper {PAPER[name]} of 136")


def _show(texts: list[str] | tuple[str, ...]) -> None:
    print("  ".join(f"{t:{w}}" for t, w in zip(texts, _WIDTHS, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    main()
