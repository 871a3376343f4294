"""A relation that can't fit its arrays is refused by the footers of its files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dslog.errors import RelationError
from dslog.relation.parquet import check_footers

PAIRS = {"b0": [0, 1], "a0": [1, 0]}


@pytest.fixture
def write(tmp_path):
    def file(columns, name="r.parquet", **options):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, **options)
        return path

    return file


def test_a_relation_that_fits(write, tmp_path):
    check_footers(write(PAIRS), (2,), (2,))
    check_footers(str(write(PAIRS)), (2,), (2,))
    check_footers(write({name: np.array(v, "int8") for name, v in PAIRS.items()}), (2,), (2,))
    check_footers(write({"a0": [0, 1], "b0": [1, 0]}), (2,), (2,))
    empty = pa.schema([("b0", pa.int64()), ("a0", pa.int64())]).empty_table()
    check_footers(write({name: empty.column(name) for name in empty.column_names}), (0,), (0,))
    for part in range(3):
        write(PAIRS, f"parts/{part}.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    (tmp_path / "parts" / ".0.parquet.crc").write_bytes(b"crc")
    check_footers(tmp_path / "parts", (2,), (2,))


def test_what_a_footer_does_not_tell_is_left_to_the_reader(write):
    check_footers(write({"b0": [0], "a0": [7]}, write_statistics=False), (2,), (2,))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"b0": [0, 2], "a0": [0, 0]}, "column b0 of .* from 0 to 2, but that axis has 2 cells"),
        ({"b0": [0, 0], "a0": [-1, 0]}, "column a0 of .* from -1 to 0"),
        ({"b0": [0]}, r"has columns \['b0'\], but \['b0', 'a0'\] are needed"),
        ({"b0": [0], "a0": [0.0]}, "column a0 of .* has type double, but must be an integer"),
        ({"b0": [True], "a0": [0]}, "column b0 of .* has type bool"),
    ],
)
def test_a_relation_that_does_not_fit(write, columns, words):
    path = write(columns)
    with pytest.raises(RelationError, match=words) as caught:
        check_footers(path, (2,), (2,))
    assert str(path) in str(caught.value)


def test_the_part_that_is_wrong_is_named(write, tmp_path):
    write(PAIRS, "parts/0.parquet")
    write({"b0": [5], "a0": [0]}, "parts/1.parquet")
    with pytest.raises(RelationError, match=r"1\.parquet has values from 5 to 5"):
        check_footers(tmp_path / "parts", (2,), (2,))


def test_no_parquet(tmp_path):
    with pytest.raises(RelationError, match="no Parquet file at"):
        check_footers(tmp_path / "missing", (1,), (1,))
    (tmp_path / "text").write_text("b0,a0")
    with pytest.raises(RelationError, match=r"can't read the relation .*text as Parquet"):
        check_footers(tmp_path / "text", (1,), (1,))
