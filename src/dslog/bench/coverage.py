"""The numpy coverage table: which of the paper's 136 operations compress and are reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslog.bench.coverage_136 import COLUMNS, cells, counts, load_operations, measure, totals
from dslog.bench.sizes import Sizes

Tick = Callable[[str], None]


def coverage_table(sizes: Sizes, tick: Tick) -> dict[str, Any]:
    """Return the paper's table, and a row per operation; a smoke run has rows of some only."""
    rows = []
    for operation in load_operations()[:: sizes.coverage_step]:
        tick(operation.name)
        rows.append(measure(operation, sizes.coverage_runs))
    found: dict[str, Any] = {"columns": list(COLUMNS), "rows": [cells(row) for row in rows]}
    if sizes.coverage_step == 1:
        element = [row for row in rows if row.operation.element]
        complicated = [row for row in rows if not row.operation.element]
        groups = {"element": element, "complex": complicated, "total": rows}
        found["table"] = {name: list(counts(group)) for name, group in groups.items()}
        found["counts"] = totals(rows)
    return found
