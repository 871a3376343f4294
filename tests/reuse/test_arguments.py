"""Arguments that name shapes, positions and counts: part of a signature, or of its formula."""

import numpy as np
import pytest

import dslog


def test_shapes_among_the_arguments(store):
    for k, (n, m) in enumerate(((4, 6), (10, 3), (7, 12), (30, 40))):
        store.array(f"a{k}", (n * m,))
        store.array(f"b{k}", (n, m))
        done = store.register_operation(
            "reshape",
            [f"a{k}"],
            [f"b{k}"],
            None if n == 30 else lambda c, m=m: [c[0] * m + c[1]],
            op_args={"shape": [n, m]},
        )
    assert done.reused == "gen_sig"
    assert store.prov_query(["b3", "a3"], (2, 5)).indices().tolist() == [[85]]


def test_positions_among_the_arguments(store):
    """delete: each call has another index, which is a variable of the formula."""
    found = []
    rng = np.random.default_rng(1)
    for k in range(14):
        n = int(rng.integers(12, 60))
        at = int(rng.integers(2, n - 2))
        store.array(f"a{k}", (n,))
        store.array(f"b{k}", (n - 1,))
        done = store.register_operation(
            "delete",
            [f"a{k}"],
            [f"b{k}"],
            lambda c, at=at: [c[0] + (c[0] >= at)],
            op_args={"obj": at},
        )
        found.append(done.reused)
        pairs = [(b, b + (b >= at)) for b in range(n - 1)]
        assert store.load(f"b{k}", f"a{k}")[0].to_relation().tolist() == [list(p) for p in pairs]
    assert found.count("gen_sig") >= 6


def registered(store, number, operation, args, moved, *, blind=False):
    """Register an operation that moves cells, by what it does to their positions."""
    before, after = moved
    store.array(f"a{number}", before.shape)
    store.array(f"b{number}", after.shape)
    cells = np.argwhere(np.ones(after.shape, bool))
    sources = np.argwhere(np.ones(before.shape, bool))[after.ravel()]
    pairs = np.c_[cells, sources]
    done = store.register_operation(
        operation, [f"a{number}"], [f"b{number}"], None if blind else pairs, op_args=args
    )
    relation = store.load(f"b{number}", f"a{number}")[0].to_relation()
    assert np.array_equal(relation, pairs[np.lexsort(pairs.T[::-1])]), (before.shape, args)
    return done.reused


def test_several_arguments_at_once(store):
    """A slice has two ends, tile as many counts as axes: all are variables of one formula."""
    rng = np.random.default_rng(0)
    found = []
    for k in range(16):
        x = np.arange(rng.integers(20, 60))
        start, stop = int(rng.integers(1, 8)), int(rng.integers(10, 19))
        args = {"start": start, "stop": stop}
        found.append(registered(store, k, "slice", args, (x, x[start:stop])))
    assert found.count("gen_sig") >= 8
    found = []
    for k in range(20, 40):
        n, m = rng.integers(5, 20, 2).tolist()
        x = np.arange(n * m).reshape(n, m)
        reps = tuple(rng.integers(2, 6, 2).tolist())
        found.append(registered(store, k, "tile", {"reps": reps}, (x, np.tile(x, reps))))
    assert found.count("gen_sig") >= 4
    slices = next(one for one in store.reuse_stats() if one.name == "slice")
    assert any(s.formulas == ("out[i] <- in[i+start]",) for s in slices.signatures)


def test_a_size_that_is_left_to_reshape(store):
    found = []
    for k, (n, m) in enumerate(((4, 6), (10, 3), (7, 12), (30, 40), (5, 9))):
        x = np.arange(n * m)
        found.append(registered(store, k, "reshape", {"shape": [n, -1]}, (x, x.reshape(n, -1))))
    assert found[3:] == ["gen_sig", "gen_sig"]


def test_arguments_that_are_arrays(store):
    index = np.arange(500)[::-1]
    for k in range(3):
        store.array(f"a{k}", (500,))
        store.array(f"b{k}", (500,))
        done = store.register_operation(
            "take", [f"a{k}"], [f"b{k}"], lambda c: [499 - c[0]], op_args={"indices": index}
        )
    assert done.reused == "dim_sig"
    assert all(len(s.key) < 300 for s in store.signatures())


# answers without a capture, arguments and sizes anywhere


def size(rng, most=20):
    return int(rng.choice([rng.integers(3), *rng.integers(3, most, 3)]))


def argument(rng, n):
    return int(
        rng.choice([0, 1, n - 1, n, rng.integers(-n - 2, 2 * n + 3), rng.integers(max(n, 1))])
    )


def rolled(rng):
    n = size(rng)
    k = argument(rng, n)
    return (n,), {"shift": k}, lambda x: np.roll(x, k)


def rolled_flat(rng):
    n, m = size(rng, 12), size(rng, 12)
    k = argument(rng, n * m)
    return (n, m), {"shift": k}, lambda x: np.roll(x, k)


def rolled_rows(rng):
    n, m = size(rng), size(rng)
    axis = int(rng.integers(2))
    k = argument(rng, (n, m)[axis])
    return (n, m), {"shift": k, "axis": axis}, lambda x: np.roll(x, k, axis)


def deleted(rng):
    n, m = size(rng), size(rng)
    k = argument(rng, n)
    return (n, m), {"obj": k, "axis": 0}, lambda x: np.delete(x, k, 0)


def sliced(rng):
    n = size(rng, 30)
    start, stop = argument(rng, n), argument(rng, n)
    return (n,), {"start": start, "stop": stop}, lambda x: x[start:stop]


def tiled(rng):
    n, m = size(rng), size(rng)
    reps = tuple(rng.integers(0, 5, 2).tolist())
    return (n, m), {"reps": reps}, lambda x: np.tile(x, reps)


def repeated(rng):
    n, m = size(rng), size(rng)
    count, axis = int(rng.integers(5)), int(rng.integers(2))
    return (n, m), {"repeats": count, "axis": axis}, lambda x: np.repeat(x, count, axis)


def reshaped(rng):
    n, m, k = (size(rng, 10) for _ in range(3))
    shape = (n, -1) if rng.integers(2) and n * m * k else (n, m * k)
    return (n * m, k), {"shape": shape}, lambda x: x.reshape(shape)


def turned(rng):
    k = int(rng.integers(-3, 6))
    return (size(rng), size(rng)), {"k": k}, lambda x: np.rot90(x, k)


def indexed(rng):
    n, m = size(rng), size(rng)
    k = argument(rng, n)
    return (n, m), {"index": k}, lambda x: x[k]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "draw",
    [rolled, rolled_flat, rolled_rows, deleted, sliced, tiled, repeated, reshaped, turned, indexed],
)
def test_blind_answers_are_right(store, draw, seed):
    rng = np.random.default_rng(seed)
    for number in range(25):
        shape, args, function = draw(rng)
        x = np.arange(int(np.prod(shape))).reshape(shape)
        try:
            moved = x, function(x)
        except IndexError:
            continue  # numpy does not take this index
        try:
            registered(store, number, draw.__name__, args, moved, blind=True)
        except dslog.CaptureError:
            registered(store, number, draw.__name__, args, moved)
