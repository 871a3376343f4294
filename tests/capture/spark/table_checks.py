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


def relation(store, frame, source):
    """The stored pairs between a frame and a table that it comes from, as a set."""
    found = set()
    for lineage in store.load(frame.name, source):
        found |= set(map(tuple, lineage.to_relation().tolist()))
    return found


def check(store, frame, expected_rows, **expected):
    """Compare a frame's rows, in order, and its stored lineage with brute force."""
    assert plain(frame.collect()) == plain(expected_rows)
    for source, pairs in expected.items():
        assert relation(store, frame, source) == pairs
    assert frame.shape == (len(expected_rows), len(frame.columns))


def same_rows(tracked, untracked):
    """Compare rows with those of the same code without tracking, whatever their order."""
    key = repr
    assert sorted(plain(tracked.collect()), key=key) == sorted(plain(untracked.collect()), key=key)
    assert tracked.columns == untracked.columns
    assert tracked.dtypes == untracked.dtypes
