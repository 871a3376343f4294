"""What tracked frames weigh: see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class FrameCost(CostModel):
    """Thresholds of the package."""

    broadcast_ids: int = 1_000_000  # ids of groups that are sent to every task
    bucket_rows: int = 1 << 19  # rows of a partition that are numbered together
    small_side: int = 100_000  # rows of a side of a join that is sent to every task
    file_rows: int = 1 << 20  # rows of lineage in one part file
    tasks_per_core: int = 4  # tasks that write part files, per core
    small_rows: int = 1 << 16  # rows of a table that is traced by the driver itself
    footers: int = 256  # Parquet files whose footers are read to count rows
    kept_rows: int = 1 << 20  # rows of a result that are kept in order
    pivot_values: int = 10_000  # values of a column that may become columns, as in Spark
    category_values: int = 1000  # values of a column that may become a column each
    footer_slack: int = 1 << 10  # bytes by which a split may miss the middle of a row group
