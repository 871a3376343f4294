"""Random programs in plain Python on tracked arrays: loops, lists, numbers, arrays of their own.

Each piece below is code that somebody could have written, with the modules that it uses as
parameters. It is run on shadows, which carry sets of cells and numpy's values, and on tracked
arrays, and both must agree: in values to the last bit, in types, in errors and in lineage.
"""

import bisect
import builtins
import copy
import functools
import heapq
import io
import itertools
import json
import math
import pickle
import statistics
import warnings
from types import SimpleNamespace

import numpy as np
import shadow_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from shadow_numbers import LOST, Shadow, everything, plain_of, source

import dslog
from dslog.capture.numpy.memory import is_tracked

GIVEN = {
    "X": np.array([[1.5, -2.0, 0.25], [4.0, 3.5, -0.75]]),
    "V": np.array([2.0, -1.25, 0.5]),
    "K": np.array([2, 0, 1]),
}
PIECES = {}
LEAKS = {}


def piece(*kinds, leaks=False):
    """Let programs have a piece, which takes values of some kinds."""

    def add(function):
        (LEAKS if leaks else PIECES)[function.__name__] = (kinds, function)
        return function

    return add


# numbers


@piece("number", "number")
def arithmetic(m, a, b):
    return [a + b, 2 * a - b / 3, -abs(a), a**2, a // (abs(b) + 1), (a > b) * a]


@piece("number", "number")
def numbers_of_python(m, a, b):
    whole, rest = divmod(a, 3)
    return [whole, rest, round(a), round(a, 1), pow(b, 2), 7 % (abs(a) + 2), divmod(9, abs(b) + 1)]


@piece("number", "number")
def functions_of_numbers(m, a, b):
    m.math.isnan(b)
    return [
        m.math.sqrt(abs(a)) + m.math.atan2(a, b),
        m.math.hypot(a, b),
        m.math.floor(a),
        m.math.tanh(b) * m.math.copysign(1.0, a),
        m.np.sqrt(abs(b)),
        m.np.maximum(a, b),
    ]


@piece("vector")
def builtins_of_lists(m, v):
    items = [t * 2 for t in v]
    return [sum(items), max(items), min(v), sorted(items)[1], sum(v) / len(v), sum(items, v[0])]


@piece("vector", "number")
def functions_of_lists(m, v, a):
    return [
        m.math.fsum(v),
        m.math.prod([t + 1 for t in v]),
        m.statistics.fmean([*v, a]),
        m.statistics.fmean(t * t for t in v),
    ]


@piece("number", "number")
def containers(m, a, b):
    found = {"sum": a + b, "pair": (a, b)}
    found["more"] = [found["sum"] * 2, *found["pair"]]
    first, *rest = found["more"]
    return m.np.array([first, rest[0], 1.5])


@piece("number")
def a_function_that_returns_a_number(m, a):
    def damp(t):
        return t / (1 + abs(t))

    def twice(f, t):
        return f(f(t))

    return twice(damp, a)


@piece("vector")
def an_accumulator(m, v):
    total, least = 0.0, None
    for t in v:
        total = total * 0.5 + t
        least = t if least is None or t < least else least
    return [total, least]


@piece("matrix")
def a_running_mean(m, x):
    means, total = [], 0
    for row in x:
        total = total + row
        means.append(total / (len(means) + 1))
    return m.np.stack(means)


# arrays of lists


@piece("vector", "number")
def array_of_numbers(m, v, a):
    return [m.np.array([v[0], a, 2.0]), m.np.asarray([[a, v[1]], [1, v[2]]]), m.np.array((a, a))]


@piece("matrix", "vector")
def array_of_rows(m, x, v):
    rows = [r * 2 for r in x]
    return [
        m.np.array(rows),
        m.np.asarray([x[0], v]),
        m.np.stack([v, x[1]]),
        m.np.array([v, rows[0]]),
    ]


@piece("matrix")
def array_of_a_comprehension(m, x):
    return [
        m.np.array([[t + 1 for t in row] for row in x]),
        m.np.array([row.sum() for row in x]),
        m.np.fromiter((row[0] - row.max() for row in x), float),
        m.np.concatenate([m.np.array([x[0, 0]]), x[1]]),
    ]


@piece("vector", "number")
def list_operands(m, v, a):
    w = [a, 1.0, v[0]]
    return [v - w, w + v, v * [2, a, a], m.np.subtract(v, v), v.dot(v), m.np.add(v, 1.0)]


@piece("vector", "vector")
def functions_of_lists_of_arrays(m, v, w):
    return [
        m.np.sum([v, w]),
        m.np.mean([v, w]),
        m.np.sum([v, w], axis=0),
        m.np.max([v[0], w[1], 2.0]),
    ]


@piece("vector", "number")
def plain_beside_tracked(m, v, a):
    plain = m.np.arange(3.0)
    return [m.np.array([plain[1], a, v[2]]), plain * a, plain + v, plain.dot(v), m.np.dot(plain, v)]


# arrays of the program's own


@piece("vector", "number", "number")
def fill_by_cell(m, v, a, b):
    out = m.np.zeros(3)
    for i in range(len(v)):
        out[i] = v[i] * a
    out[1] += b
    return out


@piece("matrix", "vector")
def fill_by_row(m, x, v):
    out = m.np.ones((3, 3))
    for i, row in enumerate(x):
        out[i] = row - v
    out[2, 1:] = v[:2]
    return out


@piece("matrix", "number")
def write_through_a_view(m, x, a):
    out = m.np.zeros((2, 3))
    view = out.T[1:]
    view[0] = x[:, 0]
    out.reshape(-1)[5] = a
    flat = out.ravel()
    flat[0] = x[1, 1]
    return [out, view]


@piece("vector", "number")
def write_by_mask(m, v, a):
    out = m.np.zeros(3)
    out[v > a] = a
    again = v.copy()
    again[again < a] = 0
    again[[True, False, True]] = v[1:]
    return [out, again]


@piece("vector", "number")
def write_by_fancy_index(m, v, a):
    out = m.np.full((3,), 2.0)
    out[[2, 0]] = v[:2]
    out[[1]] = a
    return out


@piece("number", "number", "number")
def filled(m, a, b, c):
    k = m.np.eye(2)
    k[0] = a
    k[:, 1] *= b
    return [m.np.full(2, a), m.np.full((2, 2), b - c), k, m.np.zeros_like(k)]


@piece("vector", "vector")
def in_place(m, v, w):
    out = m.np.zeros(3)
    out += v
    out[1:] -= w[1:]
    out *= 2
    v += w
    again = m.np.ones(3)
    again[::2] *= v[::2]
    return [out, again]


@piece("vector", "vector")
def out_argument(m, v, w):
    out = m.np.zeros(3)
    m.np.add(v, w, out=out)
    m.np.add(out, 1.0, out=v)
    m.np.copyto(w, out)
    return out


@piece("vector", "number")
def an_array_that_is_a_matrix_later(m, v, a):
    out = m.np.arange(6.0).reshape(2, 3)
    out[1] = v
    rows = [*out]
    rows[0][1] = a
    return [out, rows[0]]


@piece("matrix")
def cell_by_cell(m, x):
    out = m.np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            out[i, j] = 0.5 * (x[i, j] + out[i, j - 1])
    return out


@piece("matrix", "number")
def iterators(m, x, a):
    out, again = m.np.zeros(x.shape), m.np.zeros(x.size)
    for index, t in m.np.ndenumerate(x):
        out[index] = t * a
    for i, t in enumerate(x.flat):
        again[i] = t
    again[2] = x.flat[3]
    x.flat[1] = a
    x.flat[2:4] = again[2:4]
    return [out, again]


@piece("matrix")
def nditer(m, x):
    out = m.np.zeros(x.size)
    for i, t in enumerate(m.np.nditer(x)):
        out[i] = t * 2
    for t in m.np.nditer(x, op_flags=["readwrite"]):
        t[...] = t + 1
    return out


@piece("vector")
def swaps(m, v):
    v[0], v[2] = v[2], v[0]
    v[[0, 1]] = v[[1, 0]]
    again = v.copy()
    again[1:] = again[:-1]
    return [v[::-1], v[::-2].copy(), again]


@piece("matrix", "number")
def views_of_views(m, x, a):
    inner = x[:, ::-1][1:, ::2]
    inner[...] = a
    inner[0, 0] += x[0, 1]
    turned = x.T[::-1]
    turned[0, 1] = a * 2
    return [inner, turned, x]


@piece("matrix")
def masks_of_views(m, x):
    part = x[:, 1:]
    part[part > 1] = 0
    x[(x > -1) & (x < 3)] = 7.0
    return [part, x]


@piece("vector", "number")
def other_dtypes(m, v, a):
    whole, half = m.np.arange(3), m.np.array([v[0], 1, a], dtype="f4")
    whole[0] = v[0]
    whole[1:] = v[1:]
    return [whole * a, half + v, whole > 1, whole + half, half * 2, a + 1j * v[0], v * 1j]


@piece("vector")
def modules_of_python(m, v):
    heap, order = list(v), []
    heapq.heapify(heap)
    for t in v:
        bisect.insort(order, t * 2)
    return [
        heapq.heappop(heap),
        order,
        functools.reduce(lambda one, other: one * 0.5 + other, v),
        list(itertools.accumulate(v)),
        [one - other for one, other in itertools.pairwise(v)],
        [t for t in v if t > 0],
        max(enumerate(v), key=lambda pair: pair[1])[1],
    ]


# integers that say where


@piece("vector", "indices", "matrix")
def tracked_indices(m, v, k, x):
    plain = m.np.arange(3.0) * 10
    return [v[k[0]], v[k], plain[k], plain[k[1]], x[1, k[2]], x[:, k], x[k[0] % 2], m.np.take(v, k)]


@piece("vector", "indices", "number")
def write_at_tracked_indices(m, v, k, a):
    hot, out = m.np.zeros((3, 3)), m.np.zeros(3)
    for i in range(3):
        hot[i, k[i]] = 1
    out[k[0]] = a
    v[k[1]] = 2.0
    return [hot, out]


@piece("indices", "vector")
def one_hot(m, k, v):
    hot = m.np.zeros((3, 3))
    hot[m.np.arange(3), k] = 1.0
    sums = m.np.zeros(3)
    m.add_at(sums, k, v)
    counts = m.np.zeros(3)
    m.add_at(counts, k, 1)
    return [hot, sums, counts, m.np.bincount(k, minlength=3)]


@piece("matrix", "indices")
def tracked_bounds(m, x, k):
    begin = k[0] % 2
    return [x[:, begin:], x[0, begin : begin + 2], x[:, : k[1] + 1]]


@piece("vector", "indices")
def a_number_of_cells(m, v, k):
    n = k[0] + 1
    return [m.np.zeros(n), m.np.arange(k[1], 5), m.np.full((n, 2), v[0]), m.np.repeat(v, k)]


@piece("vector", "vector", "indices")
def choices(m, v, w, k):
    return [m.np.where(v > w, v, 0.0), m.np.choose(k % 2, [v, w]), m.np.where(k == 1, w, v)]


# functions


@piece("matrix")
def copies(m, x):
    same, other = copy.copy(x), copy.deepcopy(x)
    same[0] = 0
    other[:, 1] = x[:, 0]
    return [same, other, copy.deepcopy(x[0, 0])]


@piece("vector")
def a_vectorized_function(m, v):
    return m.np.vectorize(lambda t: t * 2 if t > 1 else -t / 3)(v)


@piece("vector")
def moved_and_summed(m, v):
    return [m.np.cumsum(v), m.np.sort(v), v[::-1].copy(), m.np.repeat(v, 2), v.reshape(3, 1).T]


@piece("vector")
def draws(m, v):
    rng = m.np.random.default_rng(3)
    mixed = rng.permutation(v)
    some = rng.choice(v, 2)
    again = v.copy()
    rng.shuffle(again)
    return [mixed, some, again]


@piece("matrix", "vector")
def a_group(m, x, v):
    with m.group():
        out = m.np.zeros(2)
        for i, row in enumerate(x):
            out[i] = m.math.fsum(row) * v[i]
        total = out.sum()
    return [out, total]


@piece("matrix", "number")
def a_grouped_function(m, x, a):
    @m.grouped
    def scale(x, a):
        out = m.np.zeros((2, 3))
        for i in range(2):
            out[i] = x[i] / (abs(a) + 1)
        return out, out[0, 0] + a

    return list(scale(x, a))


# values that leave on purpose


@piece("number", "vector", leaks=True)
def by_float(m, a, v):
    return [m.float(a) * 2, v * m.float(a), m.int(a)]


@piece("vector", leaks=True)
def by_list(m, v):
    return [m.np.array(m.away(lambda v: v.tolist(), v)), m.away(lambda v: v.item(), v[0])]


@piece("matrix", leaks=True)
def by_bytes(m, x):
    def through(x):
        return np.frombuffer(x.tobytes()).copy()

    return [
        m.away(lambda x: pickle.loads(pickle.dumps(x)), x),
        m.away(through, x),
        m.away(lambda x: np.array(memoryview(x)), x),
        m.away(lambda x: np.array(json.loads(json.dumps(list(x.flat)))), x),
    ]


@piece("vector", "vector", leaks=True)
def by_a_file(m, v, w):
    def through(v):
        file = io.BytesIO()
        np.save(file, v)
        return np.load(io.BytesIO(file.getvalue()))

    return w + m.away(through, v)


# both worlds


def pure():
    """The modules that shadows need."""

    class Group:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    return SimpleNamespace(
        np=shadow_numbers.np,
        math=shadow_numbers.math,
        statistics=shadow_numbers.statistics,
        add_at=shadow_numbers.np.add_at,
        group=Group,
        grouped=lambda function: function,
        **shadow_numbers.builtins,
    )


def real(store):
    """The modules that programs have."""
    return SimpleNamespace(
        np=np,
        math=math,
        statistics=statistics,
        add_at=np.add.at,
        float=builtins.float,
        int=builtins.int,
        away=lambda way, value: way(value),
        group=lambda: dslog.operation("group", store),
        grouped=dslog.operation,
    )


def kind_of(shadow):
    """What a value can be used as."""
    value = shadow.value
    if isinstance(value, np.ndarray):
        whole = (
            value.dtype.kind in "iu" and value.shape == (3,) and set(value.tolist()) <= {0, 1, 2}
        )
        shapes = {(2, 3): "matrix", (3,): "vector"}
        return "indices" if whole else shapes.get(value.shape) if value.dtype == float else None
    is_number = isinstance(value, (float, int)) and not isinstance(value, bool)
    return "number" if is_number and math.isfinite(value) and abs(value) < 1e6 else None


def flat(results):
    if isinstance(results, (list, tuple)):
        return [each for result in results for each in flat(result)]
    return [results]


def attempt(function, m, args):
    try:
        with np.errstate(all="ignore"):
            return flat(function(m, *args)), None
    except Exception as error:  # noqa: BLE001 (any error has to be the same)
        return [], error


def run(program, store):
    """Run the pieces of a program in both worlds; return pairs of what there is in the end."""
    pairs = [(source(v.copy(), n), store.track(v.copy(), n)) for n, v in GIVEN.items()]
    worlds = pure(), real(store)
    for name, *numbers in program:
        kinds, function = {**PIECES, **LEAKS}[name]
        chosen = []
        for kind, number in zip(kinds, numbers, strict=False):
            known = [pair for pair in pairs if kind_of(pair[0]) == kind]
            if kind == "number":
                known += [(s[i], t[i]) for s, t in pairs if kind_of(s) == "vector" for i in (0, 2)]
            chosen.append(known[number % len(known)])
        ours, error = attempt(function, worlds[0], [shadow for shadow, _ in chosen])
        theirs, other = attempt(function, worlds[1], [value for _, value in chosen])
        assert (type(error), str(error)) == (type(other), str(other)), (name, error, other)
        assert len(ours) == len(theirs)
        for shadow, value in zip(ours, theirs, strict=True):
            assert_same_value(name, plain_of(shadow), value)
        fresh = [(s, v) for s, v in zip(ours, theirs, strict=True) if isinstance(s, Shadow)]
        pairs += [(s, v) for s, v in fresh if s.value is not NotImplemented]
    return pairs


def assert_same_value(name, expected, value):
    plain = dslog.plain(value) if is_tracked(value) else value
    assert isinstance(value, type(expected)), (name, type(value), type(expected))
    if isinstance(expected, np.ndarray):
        assert plain.dtype == expected.dtype, name
        assert plain.shape == expected.shape, name
        assert plain.tobytes() == expected.tobytes(), (name, plain, expected)
        assert (value.flags.f_contiguous, value.ndim) == (expected.flags.f_contiguous, plain.ndim)
    else:
        assert type(plain) is type(expected), (name, type(plain), type(expected))
        assert np.array(plain).tobytes() == np.array(expected).tobytes(), (name, plain, expected)


def asked(store, value, shape):
    """Per cell of a value, what the store says it is from, and whether that is all of it."""
    name = store.name_of(value) if is_tracked(value) else None
    found = np.empty(shape, object)
    for index in np.ndindex(shape):
        cells, whole = set(), True
        for source_name in GIVEN if name is not None else ():
            if name == source_name:
                cells.add((name, index))
                continue
            try:
                where = [index] if shape else np.ones((), bool)
                answer = store.backward(name, where, source_name)
            except dslog.PathError:
                continue
            cells |= {(source_name, tuple(map(int, each))) for each in answer.indices()}
            assert answer.exact <= answer.complete
            whole &= answer.exact
        found[index] = cells, whole
    return found


def assert_same_lineage(store, shadow, value, *, lossy):
    """What has no name in the store is from nothing, or was made of what left."""
    shape = np.shape(shadow.value)
    expected = shadow.cells if shape else shadow_numbers.as_box(shadow.cells)
    known = is_tracked(value) and store.name_of(value) is not None
    for index, (cells, whole) in np.ndenumerate(asked(store, value, shape)):
        wanted = set(expected[index])
        if LOST in wanted or (lossy and not known):  # or was written into an array from outside
            assert not known or not whole or wanted - {LOST} <= cells, (value, index)
        else:
            assert cells == wanted, (value, index)
            assert whole or lossy, (value, index)


numbers = st.integers(0, 7)
PROGRAM = st.lists(
    st.tuples(st.sampled_from(sorted(PIECES)), *[numbers] * 3), min_size=1, max_size=6
)


@settings(max_examples=100, deadline=None)
@given(PROGRAM)
def test_programs_keep_values_and_lineage(program):
    with warnings.catch_warnings(), dslog.open(":memory:") as store:
        warnings.simplefilter("error", dslog.LeakWarning)
        for shadow, value in run(program, store):
            assert_same_lineage(store, shadow, value, lossy=False)
        assert not any(leak.loses for leak in store.leaks())


@settings(max_examples=30, deadline=None)
@given(PROGRAM, st.tuples(st.sampled_from(sorted(LEAKS)), *[numbers] * 3), PROGRAM)
def test_programs_that_leak_say_so(before, leaking, after):
    with warnings.catch_warnings(), dslog.open(":memory:") as store:
        warnings.simplefilter("ignore", dslog.LeakWarning)
        pairs = run([*before, leaking, *after], store)
        for shadow, value in pairs:
            assert_same_lineage(store, shadow, value, lossy=True)
        if any(LOST in everything(shadow) for shadow, _ in pairs):
            assert any(leak.file == __file__ for leak in store.leaks() if leak.loses)
