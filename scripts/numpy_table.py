"""Write docs/numpy-functions.md: how the lineage of each numpy function is captured.

python scripts/numpy_table.py           # write the page
python scripts/numpy_table.py --check   # fail if it is not up to date
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from function_table import UNCAPTURED, table
from numpy_calls import calls, label

VERSION = ".".join(np.__version__.split(".")[:2])
PAGE = Path(__file__).parents[1] / "docs" / "numpy-functions.md"

INTRODUCTION = f"""\
# numpy functions

How the lineage of each public function of numpy {VERSION} is captured. This page is made by
`python scripts/numpy_table.py` from the rules themselves.

| kind | how | cost |
|---|---|---|
| rule | a formula over shapes and arguments | a few rows, whatever the size |
| index-run | the function is run once more on the positions of cells, which it moves | a pass |
| value | computed from the values, vectorised | about the function's own |
| trace | each cell is followed through the function, on object arrays; small arrays | slow |
| followed | calls a function of yours, which runs on tracked arrays | as a loop of your own |
| superset | everything from everything that it can read, labelled as not exact | a row |
| write | cells that are written into an argument, like `x[...] = y` | about the function's own |

Where several kinds are given, the later ones are for calls that the earlier ones leave: an index
run where memory does not tell a view's cells apart, a trace for a function of one's own. A function
that is not listed, of numpy or of another package, is traced if it is small and can be traced, and
a superset otherwise.

The label is that of the call beside it, which was made to write this page: *exact* where each cell
comes from just the cells that it reads, *superset* where it may be fewer, *plain* where the result
is a bool or a text that is not tracked and no value is lost, *leak* where the values leave.

"""


def page() -> str:
    """Return the page's text."""
    rows, made = table(), calls()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        labels = {row.name: label(made[row.name]) for row in rows}
    count = Counter(row.kinds[0] for row in rows)
    parts = [INTRODUCTION, f"{len(rows)} functions: "]
    parts.append(", ".join(f"{n} by {kind}" for kind, n in count.most_common()) + "; called, ")
    count = Counter(labels.values())
    parts.append(", ".join(f"{n} {name}" for name, n in count.most_common()) + ".\n\n")
    parts.append(
        "| function | kind | each output cell | called as | label |\n|---|---|---|---|---|\n"
    )
    parts += [
        f"| `{row.name}` | {', '.join(row.kinds)} | {row.note} | `{made[row.name]}` | "
        f"{labels[row.name]} |\n"
        for row in rows
    ]
    parts.append("\n## Without lineage\n\nFunctions that do not both take and give arrays.\n\n")
    for what in dict.fromkeys(UNCAPTURED.values()):
        names = ", ".join(f"`{name}`" for name, does in UNCAPTURED.items() if does == what)
        parts.append(f"- They {what}: {names}.\n")
    return "".join(parts)


def main() -> None:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
