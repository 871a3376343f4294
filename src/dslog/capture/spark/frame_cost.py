"""What tracked frames weigh: see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class FrameCost(CostModel):
    """Thresholds of the package."""

    broadcast_ids: int = 1_000_000  # ids of groups that are sent to every task
    small_rows: int = 1 << 16  # rows of a relation that is compressed by the driver itself
    footers: int = 256  # Parquet files whose rows are told apart by file
    keys_apart: int = 16  # keys that are compared one by one, and not as one value
    category_values: int = 1000  # values of a column that may become a column each
