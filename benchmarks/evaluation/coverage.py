"""The numpy coverage table: which of the paper's 136 operations compress and are reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.evaluation.coverage_136 import (
    COLUMNS,
    cells,
    counts,
    load_operations,
    measure,
    totals,
)
from benchmarks.evaluation.sizes import Sizes

Tick = Callable[[str], None]


def coverage_table(sizes: Sizes, tick: Tick) -> dict[str, Any]:
    """Return the paper's table, and a row per operation."""
    rows = []
    for operation in load_operations():
        tick(operation.name)
        rows.append(measure(operation, sizes.coverage_runs))
    element = [row for row in rows if row.operation.element]
    complicated = [row for row in rows if not row.operation.element]
    groups = {"element": element, "complex": complicated, "total": rows}
    return {
        "columns": list(COLUMNS),
        "rows": [cells(row) for row in rows],
        "table": {name: list(counts(group)) for name, group in groups.items()},
        "counts": totals(rows),
    }
