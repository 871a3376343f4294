"""Paths, diamonds and cycles through a store equal joins over the raw relations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dslog
from dslog.testing import naive

SHAPES = st.lists(st.integers(1, 4), min_size=0, max_size=3).map(tuple)


def all_cells(shape):
    return list(itertools.product(*(range(size) for size in shape)))


def some_cells(shape):
    return st.lists(st.sampled_from(all_cells(shape)), max_size=6)


def relations(out_shape, in_shape):
    """Draw a set of pairs: scattered ones, or a box of outputs by a box of inputs."""
    pairs = st.tuples(st.sampled_from(all_cells(out_shape)), st.sampled_from(all_cells(in_shape)))
    block = st.tuples(some_cells(out_shape), some_cells(in_shape)).map(
        lambda sides: set(itertools.product(*sides))
    )
    return st.one_of(st.sets(pairs, max_size=25), block)


@st.composite
def graphs(draw, arrows):
    """Draw shapes for the arrays named in ``arrows`` ("BA": B from A) and a relation for each."""
    names = sorted(set("".join(arrows)))
    shapes = {name: draw(SHAPES) for name in names}
    drawn = {arrow: draw(relations(shapes[arrow[0]], shapes[arrow[1]])) for arrow in arrows}
    return shapes, drawn


def filled(shapes, relations):
    """Make a store in memory with these arrays and relations."""
    store = dslog.open(":memory:")
    for name, shape in shapes.items():
        store.array(name, shape)
    for (out, in_), pairs in relations.items():
        rows = naive.relation_of(pairs, len(shapes[out]), len(shapes[in_]))
        store.lineage(out, in_, rows)
    return store


def cells_of(cells):
    return {tuple(index) for index in cells.indices().tolist()}


def brute_force_path(path, relations, cells):
    """Join the raw relations along a path; each pair of neighbours both ways, where stored."""
    cells = set(cells)
    for source, target in itertools.pairwise(path):
        found = naive.backward(relations.get(source + target, set()), cells)
        if source != target:
            found |= naive.forward(relations.get(target + source, set()), cells)
        cells = found
    return cells


def brute_force_walk(source, target, relations, cells, *, backward):
    """Follow every path by a fixpoint over (array, cell)."""
    reached = {(source, cell) for cell in cells}
    while True:
        more = set(reached)
        for (out, in_), pairs in relations.items():
            if backward:
                here = {cell for name, cell in reached if name == out}
                more |= {(in_, cell) for cell in naive.backward(pairs, here)}
            else:
                here = {cell for name, cell in reached if name == in_}
                more |= {(out, cell) for cell in naive.forward(pairs, here)}
        if more == reached:
            return {cell for name, cell in reached if name == target}
        reached = more


def check_path(path, shapes, relations, cells, engine):
    with filled(shapes, relations) as store:
        assert store.verify().ok
        expected = brute_force_path(path, relations, cells)
        for merge in (True, False):
            found = store.prov_query(list(path), cells, merge=merge, engine=engine.name)
            assert cells_of(found) == expected
            assert found.shape == shapes[path[-1]]
            assert found.exact
            explained = store.explain(list(path), cells, merge=merge, engine=engine.name)
            assert explained.cells == len(expected)
            assert {step.engine for step in explained.steps} == {engine.name}


@pytest.mark.parametrize(
    ("arrows", "path"),
    [
        (["BA", "CB"], "CBA"),
        (["BA", "CB"], "ABC"),
        (["BA", "CA"], "BAC"),
        (["CA", "CB"], "ACB"),
        (["BA", "CB", "DC"], "DCBA"),
        (["BA", "CB", "DC"], "ABCD"),
        (["BA", "CB", "CD"], "ABCD"),
        (["BA", "AB"], "BA"),
        (["AA", "BA"], "BAA"),
        (["BA"], "BAB"),
    ],
)
def test_paths(arrows, path, engine):
    @settings(max_examples=engine.examples(settings.default.max_examples // 2))
    @given(data=st.data())
    def check(data):
        shapes, relations = data.draw(graphs(arrows))
        check_path(path, shapes, relations, data.draw(some_cells(shapes[path[0]])), engine)

    check()


@pytest.mark.parametrize(
    "arrows",
    [
        ["BA", "CA", "DB", "DC"],
        ["BA", "CA", "DA", "DB", "DC"],
        ["BA", "CB", "CA", "DC", "DB"],
        ["AA", "BA", "DB"],
        ["BA", "AB", "DB"],
        ["BA", "CB", "BC", "DC", "DD"],
        ["BA", "DB", "BD", "AD"],
    ],
    ids="-".join,
)
def test_every_path_of_a_graph(arrows, engine):
    @settings(max_examples=engine.examples(settings.default.max_examples // 2))
    @given(data=st.data())
    def check(data):
        shapes, relations = data.draw(graphs(arrows))
        with filled(shapes, relations) as store:
            cells = data.draw(some_cells(shapes["D"]))
            found = store.backward("D", cells, to="A", engine=engine.name)
            assert cells_of(found) == brute_force_walk("D", "A", relations, cells, backward=True)
            cells = data.draw(some_cells(shapes["A"]))
            found = store.forward("A", cells, to="D", engine=engine.name)
            assert cells_of(found) == brute_force_walk("A", "D", relations, cells, backward=False)
            assert found.shape == shapes["D"]

    check()


def shift(n, by):
    """Make a relation where cell i comes from cell i - by."""
    return np.array([(i, i - by) for i in range(n) if 0 <= i - by < n])


def test_sixty_diamonds_in_a_row():
    """2^60 paths: only a walk that never lists them comes back."""
    with dslog.open(":memory:") as store:
        store.array("n0", (100,))
        for i in range(60):
            for name in (f"left{i}", f"right{i}", f"n{i + 1}"):
                store.array(name, (100,))
            store.lineage(f"left{i}", f"n{i}", shift(100, 0))
            store.lineage(f"right{i}", f"n{i}", shift(100, 1))
            store.lineage(f"n{i + 1}", f"left{i}", shift(100, 0))
            store.lineage(f"n{i + 1}", f"right{i}", shift(100, 0))
        assert store.forward("n0", 5, to="n60").boxes.tolist() == [[[5, 65]]]
        assert store.backward("n60", 99, to="n0").boxes.tolist() == [[[39, 99]]]


def test_an_array_updated_in_place_again_and_again():
    with dslog.open(":memory:") as store:
        store.array("A", (50,))
        store.array("B", (50,))
        store.lineage("A", "A", shift(50, 1))
        store.lineage("B", "A", shift(50, 0))
        assert store.backward("B", 20, to="A").boxes.tolist() == [[[0, 20]]]
        assert store.forward("A", 40, to="B").boxes.tolist() == [[[40, 49]]]
        assert store.prov_query(["A", "A", "A"], 20).boxes.tolist() == [[[18, 18]]]


def test_cells_that_lead_nowhere():
    with dslog.open(":memory:") as store:
        for name in "ABC":
            store.array(name, (4,))
        store.lineage("B", "A", shift(4, 0))
        store.lineage("B", "B", np.zeros((0, 2), int))
        store.lineage("C", "B", np.zeros((0, 2), int))
        assert not store.forward("A", 2, to="C")
        assert not store.backward("C", [], to="A")
        assert store.forward("A", 2, to="B").count == 1


def test_one_array_gives_the_query_itself():
    with dslog.open(":memory:") as store:
        store.array("A", (4, 4))
        assert store.prov_query(["A"], (1, 2)).indices().tolist() == [[1, 2]]
        assert store.backward("A", (1, 2), to="A").indices().tolist() == [[1, 2]]
        assert store.explain(["A"], (1, 2)).steps == ()


def test_lineages_of_one_pair_are_united():
    with dslog.open(":memory:") as store:
        store.array("A", (10,))
        store.array("B", (10,))
        store.register_operation("left", ["A"], ["B"], shift(10, 1))
        store.register_operation("right", ["A"], ["B"], shift(10, -1))
        assert store.prov_query(["B", "A"], 5).indices().ravel().tolist() == [4, 6]
        assert store.forward("A", 5, to="B").indices().ravel().tolist() == [4, 6]
        assert len(store.load("B", "A")) == 2


@pytest.mark.parametrize("superset", ["B", "C"])
def test_a_superset_on_the_way_labels_the_result(superset):
    with dslog.open(":memory:") as store:
        for name in "ABCD":
            store.array(name, (6,))
        for out, in_ in ("BA", "CB", "DA"):
            lineage = dslog.compress(shift(6, 0), (6,), (6,))
            store.lineage(out, in_, lineage.with_exact(out != superset))
        assert not store.prov_query(["C", "B", "A"], 2).exact
        assert not store.prov_query(["C", "B", "A"], 2, merge=False).exact
        assert not store.backward("C", 2, to="A").exact
        assert not store.forward("A", 2, to="C").exact
        assert not store.explain(["C", "B", "A"], 2).exact
        assert store.prov_query(["D", "A"], 2).exact
        assert store.backward("D", 2, to="A").exact


def test_a_superset_given_as_the_query_stays_one():
    with dslog.open(":memory:") as store:
        store.array("A", (6,))
        query = dslog.CellSet.full((6,)).with_exact(False)
        assert not store.prov_query(["A"], query).exact
