"""Write docs/coverage.md: the paper's coverage experiment, run here, beside the paper's numbers.

python scripts/write_coverage_page.py           # run the experiment and write the page
python scripts/write_coverage_page.py --check   # fail if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluation.coverage_136 import (
    COLUMNS,
    LARGEST,
    RUNS,
    SMALLEST,
    Row,
    cells,
    counts,
    measure_all,
)
from benchmarks.evaluation.paper import COVERAGE as PAPER

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
INTRODUCTION = f"""\
# Coverage of numpy

The paper's coverage experiment: 136 numpy operations, each with every set of arguments that the
paper lists, {RUNS} calls per set with arrays of random shapes, {SMALLEST} to {LARGEST} cells
along each axis. This page is made by `python scripts/write_coverage_page.py`, which runs the
experiment.

- **compressed**: all lineages together take less than half of the raw relations as CSV.
- **dim_sig**: calls of the same shape with other values are answered in the end, for every set of
  arguments.
- **gen_sig**: calls of other shapes are answered in the end, for every set of arguments.
- **errors**: answers that differ from a full capture at that shape. Every answer is compared.

| operations | by | compressed | dim_sig | gen_sig | errors |
|---|---|---|---|---|---|
"""

EXPLANATION = """
The lineage of {values} operations depends on the values in the arrays, not on their shapes alone:
the same call on the same arrays is answered (base_sig), and nothing else may be. Of the {others}
others, {all} are compressed and answered by both signatures.

## Every operation

The paper's finding for an operation stands in brackets. *answered* counts the calls that a formula
answered, of all calls with other shapes; the rest went into finding it, or had shapes unlike any
seen before. The paper does not say which six operations it could not compress.

"""


def page(rows: Sequence[Row]) -> str:
    """Return the page's text."""
    groups = {
        "element": [row for row in rows if row.operation.element],
        "complex": [row for row in rows if not row.operation.element],
        "total": rows,
    }
    parts = [INTRODUCTION]
    for name, group in groups.items():
        for who, numbers in (("DSLog", counts(group)), ("paper", PAPER[name])):
            count, *found = numbers
            parts.append(_line([f"{name}, {count}", who, *map(str, found)]))
    others = [row for row in rows if not row.on_values]
    whole = [row for row in others if row.compressed and row.has_dim and row.has_gen]
    explained = EXPLANATION.format(
        values=len(rows) - len(others), others=len(others), all=len(whole)
    )
    parts += [explained, _line(COLUMNS), _line(["---"] * len(COLUMNS))]
    parts += [_line([f"`{name}`", *rest]) for name, *rest in map(cells, rows)]
    return "".join(parts)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |\n"


def main() -> int:
    """Write the page, or compare it with the one that is there."""
    text = page(list(measure_all()))
    if "--check" in sys.argv:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
