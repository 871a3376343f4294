"""Large lineage followed on Spark: every way of joining gives what brute force gives."""

import gc
import itertools

import numpy as np
import pyarrow as pa
import pytest

import dslog
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.compress.provrc import provrc
from dslog.config import Config
from dslog.errors import EngineError, SelectionError
from dslog.lineage.factor import Factor
from dslog.lineage.large_lineage import LargeLineage, PartFactor, PartTable
from dslog.lineage.part_files import write_part
from dslog.query.execute import gather_cells
from dslog.query.plan import Direction
from dslog.spark.join_job import How, LargeFollower, SparkJoins, plan_step
from dslog.spark.relation_job import Options, compress_frame
from dslog.spark.spark_cost import SparkCost
from dslog.spark.spread_cells import SpreadCells

SHAPE = (30, 40)


def scattered(seed):
    """Each cell from one other cell and from the one right of that: nothing merges."""
    cells = np.stack(np.unravel_index(np.arange(np.prod(SHAPE)), SHAPE), axis=1)
    other = np.random.default_rng(seed).permutation(cells)
    right = np.stack([other[:, 0], np.minimum(other[:, 1] + 1, SHAPE[1] - 1)], axis=1)
    pairs = [np.concatenate([cells, some], axis=1) for some in (other, right)]
    return np.unique(np.concatenate(pairs), axis=0)


RELATION = scattered(0)


def brute_force(relation, cells, backward):
    asked, other = (slice(0, 2), slice(2, 4)) if backward else (slice(2, 4), slice(0, 2))
    hit = cells.mask()[tuple(relation[:, asked].T)]
    found = np.zeros(SHAPE, bool)
    found[tuple(relation[hit][:, other].T)] = True
    return found


@pytest.fixture(scope="module")
def large(spark, tmp_path_factory):
    root = tmp_path_factory.mktemp("large")
    names = ["b0", "b1", "a0", "a1"]
    frame = spark.createDataFrame(pa.table({n: RELATION[:, k] for k, n in enumerate(names)}))
    options = Options(method="provrc", partitions=4, collect_rows=50)
    return compress_frame(frame, SHAPE, SHAPE, root, options)


def follower(spark, large, root, engine="spark", **settings):
    joins = SparkJoins(lambda: spark, root, Config(**settings))
    return LargeFollower(large, engine, joins, pytest.fail)


CELLS = {
    "point": CellSet.from_indices(SHAPE, [(3, 4)]),
    "box": CellSet.from_boxes(SHAPE, [[[2, 9], [5, 20]]]),
    "scattered": CellSet.from_mask(np.random.default_rng(1).random(SHAPE) < 0.3),
    "all": CellSet.full(SHAPE),
    "none": CellSet.empty(SHAPE),
}


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("how", ["local", "scan", "scan to boxes", "exchange"])
def test_every_way_equals_brute_force(spark, large, tmp_path, choose, how, cells, direction):
    asked = CELLS[cells]
    if how in ("scan to boxes", "exchange"):
        choose(SparkCost, bits_cells=0)
    if how == "exchange":
        choose(SparkCost, broadcast_bytes=0)
    engine = "local" if how == "local" else "spark"
    step = follower(spark, large, tmp_path, engine, spark_rows=100).follow(asked, direction)
    found = gather_cells(step.cells)
    expected = brute_force(RELATION, asked, direction is Direction.BACKWARD)
    np.testing.assert_array_equal(found.mask(), expected)
    assert step.engine == ("spark" if engine == "spark" and asked else "local")


@pytest.mark.parametrize("direction", Direction)
def test_a_large_result_stays_where_it_is_and_goes_on(spark, large, tmp_path, choose, direction):
    choose(SparkCost, bits_cells=0)
    choose(SparkCost, range_boxes=100)
    choose(SparkCost, held_boxes=60)
    step = follower(spark, large, tmp_path, collect_rows=20)
    asked = CELLS["box"]
    back = direction is Direction.BACKWARD
    first = step.follow(asked, direction).cells
    assert isinstance(first, SpreadCells)
    expected = brute_force(RELATION, asked, back)
    assert first.count == expected.sum()
    np.testing.assert_array_equal(first.gather().mask(), expected)

    second = step.follow(first, direction).cells  # rows and boxes both large
    assert isinstance(second, SpreadCells)
    expected = brute_force(RELATION, CellSet.from_mask(expected), back)
    np.testing.assert_array_equal(second.gather().mask(), expected)

    shifted = np.concatenate([RELATION[:, :2], np.roll(RELATION[:, :2], 1, axis=0)], axis=1)
    small = compress(shifted, SHAPE, SHAPE)
    third = second.follow(small, direction).cells  # boxes large, lineage small
    expected = brute_force(shifted, CellSet.from_mask(expected), back)
    np.testing.assert_array_equal(gather_cells(third).mask(), expected)

    both = first.unite(second).unite(CELLS["point"])
    union = first.gather().mask() | second.gather().mask() | CELLS["point"].mask()
    np.testing.assert_array_equal(gather_cells(both).mask(), union)


def test_what_a_query_has_to_read_decides_where_it_runs(spark, large, tmp_path):
    step = follower(spark, large, tmp_path, "auto", spark_rows=large.num_rows // 3)
    few = step.follow(CELLS["point"], Direction.BACKWARD)
    many = step.follow(CELLS["all"], Direction.BACKWARD)
    assert (few.engine, many.engine) == ("local", "spark")
    assert few.scanned < many.scanned <= large.num_rows


def test_scratch_files_go_with_the_cells(spark, large, tmp_path, choose):
    choose(SparkCost, bits_cells=0)
    found = follower(spark, large, tmp_path, collect_rows=20).follow(
        CELLS["box"], Direction.BACKWARD
    )
    assert list(tmp_path.iterdir())
    del found
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_result_too_large_for_one_process_says_so(spark, large, tmp_path, choose):
    choose(SparkCost, bits_cells=0)
    choose(SparkCost, result_bytes=10)
    found = follower(spark, large, tmp_path, collect_rows=20).follow(
        CELLS["scattered"], Direction.BACKWARD
    )
    with pytest.raises(EngineError, match="too many for one process"):
        found.cells.gather()


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_product_in_part_files(spark, tmp_path, forward, axis):
    """Rows in files by columns in memory, cut into ranges of the rows' axis and of the other."""
    rng = np.random.default_rng(0)
    sizes = ((60, 5), (40, 6)) if axis == 0 else ((60, 70), (40, 80))
    (tmp_path / "parts").mkdir()
    table = provrc(np.argwhere(rng.random((sizes[0][0], sizes[1][0])) < 0.1), (60,), (40,))
    halves = [table.take(slice(0, 50)), table.take(slice(50, None))]
    parts = [write_part(half, (60,), (40,), tmp_path / "parts") for half in halves]
    pairs = np.argwhere(rng.random((sizes[0][1], sizes[1][1])) < 0.2)
    columns = Factor((1,), (1,), provrc(pairs, sizes[0][1:], sizes[1][1:]))
    filed = PartFactor((0,), (0,), PartTable(tmp_path, 1, 1, tuple(parts)))
    small = Factor((0,), (0,), provrc(np.array([[3, 4], [5, 0]]), (60,), (40,)))
    shapes = sizes[::-1] if forward else sizes
    orientation = "forward" if forward else "backward"
    product = LargeLineage(*shapes, ((filed, columns), (small, columns)), True, orientation)
    everything = product.lineage_of(product.units())
    for direction in Direction:
        shape, _ = product.shapes(backward=direction is Direction.BACKWARD)
        cells = CellSet.from_mask(rng.random(shape) < 0.1)
        expected = everything.backward if direction is Direction.BACKWARD else everything.forward
        for broadcast in (0, 1 << 20):
            with SparkCost.using(broadcast_bytes=broadcast):
                step = follower(spark, product, tmp_path).follow(cells, direction)
            assert step.cells == expected(cells)


def test_a_missing_file_is_named(spark, large, tmp_path):
    broken = follower(spark, large, tmp_path)
    path = broken.large.units()[0].path
    moved = path.rename(path.with_suffix(".away"))
    try:
        with pytest.raises(dslog.DslogError, match=path.name):
            broken.follow(CELLS["all"], Direction.BACKWARD)
    finally:
        moved.rename(path)


# --- the planner ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "rows", "loaded", "asked", "how"),
    [
        ("auto", 10, False, 16, How.LOCAL),
        ("auto", 2000, False, 16, How.SCAN),
        ("auto", 2000, True, 16, How.LOCAL),
        ("auto", 2000, False, 5000, How.EXCHANGE),
        ("auto", 10, False, None, How.EXCHANGE),
        ("auto", 10, True, None, How.SHARE),
        ("local", 2000, False, 5000, How.LOCAL),
        ("spark", 10, False, 16, How.SCAN),
        ("spark", 10, True, 16, How.SHARE),
        ("spark", 10, True, 5000, How.SHARE),
    ],
)
def test_plan(engine, rows, loaded, asked, how):
    config = Config(spark_rows=1000)
    with SparkCost.using(broadcast_bytes=1000):
        assert plan_step(engine, rows, loaded=loaded, asked=asked, config=config) is how


# --- through a store -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(spark, tmp_path_factory):
    """D <- C <- B <- A: two large steps, then a small one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSLOG_COLLECT_ROWS", "300")
        patch.setenv("DSLOG_SPARK_ROWS", "500")
        opened = dslog.open(tmp_path_factory.mktemp("store") / "s")
        for name in "ABCD":
            opened.array(name, SHAPE)
        for (out, in_), seed in ((("B", "A"), 1), (("C", "B"), 2)):
            relation = scattered(seed)
            names = ["b0", "b1", "a0", "a1"]
            table = pa.table({n: relation[:, k] for k, n in enumerate(names)})
            opened.lineage(out, in_, spark.createDataFrame(table))
        same = np.concatenate([RELATION[:, :2]] * 2, axis=1)
        opened.lineage("D", "C", same)
        yield opened
        opened.close()


def along(cells, *, backward=True):
    mask = cells.mask()
    for seed in (2, 1) if backward else (1, 2):
        mask = brute_force(scattered(seed), CellSet.from_mask(mask), backward)
    return mask


@pytest.mark.parametrize("engine", ["auto", "local", "spark"])
@pytest.mark.parametrize("cells", ["point", "box", "scattered"])
def test_paths_over_large_and_small_steps(store, cells, engine):
    asked = CELLS[cells]
    found = store.prov_query(["D", "C", "B", "A"], asked, engine=engine)
    np.testing.assert_array_equal(found.mask(), along(asked))
    assert found.exact
    back = store.forward("A", asked, to="D", engine=engine)
    np.testing.assert_array_equal(back.mask(), along(asked, backward=False))


def test_explain_says_what_ran_where(store):
    many = store.explain(["D", "C", "B", "A"], CELLS["scattered"])
    assert [step.engine for step in many.steps] == ["local", "spark", "spark"]
    assert many.cells == along(CELLS["scattered"]).sum()
    forced = store.explain(["D", "C", "B", "A"], (3, 4), engine="spark")
    assert {step.engine for step in forced.steps} == {"spark"}
    assert "spark" in str(forced)


@pytest.mark.parametrize("columns", ["i", "b", "a", "lo hi"])
def test_a_frame_of_cells_is_a_query(spark, store, columns):
    asked = CELLS["scattered"]
    if columns == "lo hi":
        frame = asked.to_spark(spark, boxes=True)
    else:
        frame = asked.to_spark(spark).toDF(f"{columns}0", f"{columns}1")
    frame = frame.selectExpr("*", "'x' as other")
    expected = along(asked)
    np.testing.assert_array_equal(store.prov_query(["D", "C", "B", "A"], frame).mask(), expected)
    np.testing.assert_array_equal(store.backward("D", frame, to="A").mask(), expected)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"i0": [0, 30], "i1": [0, 0]}, "Index 30 is out of range on axis 0 of 'D'"),
        ({"i0": [0], "i1": [-1]}, "Index -1 is negative on axis 1 of 'D'"),
        ({"i0": [0]}, "needs the columns i0, i1"),
        ({"i0": [0], "i1": [0.5]}, "column i1 of the cells of 'D' has type double"),
        ({"i0": [0], "i1": pa.array([None], pa.int64())}, "have nulls"),
        ({"lo0": [5], "hi0": [3], "lo1": [0], "hi1": [0]}, "upper end lies before"),
    ],
)
def test_bad_cells_of_a_frame_are_named(spark, store, columns, message):
    with pytest.raises(SelectionError, match=message):
        store.prov_query(["D", "C"], spark.createDataFrame(pa.table(columns)))


def test_a_frame_of_cells_of_a_single_cell(spark, tmp_path):
    with dslog.open(tmp_path) as store:
        store.array("A", (5,))
        store.array("S", ())
        store.lineage("S", "A", np.arange(5)[:, None])
        assert store.prov_query(["S", "A"], spark.range(2)).count == 5
        assert store.prov_query(["S", "A"], spark.range(0)).count == 0


def test_large_lineage_is_loaded_once_when_most_of_it_is_wanted(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("DSLOG_COLLECT_ROWS", "300")
    with dslog.open(tmp_path) as store:
        store.array("A", SHAPE)
        store.array("B", SHAPE)
        names = ["b0", "b1", "a0", "a1"]
        table = pa.table({n: RELATION[:, k] for k, n in enumerate(names)})
        store.lineage("B", "A", spark.createDataFrame(table))
        assert store.stored("B", "A")[0].large is not None
        for cells, _ in itertools.product(["all", "point"], range(2)):
            found = store.prov_query(["B", "A"], CELLS[cells])
            expected = brute_force(RELATION, CELLS[cells], backward=True)
            np.testing.assert_array_equal(found.mask(), expected)
        assert store._engines.cache.get(store.stored("B", "A")[0].number) is not None
