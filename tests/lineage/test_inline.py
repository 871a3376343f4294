"""Where a table is written: rows that read well, packed columns in the header, or files."""

import json

import numpy as np
import pytest

from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage


def steps(n):
    """Runs of different lengths and places: a row each."""
    rng = np.random.default_rng(n)
    lengths = rng.integers(2, 900, n)
    starts = np.cumsum(rng.integers(1000, 9000, n))
    pairs = np.concatenate([np.arange(k) + at for k, at in zip(lengths, starts, strict=True)])
    relation = np.stack([np.arange(len(pairs)), pairs], axis=1)
    return compress(relation, (len(pairs),), (int(pairs.max()) + 1,))


@pytest.mark.parametrize(("n", "key"), [(2, "r"), (16, "r"), (40, "p"), (200, "p")])
def test_small_tables_need_no_file(n, key):
    lineage = steps(n)
    assert lineage.num_rows == n
    header, blobs = lineage.encode()
    assert blobs == []
    (((item,),),) = (json.loads(header)["t"],)
    assert key in item
    back = Lineage.decode(header)
    assert back == lineage
    assert np.array_equal(back.to_relation(), lineage.to_relation())


@pytest.mark.compiled
def test_large_tables_are_files():
    header, blobs = steps(3000).encode()
    assert len(blobs) == 1
    assert len(header) < 500


def test_packed_columns_take_less_than_half_of_the_rows():
    lineage = steps(40)
    rows, _ = lineage.encode(inline_rows=1 << 40)
    assert 2 * len(lineage.encode()[0]) < len(rows)
    assert Lineage.decode(rows) == lineage


def test_folded_tables_are_packed_too():
    rng = np.random.default_rng(0)
    parts = []
    for k in range(30):  # strided runs, each with its own stride
        stride = int(rng.integers(2, 40))
        b = np.arange(12) + 12 * k
        parts.append(np.stack([b, 5000 * k + stride * np.arange(12)], axis=1))
    lineage = compress(np.concatenate(parts), (360,), (150_000,))
    header, blobs = lineage.encode()
    assert blobs == []
    assert np.array_equal(Lineage.decode(header).to_relation(), np.concatenate(parts))
