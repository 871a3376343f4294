"""Every format gives DuckDB the pairs that were written."""

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.baselines.formats import FORMATS, PROVRC, Array, ParquetZstd, rows_table
from benchmarks.workloads.relations import moved, reduction
from dslog.compress.encoder import compress

RELATION = np.random.default_rng(0).integers(0, 50, (300, 3))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_pairs_come_back(form, tmp_path):
    path = form.store(RELATION, 1, tmp_path / "part")
    source = form.source(path)
    table = duckdb.sql(f"SELECT * FROM {source if isinstance(source, str) else 'source'}")
    back = np.stack(list(table.fetchnumpy().values()), axis=1)
    assert np.array_equal(back, RELATION)
    if not isinstance(form, Array):  # an array has no names
        assert table.columns == ["b0", "a0", "a1"]


def test_delta_encoding_is_used(tmp_path):
    path = ParquetZstd().store(RELATION, 1, tmp_path / "part")
    column = pq.ParquetFile(path).metadata.row_group(0).column(1)
    assert "DELTA_BINARY_PACKED" in column.encodings
    assert column.compression == "ZSTD"


@pytest.mark.parametrize("form", PROVRC, ids=lambda form: form.name)
def test_provrc_is_one_row_for_a_sum(form, tmp_path):
    relation, _, _ = reduction((40, 30), 0)
    path = form.store(relation, 1, tmp_path / "part")
    assert pq.read_table(path).num_rows == 1
    with pytest.raises(NotImplementedError, match="intervals"):
        form.source(path)


def test_provrc_rows_have_every_attribute():
    relation, out_shape, in_shape = moved((20, 30), np.fliplr)
    table = rows_table(compress(relation, out_shape, in_shape, method="provrc"))
    assert table.column_names == ["b0", "b1", "a0", "a1", "b0w", "b1w", "a0w", "a1w", "a0r", "a1r"]
    assert table.num_rows == 30
