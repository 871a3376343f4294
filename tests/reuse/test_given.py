"""A capture that is given in full is compared in full, and stored where it differs."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dslog
from dslog.algebra.algebra_cost import AlgebraCost
from dslog.algebra.equal import same_lineage, surely_same_lineage

SIZE = 1000


def table(pairs):
    return pa.table({"b0": pairs[:, 0], "a0": pairs[:, 1]})


def written(pairs, tmp_path):
    pq.write_table(table(pairs), tmp_path / "pairs.parquet")
    return tmp_path / "pairs.parquet"


def lineage(pairs, **how):
    return dslog.compress(pairs, (SIZE,), (SIZE,), **how)


FORMS = {
    "array": lambda pairs, _: pairs,
    "list": lambda pairs, _: pairs.tolist(),
    "table": lambda pairs, _: table(pairs),
    "batch": lambda pairs, _: table(pairs).to_batches()[0],
    "reader, which is read once": lambda pairs, _: table(pairs).to_reader(),
    "pandas": lambda pairs, _: pd.DataFrame({"b0": pairs[:, 0], "a0": pairs[:, 1]}),
    "path": written,
    "text of a path": lambda pairs, tmp_path: str(written(pairs, tmp_path)),
    "lineage": lambda pairs, _: lineage(pairs),
    "other lineage": lambda pairs, _: lineage(pairs, method="provrc"),
    "forward lineage": lambda pairs, _: lineage(pairs, orientation="forward"),
}


def identity(n):
    return np.stack([np.arange(n)] * 2, axis=1)


def spoilt(cell, n=SIZE):
    """An identity but for one cell."""
    pairs = identity(n)
    pairs[cell, 1] = (cell + 5) % n
    return pairs


def give(store, capture, n=SIZE, name="impute", **how):
    number = len(store.arrays())
    ins, outs = store.array(f"a{number}", (n,)).name, store.array(f"b{number}", (n,)).name
    capture = capture if capture is None else [capture]
    return store.register_operation(name, [ins], [outs], capture, **how)


def stored(store, operation):
    (found,) = store.load(operation.outputs[0], operation.inputs[0])
    return found.to_relation().tolist()


@pytest.fixture
def learned(store):
    for n in (400, 437):
        assert give(store, identity(n), n).reused is None
    return store


@pytest.mark.parametrize("reuse", [None, True])
@pytest.mark.parametrize("form", FORMS)
def test_what_agrees_is_reused_and_what_differs_is_stored(learned, form, reuse, tmp_path):
    same = give(learned, FORMS[form](identity(SIZE), tmp_path), reuse=reuse)
    assert (same.reused, same.predicted, same.compared) == ("gen_sig", False, None)
    other = give(learned, FORMS[form](spoilt(617), tmp_path), reuse=reuse)
    assert (other.reused, other.predicted, other.compared) == (None, False, None)
    assert stored(learned, same) == identity(SIZE).tolist()
    assert stored(learned, other) == spoilt(617).tolist()
    cells = learned.prov_query([other.outputs[0], other.inputs[0]], (617,))
    assert cells.indices().tolist() == [[622]]
    assert (cells.exact, cells.predicted) == (True, False)
    (stats,) = learned.reuse_stats()
    assert (stats.hits, stats.misses) == (1, 1)


def test_one_cell_in_a_thousand_is_never_missed(store):
    for number, cell in enumerate(np.random.default_rng(3).integers(SIZE, size=50).tolist()):
        for n in (400, 437):
            give(store, identity(n), n, f"impute{number}")
        done = give(store, spoilt(cell), name=f"impute{number}")
        assert stored(store, done) == spoilt(cell).tolist()
        with pytest.raises(dslog.CaptureError):
            give(store, None, name=f"impute{number}")


def test_nothing_is_saved_by_comparing_in_full(learned):
    give(learned, identity(SIZE))
    (stats,) = learned.reuse_stats()
    assert (stats.hits, stats.saved) == (1, 0)


def test_the_same_arrays_are_compared_too(store):
    first = give(store, identity(SIZE))
    again = store.array("again", (SIZE,)).name
    done = store.register_operation("impute", first.inputs, [again], spoilt(3))
    assert done.reused is None
    assert stored(store, done) == spoilt(3).tolist()


def test_what_can_not_be_compared_is_stored(learned):
    """Too many pairs to write out, and no difference in sight: what was given stays."""
    with AlgebraCost.using(equal_pairs=10, few_pairs=5):
        differs = give(learned, spoilt(617))
        alike = give(learned, lineage(identity(SIZE), orientation="forward"))
    assert (differs.reused, alike.reused) == (None, None)
    assert stored(learned, differs) == spoilt(617).tolist()
    assert stored(learned, alike) == identity(SIZE).tolist()


def test_certainty_is_told_from_looking():
    one, other = lineage(identity(SIZE)), lineage(spoilt(617))
    forward = lineage(identity(SIZE), orientation="forward")
    assert surely_same_lineage(one, forward)
    assert not same_lineage(one, other)
    with AlgebraCost.using(equal_pairs=10, few_pairs=5):
        assert same_lineage(one, other)  # as far as can be seen
        assert not surely_same_lineage(one, other)
        assert not surely_same_lineage(one, forward)
        assert surely_same_lineage(one, lineage(identity(SIZE)))


def test_labels_and_shapes_of_a_lineage_count(learned):
    loose = give(learned, lineage(identity(SIZE)).with_exact(False))
    assert (loose.reused, loose.exact) == (None, False)
    with pytest.raises(dslog.ShapeError):
        give(learned, dslog.compress(identity(7), (7,), (7,)))


def test_no_lineage_is_not_an_empty_one(store):
    for n in (400, 437, SIZE):
        done = give(store, np.zeros((0, 2), int), n)
    assert done.reused == "gen_sig"
    number = len(store.arrays())
    ins, outs = store.array(f"a{number}", (9,)).name, store.array(f"b{number}", (9,)).name
    assert store.register_operation("impute", [ins], [outs], [None]).reused is None


def test_a_function_is_asked_about_a_few_cells_and_the_answer_is_labelled(learned):
    asked = []

    def capture(cell):
        asked.append(cell)
        return [cell]

    done = give(learned, capture)
    assert (done.reused, done.predicted, done.compared) == ("gen_sig", True, len(asked))
    assert len(asked) == 8
    assert learned.operations()[-1] == done
    assert learned.lineages()[-1].predicted


def test_a_function_that_was_asked_about_every_cell_is_not_labelled(learned):
    done = give(learned, lambda cell: [cell], 8)
    assert (done.reused, done.predicted, done.compared) == ("gen_sig", False, None)
    done = give(learned, lambda cell: [cell], 9)
    assert (done.reused, done.predicted) == ("gen_sig", True)
    assert 2 < done.compared < 9


def test_one_function_among_what_is_given_is_enough_for_the_label(store):
    for k, n in enumerate((40, 47, 6000, 6001, 6002)):
        for name in "abc":
            store.array(f"{name}{k}", (n,))
        right, wrong = identity(n), spoilt(17, n)
        captures = {
            6000: [right, lambda cell: [cell]],
            6001: [wrong, lambda cell: [cell]],
            6002: [right, right],
        }.get(n, [right, right])
        done = store.register_operation("add", [f"a{k}", f"b{k}"], [f"c{k}"], captures)
        expected = {6000: ("gen_sig", True, 8), 6002: (None, False, None)}
        found = (done.reused, done.predicted, done.compared)
        assert found == expected.get(n, (None, False, None))


def test_without_a_capture_nothing_is_compared(learned):
    done = give(learned, None)
    assert (done.reused, done.predicted, done.compared) == ("gen_sig", True, 0)
