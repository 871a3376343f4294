"""What decides how lineage is read as tables, piece by piece; see :mod:`dslog.cost`.

Spark's tasks see the defaults.
"""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class SqlCost(CostModel):
    """Thresholds of ``sql``; they change how much is in memory at a time, not what is read."""

    batch_pairs: int = 1 << 20  # pairs that a batch may have, before its cells are cut in two
    unit_rows: int = 1 << 20  # compressed rows of a part file that are read at a time
    partition_rows: int = 1 << 18  # compressed rows for each task that lists pairs
    view_rows: int = 1 << 24  # plain rows that a DuckDB view may hold in memory
