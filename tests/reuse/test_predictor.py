"""Signatures through a store: when they answer, when they refuse, what they learn."""

import numpy as np
import pytest
from callers import Caller
from zoo import ZOO, one

import dslog
from dslog.store.catalog import Signature

BY_NAME = {operation.name: operation for operation in ZOO}
SUM, CROSS, BLUR = (BY_NAME[name] for name in ("sum", "cross", "blur"))
FLIP, OTHER_FLIP = (operation for operation in ZOO if operation.name == "flip")


def states(store, kind):
    return [s.state for s in store.signatures() if s.kind == kind]


def test_the_paper_s_m_is_one(call, store):
    assert call(FLIP, 4, 3).reused is None
    assert states(store, "gen_sig") == []
    assert call(FLIP, 6, 5).reused is None
    assert "permanent" in states(store, "gen_sig")
    third = call(FLIP, 90, 70)
    assert (third.reused, third.predicted, third.compared) == ("gen_sig", True, 8)
    fourth = call(FLIP, 100, 70, capture=None)
    assert (fourth.reused, fourth.predicted, fourth.compared) == ("gen_sig", True, 0)
    assert [op.predicted for op in store.operations()] == [False, False, True, True]
    assert [op.compared for op in store.operations()] == [None, None, 8, 0]
    assert [info.predicted for info in store.lineages()] == [False, False, True, True]


def test_m_is_a_setting(monkeypatch):
    monkeypatch.setenv("DSLOG_REUSE_AFTER", "3")
    with dslog.open(":memory:") as store:
        call = Caller(store)
        found = [call(FLIP, n, n + 2).reused for n in (4, 6, 9, 11, 13)]
    assert found == [None, None, None, None, "gen_sig"]


def test_the_same_shapes(call, store):
    sort = one("shuffle", 1, lambda s: s, lambda c, s: [((7 * c[0] + 3) % s[0],)])
    assert call(sort, 40).reused is None
    assert call(sort, 40).reused is None
    assert states(store, "dim_sig") == ["permanent"]
    third = call(sort, 40)
    assert third.reused == "dim_sig"
    assert call(sort, 40, capture=None).predicted


def test_the_same_arrays(call, store):
    _, ins, out = call.arrays(FLIP, 5, 4)
    captures = FLIP.captures((5, 4))
    store.register_operation("flip", ins, [out], captures, op_args=FLIP.args)
    other = store.array("other", (5, 4)).name
    again = store.register_operation("flip", ins, [other], op_args=FLIP.args)
    assert (again.reused, again.predicted, again.compared) == ("base_sig", True, 0)
    assert store.load(other, ins[0])[0] == store.load(out, ins[0])[0]


def test_the_same_content_under_another_name(call, store):
    values = np.arange(20.0).reshape(5, 4)
    _, ins, out = call.arrays(FLIP, 5, 4)
    _, others, second = call.arrays(FLIP, 5, 4)
    captures = FLIP.captures((5, 4))
    store.register_operation("flip", ins, [out], captures, contents=[values])
    again = store.register_operation("flip", others, [second], contents=[values.copy()])
    assert again.reused == "base_sig"
    _, others, third = call.arrays(FLIP, 5, 4)
    with pytest.raises(dslog.CaptureError):
        store.register_operation("flip", others, [third], contents=[values + 1])


def test_contents_have_to_be_one_per_input(call, store):
    _, ins, out = call.arrays(FLIP, 5, 4)
    with pytest.raises(dslog.CaptureError, match="has 1 inputs, but contents holds 2"):
        store.register_operation("flip", ins, [out], contents=[1, 2], reuse=True)


def test_reused_lineage_is_stored_once(call, store):
    for n in (4, 6):
        call(FLIP, n, n)
    before = store.stats()["stored_lineages"]
    for _ in range(3):
        assert call(FLIP, 9, 9, capture=None).reused == "gen_sig"
    assert store.stats()["stored_lineages"] == before + 1


def test_reuse_false_never_answers_and_never_learns(call, store):
    for n in (4, 6, 9, 9, 9):
        assert call(FLIP, n, n, reuse=False).reused is None
    assert store.signatures() == []


def test_reuse_true_takes_one_call_s_word(call):
    call(FLIP, 4, 3)
    again = call(FLIP, 4, 3, capture=None, reuse=True)
    assert (again.reused, again.predicted) == ("dim_sig", True)
    assert call(FLIP, 8, 9, capture=None, reuse=True).reused == "gen_sig"


def test_reuse_true_is_no_licence_to_guess(call):
    call(BLUR, 5, 6)  # a window is no [0, D-1]: one call can't tell
    with pytest.raises(dslog.CaptureError):
        call(BLUR, 9, 12, capture=None, reuse=True)


def test_none_takes_no_single_call_s_word(call):
    call(FLIP, 4, 3)
    with pytest.raises(dslog.CaptureError, match="no capture"):
        call(FLIP, 4, 3, capture=None)


def test_without_any_call(call):
    with pytest.raises(dslog.CaptureError, match="no earlier call of it can answer"):
        call(BLUR, 4, 4, capture=None)


# regimes


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((1, 6), "axis 0 of input 0 has size 1"),
        ((6, 1), "axis 1 of input 0 has size 1"),
        ((0, 6), "axis 0 of input 0 has size 0"),
    ],
)
def test_axes_that_become_one_cell_or_none_are_refused(call, store, shape, reason):
    for n in (4, 6, 9):
        call(SUM, n, n + 1)
    with pytest.raises(dslog.CaptureError, match=reason):
        call(SUM, *shape, capture=None)
    (stats,) = store.reuse_stats()
    assert (stats.misses, stats.refusals) == (0, 1)
    assert call(SUM, *shape).reused is None
    (stats,) = store.reuse_stats()
    assert (stats.misses, stats.refusals) == (0, 2)
    assert call(SUM, *(n + 7 if n > 1 else n for n in shape)).reused == "gen_sig"


@pytest.mark.parametrize("name", ["flip", "blur", "matmul", "concatenate", "cumsum", "ravel"])
@pytest.mark.parametrize("special", [0, 1])
def test_an_axis_of_every_operation_that_becomes_special_is_refused(call, name, special):
    operation = BY_NAME[name]
    shapes = [(9, 14, 11), (12, 8, 17), (16, 21, 9), (10, 13, 19), (23, 9, 12), (8, 25, 10)]
    for sizes in shapes:
        call(operation, *sizes[: operation.sizes])
    usual = (30, 40, 50)[: operation.sizes]
    assert call(operation, *usual, capture=None).reused == "gen_sig"
    for axis in range(operation.sizes):
        sizes = (*usual[:axis], special, *usual[axis + 1 :])
        with pytest.raises(dslog.CaptureError, match="no capture"):
            call(operation, *sizes, capture=None)
        assert call(operation, *sizes).reused is None


@pytest.mark.parametrize(("shift", "like", "unlike"), [(20, [4, 5, 10], 8), (6, [9, 14, 30], 3)])
def test_shifts_that_go_round(store, shift, like, unlike):
    """roll by 20 leaves 4, 5 and 10 cells where they are, but not 8; by 6, those of 3 cells."""

    def roll(n, *, blind=False):
        number = len(store.arrays())
        for name in ("a", "b"):
            store.array(f"{name}{number}", (n,))
        return store.register_operation(
            "roll",
            [f"a{number}"],
            [f"b{number}"],
            None if blind else lambda c: [(c[0] - shift) % n],
            op_args={"shift": shift},
        )

    for n in like:
        roll(n)
    with pytest.raises(dslog.CaptureError, match="does not apply"):
        roll(unlike, blind=True)
    assert roll(unlike).reused is None


def test_cross_is_refused_not_mispredicted(call):
    """Its pattern depends on the number of components: the paper's one error."""
    for n in (5, 9, 14):
        call(CROSS, n, 3)
    assert call(CROSS, 30, 3, capture=None).reused == "gen_sig"
    for components in (2, 4):
        with pytest.raises(dslog.CaptureError):
            call(CROSS, 30, components, capture=None)
        assert call(CROSS, 30, components).reused is None


def test_cross_of_two_components_tells_nothing_of_three(call):
    for n in (5, 9, 14):
        call(CROSS, n, 2)
    assert call(CROSS, 30, 2, capture=None).reused == "gen_sig"
    with pytest.raises(dslog.CaptureError):
        call(CROSS, 30, 3, capture=None)


def test_an_axis_that_never_varied_is_not_extrapolated(call):
    for n in (5, 9, 14):
        call(BLUR, n, 6)
    with pytest.raises(dslog.CaptureError, match="axis 1 of input 0 has size 9; all calls had 6"):
        call(BLUR, 20, 9, capture=None)


def test_another_output_shape_is_refused(store):
    for n in (4, 6):
        store.array(f"A{n}", (n,))
        store.array(f"B{n}", (n,))
        store.register_operation("copy", [f"A{n}"], [f"B{n}"], lambda c: [c])
    store.array("A", (9,))
    store.array("B", (8,))
    with pytest.raises(dslog.CaptureError, match="an output axis has size 8, not i0_0"):
        store.register_operation("copy", ["A"], ["B"])


# probing


def test_a_probe_that_disagrees_drops_the_mapping(call, store):
    for n in (4, 6):
        call(FLIP, n, n)
    liar = one("flip", 2, lambda s: s, lambda c, s: [c], axis=0)
    done = call(liar, 9, 9)
    assert done.reused is None
    (stats,) = store.reuse_stats()
    assert stats.misses == 1
    with pytest.raises(dslog.CaptureError):
        call(FLIP, 12, 12, capture=None)


def test_a_probe_calls_the_capture_for_a_few_cells_only(call):
    for n in (4, 6):
        call(FLIP, n, n)
    asked = []

    def capture(cell):
        asked.append(cell)
        return [(99 - cell[0], cell[1])]

    assert call(FLIP, 100, 100, capture=[capture]).reused == "gen_sig"
    assert len(asked) <= 8
    assert {(0, 0), (99, 99), (0, 99), (99, 0)} <= set(asked)


def test_a_capture_that_raises_is_not_hidden(call):
    for n in (4, 6):
        call(FLIP, n, n)
    with pytest.raises(dslog.CaptureError, match="raised ZeroDivisionError"):
        call(FLIP, 9, 9, capture=[lambda cell: 1 / 0])


def test_base_sig_is_probed_too(call, store):
    _, ins, out = call.arrays(FLIP, 6, 6)
    store.register_operation("f", ins, [out], lambda c: [c])
    other = store.array("other", (6, 6)).name
    again = store.register_operation("f", ins, [other], lambda c: [(c[1], c[0])])
    assert again.reused is None
    assert store.prov_query([other, ins[0]], (1, 2)).indices().tolist() == [[2, 1]]


# values


def test_lineage_that_depends_on_values_is_reused_for_the_same_arrays_only(store):
    def sort(name, values, out, *, capture=True):
        order = np.argsort(values)
        store.array(name, (len(values),))
        store.array(out, (len(values),))
        given = np.c_[np.arange(len(values)), order] if capture else None
        return store.register_operation("sort", [name], [out], given)

    rng = np.random.default_rng(0)
    for k in range(4):
        assert sort(f"a{k}", rng.random(50), f"b{k}").reused is None
    for k in range(3):
        assert sort(f"c{k}", rng.random(20 + k), f"d{k}").reused is None
    assert sort("a1", rng.random(50), "again", capture=False).reused == "base_sig"
    (stats,) = store.reuse_stats()
    assert any("depends on values" in line for s in stats.signatures for line in s.formulas)
    assert not [s for s in store.signatures() if s.kind == "gen_sig" and s.state == "permanent"]


def test_values_found_out_late(store):
    """Two sorted arrays look like a copy; the third one shows that they were sorted."""
    identity = np.c_[np.arange(9), np.arange(9)]
    for k, pairs in enumerate([identity, identity, np.c_[np.arange(9), np.arange(9)[::-1]]]):
        store.array(f"a{k}", (9,))
        store.array(f"b{k}", (9,))
        assert store.register_operation("sort", [f"a{k}"], [f"b{k}"], pairs).reused is None
    (stats,) = store.reuse_stats()
    assert stats.misses == 1
    store.array("a", (9,))
    store.array("b", (9,))
    with pytest.raises(dslog.CaptureError):
        store.register_operation("sort", ["a"], ["b"])


def test_output_shapes_that_depend_on_values(store):
    """trim_zeros: any formula would be about the output's size, which is not known before."""
    rng = np.random.default_rng(0)
    for k in range(12):
        n = int(rng.integers(20, 60))
        first = int(rng.integers(1, 9))
        store.array(f"a{k}", (n,))
        store.array(f"b{k}", (n - first,))
        done = store.register_operation(
            "trim_zeros", [f"a{k}"], [f"b{k}"], lambda c, first=first: [c[0] + first]
        )
        assert done.reused is None


# several pairs, arguments


def test_several_inputs_and_outputs(store):
    """divmod-like: two outputs, two inputs, one of them of another shape."""
    for k, n in enumerate((4, 6, 50)):
        for name, shape in {"a": (n, 3 * n), "b": (3 * n,), "c": (n, 3 * n), "d": (n,)}.items():
            store.array(f"{name}{k}", shape)
        captures = [
            lambda c: [c],
            lambda c: [c[1:]],
            lambda c, n=n: [(c[0], j) for j in range(3 * n)],
            None,
        ]
        done = store.register_operation(
            "both", [f"a{k}", f"b{k}"], [f"c{k}", f"d{k}"], captures if n < 50 else None
        )
    assert done.reused == "gen_sig"
    assert len([info for info in store.lineages() if info.op == done.id]) == 3
    assert store.prov_query(["d2", "a2"], 7).boxes.tolist() == [[[7, 7], [0, 149]]]


def test_other_arguments_are_another_signature(call):
    for n in (4, 6):
        call(FLIP, n, n)
    with pytest.raises(dslog.CaptureError):
        call(OTHER_FLIP, 9, 9, capture=None)


# it lasts, and stays small


def test_what_was_learned_outlives_the_store(tmp_path):
    for n in (4, 6):
        with dslog.open(tmp_path) as store:
            call = Caller(store)
            call.count = n
            call(FLIP, n, n)
    with dslog.open(tmp_path) as store:
        call = Caller(store)
        call.count = 100
        assert call(FLIP, 9, 9, capture=None).reused == "gen_sig"
        (stats,) = store.reuse_stats()
        assert stats.hits == 1
        assert stats.saved > 0


def test_an_operation_without_a_pattern_is_given_up(store):
    rng = np.random.default_rng(0)
    for k in range(20):
        n = 20 + k
        store.array(f"a{k}", (n,))
        store.array(f"b{k}", (n,))
        pairs = np.c_[np.arange(n), rng.permutation(n)]
        assert store.register_operation("mystery", [f"a{k}"], [f"b{k}"], pairs).reused is None
    (general,) = [s for s in store.signatures() if s.kind == "gen_sig"]
    assert general.state == "not reusable"
    assert len(general.content) < 4000


def test_large_lineage_is_reused_by_shape(store, tmp_path):
    order = np.random.default_rng(0).permutation(5000)
    pairs = np.c_[np.arange(5000), order]
    found = []
    for k in range(3):
        store.array(f"a{k}", (5000,))
        store.array(f"b{k}", (5000,))
        done = store.register_operation("shuffle", [f"a{k}"], [f"b{k}"], pairs)
        found.append(done.reused)
    assert found == [None, None, "dim_sig"]
    assert store.stats()["stored_lineages"] == 1


def test_signatures_can_be_given(call, store):
    for n in (4, 6):
        call(FLIP, n, n)
    with dslog.open(":memory:") as other:
        other.add_signatures(s for s in store.signatures() if s.kind == "gen_sig")
        assert {s.key for s in other.signatures()} <= {s.key for s in store.signatures()}
        assert all(isinstance(s, Signature) for s in other.signatures())
