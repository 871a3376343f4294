"""Random small pipelines with their raw relations, and joins over those by brute force."""

import itertools
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

import dslog
from dslog.testing import naive

SHAPES = st.lists(st.integers(1, 3), min_size=0, max_size=2).map(tuple)


def all_cells(shape):
    return list(itertools.product(*(range(size) for size in shape)))


def relation_between(out_shape, in_shape):
    pairs = st.tuples(st.sampled_from(all_cells(out_shape)), st.sampled_from(all_cells(in_shape)))
    return st.frozensets(pairs, max_size=8)


@dataclass
class Pipeline:
    """Arrays in the order they were made; calls as (name, inputs, outputs, {(out, in): pairs})."""

    shapes: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)

    @property
    def edges(self):
        return [(*pair, pairs) for *_, found in self.calls for pair, pairs in found.items()]

    def fill(self, store):
        for name, shape in self.shapes.items():
            store.array(name, shape)
        for name, inputs, outputs, found in self.calls:
            rows = [
                naive.relation_of(found[out, in_], len(self.shapes[out]), len(self.shapes[in_]))
                for out in outputs
                for in_ in inputs
            ]
            if name is None:
                store.lineage(outputs[0], inputs[0], rows[0])
            else:
                store.register_operation(name, inputs, outputs, rows, reuse=False)
        return store

    def reach(self, array, cells, *, backward, allowed=None):
        """Every cell on every path, as {(array, cell)}, by a fixpoint; ``allowed`` may refuse."""
        reached = {(array, cell) for cell in cells}
        while True:
            more = set(reached)
            for out, in_, pairs in self.edges:
                source, target = (out, in_) if backward else (in_, out)
                here = {cell for name, cell in reached if name == source}
                found = naive.backward(pairs, here) if backward else naive.forward(pairs, here)
                more |= {
                    (target, cell) for cell in found if allowed is None or allowed(target, cell)
                }
            if more == reached:
                return reached
            reached = more


@st.composite
def pipelines(draw, arrays=5):
    """Draw two sources and a few calls on what is there already, some with two outputs."""
    made = Pipeline()
    for name in ("s0", "s1"):
        made.shapes[name] = draw(SHAPES)
    while len(made.shapes) < arrays:
        known = list(made.shapes)
        inputs = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
        name = draw(st.sampled_from(["sum", "sort", "join", None]))
        if name is None:
            inputs = inputs[:1]
        count = 1 if name is None else draw(st.integers(1, 2))
        outputs = [f"a{len(made.shapes) + k}" for k in range(count)]
        for out in outputs:
            made.shapes[out] = draw(SHAPES)
        found = {
            (out, in_): draw(relation_between(made.shapes[out], made.shapes[in_]))
            for out in outputs
            for in_ in inputs
        }
        made.calls.append((name, inputs, outputs, found))
    return made


def cells_of(cells):
    return {tuple(index) for index in cells.indices().tolist()}


def as_set(arrays):
    """What an answer holds, as {(array, cell)}."""
    return {(one.array, cell) for one in arrays for cell in cells_of(one.cells)}


def values_with_nan(store, name, shape, holes):
    """Track an array of the store again, with NaN in some cells, and keep its values."""
    values = np.ones(shape)
    for cell in holes:
        values[cell] = np.nan
    return store.track(values, name, keep_values=True)


def in_memory():
    return dslog.open(":memory:")
