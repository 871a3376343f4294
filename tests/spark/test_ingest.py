"""Relations through Spark into a store: the same lineage as in process, or none at all."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dslog
from dslog.compress.encoder import compress
from dslog.errors import EngineError, RelationError
from dslog.lineage.large_lineage import LargeLineage
from dslog.relation.relation import column_names
from dslog.spark.relation_job import Options, compress_frame


def frame_of(spark, relation, out_shape, in_shape):
    names = column_names(len(out_shape), len(in_shape))
    return spark.createDataFrame(pa.table({n: relation[:, k] for k, n in enumerate(names)}))


def permutation(n, seed=0):
    order = np.random.default_rng(seed).permutation(n)
    return np.stack([np.arange(n), order], axis=1), (n,), (n,)


def gaps(height, width):
    cells = np.stack(np.unravel_index(np.arange(height * width), (height, width)), axis=1)
    pairs = np.concatenate([cells, cells], axis=1)
    kept = np.random.default_rng(1).random(len(pairs)) > 0.05
    return pairs[kept], (height, width), (height, width)


def skewed(n):
    """Half of the rows in one output cell, whose inputs lie apart."""
    heavy = np.stack([np.full(n, 7), 2 * np.arange(n)], axis=1)
    other = np.stack([np.arange(n), np.arange(n)], axis=1)
    return np.random.default_rng(2).permutation(np.concatenate([heavy, other])), (n,), (2 * n,)


def flip(n):
    return np.stack([np.arange(n), n - 1 - np.arange(n)], axis=1), (n,), (n,)


RELATIONS = {
    "permutation": permutation(700),
    "gaps": gaps(40, 30),
    "skewed": skewed(400),
    "flip": flip(2000),
}


def check_same(found, case, method="provrc"):
    relation, out_shape, in_shape = case
    alone = compress(relation, out_shape, in_shape, method=method)
    np.testing.assert_array_equal(found.to_relation(), alone.to_relation())
    assert abs(found.num_rows - alone.num_rows) <= 3


@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("name", RELATIONS)
def test_any_number_of_partitions(spark, tmp_path, name, partitions):
    relation, out_shape, in_shape = RELATIONS[name]
    frame = frame_of(spark, relation, out_shape, in_shape)
    options = Options(method="provrc", partitions=partitions)
    check_same(compress_frame(frame, out_shape, in_shape, tmp_path, options), RELATIONS[name])
    assert list(tmp_path.iterdir()) == []


def test_many_partitions_most_of_them_empty(spark, tmp_path):
    case = RELATIONS["gaps"]
    frame = frame_of(spark, *case)
    options = Options(method="provrc", partitions=64)
    check_same(compress_frame(frame, *case[1:], tmp_path, options), case)


@contextmanager
def batches_of(spark, size):
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(key)
    spark.conf.set(key, str(size))
    try:
        yield
    finally:
        spark.conf.set(key, before)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("name", ["permutation", "skewed"])
def test_any_size_of_batches(spark, tmp_path, name, size):
    case = RELATIONS[name]
    frame = frame_of(spark, *case)
    with batches_of(spark, size):
        found = compress_frame(
            frame, *case[1:], tmp_path, Options(method="provrc", partitions=2, chunk=100)
        )
    check_same(found, case)


def test_chunks_that_are_compressed_on_the_way(spark, tmp_path):
    case = gaps(300, 40)
    frame = frame_of(spark, *case)
    options = Options(method="provrc", partitions=3, chunk=2000, combine=100)
    with batches_of(spark, 500):
        check_same(compress_frame(frame, *case[1:], tmp_path, options), case)


def test_pairs_that_repeat_count_once(spark, tmp_path):
    relation, out_shape, in_shape = RELATIONS["gaps"]
    frame = frame_of(spark, relation, out_shape, in_shape)
    twice = frame.union(frame).union(frame.limit(10))
    options = Options(method="provrc", partitions=3)
    check_same(compress_frame(twice, out_shape, in_shape, tmp_path, options), RELATIONS["gaps"])


def test_arrays_too_large_for_one_number(spark, tmp_path):
    shape = (1 << 40,)
    rng = np.random.default_rng(3)
    relation = np.unique(np.stack([rng.integers(0, 1 << 40, 300) for _ in range(2)], 1), axis=0)
    frame = frame_of(spark, relation, shape, shape)
    found = compress_frame(frame, shape, shape, tmp_path, Options(partitions=3))
    np.testing.assert_array_equal(found.to_relation(), relation)


def test_narrow_and_unsigned_columns(spark, tmp_path):
    relation, _, _ = flip(100)
    columns = {
        "b0": pa.array(relation[:, 0], pa.uint64()),
        "a0": pa.array(relation[:, 1], pa.int8()),
    }
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    frame = spark.read.parquet(str(tmp_path / "r.parquet"))
    found = compress_frame(frame, (100,), (100,), tmp_path)
    np.testing.assert_array_equal(found.to_relation(), relation)


@pytest.mark.parametrize("name", ["permutation", "flip"])
def test_a_large_result_stays_in_part_files(spark, tmp_path, name):
    relation, out_shape, in_shape = RELATIONS[name]
    frame = frame_of(spark, relation, out_shape, in_shape)
    options = Options(method="provrc", partitions=7, collect_rows=100)
    found = compress_frame(frame, out_shape, in_shape, tmp_path, options)
    assert isinstance(found, LargeLineage)
    assert abs(found.num_rows - len(relation)) <= 3
    parts = [part for (factor,) in found.terms for part in factor.table.parts]
    assert len(parts) > 2
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")}
    assert written == {part.name for part in parts}


def test_a_long_progression_is_folded_on_the_executors(spark, tmp_path):
    n = 20_000
    relation, out_shape, in_shape = flip(n)
    frame = frame_of(spark, relation, out_shape, in_shape)
    options = Options(partitions=4, collect_rows=1000)
    found = compress_frame(frame, out_shape, in_shape, tmp_path, options)
    assert found.num_rows == 1
    np.testing.assert_array_equal(found.to_relation(), relation)


# --- bad relations -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"b0": [0, 5], "a0": [0, 0]}, "a row of the relation has b0 = 5, but that output axis"),
        ({"b0": [0, 1], "a0": [0, -1]}, "a row of the relation has a0 = -1, but that input axis"),
        (
            {"b0": pa.array([0, None], pa.int64()), "a0": [0, 0]},
            "column b0 of the relation has nulls",
        ),
        ({"b0": [0.5], "a0": [0]}, "column b0 of the relation has type double"),
        ({"b0": [0], "a1": [0]}, r"columns \['b0', 'a1'\], but \['b0', 'a0'\] are needed"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_left(spark, tmp_path, columns, message):
    with dslog.open(tmp_path / "s") as store:
        store.array("A", (5,))
        store.array("B", (5,))
        with pytest.raises(RelationError, match=message):
            store.lineage("B", "A", spark.createDataFrame(pa.table(columns)))
        assert store.lineages() == []
        assert list((tmp_path / "s" / "lineage").glob("*")) == []


# --- into a store --------------------------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch):
    """Limits so small that ordinary test relations count as large."""
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "200")
    monkeypatch.setenv("DSLOG_SPARK_ROWS", "300")


@pytest.fixture
def store(tmp_path, small_limits):
    with dslog.open(tmp_path / "s") as opened:
        opened.array("A", (700,))
        opened.array("B", (700,))
        yield opened


def test_frames_paths_and_arrays_give_the_same_lineage(spark, store, tmp_path):
    relation, out_shape, in_shape = RELATIONS["permutation"]
    frame = frame_of(spark, relation, out_shape, in_shape)
    frame.repartition(3).write.parquet(str(tmp_path / "parts"))
    pq.write_table(frame.toArrow(), tmp_path / "one.parquet")
    infos = [
        store.lineage("B", "A", capture, engine=engine)
        for capture, engine in (
            (frame, "auto"),
            (tmp_path / "parts", "auto"),
            (str(tmp_path / "one.parquet"), "spark"),
            (relation, "spark"),
            (pa.table({"b0": relation[:, 0], "a0": relation[:, 1]}), "spark"),
        )
    ]
    assert len({info.body for info in infos}) == 1
    assert infos[0].where == "files"
    assert store.verify().ok
    np.testing.assert_array_equal(store.load("B", "A")[0].to_relation(), relation)
    assert store.gc(force=True).files == 0


def test_a_frame_can_be_compressed_in_process(spark, store):
    relation, out_shape, in_shape = RELATIONS["permutation"]
    frame = frame_of(spark, relation, out_shape, in_shape)
    store.lineage("B", "A", frame, engine="local")
    assert store.stored("B", "A")[0].large is None


def test_register_operation_takes_frames(spark, store):
    relation, out_shape, in_shape = RELATIONS["permutation"]
    frame = frame_of(spark, relation, out_shape, in_shape)
    store.register_operation("sort", ["A"], ["B"], [frame], op_args={"axis": 0})
    assert store.backward("B", 5, to="A").indices().tolist() == [[relation[5, 1]]]


@pytest.mark.parametrize("kind", ["frame", "path"])
def test_frames_and_paths_that_differ_in_one_cell_are_stored(spark, store, tmp_path, kind):
    """Three times the same, so that reuse has an answer; then one with another cell."""
    relation, out_shape, in_shape = RELATIONS["permutation"]
    other = relation.copy()
    other[[300, 301], 1] = other[[301, 300], 1]
    for k, pairs in enumerate([relation, relation, relation, other]):
        frame = frame_of(spark, pairs, out_shape, in_shape)
        if kind == "path":
            frame.write.parquet(str(tmp_path / f"pairs{k}"))
        for name, shape in ((f"p{k}", in_shape), (f"q{k}", out_shape)):
            store.array(name, shape)
        capture = frame if kind == "frame" else tmp_path / f"pairs{k}"
        done = store.register_operation("shuffle", [f"p{k}"], [f"q{k}"], [capture])
        assert not done.predicted
        assert store.stored(f"q{k}", f"p{k}")[0].large is not None
        np.testing.assert_array_equal(store.load(f"q{k}", f"p{k}")[0].to_relation(), pairs)
    assert done.reused is None
    assert store.stats()["stored_lineages"] == 2
    (stats,) = store.reuse_stats()
    assert stats.misses == 1
    assert store.verify().ok
    assert store.gc(force=True).files == 0


def test_a_store_in_memory_takes_large_relations(spark, small_limits):
    relation, out_shape, in_shape = RELATIONS["permutation"]
    with dslog.open(":memory:") as store:
        store.array("A", in_shape)
        store.array("B", out_shape)
        store.lineage("B", "A", frame_of(spark, relation, out_shape, in_shape))
        assert store.prov_query(["B", "A"], 5).indices().tolist() == [[relation[5, 1]]]


def failing_frame(spark, relation):
    """A relation whose last partition fails, after others have been written."""
    frame = spark.createDataFrame(pa.table({"b0": relation[:, 0], "a0": relation[:, 1]}))
    broken = "if(b0 < 690, b0, cast(raise_error('a disk broke') as bigint)) as b0"
    return frame.repartition(4).selectExpr(broken, "a0")


def test_a_job_that_fails_leaves_the_store_as_it_was(spark, store):
    relation, _, _ = RELATIONS["permutation"]
    files = store.path / "lineage"
    with pytest.raises(EngineError, match="a disk broke"):
        store.lineage("B", "A", failing_frame(spark, relation))
    assert store.lineages() == []
    assert list(files.glob("*")) == []
    with pytest.raises(EngineError, match="a disk broke"):
        store.register_operation("f", ["A"], ["B"], [failing_frame(spark, relation)])
    assert store.operations() == []


def test_a_cancelled_job_leaves_the_store_as_it_was(spark, store, tmp_path):
    """No task gives anything before the job is cancelled, however long that takes."""
    cancelled = tmp_path / "cancelled"

    def waiting(batches):
        for batch in batches:
            while not cancelled.exists():
                time.sleep(0.01)
            yield batch

    frame = spark.range(0, 700, 1, 4).selectExpr("id as b0", "id as a0")
    frame = frame.mapInArrow(waiting, "b0 long, a0 long")
    failures = []

    def run():
        try:
            store.lineage("B", "A", frame)
        except EngineError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while not spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.05)
    while thread.is_alive():
        spark.sparkContext.cancelAllJobs()
        thread.join(0.2)
    cancelled.touch()
    assert len(failures) == 1
    assert store.lineages() == []
    assert list((store.path / "lineage").glob("*")) == []
