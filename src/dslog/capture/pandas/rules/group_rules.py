"""Methods of groups of rows: group-bys, resampling, windows, and pivots.

Where each row reads its whole group, the rows are first put in the order of their groups: there a
group is an interval, so the lineage stays as long as the table and not as its groups squared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.pandas.pandas_call import (
    Given,
    PandasCall,
    Sources,
    column_pairs,
    level_pairs,
    rule,
)
from dslog.capture.pandas.row_part import (
    SAME,
    Later,
    Part,
    Straight,
    cells,
    into,
    row_pairs,
    row_spans,
    taken,
)
from dslog.capture.pandas.rules.row_rules import taken_or_same
from dslog.capture.pandas.table_state import (
    Carrier,
    carrier_of,
    data_width,
    default_index,
    label_names,
    record_version,
    shape_of,
)
from dslog.capture.pandas.table_write import adopt, each_plainly
from dslog.capture.table_product import Pairs
from dslog.types import I64

_WHOLE = """sum mean median min max prod std var sem skew kurt count nunique any all idxmin idxmax
 quantile size agg aggregate describe"""


class Grouped:
    """The rows of a grouping: which group each is in, and what the keys are."""

    def __init__(self, call: PandasCall) -> None:
        carrier = carrier_of(call.owner)
        self.carrier: Carrier = carrier if carrier is not None else Carrier(())
        self.call = call
        grouping = call.owner
        self.obj = _root(self.carrier)
        self.one = call.input_of(self.obj)
        self.numbers = np.asarray(
            grouping.ngroup().to_numpy(dtype=np.float64, na_value=-1), np.int64
        )
        self.by = _argument(self.carrier, "groupby", "by", 0)

    @property
    def is_plain(self) -> bool:
        """Whether rows are grouped, not columns."""
        return self.obj is not None and len(self.numbers) == len(self.obj)

    def groups(self, result: Any) -> I64 | None:
        """Return the row of a result with a row for each group that each row is in."""
        count = int(self.numbers.max(initial=-1)) + 1
        if len(result) == count:
            return self.numbers
        keys = self.key_columns()
        if keys is None or result.index.nlevels != len(keys) or not result.index.is_unique:
            return None
        index = pd.Index(keys[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(keys)
        return np.asarray(result.index.get_indexer(index), np.int64)

    def key_columns(self) -> list[Any] | None:
        """Return the values of the keys by row, None if they are no columns."""
        found = []
        for name in self._key_list():
            if isinstance(name, pd.Series) and len(name) == len(self.obj):
                found.append(name.to_numpy())
            elif (
                isinstance(self.obj, pd.DataFrame) and _hashable(name) and name in self.obj.columns
            ):
                found.append(self.obj[name].array)
            else:
                return None
        return found

    def _key_list(self) -> list[Any]:
        return self.by if isinstance(self.by, list) else [self.by]

    def key_cells(self) -> list[list[tuple[Given, int]]]:
        """Return for each key the inputs and the columns that it is."""
        found: list[list[tuple[Given, int]]] = []
        if self.by is None:
            levels = _argument(self.carrier, "groupby", "level", 2)
            levels = levels if isinstance(levels, list) else [levels]
            wide = data_width(self.obj)
            for level in levels:
                k = self.obj.index._get_level_number(0 if level is None else level)  # noqa: SLF001 (pandas' own rules)
                found.append(
                    [(self.one, wide + k)] if self.one is not None and self.one.indexed else []
                )
            return found
        for key in self._key_list():
            if isinstance(key, (pd.Series, np.ndarray)):
                other = self.call.input_of(key)
                aligned = (
                    other is not None
                    and len(key) == len(self.obj)
                    and (not isinstance(key, pd.Series) or key.index.equals(self.obj.index))
                )
                found.append([(other, 0)] if aligned and other is not None else [])
            elif isinstance(key, pd.Grouper):
                label = key.key
                found.append(self._own(label) if label is not None else [])
            elif _hashable(key) and isinstance(self.obj, pd.DataFrame) and key in self.obj.columns:
                found.append(self._own(key))
            elif (
                _hashable(key)
                and key in self.obj.index.names
                and self.one is not None
                and self.one.indexed
            ):
                found.append(
                    [(self.one, data_width(self.obj) + list(self.obj.index.names).index(key))]
                )
            else:
                found.append([])
        return found

    def _own(self, label: Any) -> list[tuple[Given, int]]:
        if self.one is None:
            return []
        return [(self.one, int(self.obj.columns.get_loc(label)))]


def _hashable(value: Any) -> bool:
    return isinstance(value, (str, int, tuple, float))


def _root(carrier: Carrier) -> Any:
    return next((v for v in carrier.values if isinstance(v, (pd.DataFrame, pd.Series))), None)


def _argument(carrier: Carrier, call: str, name: str, place: int) -> Any:
    for made, args, kwargs in carrier.calls:
        if made == call:
            return kwargs.get(name, args[place] if place < len(args) else None)
    return None


def _source_column(obj: Any, label: Any) -> int | None:
    """Return the column that a column of a result is made from, by the labels of its levels."""
    if isinstance(obj, pd.Series):
        return 0
    if not obj.columns.is_unique:
        return None
    if _hashable(label) and label in obj.columns:
        place = obj.columns.get_loc(label)
        return int(place) if isinstance(place, int) else None
    if isinstance(label, tuple) and label and label[0] in obj.columns:
        return int(obj.columns.get_loc(label[0]))
    return None


def value_columns(call: PandasCall, grouped: Grouped, keys: int) -> dict[int, set[int]] | None:
    """Return for each column of a result's data the columns that it reads; keys come first."""
    result, obj = call.result, grouped.obj
    named = call.name in ("agg", "aggregate") and {
        key: value
        for key, value in call.kwargs.items()
        if isinstance(value, tuple) and len(value) == 2
    }
    key_places = {c for cells in grouped.key_cells() for one, c in cells if one is grouped.one}
    selection = _selected(grouped.carrier)
    if isinstance(result, pd.Series):
        if call.name == "size":
            return {0: key_places}
        name = selection if selection is not None and _hashable(selection) else result.name
        place = _source_column(obj, name)
        return None if place is None else {0: {place}}
    found: dict[int, set[int]] = {}
    for c, label in enumerate(result.columns):
        if c < keys:
            continue
        if named and label in named:
            label = named[label][0]  # noqa: PLW2901
        elif call.name == "size":
            found[c] = key_places
            continue
        if isinstance(selection, (str, int)) and not isinstance(obj, pd.Series):
            label = selection  # noqa: PLW2901
        place = _source_column(obj, label)
        if place is None:
            return None
        found[c] = {place}
    return found


def _selected(carrier: Carrier) -> Any:
    return next(
        (args[0] for made, args, _ in reversed(carrier.calls) if made == "__getitem__"), None
    )


@rule("group", _WHOLE)
def _aggregated(call: PandasCall) -> Sources | None:
    """A row for each group: its cells read theirs of all rows of the group, and so do its keys."""
    if call.name in ("agg", "aggregate") and not _known(call):
        return _roughly(call)
    if (
        call.name in ("quantile", "describe")
        and call.result.index.nlevels != len(Grouped(call).key_cells())
        and call.name == "quantile"
    ):
        return None
    grouped = Grouped(call)
    if not grouped.is_plain:
        return None
    groups = grouped.groups(call.result)
    if groups is None:
        return None
    return _by_group(call, grouped, groups, exact=True)


def _known(call: PandasCall) -> bool:
    """Whether all functions make one value of a group."""
    func = call.argument("func")
    given = [func] if func is not None else list(call.kwargs.values())
    flat: list[Any] = []
    while given:
        one = given.pop()
        if isinstance(one, dict):
            given += one.values()
        elif isinstance(one, tuple) and len(one) == 2:
            given.append(one[1])
        elif isinstance(one, list):
            given += one
        else:
            flat.append(one)
    return all(not callable(one) or one in (sum, min, max, len) for one in flat) and not any(
        one in ("first", "last", "nth") for one in flat if isinstance(one, str)
    )


def _by_group(
    call: PandasCall, grouped: Grouped, groups: I64, *, exact: bool, everything: bool = False
) -> Sources | None:
    result, obj = call.result, grouped.obj
    as_index = _argument(grouped.carrier, "groupby", "as_index", 3) is not False
    keys = grouped.key_cells()
    wide = data_width(result)
    first = len(keys) if not as_index and isinstance(result, pd.DataFrame) else 0
    columns: dict[int, set[int]] | None
    if everything:
        columns = {c: set(range(data_width(obj))) for c in range(first, wide)}
    else:
        columns = value_columns(call, grouped, first)
    if columns is None:
        return None
    rows = into(groups)
    found: list[tuple[Given, list[Part]]] = []
    if grouped.one is not None:
        pairs = frozenset((c, d) for c, some in columns.items() for d in some)
        found.append((grouped.one, [Straight(rows, pairs)]))
    for k, known in enumerate(keys):
        for one, c in known:
            place = k if first else wide + k
            found.append((one, [Straight(rows, frozenset({(place, c)}))]))
    indexed = not first and result.index.nlevels >= len(keys)
    if not indexed and not first:
        return None
    return Sources(found, indexed, exact=exact)


def _roughly(call: PandasCall) -> Sources | None:
    """A function of the program: each group's row may read all of the group's columns."""
    grouped = Grouped(call)
    if not grouped.is_plain:
        return None
    groups = grouped.groups(call.result)
    if groups is None or len(call.inputs) > len(grouped.carrier.values):
        return None
    found = _by_group(call, grouped, groups, exact=True)
    if found is not None:  # a function of one column reads that column
        return Sources(found.parts, found.indexed, exact=False)
    return _by_group(call, grouped, groups, exact=False, everything=True)


@rule("group", "first last")
def _picked(call: PandasCall) -> Sources | None:
    """The first cell of a group that is not null."""
    grouped = Grouped(call)
    if not grouped.is_plain:
        return None
    groups = grouped.groups(call.result)
    as_index = _argument(grouped.carrier, "groupby", "as_index", 3) is not False
    keys = grouped.key_cells()
    wide = data_width(call.result)
    first = 0 if as_index or isinstance(call.result, pd.Series) else len(keys)
    columns = value_columns(call, grouped, first)
    if groups is None or columns is None:
        return None
    found: list[tuple[Given, list[Part]]] = []
    count, obj = len(call.result), grouped.obj
    if grouped.one is not None:
        parts: list[Part] = []
        for c, some in columns.items():
            (d,) = some
            column = obj.iloc[:, d] if isinstance(obj, pd.DataFrame) else obj
            some_rows = column.notna().to_numpy() & (groups >= 0)
            at = np.flatnonzero(some_rows)
            if call.name == "first":
                at = at[::-1]
            positions = np.full(count, -1, np.int64)
            positions[groups[at]] = at  # of those of a group the last one stays
            parts.append(Straight(taken(positions), frozenset({(c, d)})))
            nulls = np.flatnonzero(~some_rows & (groups >= 0))  # that were passed over
            picked = positions[groups[nulls]]
            over = nulls < picked if call.name == "first" else nulls > picked
            passed = np.full(len(obj), -1, np.int64)
            passed[nulls[over | (picked < 0)]] = groups[nulls[over | (picked < 0)]]
            if (passed >= 0).any():
                parts.append(Straight(into(passed), frozenset({(c, d)})))
        found.append((grouped.one, parts))
    for k, known in enumerate(keys):
        for one, c in known:
            found.append(
                (one, [Straight(into(groups), frozenset({(k if first else wide + k, c)}))])
            )
    return Sources(found, indexed=not first)


@rule("group", "head tail nth filter sample")
def _kept(call: PandasCall) -> Sources | None:
    """Some rows of each group, as they are."""
    grouped = Grouped(call)
    obj, result = grouped.obj, call.result
    if grouped.one is None or not isinstance(result, (pd.DataFrame, pd.Series)):
        return None
    if default_index(obj.index):
        positions = np.asarray(result.index.to_numpy(), np.int64)
    elif obj.index.is_unique:
        positions = np.asarray(obj.index.get_indexer(result.index), np.int64)
    else:
        return None
    if (positions < 0).any():
        return None
    columns = column_pairs(result, obj)
    if columns is None:
        return None
    if grouped.one.indexed:
        columns |= level_pairs(result, obj)
    return Sources(
        [(grouped.one, [Straight(taken_or_same(positions, len(obj)), columns)])],
        grouped.one.indexed,
    )


@rule(
    "group",
    "transform cumsum cumprod cummin cummax cumcount rank ffill bfill ngroup shift diff fillna",
)
def _each_row(call: PandasCall) -> Sources | None:
    """A row for each row: it reads its group, or the rows before it in its group."""
    grouped = Grouped(call)
    obj, result = grouped.obj, call.result
    if not grouped.is_plain or len(result) != len(obj) or not result.index.equals(obj.index):
        return None
    if call.argument("axis", 0) in (1, "columns"):
        return None
    if call.name in ("cumcount", "ngroup"):
        columns: dict[int, set[int]] | None = {
            0: {c for cells in grouped.key_cells() for one, c in cells if one is grouped.one}
        }
    else:
        columns = value_columns(call, grouped, 0)
    if columns is None or grouped.one is None:
        return None
    func = call.argument("func")
    exact = call.name != "transform" or (isinstance(func, str) and func in _WHOLE.split())
    ordered = Ordered(grouped.numbers)
    shifts = call.name in ("shift", "diff", "pct_change")
    periods = call.argument("periods", 1)
    if shifts and (
        not isinstance(periods, int)
        or call.argument("freq") is not None
        or call.name == "pct_change"
    ):
        return None
    pairs = frozenset((c, d) for c, some in columns.items() for d in some)
    levels = level_pairs(result, obj) if grouped.one.indexed else frozenset()
    parts: list[Part] = [Straight(SAME, levels)] if levels else []
    if shifts:
        own = call.name == "diff"
        parts.append(Later(lambda: ordered.shifted(periods, pairs, own=own)))
        return Sources([(grouped.one, parts)], grouped.one.indexed)
    middle = _in_order(call, grouped, ordered)
    exact = exact and call.name not in ("ffill", "bfill", "fillna")
    name = call.name
    found: list[tuple[Given, list[Part]]] = [(middle, [Later(lambda: ordered.read(name, pairs))])]
    if parts:
        found.append((grouped.one, parts))
    return Sources(found, grouped.one.indexed, exact=exact)


class Ordered:
    """Rows in the order of their groups, worked out once, when lineage is built."""

    def __init__(self, groups: I64) -> None:
        self.groups = groups
        self.count = int(np.count_nonzero(groups >= 0))

    @cached_property
    def order(self) -> I64:
        """The rows that are in a group."""
        order = np.argsort(self.groups, kind="stable")
        return order[len(order) - self.count :]

    @cached_property
    def places(self) -> tuple[I64, I64, I64]:
        """Where each row is in that order, and where its group begins and ends; 0, 0, -1 if not."""
        place = np.full(len(self.groups), -1, np.int64)
        place[self.order] = np.arange(self.count)
        sizes = np.bincount(self.groups[self.groups >= 0])
        ends = np.cumsum(sizes)
        known = self.groups >= 0
        at = np.where(known, self.groups, 0)
        if not len(sizes):
            return place, np.zeros_like(place), place
        return place, np.where(known, (ends - sizes)[at], 0), np.where(known, ends[at] - 1, -1)

    def read(self, name: str, pairs: Pairs) -> list[Part]:
        """Return the rows of its group that each row reads."""
        place, lo, hi = self.places
        if name in ("cumsum", "cumprod", "cummin", "cummax", "cumcount", "ffill"):
            hi = place
        elif name == "bfill":
            lo = np.maximum(place, 0)
        return [Straight(row_spans(lo, hi), pairs)]

    def shifted(self, periods: int, pairs: Pairs, *, own: bool) -> list[Part]:
        """Return the row that is some rows before each row in its group, and the row as well."""
        place, lo, hi = self.places
        before = place - periods
        there = (place >= 0) & (before >= lo) & (before <= hi)
        rows = np.full(len(place), -1, np.int64)
        rows[there] = self.order[before[there]]
        parts: list[Part] = [Straight(taken(rows), pairs)]
        if own:
            parts.append(Straight(taken(np.where(there, np.arange(len(place)), -1)), pairs))
        return parts


def _in_order(call: PandasCall, grouped: Grouped, ordered: Ordered) -> Given:
    """Record the table with its rows in the order of their groups."""
    one, obj = grouped.one, grouped.obj
    assert one is not None  # noqa: S101
    assert call.home is not None  # noqa: S101
    width = one.shape[1] if len(one.shape) > 1 else 1
    shape = (ordered.count, *one.shape[1:])
    columns = frozenset((c, c) for c in range(width))
    parts: list[Part] = [Later(lambda: [Straight(taken(ordered.order), columns)])]
    args: dict[str, object] = {"columns": label_names(obj, indexed=one.indexed)}
    base = one.node.base
    node = record_version(
        call.home, "grouped", args, [(one.node, parts)], shape, f"{base}.grouped", base
    )
    return Given(None, node, one.indexed)


@rule("group", "apply")
def _applied(call: PandasCall) -> Sources | None:
    """What a function makes of each group, labelled: it may read all of it."""
    if not isinstance(call.result, (pd.DataFrame, pd.Series)):
        return None
    grouped = Grouped(call)
    if not grouped.is_plain or len(call.inputs) > len(grouped.carrier.values):
        return None
    count = int(grouped.numbers.max(initial=-1)) + 1
    if len(call.result) != count or call.result.index.nlevels != len(grouped.key_cells()):
        return None
    return _by_group(call, grouped, grouped.numbers, exact=False, everything=True)


def iterate_groups(call: PandasCall, result: Any) -> Iterator[Any]:
    """Give each key with the rows of its group."""
    grouped = Grouped(call)
    ordered = Ordered(grouped.numbers)
    ends = np.cumsum(np.bincount(grouped.numbers[grouped.numbers >= 0]))
    one, home = grouped.one, call.home
    for k, (key, group) in enumerate(each_plainly(result)):
        if one is not None and home is not None:
            last = int(ends[k]) if k < len(ends) else 0
            rows = ordered.order[(int(ends[k - 1]) if k else 0) : last]
            columns = column_pairs(group, grouped.obj) if len(rows) == len(group) else None
            if columns is None:
                home.leak("__iter__", [one.node])
            else:
                columns |= level_pairs(group, grouped.obj) if one.indexed else frozenset()
                parts: list[Part] = [Straight(taken(rows), columns)]
                adopt(group, "group", one, parts, home, indexed=one.indexed)
        yield key, group


@rule("group", "get_group")
def _group(call: PandasCall) -> Sources | None:
    return _kept(call)


# windows


@rule(
    "window",
    "sum mean median min max std var sem skew kurt count quantile rank apply agg aggregate",
)
def _window(call: PandasCall) -> Sources | None:
    """Each row reads the rows of its window."""
    carrier = carrier_of(call.owner)
    obj = None if carrier is None else _root(carrier)
    one = call.input_of(obj)
    result = call.result
    if carrier is None or obj is None or one is None or len(result) != len(obj):
        return None
    made = carrier.calls[0][0]
    if made == "groupby" or len(call.inputs) > 1:
        return None
    count = len(obj)
    if made in ("expanding", "ewm"):
        lo, hi = np.zeros(count, np.int64), np.arange(count, dtype=np.int64)
    else:
        window = call.owner
        indexer = window._get_window_indexer()  # noqa: SLF001 (it knows all that a window can be)
        least = window.min_periods if window.min_periods is not None else 0
        start, end = indexer.get_window_bounds(
            num_values=count,
            min_periods=least,
            center=window.center,
            closed=window.closed,
            step=None,
        )
        if getattr(window, "step", None) not in (None, 1):
            return None
        lo, hi = np.asarray(start, np.int64), np.asarray(end, np.int64) - 1
    selection = _selected(carrier)
    if isinstance(result, pd.Series) and isinstance(obj, pd.DataFrame):
        place = _source_column(obj, selection if isinstance(selection, str) else result.name)
        columns = None if place is None else frozenset({(0, place)})
    elif isinstance(obj, pd.Series):
        columns = frozenset((c, 0) for c in range(data_width(result)))
    else:
        places = [_source_column(obj, label) for label in result.columns]
        columns = (
            None if None in places else frozenset((c, int(p or 0)) for c, p in enumerate(places))
        )
    if columns is None:
        return None
    parts: list[Part] = [Straight(row_spans(np.maximum(lo, 0), np.minimum(hi, count - 1)), columns)]
    if one.indexed:
        parts.append(Straight(SAME, level_pairs(result, obj)))
    func = call.argument("func")
    exact = call.name not in ("agg", "aggregate", "apply") or isinstance(func, (str, list))
    return Sources([(one, parts)], one.indexed, exact=exact)


# resampling


@rule(
    "resample",
    "sum mean median min max std var sem count nunique prod size agg aggregate ohlc quantile",
)
def _resampled(call: PandasCall) -> Sources | None:
    """Each bin reads its rows, which are in the order of time."""
    carrier = carrier_of(call.owner)
    obj = None if carrier is None else _root(carrier)
    one, result = call.input_of(obj), call.result
    if carrier is None or obj is None or one is None:
        return None
    if carrier.calls[0][0] != "resample" or len(call.inputs) > 1:
        return None
    if (
        _argument(carrier, "resample", "on", 99) is not None
        or not obj.index.is_monotonic_increasing
    ):
        return None
    bins = np.asarray(call.owner._grouper.bins, np.int64)  # noqa: SLF001 (no public name)
    if len(bins) != len(result):
        return None
    rows = row_spans(np.concatenate([[0], bins[:-1]]), bins - 1)
    selection = _selected(carrier)
    if isinstance(result, pd.Series):
        place = _source_column(obj, selection if isinstance(selection, str) else result.name)
        places: list[int | None] = [place]
    else:
        places = [_source_column(obj, label) for label in result.columns]
    if None in places:
        return None
    exact = isinstance(call.argument("func", "sum"), (str, list, dict))
    columns = frozenset((c, int(p or 0)) for c, p in enumerate(places))
    if one.indexed:
        columns |= {(data_width(result), data_width(obj))}
    return Sources([(one, [Straight(rows, columns)])], indexed=True, exact=exact)


# pivots


@rule("", "pivot_table pivot")
@rule("DataFrame", "pivot_table pivot")
def _pivoted(call: PandasCall) -> Sources | None:
    """A cell reads the values of the rows that have its keys."""
    frame = call.owner if call.kind else call.argument("data")
    one, result = call.input_of(frame), call.result
    if one is None or not frame.columns.is_unique or call.argument("margins"):
        return None
    index, columns = _names(call.argument("index")), _names(call.argument("columns"))
    values = call.argument("values")
    func = call.argument("aggfunc", "mean")
    if not index or not isinstance(func, str) or not _all_in(frame, [*index, *columns]):
        return None
    if not result.index.is_unique or not result.columns.is_unique:
        return None
    out_rows = result.index.get_indexer(_keys(frame, index))
    wide, stride = data_width(result), data_width(result) + result.index.nlevels
    shape = shape_of(result, indexed=True)
    rest = [label for label in frame.columns if label not in index and label not in columns]
    shown = rest if values is None else _names(values)
    single = values is not None and not isinstance(values, list)
    out: list[I64] = []
    in_: list[I64] = []
    rows = np.arange(len(frame))
    for label in shown:
        if columns:
            keys = _keys(frame, columns)
            if not single:
                arrays = [
                    np.full(len(frame), label, dtype=object),
                    *(frame[c].array for c in columns),
                ]
                keys = pd.MultiIndex.from_arrays(arrays)
            places = result.columns.get_indexer(keys)
        else:
            place = result.columns.get_indexer([label])[0]
            places = np.full(len(frame), place)
        some = (out_rows >= 0) & (places >= 0)
        out.append(out_rows[some] * stride + places[some])
        in_.append(rows[some] * one.shape[1] + int(frame.columns.get_loc(label)))
    parts: list[Part] = [cells(np.concatenate(out), np.concatenate(in_), shape, one.shape)]
    by_row = np.argsort(out_rows, kind="stable")
    by_row = by_row[out_rows[by_row] >= 0]
    keyed = frozenset(
        (wide + k, int(frame.columns.get_loc(label))) for k, label in enumerate(index)
    )
    parts.append(Straight(row_pairs(out_rows[by_row], by_row), keyed))
    return Sources([(one, parts)], indexed=True)


def _names(value: Any) -> list[Any]:
    if value is None or repr(value) == "<no_default>":
        return []
    return list(value) if isinstance(value, list) else [value]


def _all_in(frame: pd.DataFrame, labels: Iterable[Any]) -> bool:
    return all(_hashable(label) and label in frame.columns for label in labels)


def _keys(frame: pd.DataFrame, labels: list[Any]) -> pd.Index:
    if len(labels) == 1:
        return pd.Index(frame[labels[0]])
    return pd.MultiIndex.from_frame(frame[labels])
