"""Functions and blocks as one operation, with the lineage of all their steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracked_shadow import cell, cells

import dslog
from dslog.algebra.affine import affine, as_affine, multiply
from dslog.algebra.algebra_cost import AlgebraCost
from dslog.algebra.compose import as_lineage, combine_rows, compose, count, join, to_pairs, unite
from dslog.algebra.positions import Pairs
from dslog.algebra.product import all_to_all, identity, same_order
from dslog.compress.compress_cost import CompressCost
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Row, Table


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture
def x(store):
    return store.track(np.arange(12.0).reshape(3, 4), "A")


def operations(store):
    return [(op.name, op.inputs, op.outputs) for op in store.operations()]


@dslog.operation
def centre(x, by=0):
    """Take the mean of each column away."""
    mean = x.mean(axis=0)
    return x - mean - by


def test_a_function_is_one_operation(store, x):
    y = centre(x, by=3)
    assert operations(store) == [("centre", ("A",), ("A.centre",))]
    assert store.operations()[0].args == {"by": 3}
    assert cell(store, y, (1, 2), "A") == [(0, 2), (1, 2), (2, 2)]
    assert centre.__name__ == "centre"
    assert centre.__doc__.startswith("Take")


def test_values_are_the_same(x):
    assert np.array_equal(dslog.plain(centre(x)), centre(dslog.plain(x)))


def test_a_name_of_its_own_and_several_results(store, x):
    @dslog.operation("halves")
    def split(x):
        return {"left": x[:, :2], "right": [x[:, 2:] + 1]}

    result = split(x)
    assert operations(store) == [("halves", ("A",), ("A.halves", "A.halves_2"))]
    assert cells(store, result["left"], "A") == [(i, j) for i in range(3) for j in range(2)]
    assert cell(store, result["right"][0], (0, 0), "A") == [(0, 2)]


def test_a_block(store, x):
    with dslog.operation("block", store) as op:
        y = x * 2
        z = y.sum(axis=1)
        op.keep(z)
    assert operations(store) == [("block", ("A",), ("A.block",))]
    assert cell(store, z, (1,), "A") == [(1, j) for j in range(4)]


def test_what_a_block_did_not_keep_is_there_when_it_is_used(store, x):
    with dslog.operation("block", store) as op:
        y = x * 2
        view = y[1]
        z = y.sum(axis=1)
        numbers = [y[0, 0], z[1]]
        op.keep(z)
    assert operations(store) == [("block", ("A",), ("A.block",))]
    assert cell(store, y + 1, (1, 2), "A") == [(1, 2)]
    assert operations(store)[1:] == [
        ("block", ("A",), ("A.block_2",)),
        ("add", ("A.block_2",), ("A.add",)),
    ]
    y[1, 0] = z[0]
    assert cell(store, view, (0,), "A") == [(0, j) for j in range(4)]
    assert cell(store, view, (1,), "A") == [(1, 1)]
    assert cell(store, np.array(numbers), (0,), "A") == [(0, 0)]
    assert cell(store, np.array(numbers), (1,), "A") == [(1, j) for j in range(4)]


def test_a_kept_view_of_what_was_not_kept_is_written(store, x):
    with dslog.operation("outer", store) as outer:
        with dslog.operation("inner", store) as inner:
            y = x * 2
            z = y[:, ::-1]
            inner.keep(z)
        outer.keep(z)
    y[0, 0] = x[2, 2]
    y[1] = 0
    assert cell(store, z, (0, 3), "A") == [(2, 2)]
    assert cell(store, z, (0, 2), "A") == [(0, 1)]
    assert cell(store, z, (1, 2), "A") == []
    assert cell(store, y, (2, 0), "A") == [(2, 0)]


@pytest.mark.parametrize("keeps", [False, True])
def test_an_array_of_the_program_that_a_block_fills(store, x, keeps):
    out = np.zeros((3, 4))
    with dslog.operation("block", store) as op:
        out[:2] = x[1:] * 2
        out[2, 0] = x.sum()
        if keeps:
            op.keep(x * 3)
    assert cell(store, out, (0, 2), "A") == [(1, 2)]
    assert cell(store, out * 2, (2, 0), "A") == [(i, j) for i in range(3) for j in range(4)]
    assert cell(store, out, (2, 1), "A") == []


def test_an_array_made_in_an_outer_block_and_filled_in_an_inner_one(store, x):
    with dslog.operation("outer", store) as outer:
        out = np.zeros(3)
        with dslog.operation("inner", store):
            for i in range(3):
                out[i] = x[i, i] * x[0, i]
        outer.keep(double := out * 2)
    assert operations(store) == [("outer", ("A",), ("zeros.outer",))]
    assert cell(store, double, (2,), "A") == [(0, 2), (2, 2)]
    assert cell(store, out, (1,), "A") == [(0, 1), (1, 1)]


def test_a_block_keeps_what_is_alive(store, x):
    with dslog.operation("block", store):
        y = x * 2
        z = y.sum(axis=1)
        _ = x + 1
        del _
    assert operations(store) == [("block", ("A",), ("A.block", "A.block_2"))]
    assert cell(store, y, (1, 1), "A") == [(1, 1)]
    assert cell(store, z, (1,), "A") == [(1, j) for j in range(4)]


def test_a_block_needs_its_store():
    with pytest.raises(dslog.CaptureError, match="needs the store"), dslog.operation("block"):
        pass


def test_loops_over_cells(store, x):
    @dslog.operation
    def smooth(x):
        out = np.zeros_like(x)
        for i in range(1, 3):
            for j in range(4):
                out[i, j] = (x[i - 1, j] + x[i, j]) / 2 if j % 2 else 0
        return out

    y = smooth(x)
    assert operations(store) == [("smooth", ("A",), ("A.smooth",))]
    assert cell(store, y, (2, 1), "A") == [(1, 1), (2, 1)]
    assert cell(store, y, (2, 2), "A") == cell(store, y, (0, 1), "A") == []


def test_loops_that_read_what_they_wrote(store, x):
    @dslog.operation
    def running(row):
        out = np.empty(4, like=row)
        out[0] = row[0]
        for i in range(1, 4):
            out[i] = out[i - 1] + row[i]
        return out

    y = running(x[1])
    assert dslog.plain(y).tolist() == [4.0, 9.0, 15.0, 22.0]
    assert cell(store, y, (2,), "A") == [(1, 0), (1, 1), (1, 2)]


def test_nested(store, x):
    @dslog.operation
    def outer(x):
        a = centre(x)
        a[0] = 1
        return centre(a)[1:]

    y = outer(x)
    assert operations(store) == [("outer", ("A",), ("A.outer",))]
    assert cell(store, y, (0, 1), "A") == [(0, 1), (1, 1), (2, 1)]
    alone = centre(x)[0]
    assert operations(store)[1:] == [
        ("centre", ("A",), ("A.centre",)),
        ("getitem", ("A.centre",), ("A.getitem",)),
    ]
    assert cells(store, alone, "A") == [(i, j) for i in range(3) for j in range(4)]


def test_arrays_from_outside_that_are_changed(store, x):
    view = x[1]

    @dslog.operation
    def change(x, y):
        x[0] = y[2]
        x += 1
        return x.sum()

    total = change(x, x * 2)
    assert {op.name for op in store.operations()} == {"getitem", "multiply", "change"}
    assert x.name == "A.2"
    assert cell(store, x, (0, 1), "A") == [(2, 1)]
    assert cell(store, view, (1,), "A") == [(1, 1)]
    assert len(cells(store, total, "A")) == 8


def test_views_that_outlive_the_group(store, x):
    @dslog.operation
    def views(x):
        y = x + 1
        return y, y[1], y[:, 1]

    y, row, column = views(x)
    y[1, 1] = 0
    assert cell(store, row, (1,), "A") == cell(store, column, (1,), "A") == []
    assert cell(store, row, (0,), "A") == [(1, 0)]

    @dslog.operation
    def only(x):
        return (x + 1)[1]

    row = only(x)
    row[0] = 5
    assert cell(store, row, (1,), "A") == [(1, 1)]
    assert cells(store, row, "A") == [(1, 1), (1, 2), (1, 3)]


def test_what_leaks_from_a_function_is_a_result(store, x):
    leaked = []

    @dslog.operation
    def leaky(x):
        leaked.append(x * 3)
        return x + 1

    leaky(x)
    assert cell(store, leaked[0], (1, 1), "A") == [(1, 1)]


def test_returning_the_argument(store, x):
    assert dslog.operation(lambda x: x)(x) is x
    assert store.operations() == []


def test_names_given_inside(store, x):
    @dslog.operation
    def inside(x):
        y = (x + 1).named("B")
        with pytest.raises(dslog.CaptureError, match="take another name"):
            (x + 2).named("B")
        with pytest.raises(dslog.CaptureError, match="take another name"):
            (x + 2).named("A")
        assert y.name == "B"
        return y

    assert inside(x).name == "B"


def test_an_error_inside(store, x):
    @dslog.operation
    def fails(x):
        x[0] = x[1] * 2
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        fails(x)
    assert cell(store, x, (0, 1), "A") == [(1, 1)]
    assert all(op.name.startswith("fails/") for op in store.operations())
    assert cell(store, x + 1, (2, 2), "A") == [(2, 2)]


def test_wrong_arguments(x):
    with pytest.raises(TypeError, match="unexpected keyword"):
        centre(x, wrong=1)


def test_without_tracked_arrays_nothing_happens(store):
    assert np.array_equal(centre(np.ones((2, 2))), np.zeros((2, 2)))
    assert store.operations() == []


def test_too_many_pairs_are_kept_as_steps(store, x, choose):
    choose(AlgebraCost, most_pairs=4, few_pairs=2, most_rows=0)
    picks = np.array([3, 0, 2, 1])

    @dslog.operation
    def shuffle(x):
        y = x[0][picks]
        return np.cumsum(y)[picks]

    y = shuffle(x)
    assert [op.name for op in store.operations()] == [
        "shuffle/getitem", "shuffle/getitem", "shuffle/cumsum", "shuffle/getitem"
    ]  # fmt: skip
    assert cell(store, y, (3,), "A") == [(0, 0), (0, 3)]


def test_large_arrays_are_composed_by_formula(store):
    x = store.track(np.zeros((1500, 1500)), "A")

    @dslog.operation
    def pipeline(x):
        y = np.sqrt(x.T[::2] + 1)
        return (y[:, 10:] * 2).mean(axis=1, keepdims=True) - y

    y = pipeline(x)
    assert operations(store) == [("pipeline", ("A",), ("A.pipeline",))]
    (lineage,) = store.load(y.name, "A")
    assert lineage.num_rows < 10
    assert store.backward(y.name, [(3, 4)], "A").count == 1491


def test_supersets_stay_supersets(store, x):
    @dslog.operation
    def unknown(x):
        return np.apply_over_axes(lambda a, axis: np.array([a.tolist()[0]]), x, [0])

    assert isinstance(unknown(x), dslog.TrackedArray)


# composing


@st.composite
def lineages(draw, out_shape, in_shape):
    """Rows with fixed and moving intervals."""
    rows = []
    for _ in range(draw(st.integers(0, 3))):
        box = [
            sorted((draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1)))) for n in out_shape
        ]
        ins, ref = [], []
        for size in in_shape:
            follow = draw(st.integers(-1, len(out_shape) - 1))
            low, high = (
                (0, size - 1) if follow < 0 else (-box[follow][0], size - 1 - box[follow][1])
            )
            if low > high:
                follow, low, high = -1, 0, size - 1
            ins.append(sorted((draw(st.integers(low, high)), draw(st.integers(low, high)))))
            ref.append(follow)
        rows.append(Row(tuple(map(tuple, box)), tuple(map(tuple, ins)), tuple(ref)))
    table = Table.of_rows(len(out_shape), len(in_shape), rows)
    return Lineage.of_table(out_shape, in_shape, table)


shapes = st.lists(st.integers(1, 5), max_size=2).map(tuple)


@st.composite
def two_steps(draw):
    c, b, a = draw(shapes), draw(shapes), draw(shapes)
    return draw(lineages(c, b)), draw(lineages(b, a))


def naive(outer, inner):
    l, m = len(outer.out_shape), len(inner.out_shape)
    further = {}
    for pair in inner.to_relation().tolist():
        further.setdefault(tuple(pair[:m]), []).append(pair[m:])
    return sorted(
        {
            (*pair[:l], *a)
            for pair in outer.to_relation().tolist()
            for a in further.get(tuple(pair[l:]), [])
        }
    )


def pairs_of(lineage):
    return [tuple(pair) for pair in as_lineage(lineage).to_relation().tolist()]


@given(two_steps())
def test_two_steps_as_one(steps):
    outer, inner = steps
    wanted = naive(outer, inner)
    assert pairs_of(compose(outer, inner)) == wanted
    assert pairs_of(join(to_pairs(outer), to_pairs(inner))) == wanted
    combined = combine_rows(outer, inner)
    assert combined is None or pairs_of(combined) == wanted
    assert count(outer) >= len(outer.to_relation())


@given(two_steps())
def test_unions(steps):
    first, _ = steps
    both = unite([first, to_pairs(first)])
    assert pairs_of(both) == pairs_of(first)
    assert pairs_of(unite([first, first])) == pairs_of(first)
    assert pairs_of(unite([to_pairs(first), to_pairs(first)])) == pairs_of(first)


def test_affine_maps_multiply():
    flip = affine((4, 6), (4, 6), [3, 0], [[-1, 0], [0, 1]])
    turn = affine((6, 4), (4, 6), [0, 0], [[0, 1], [1, 0]])
    both = multiply(as_affine(turn), as_affine(flip))
    assert pairs_of(both.lineage()) == naive(turn, flip)
    assert as_affine(identity((3, 2))).is_identity
    assert not as_affine(flip).is_identity
    assert as_affine(all_to_all((2,), (2,))) is None
    assert as_affine(same_order((4,), (2, 2))) is None


def test_large_steps_need_no_cells():
    big = (100_000, 1000)
    outer = compose(identity(big), all_to_all(big, (10**6,)))
    assert outer.num_rows == 1
    assert compose(affine((10**5,), big, [0, 5], [[1], [0]]), identity(big)).num_rows == 1
    assert compose(same_order((10**8,), big), same_order(big, (10**8,))) is None


def test_labels_survive():
    guess = all_to_all((3,), (3,), exact=False)
    assert not as_lineage(compose(identity((3,)), guess)).exact
    assert not as_lineage(compose(guess, identity((3,)))).exact
    assert isinstance(compose(guess, guess), Pairs)


def smooth(x, sweeps, centre):
    """Each inner cell becomes the mean of its neighbours, again and again."""
    for _ in range(sweeps):
        new = x.copy()
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                new[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                if centre:
                    new[i, j] = new[i, j] - x[i, j]
        x = new
    return x


@pytest.mark.parametrize("sweeps", [1, 2, 6])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("cost", [{}, {"bit_pairs": 0, "bytes_a_pair": 1 << 20}])
def test_a_grouped_loop_reads_what_its_sweeps_read(store, choose, sweeps, centre, cost):
    choose(AlgebraCost, **cost)
    choose(CompressCost, run_pairs=1)
    values = np.random.default_rng(0).random((7, 6))
    y = dslog.operation(smooth)(store.track(values, "A"), sweeps, centre)
    assert [op.name for op in store.operations()] == ["smooth"]
    assert np.array_equal(dslog.plain(y), smooth(values, sweeps, centre))
    read = {at: {at} for at in np.ndindex(values.shape)}  # sets, cell by cell
    for _ in range(sweeps):
        inner = [(i, j) for i, j in read if 0 < i < 6 and 0 < j < 5]
        around = [(-1, 0), (1, 0), (0, -1), (0, 1), *([(0, 0)] if centre else [])]
        read |= {(i, j): set().union(*(read[i + a, j + b] for a, b in around)) for i, j in inner}
    for at, wanted in read.items():
        assert set(cell(store, y, at, "A")) == wanted
    assert store.backward(y.name, ..., "A").exact
