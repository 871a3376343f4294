"""An oracle for tracked arrays: beside each, an array of sets that goes through the same motions.

A cell of the shadow is the set of source cells that it comes from. Moving cells moves sets, because
the shadow is a numpy array too: views share memory, keys mean the same, writes hit the same cells.
"""

import numpy as np

import dslog

unite = np.frompyfunc(lambda a, b: a | b, 2, 1)


def sources(shape, name):
    """A shadow whose cells come from themselves."""
    cells = np.empty(shape, object)
    for index in np.ndindex(shape):
        cells[index] = frozenset({(name, index)})
    return cells


def nowhere(shape):
    cells = np.empty(shape, object)
    for index in np.ndindex(shape):
        cells[index] = frozenset()
    return cells


def traced(store, array, names):
    """What the store says of each cell of a tracked array."""
    found = nowhere(array.shape)
    for index in np.ndindex(array.shape):
        cell = frozenset()
        for name in names:
            if name == array.name:
                cell |= {(name, index)}
                continue
            cells = backward(store, array, [index], name)
            assert cells.exact
            cell |= {(name, tuple(map(int, each))) for each in cells.indices()}
        found[index] = cell
    return found


def backward(store, array, query, to):
    """Ask, where no path at all means no cells."""
    try:
        return store.backward(array.name, query, to)
    except dslog.PathError:
        return dslog.CellSet.empty(next(a.shape for a in store.arrays() if a.name == to))


def assert_same(store, array, shadow, names):
    assert isinstance(array, dslog.TrackedArray)
    assert array.shape == shadow.shape
    assert traced(store, array, names).tolist() == shadow.tolist()


def cells(store, array, to):
    """The cells of ``to`` that any cell of an array is from."""
    found = backward(store, array, np.s_[...], to)
    return sorted(tuple(map(int, index)) for index in found.indices())


def cell(store, array, index, to):
    """The cells of ``to`` that one cell of an array is from."""
    found = backward(store, array, [index], to)
    return sorted(tuple(map(int, each)) for each in found.indices())
