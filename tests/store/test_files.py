import pyarrow as pa
import pytest

from dslog.errors import CorruptError, StoreError
from dslog.lineage.codec import write_blob
from dslog.lineage.part_files import PartFile
from dslog.store.files import Files, TemporaryFiles, checksum

FIRST = pa.table({"b0": list(range(100))})
SECOND = pa.table({"a0": [7, 5, 3]})


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "lineage")


def test_round_trip(files):
    records = files.write([FIRST, SECOND])
    assert [(r.blob, r.part) for r in records] == [(0, 0), (1, 0)]
    assert files.read(records) == [FIRST, SECOND]
    assert {f.name for f in files.listing()} == {r.name for r in records}
    files.require(records)


def test_nothing_to_write_makes_no_directory(files):
    assert files.write([]) == ()
    assert not files.root.exists()
    assert files.listing() == []


def test_names_are_never_used_twice(files):
    names = {record.name for _ in range(20) for record in files.write([FIRST])}
    assert len(names) == 20


def test_a_blob_in_several_parts(files):
    (files.root / "folder").mkdir(parents=True)
    parts = []
    for at in range(3):
        path = files.path(name := f"folder/{at}.parquet")
        write_blob(FIRST.slice(at * 40, 40), path)
        parts.append(PartFile(name, 40, 0, path.stat().st_size, checksum(path), ()))
    records = files.write([SECOND, tuple(parts)])
    assert [(record.blob, record.part) for record in records] == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert files.read(records) == [SECOND, FIRST]
    files.remove([record.name for record in records])
    assert list(files.root.iterdir()) == []


def test_damage_is_found_when_reading(files):
    (record,) = files.write([FIRST])
    path = files.path(record.name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptError, match="checksum differs"):
        files.read([record])
    path.write_bytes(content[:-5])
    with pytest.raises(CorruptError, match=r"bytes, not the"):
        files.read([record])
    path.unlink()
    with pytest.raises(CorruptError, match="can't read the file"):
        files.read([record])
    with pytest.raises(StoreError, match=record.name):
        files.require([record])


def test_a_write_that_fails_leaves_no_file(files, monkeypatch):
    def fail(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dslog.store.files.checksum", fail)
    with pytest.raises(StoreError, match="No space left"):
        files.write([FIRST, SECOND])
    assert files.listing() == []


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "lineage").write_text("a file in the way")
    with pytest.raises(StoreError, match="can't write into"):
        Files(tmp_path / "lineage").write([FIRST])


def test_temporary_files_go_away():
    files = TemporaryFiles()
    files.write([FIRST])
    assert files.root.is_dir()
    files.close()
    assert not files.root.exists()
    dropped = TemporaryFiles()
    dropped.write([FIRST])
    root = dropped.root
    del dropped
    assert not root.exists()
