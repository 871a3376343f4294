"""Part files: what is ruled out holds nothing that a query asks for."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relation_strategies import relations

from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.compress.provrc import fold, provrc
from dslog.config import Config
from dslog.errors import CorruptError
from dslog.lineage.factor import Factor
from dslog.lineage.large_lineage import LargeLineage, PartFactor, PartTable, decode_large
from dslog.lineage.lineage import Lineage
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.part_files import (
    PartFile,
    dump_table,
    group_bounds,
    load_table,
    meets,
    read_footer,
    read_part,
    table_bounds,
    write_part,
)
from dslog.lineage.table import Row, Table
from dslog.query.plan import Direction
from dslog.spark.join_job import LargeFollower, SparkJoins


@pytest.fixture
def tiny_groups(choose):
    choose(LineageCost, group_rows=3)


def split_rows(table, pieces):
    ends = np.linspace(0, len(table), pieces + 1).astype(int)
    some = [table.take(slice(a, b)) for a, b in pairwise(ends)]
    return [one for one in some if len(one)]


def stored(case, root, pieces=2):
    """A relation as a large lineage of a few part files, or None if it is empty."""
    relation, out_shape, in_shape = case
    table = provrc(np.asarray(relation), out_shape, in_shape)
    parts = [write_part(one, out_shape, in_shape, root) for one in split_rows(table, pieces)]
    if not parts or not out_shape + in_shape:
        return None
    return reread(of_parts(parts, out_shape, in_shape, root.parent), root.parent)


def of_parts(parts, out_shape, in_shape, root):
    """Part files over all axes of two arrays."""
    axes = tuple(range(len(out_shape))), tuple(range(len(in_shape)))
    table = PartTable(root, len(out_shape), len(in_shape), tuple(parts))
    return LargeLineage(out_shape, in_shape, ((PartFactor(*axes, table),),))


def reread(large, root):
    """Write a header, and read it."""
    header, blobs = large.encode()
    files = {k: blob for k, blob in enumerate(blobs) if isinstance(blob, tuple)}
    others = {k: blob for k, blob in enumerate(blobs) if k not in files}
    again = decode_large(json.loads(header), files, others, root)
    assert again.encode()[0] == header
    return again


def follow(large, cells, direction, **settings):
    config = Config(**{"spark_rows": 0, **settings})
    joins = SparkJoins(lambda: pytest.fail("Spark is not needed"), None, config)
    return LargeFollower(large, "local", joins, lambda: pytest.fail("nothing is loaded whole"))


@pytest.mark.usefixtures("tiny_groups")
def test_queries_read_enough(tmp_path_factory, monkeypatch):
    @given(case=relations(), seed=st.integers(0, 2**32 - 1), batch=st.sampled_from([1, 7, 1000]))
    @settings(max_examples=60)
    def check(case, seed, batch):
        relation, out_shape, in_shape = case
        large = stored(case, tmp_path_factory.mktemp("parts"))
        if large is None:
            return
        whole = compress(relation, out_shape, in_shape)
        rng = np.random.default_rng(seed)
        for direction, shape, ask in (
            (Direction.BACKWARD, out_shape, whole.backward),
            (Direction.FORWARD, in_shape, whole.forward),
        ):
            cells = CellSet.from_mask(np.asarray(rng.random(shape) < rng.random() ** 3))
            step = follow(large, cells, direction, spark_rows=batch)
            monkeypatch.setattr(type(large), "num_rows", property(lambda _: 1 << 40))
            found = step.follow(cells, direction)
            assert found.cells == ask(cells)
            assert found.engine == "local"

    check()


@pytest.mark.usefixtures("tiny_groups")
def test_row_groups_lie_within_their_bounds(tmp_path_factory):
    @given(case=relations())
    @settings(max_examples=60)
    def check(case):
        relation, out_shape, in_shape = case
        table = provrc(np.asarray(relation), out_shape, in_shape)
        if not len(table) or not out_shape + in_shape:
            return
        root = tmp_path_factory.mktemp("parts")
        part = write_part(table, out_shape, in_shape, root)
        path = root.parent / part.name
        bounds = group_bounds(read_footer(path, part), len(out_shape), len(in_shape), 0)
        for group, start in enumerate(range(0, len(table), 3)):
            rows = table_bounds(table.take(slice(start, start + 3)))
            for (lo, hi), (low, high) in zip(rows, bounds[group].tolist(), strict=True):
                assert low <= lo <= hi <= high

    check()


@given(
    bounds=st.lists(st.tuples(*[st.integers(0, 9)] * 4), min_size=1, max_size=8),
    boxes=st.lists(st.tuples(*[st.integers(0, 9)] * 4), min_size=1, max_size=8),
)
def test_meets_is_overlap(bounds, boxes):
    def read(rows):
        return np.sort(np.array(rows, np.int64).reshape(len(rows), 2, 2), axis=2)

    some, asked = read(bounds), read(boxes)
    expected = [
        any(
            all(a[0] <= q[1] and q[0] <= a[1] for a, q in zip(one, box, strict=True))
            for box in asked
        )
        for one in some
    ]
    assert meets(some, asked).tolist() == expected


def permutation(n):
    order = np.random.default_rng(0).permutation(n)
    return np.stack([np.arange(n), order], axis=1), (n,), (n,)


def test_a_point_reads_one_row_group_of_one_file(tmp_path, monkeypatch, tiny_groups):
    (tmp_path / "parts").mkdir()
    large = stored(permutation(100), tmp_path / "parts", pieces=4)
    read = []
    original = LargeLineage.table_of
    monkeypatch.setattr(
        LargeLineage, "table_of", lambda self, unit: read.append(unit) or original(self, unit)
    )
    cells = CellSet.from_indices((100,), [[30]])
    found = follow(large, cells, Direction.BACKWARD).follow(cells, Direction.BACKWARD)
    assert found.cells.indices().tolist() == [[permutation(100)[0][30, 1]]]
    assert [len(unit.groups) for unit in read] == [1]
    assert sum(unit.rows for unit in read) == 3


def test_parts_read_as_a_whole(tmp_path):
    (tmp_path / "parts").mkdir()
    relation, out_shape, in_shape = permutation(50)
    table = provrc(relation, out_shape, in_shape)
    parts = [write_part(t, out_shape, in_shape, tmp_path / "parts") for t in split_rows(table, 3)]
    blobs = [pq.read_table(tmp_path / part.name) for part in parts]
    lineage = Lineage.decode(
        of_parts(parts, out_shape, in_shape, tmp_path).encode()[0], [pa.concat_tables(blobs)]
    )
    np.testing.assert_array_equal(lineage.to_relation(), relation)
    again = [read_part(tmp_path / part.name, 1, 1, 0) for part in parts]
    assert sum(map(len, again)) == len(table)


def test_folded_parts_are_never_ruled_out(tmp_path):
    (tmp_path / "parts").mkdir()
    n = 100
    table = fold(provrc(np.stack([np.arange(n), n - 1 - np.arange(n)], axis=1), (n,), (n,)))
    assert table.levels
    part = write_part(table, (n,), (n,), tmp_path / "parts")
    assert part.bounds == ((0, n - 1), (0, n - 1))
    large = of_parts([part], (n,), (n,), tmp_path)
    for cell in (0, 57, 99):
        cells = CellSet.from_indices((n,), [[cell]])
        for direction in Direction:
            found = follow(large, cells, direction).follow(cells, direction)
            assert found.cells.indices().tolist() == [[n - 1 - cell]]


@given(case=relations())
@settings(max_examples=40)
def test_tables_survive_the_way_to_the_driver(case):
    relation, out_shape, in_shape = case
    table = provrc(np.asarray(relation), out_shape, in_shape)
    for one in (table, fold(table)):
        data = dump_table(one, out_shape, in_shape)
        assert load_table(data, len(out_shape), len(in_shape)) == one


def test_what_is_known_of_a_part_survives():
    part = PartFile("d/x.parquet", 5, 1, 100, b"\x00\xff" * 8, ((0, 4), (2, 9)))
    assert PartFile.from_json(part.to_json()) == part


def test_offsets_fit_their_column(tmp_path):
    """An offset reaches from minus the output's length to the input's."""
    (tmp_path / "parts").mkdir()
    out_shape, in_shape = (300,), (200,)
    rows = [Row(((150, 299),), ((-150, -100),), (0,)), Row(((0, 99),), ((100, 100),), (0,))]
    table = Table.of_rows(1, 1, rows)
    part = write_part(table, out_shape, in_shape, tmp_path / "parts")
    assert read_part(tmp_path / part.name, 1, 1, 0) == table


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
def test_damage_is_named(tmp_path, damage):
    (tmp_path / "parts").mkdir()
    large = stored(permutation(5000), tmp_path / "parts", pieces=1)
    path = large.units()[0].path
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 3
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    cells = CellSet.full((5000,))
    with pytest.raises(CorruptError, match=path.name):
        follow(large, cells, Direction.BACKWARD).follow(cells, Direction.BACKWARD)


def product(rng, root, *, forward):
    """Rows in part files by columns in memory, beside a product that is all in memory."""
    sides = (7, 3), (11, 4)
    columns = np.argwhere(rng.random((3, 4)) < 0.5)

    def rows(share):
        return provrc(np.argwhere(rng.random((7, 11)) < share), (7,), (11,))

    others = Factor((1,), (1,), provrc(columns, (3,), (4,)))
    parts = [write_part(t, (7,), (11,), root) for t in split_rows(rows(0.3), 3)]
    filed = PartFactor((0,), (0,), PartTable(root.parent, 1, 1, tuple(parts)))
    terms = (filed, others), (Factor((0,), (0,), rows(0.05)), others)
    shapes = sides[::-1] if forward else sides
    large = LargeLineage(*shapes, terms, True, "forward" if forward else "backward")
    return reread(large, root.parent)


@pytest.mark.usefixtures("tiny_groups")
@pytest.mark.parametrize("forward", [False, True])
def test_a_factor_may_be_in_part_files(tmp_path_factory, forward):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        root = tmp_path_factory.mktemp("parts")
        large = product(rng, root, forward=forward)
        everything = large.lineage_of(large.units())
        assert large.num_rows == everything.num_rows
        for direction in Direction:
            backward = direction is Direction.BACKWARD
            shape, _ = large.shapes(backward=backward)
            cells = CellSet.from_mask(np.asarray(rng.random(shape) < 0.2))
            found = follow(large, cells, direction).follow(cells, direction)
            ask = everything.backward if backward else everything.forward
            assert found.cells == ask(cells)
        window = np.sort(rng.integers(0, 3, (4, 2)), axis=1)
        some = large.lineage_of(large.units_within(window, 3)).to_relation()
        whole = everything.to_relation()
        inside = ((window[:, 0] <= whole) & (whole <= window[:, 1])).all(axis=1)
        assert set(map(tuple, whole[inside])) <= set(map(tuple, some))


def test_part_files_of_a_product_are_ruled_out(tmp_path, tiny_groups):
    (tmp_path / "parts").mkdir()
    n = 90
    table = provrc(permutation(n)[0], (n,), (n,))
    parts = [write_part(t, (n,), (n,), tmp_path / "parts") for t in split_rows(table, 3)]
    filed = PartFactor((0,), (0,), PartTable(tmp_path, 1, 1, tuple(parts)))
    columns = Factor((1,), (1,), provrc(np.array([[0, 1], [1, 0]]), (2,), (2,)))
    large = LargeLineage((n, 2), (n, 2), ((filed, columns),))
    boxes = np.array([[[40, 40], [0, 0]]])
    (file,) = large.units_met(boxes, backward=True)
    (unit,) = large.pruned(file, boxes, backward=True, most=1000)
    assert unit.rows == 3
    found = large.lineage_of([unit]).backward(CellSet.from_boxes((n, 2), boxes))
    assert found.indices().tolist() == [[permutation(n)[0][40, 1], 1]]
