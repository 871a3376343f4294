"""How a tracked frame is checked, and small tables with everything that goes wrong in tables."""

import math

ORDERS = "k string, x long, y double, l array<int>"
MESSY = [
    ("a", 3, 1.5, [1, 2]),
    ("b", 1, None, []),
    ("a", 2, float("nan"), None),
    (None, 2, 0.5, [7]),
    ("a", 3, 1.5, [1, 2]),
    ("c", None, -1.0, [4, 4, 4]),
    ("a", 5, 2.5, [None]),
    ("b", 1, None, []),
    (None, 2, 0.5, [7]),
    ("a", 0, 9.0, [5]),
]
NAMES = [("a", "first"), ("b", "second"), ("a", "again"), (None, "none"), ("z", "unused")]


def frame_of(spark, rows, schema, partitions):
    """A DataFrame in several partitions, in the order of its rows."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), schema)


def plain(rows):
    """Rows as tuples whose NaN compare equal."""
    return [tuple(_plain(value) for value in row) for row in rows]


def _plain(value):
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, list):
        return tuple(value)
    return value


def listed(rows, **pairs):
    """Rows with the cells behind each of their cells, in no order: rows that Spark moved agree."""
    found = [[row, *([] for _ in pairs)] for row in plain(rows)]
    for number, name in enumerate(pairs, start=1):
        for out, c, in_, d in sorted(pairs[name]):
            found[out][number].append((c, in_, d))
    return sorted(map(repr, found))


def relation(store, frame, source):
    """The pairs that the store answers with, cell by cell."""
    return {
        (row, c, *cell)
        for row in range(frame.shape[0])
        for c in range(frame.shape[1])
        for cell in store.backward(frame.name, (row, c), to=source).indices().tolist()
    }


def check(store, frame, expected_rows, **expected):
    """Compare a frame's rows and their lineage, back to any table, with brute force."""
    found = {source: relation(store, frame, source) for source in expected}
    assert listed(frame.collect(), **found) == listed(expected_rows, **expected)
    assert frame.shape == (len(expected_rows), len(frame.columns))


def same_rows(tracked, untracked):
    """Compare rows with those of the same code without tracking, whatever their order."""
    key = repr
    assert sorted(plain(tracked.collect()), key=key) == sorted(plain(untracked.collect()), key=key)
    assert tracked.columns == untracked.columns
    assert tracked.dtypes == untracked.dtypes
