"""Columns come back from every code."""

import json

import numpy as np
import pyarrow as pa
import pytest

from dslog.lineage.column_code import (
    _pack,
    _unpack,
    decode_column,
    decode_text,
    encode_column,
    encode_text,
)


@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 17, 31, 32, 33, 57, 62, 63])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 1000])
def test_packed_bits(bits, n):
    rng = np.random.default_rng(bits * n)
    values = rng.integers(0, 1 << bits, n, dtype=np.int64) - 5
    values[0], values[-1] = -5, (1 << bits) - 6
    packed = np.zeros(-(-n // 8) * bits, np.uint8)
    _pack(values, -5, bits, packed)
    back = np.empty(n, np.int64)
    _unpack(packed, -5, bits, back)
    assert np.array_equal(back, values)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(500),
        np.arange(500)[::-1],
        np.random.default_rng(0).integers(0, 1000, 500),
        np.random.default_rng(1).integers(0, 2, 500),
        np.cumsum(np.random.default_rng(2).geometric(0.1, 500)),
        np.repeat([3, 9, 4], 200),
        np.array([-(1 << 40), 0, 1 << 40]),
    ],
    ids=["up", "down", "random", "flags", "gaps", "runs", "large"],
)
def test_columns(values):
    values = values.astype(np.int64)
    spec, arrays = encode_column("a0", values)
    assert np.array_equal(decode_column("a0", spec, pa.table(arrays), len(values)), values)


@pytest.mark.parametrize("n", [1, 2, 17, 64, 300])
def test_columns_as_text(n):
    rng = np.random.default_rng(n)
    for values in (rng.integers(-9, 9, n), np.cumsum(rng.integers(0, 5, n)) + (1 << 40)):
        spec = encode_text(values)
        assert np.array_equal(decode_text(spec, n), values)
        assert json.loads(json.dumps(spec)) == spec
