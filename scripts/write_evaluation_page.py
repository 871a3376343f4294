"""Write docs/evaluation.md and docs/coverage.md from the results of a run: the numbers are its own.

python -m benchmarks --output bench-results
python scripts/write_evaluation_page.py bench-results/results.json   # keeps them in benchmarks/
python scripts/write_evaluation_page.py --check                      # fail if a page differs
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.report import page
from benchmarks.results import Results

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ("evaluation.md", "coverage.md")
KEPT = ROOT / "benchmarks" / "results.json"


def main() -> int:
    """Write the pages, or compare them with those that are there."""
    if "--check" in sys.argv:
        kept = Results.read(KEPT)
        differ = [n for n in PAGES if (DOCS / n).read_text(encoding="utf-8") != page(n, kept)]
        return bool(differ)
    results = Results.read(Path(sys.argv[1]) if len(sys.argv) > 1 else KEPT)
    compact = json.dumps(results.to_json(), separators=(",", ":"))
    KEPT.write_text(compact + "\n", encoding="utf-8")
    for name in PAGES:
        (DOCS / name).write_text(page(name, results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
