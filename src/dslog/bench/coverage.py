"""The numpy coverage table: which of the paper's 136 operations compress and are reused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslog.bench.sizes import Sizes

Tick = Callable[[str], None]


def coverage_table(sizes: Sizes, tick: Tick) -> dict[str, Any]:  # noqa: ARG001
    """Return nothing yet."""
    return {}
