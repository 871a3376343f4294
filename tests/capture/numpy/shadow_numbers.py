"""An oracle for plain Python on tracked arrays: numbers and arrays that carry sets of cells.

``Shadow`` holds a value of numpy or Python, and the set of source cells that it comes from; for an
array, an array of sets, which goes through the same motions, so that views share sets as they share
memory. A program that takes ``np``, ``math`` and whatever else does not ask its arguments as
parameters can be run on shadows, with the ones made here, and on tracked arrays, with the real
ones. ``LOST`` is in the set of what was made of values that left on purpose.
"""

import copy
import math
import operator
import statistics
from types import SimpleNamespace

import numpy as np

real_np, real_math, real_statistics = (
    SimpleNamespace(**{name: getattr(module, name) for name in dir(module)})
    for module in (np, math, statistics)
)  # as they are while nothing is tracked
LOST = ("values that left", ())
NOTHING = frozenset()
unite = real_np.frompyfunc(lambda a, b: a | b, 2, 1)


class Shadow:
    """A value, and what it comes from; a set for a number, an array of sets for an array."""

    __array_ufunc__ = None
    __hash__ = None

    def __init__(self, value, cells, more=NOTHING):
        self.value = value
        self.own = cells
        self.more = more  # what every cell of a view comes from: the integers that picked it

    @property
    def cells(self):
        return spread_over(self.own, self.more) if self.more else self.own

    @property
    def shape(self):
        return self.value.shape

    @property
    def ndim(self):
        return self.value.ndim

    @property
    def size(self):
        return self.value.size

    @property
    def T(self):  # noqa: N802 (numpy's)
        return moved(real_np.transpose)(self)

    @property
    def flat(self):
        return Flat(self)

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return iter([self[k] for k in range(len(self.value))])

    def __bool__(self):
        return bool(self.value)

    def __getitem__(self, key):
        plain = plain_of(key)
        cells, more = self.own[plain], self.more
        for each in picks_in(key):
            if isinstance(each.value, real_np.ndarray):
                cells = spread_over(cells, picked(self, key, each))
            else:
                more |= each.cells
        if isinstance(cells, real_np.ndarray):
            return Shadow(self.value[plain], cells, more)
        return Shadow(self.value[plain], cells | more)

    def __setitem__(self, key, new):
        plain = plain_of(key)
        region = self.own[plain]
        value, cells = plain_of(new), cells_of(new)
        if isinstance(region, real_np.ndarray):
            cells = real_np.array(cells) if isinstance(cells, real_np.ndarray) else boxed(cells)
            cells = real_np.broadcast_to(cells, region.shape)
        for each in picks_in(key):
            cells = spread_over(cells, picked(self, key, each))
        cells = spread_over(cells, self.more)
        self.value[plain] = value
        if isinstance(region, real_np.ndarray):
            self.own[plain] = cells
        else:
            self.own[plain] = cells[()] if isinstance(cells, real_np.ndarray) else cells
        if isinstance(key, Shadow) and real_np.asarray(key.value).dtype.kind == "b":
            for index in real_np.ndindex(key.shape):
                decided = (*index, ...)
                self.own[decided] = spread_over(self.own[decided], as_box(key.cells)[index])

    def __copy__(self):
        return Shadow(copy.copy(self.value), copy.copy(self.cells))

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __round__(self, *digits):
        return computed(round)(self, *digits)

    def __float__(self):
        raise AssertionError("programs are given a float() that knows")

    __int__ = __index__ = __float__

    # methods of arrays

    def sum(self, axis=None):
        return reduced(real_np.sum)(self, axis=axis)

    def mean(self, axis=None):
        return reduced(real_np.mean)(self, axis=axis)

    def max(self, axis=None):
        return reduced(real_np.max)(self, axis=axis)

    def reshape(self, *shape):
        return moved(real_np.reshape)(self, shape)

    def ravel(self):
        return moved(real_np.ravel)(self)

    def copy(self):
        return Shadow(self.value.copy(), self.cells.copy())

    def tolist(self):
        return lost(self.value.tolist(), self)

    def item(self):
        return lost(self.value.item(), self)

    def dot(self, other):
        return dot(self, other)


class Flat:
    def __init__(self, of):
        self.of, self.places = of, iter(range(of.size))

    def _cell(self, key):
        return tuple(map(int, real_np.unravel_index(key, self.of.shape)))

    def __iter__(self):
        return self

    def __next__(self):
        return self[next(self.places)]

    def __getitem__(self, key):
        if isinstance(key, slice):
            return Shadow(self.of.value.flat[key], self.of.cells.flat[key])
        return self.of[self._cell(key)]

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            self.of.value.flat[key] = plain_of(value)
            self.of.own.flat[key] = spread_over(cells_of(value), self.of.more)
        else:
            self.of[self._cell(key)] = value


def boxed(cells):
    box = real_np.empty((), object)
    box[()] = cells
    return box


def source(values, name):
    """A shadow whose cells come from themselves."""
    cells = real_np.empty(values.shape, object)
    for index in real_np.ndindex(values.shape):
        cells[index] = frozenset({(name, index)})
    return Shadow(values, cells)


def fresh(values):
    """Shadow of an array whose cells come from nothing."""
    cells = real_np.empty(values.shape, object)
    cells.fill(NOTHING)
    return Shadow(values, cells)


def plain_of(value):
    if isinstance(value, Shadow):
        return value.value
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain_of, value))
    if isinstance(value, slice):
        return slice(plain_of(value.start), plain_of(value.stop), plain_of(value.step))
    return value


def cells_of(value):
    """The sets of a value: one for a number, an array of them for an array, or a list."""
    if isinstance(value, Shadow):
        return value.cells
    if isinstance(value, (list, tuple, real_np.ndarray)):
        shape = real_np.shape(plain_of(value))
        cells = real_np.empty(shape, object)
        cells.fill(NOTHING)
        for place, item in enumerate(value):
            cells[place] = cells_of(item)
        return cells
    return NOTHING


def everything(*values):
    """All cells behind some values, as one set."""
    found = NOTHING
    for value in values:
        cells = cells_of(value)
        found = found.union(*(cells.flat if isinstance(cells, real_np.ndarray) else [cells]))
    return found


def shadow_of(value, cells):
    """A result of numpy with its sets; a number of an array of no axes."""
    if not isinstance(value, real_np.ndarray) and isinstance(cells, real_np.ndarray):
        cells = cells[()]
    return Shadow(value, cells)


def lost(value, *origins):
    """What was made of values that left."""
    cells = everything(*origins)
    cells |= {LOST} if cells else NOTHING
    if isinstance(value, (list, tuple)):
        return type(value)(lost(item, *origins) for item in value)
    if isinstance(value, real_np.ndarray):
        every = real_np.empty(value.shape, object)
        every.fill(cells)
        return Shadow(value, every)
    return Shadow(value, cells)


# keys


def picks_in(key):
    """Numbers of a key that say where: integers, and where slices begin."""
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, slice):
            yield from (end for end in (item.start, item.step) if isinstance(end, Shadow))
        elif isinstance(item, Shadow) and real_np.asarray(item.value).dtype.kind in "iu":
            yield item


def picked(array, key, index):
    """For each cell that a key means, the sets of the integers that picked it."""
    if not isinstance(index.value, real_np.ndarray):
        return index.cells
    items = [plain_of(item) for item in (key if isinstance(key, tuple) else (key,))]
    at = next(
        place
        for place, item in enumerate(key if isinstance(key, tuple) else (key,))
        if item is index
    )
    # the same key picks numbers of the index where the index stands, by an axis put there
    numbers = real_np.arange(index.size).reshape(index.shape)
    shape = array.value[tuple(items)].shape
    ones = [k for k, item in enumerate(items) if isinstance(item, real_np.ndarray)]
    assert len(items) <= array.ndim
    block = real_np.broadcast_shapes(*(items[k].shape for k in ones))
    front = len(shape) - len(block) if at and not len(ones) > 1 else 0
    spread = real_np.broadcast_to(numbers, block)
    front = sum(isinstance(item, slice) for item in items[: ones[0]]) if ones else front
    spread = spread.reshape(block + (1,) * (len(shape) - len(block) - front))
    return index.cells.reshape(-1)[real_np.broadcast_to(spread, shape)]


def spread_over(cells, more):
    if isinstance(cells, real_np.ndarray):
        return unite(cells, more if isinstance(more, real_np.ndarray) else boxed(more))
    return cells | more


# functions


def computed(function):
    """A function of numbers, or of arrays cell by cell."""

    def run(*values):
        value = function(*map(plain_of, values))
        cells = NOTHING
        for each in values:
            other = cells_of(each)
            arrays = isinstance(cells, real_np.ndarray) or isinstance(other, real_np.ndarray)
            cells = unite(*map(as_box, (cells, other))) if arrays else cells | other
        if isinstance(value, tuple):
            return tuple(shadow_of(each, cells) for each in value)
        if value is NotImplemented:
            return value
        if isinstance(value, real_np.ndarray) and not isinstance(cells, real_np.ndarray):
            cells = boxed(cells)
        return shadow_of(value, cells)

    return run


def as_box(cells):
    return cells if isinstance(cells, real_np.ndarray) else boxed(cells)


def moved(function):
    """A function that only moves cells."""

    def run(value, *args, **kwargs):
        args = plain_of(args)
        cells = function(value.own, *args, **kwargs)
        return Shadow(function(value.value, *args, **kwargs), cells, value.more)

    return run


def moved_lists(function):
    """A function that moves the cells of arrays in a list."""

    def run(values, *args, **kwargs):
        result = function(plain_of(values), *args, **kwargs)
        return Shadow(result, function([as_box(cells_of(v)) for v in values], *args, **kwargs))

    return run


def reduced(function):
    """A function that reads all cells on an axis."""

    def run(value, axis=None):
        value = array(value) if isinstance(value, (list, tuple)) else value
        if not isinstance(value.value, real_np.ndarray):
            return shadow_of(function(value.value), value.cells)
        cells = value.cells.reshape(-1) if axis is None else value.cells
        return shadow_of(function(value.value, axis=axis), unite.reduce(cells, axis=axis or 0))

    return run


def of_lists(function):
    """A function of lists of Python numbers that gives one."""

    def run(*values):
        values = [list(each) if not isinstance(each, (Shadow, int)) else each for each in values]
        return Shadow(function(*map(plain_of, values)), everything(*values))

    return run


def cumsum(value):
    cells = real_np.array(unite.accumulate(value.cells.reshape(-1)))
    return Shadow(real_np.cumsum(value.value), cells)


def dot(a, b):
    value = real_np.dot(plain_of(a), plain_of(b))
    left, right = cells_of(a), cells_of(b)
    if left.ndim == 1:
        return shadow_of(
            value, unite.reduce(unite(left, right if right.ndim == 1 else right.T), axis=-1)
        )
    return shadow_of(value, unite.reduce(unite(left, right), axis=-1))


def array(values, **options):
    if isinstance(values, Shadow) and isinstance(values.value, real_np.ndarray):
        return values.copy()
    cells = cells_of(values)
    return Shadow(real_np.array(plain_of(values), **options), as_box(cells).copy())


def asarray(values, **options):
    if isinstance(values, Shadow) and isinstance(values.value, real_np.ndarray):
        return values
    return array(values, **options)


def full(shape, value):
    made = fresh(real_np.full(plain_of(shape), plain_of(value)))
    made.own[...] = as_box(cells_of(value))
    return made


def arange(*ends):
    made = fresh(real_np.arange(*map(plain_of, ends)))
    if len(ends) > 1:
        made.own.fill(everything(ends[0], *ends[2:]))
    return made


def where(condition, a, b):
    value = real_np.where(plain_of(condition), plain_of(a), plain_of(b))
    chosen = real_np.where(plain_of(condition), as_box(cells_of(a)), as_box(cells_of(b)))
    return shadow_of(value, unite(as_box(cells_of(condition)), chosen))


def take(values, index):
    return values[index]


def repeat(values, counts):
    before = as_box(cells_of(counts))  # counts up to a cell's own say where it begins
    before = unite.accumulate(before) if before.ndim else before
    cells, counts = unite(values.cells, before), plain_of(counts)
    return Shadow(real_np.repeat(values.value, counts), real_np.repeat(cells, counts))


def choose(index, choices):
    every = real_np.array(plain_of(choices))
    cells = real_np.choose(index.value, [each.cells for each in choices])
    return Shadow(real_np.choose(index.value, every), unite(index.cells, cells))


def fromiter(items, dtype):
    items = list(items)
    return Shadow(real_np.fromiter(map(plain_of, items), dtype), cells_of(items))


def ndenumerate(value):
    return [(index, value[index]) for index in real_np.ndindex(value.shape)]


def nditer(value, **_):
    places = real_np.empty_like(value.value, int)  # which is laid out in memory as the values are
    places[...] = real_np.arange(value.size).reshape(value.shape)
    order = [real_np.unravel_index(int(place), value.shape) for place in real_np.nditer(places)]
    return [value[(*map(int, index), ...)] for index in order]


def vectorize(function):
    def run(value):
        cells = [function(python(value[index])) for index in real_np.ndindex(value.shape)]
        return array(cells).reshape(*value.shape)

    return run


def python(number):
    return Shadow(number.value.item(), number.cells)


def add_at(target, index, values):
    where_to = real_np.arange(target.size)[plain_of(index)]
    values_cells = real_np.broadcast_to(as_box(cells_of(values)), where_to.shape)
    index_cells = as_box(cells_of(index))
    real_np.add.at(target.value, plain_of(index), plain_of(values))
    for place, to in enumerate(where_to):
        target.own[to] = target.cells[to] | values_cells[place] | index_cells[place]


def copyto(target, new):
    target[...] = new


def bincount(value, minlength=0):
    counts = real_np.bincount(value.value, minlength=minlength)
    made = fresh(counts)
    for index, number in real_np.ndenumerate(value.value):
        made.own[number] = made.own[number] | value.cells[index]
    return made


def add(a, b, out=None):
    result = computed(operator.add)(a, b)
    if out is None:
        return result
    out[...] = result
    return out


def sort(value):
    order = real_np.argsort(value.value, kind="stable")
    return Shadow(value.value[order], value.cells[order])


def shadow_generator(seed):
    rng = real_np.random.default_rng(seed)

    def of(method):
        def run(value, *args):
            places = getattr(rng, method)(len(value), *args)
            return Shadow(value.value[places], value.cells[places])

        return run

    def shuffle(value):
        state = rng.bit_generator.state
        rng.shuffle(value.value)
        rng.bit_generator.state = state
        rng.shuffle(value.own)

    return SimpleNamespace(permutation=of("permutation"), choice=of("choice"), shuffle=shuffle)


np = SimpleNamespace(
    float64=real_np.float64,
    ndarray=real_np.ndarray,
    array=array,
    asarray=asarray,
    zeros=lambda *args: fresh(real_np.zeros(*plain_of(args))),
    ones=lambda *args: fresh(real_np.ones(*plain_of(args))),
    empty=lambda *args: fresh(real_np.zeros(*plain_of(args))),
    eye=lambda n: fresh(real_np.eye(plain_of(n))),
    zeros_like=lambda x: fresh(real_np.zeros_like(x.value)),
    full=full,
    arange=arange,
    stack=moved_lists(real_np.stack),
    concatenate=moved_lists(real_np.concatenate),
    sum=reduced(real_np.sum),
    mean=reduced(real_np.mean),
    max=reduced(real_np.max),
    cumsum=cumsum,
    dot=dot,
    where=where,
    take=take,
    repeat=repeat,
    choose=choose,
    fromiter=fromiter,
    ndenumerate=ndenumerate,
    nditer=nditer,
    vectorize=vectorize,
    add=add,
    sqrt=computed(real_np.sqrt),
    maximum=computed(real_np.maximum),
    subtract=computed(operator.sub),
    add_at=add_at,
    copyto=copyto,
    bincount=bincount,
    sort=sort,
    random=SimpleNamespace(default_rng=shadow_generator),
)
math = SimpleNamespace(
    **{
        name: computed(getattr(real_math, name))
        for name in ("sqrt", "atan2", "hypot", "floor", "tanh", "copysign", "isnan", "fabs")
    },
    fsum=of_lists(real_math.fsum),
    prod=of_lists(real_math.prod),
)
statistics = SimpleNamespace(
    **{name: of_lists(getattr(real_statistics, name)) for name in ("mean", "fmean", "pstdev")}
)
builtins = {
    "float": lambda value: lost(float(plain_of(value)), value),
    "int": lambda value: lost(int(plain_of(value)), value),
    "away": lambda way, value: lost(way(plain_of(value)), value),
}


def operators(name):
    """An operator, the one with sides exchanged, and the one in place."""
    function, changing = getattr(operator, name), getattr(operator, f"i{name}")

    def in_place(self, other):
        if not isinstance(self.value, real_np.ndarray):
            return NotImplemented
        cells = computed(operator.add)(self, other).cells
        changing(self.value, plain_of(other))
        self.own[...] = cells
        return self

    return computed(function), computed(lambda a, b: function(b, a)), in_place


for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for prefix, method in zip(("", "r", "i"), operators(name), strict=True):
        setattr(Shadow, f"__{prefix}{name}__", method)
for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "abs", "and_"):
    setattr(Shadow, f"__{name.strip('_')}__", computed(getattr(operator, name)))
Shadow.__divmod__ = computed(divmod)
Shadow.__rdivmod__ = computed(lambda a, b: divmod(b, a))
