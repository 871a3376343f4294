"""The numpy coverage table: which of the paper's 136 operations compress and are reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslog.bench.coverage_136 import COLUMNS, RUNS, cells, counts, load_operations, measure, totals
from dslog.bench.sizes import Sizes

Tick = Callable[[str], None]
_SMOKE_STEP, _SMOKE_RUNS = 15, 5


def coverage_table(sizes: Sizes, tick: Tick) -> dict[str, Any]:
    """Return the paper's table, and a row per operation; a smoke run has some of them."""
    smoke = sizes.name == "smoke"
    rows = []
    for operation in load_operations()[:: _SMOKE_STEP if smoke else 1]:
        tick(operation.name)
        rows.append(measure(operation, _SMOKE_RUNS if smoke else RUNS))
    found: dict[str, Any] = {"columns": list(COLUMNS), "rows": [cells(row) for row in rows]}
    if not smoke:
        element = [row for row in rows if row.operation.element]
        complicated = [row for row in rows if not row.operation.element]
        groups = {"element": element, "complex": complicated, "total": rows}
        found["table"] = {name: list(counts(group)) for name, group in groups.items()}
        found["counts"] = totals(rows)
    return found
