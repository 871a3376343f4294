"""What a method reads, found by changing one input cell at a time: slow and obvious."""

import warnings

import numpy as np
import pandas as pd

import dslog


def frames():
    """Small frames with what makes trouble."""
    plain = pd.DataFrame(
        {
            "k": ["a", "b", "a", "c", "b", "a"],
            "x": [3.0, 1.0, np.nan, 5.0, 2.0, 4.0],
            "y": [10, 20, 30, 40, 50, 60],
            "z": [1.5, 2.5, 3.5, np.nan, 5.5, 6.5],
        }
    )
    dates = pd.date_range("2024-01-01", periods=6, freq="D", tz="Europe/Rome")
    return {
        "plain": plain,
        "named": plain.set_axis(list("pqrstu"), axis=0),
        "repeated": plain.set_axis([7, 8, 7, 9, 8, 7], axis=0),
        "levels": plain.set_axis(
            pd.MultiIndex.from_tuples(
                [("u", 1), ("u", 2), ("v", 1), ("v", 2), ("w", 1), ("w", 2)], names=["g", "h"]
            ),
            axis=0,
        ),
        "dates": plain.set_axis(dates, axis=0),
        "categories": plain.astype({"k": "category"}),
        "empty": plain.iloc[:0],
    }


def changed(value):
    """A value that is another, but nearly the same."""
    if isinstance(value, str):
        return value
    if value is None or value is pd.NaT or value != value:  # noqa: PLR0124
        return 2.25
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) + 1
    return value + 2.0**-6


def data(result):
    if isinstance(result, pd.DataFrame):
        return result.to_numpy(dtype=object)
    if isinstance(result, pd.Series):
        return result.to_numpy(dtype=object).reshape(-1, 1)
    values = np.asarray(dslog.plain(result), dtype=object)
    return values if values.ndim == 2 else values.reshape(-1, 1)


def differing(one, other):
    same = np.array(
        [
            a is b or a == b or (pd.api.types.is_scalar(a) and pd.isna(a) and pd.isna(b))
            for a, b in zip(one.ravel(), other.ravel(), strict=True)
        ],
        bool,
    )
    return np.argwhere(~same.reshape(one.shape))


def read_cells(frame, method):
    """The pairs of (result cell, input cell) of which one is seen to change with the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = method(frame.copy())
        found = set()
        for c, _label in enumerate(frame.columns):
            for r in range(len(frame)):
                value = changed(frame.iloc[r, c])
                if value is frame.iloc[r, c]:
                    continue
                other = frame.copy()
                if other.dtypes.iloc[c] == np.int64:
                    value = int(value)
                other.isetitem(c, [value if k == r else v for k, v in enumerate(other.iloc[:, c])])
                try:
                    result = method(other)
                except (ValueError, KeyError, TypeError, IndexError):
                    continue
                if data(result).shape != data(expected).shape:
                    continue
                for cell in differing(data(expected), data(result)):
                    found.add((tuple(map(int, cell)), (r, c)))
    return expected, found


def told_cells(frame, method):
    """The pairs that the store tells, of cells of data, and the result; with what it says of it."""
    store = dslog.open(":memory:", leaks="ignore")
    tracked = store.track(frame.copy(), "source")
    result = method(tracked)
    name = store.name_of(result) if not np.isscalar(result) else result.name
    if name is None:
        return None, result, (None, None)
    exact, told = True, set()
    values = data(result)
    for r in range(values.shape[0]):
        for c in range(values.shape[1]):
            shape = next(a.shape for a in store.arrays() if a.name == name)
            cell = (r, c) if len(shape) == 2 else (r,) if len(shape) == 1 else ()
            if name == "source":
                told.add(((r, c), (r, c)))
                continue
            cells = store.backward(name, [cell] if shape else None, to="source")
            exact = exact and cells.exact
            told |= {((r, c), tuple(map(int, i))) for i in cells.indices()}
    found = {(out, cell) for out, cell in told if cell[1] < len(frame.columns)}
    return found, result, (exact, name)
