"""What Spark jobs weigh: see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class SparkCost(CostModel):
    """Thresholds of the package."""

    broadcast_bytes: int = 32 << 20  # bytes of boxes, or of a lineage, that every task may get
    unit_rows: int = 1 << 20  # rows of part files that one task scans at a time
    bits_bytes: int = 256 << 20  # bytes of bitmaps that all tasks together may send to the driver
    bits_cells: int = 1 << 28  # cells of an array whose results may be bits
    few_cells: int = 1 << 19  # cells of an array whose results are bits even if they are few
    range_boxes: int = 1 << 19  # boxes that meet rows in one range of an axis
    footers: int = 256  # footers that the driver reads to tell how much a query would scan
    ruling_boxes: int = 1 << 16  # boxes by which files and row groups are ruled out one by one
    held_boxes: int = 1 << 20  # boxes that a task holds before they are merged
    cut_rows: int = 1 << 20  # rows that are cut into ranges at a time
    block_numbers: int = 1 << 17  # numbers in a block; Spark copies a record several times
    window_pairs: int = 1 << 12  # pairs of a chunk that are compressed on trial
    travel_gain: int = 4  # pairs that a compressed row must stand for to travel as one
    head_rows: int = 1 << 13  # rows on which factors are tried first
    near: float = 0.8  # share of the product that two independent axes reach by count
    tasks_per_core: int = 4  # tasks that project rows, per core
    most_partitions: int = 1 << 16  # partitions that a relation is cut into
    uneven: float = 1.5  # times its share that a partition may get for a good place to cut
    small_pairs: int = 1 << 18  # pairs of a partition that is not worth making smaller
    chunk_units: int = 8  # units of the first axes that a chunk should hold
    end_rows: int = 64  # rows at either end that are taken when too many reach a border
    fold_gain: int = 4  # rows that folding must save each time to be kept
    many_rows: int = 1 << 10  # rows from which folds are looked for
    sample_pairs: int = 1 << 14  # pairs of the sample: partitions are equal within a few percent
    sample_one_in: int = 1 << 10  # one pair in so many is hashed for the sample
    slice_boxes: int = 1 << 18  # boxes of spread cells that one task reads
    result_bytes: int = 2 << 30  # boxes, or a bitmap, that one process may hold as a result
