"""Transformers of scikit-learn: what their fits are made from, and what each cell they give reads.

Scalers keep to columns, projections read a row and one line of a matrix, encoders and selectors
move columns about. Where a column is only compared with, as in a selection, it does not contribute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs, lineage_of_positions
from dslog.algebra.product import all_to_all, follow, free, part, product, read
from dslog.algebra.product import row as one_row
from dslog.algebra.restrict import union
from dslog.capture.foreign.estimator_rule import (
    MethodCall,
    Pattern,
    Reads,
    Spec,
    along,
    at_most,
    cell,
    column,
    describe_estimators,
    everything,
    inexact,
    like,
    nothing,
    row,
)
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array

_WHOLE: Reads = {"X": everything, "y": everything, "sample_weight": everything, "state": everything}
_UNREAD: Reads = {"X": nothing, "y": nothing, "sample_weight": nothing, "state": nothing}


def _per_column(x: Pattern = column) -> Reads:
    """A number per column, from that column and all weights."""
    weights = inexact(everything) if x is not column else everything
    return {"X": x, "y": nothing, "sample_weight": weights, "state": column}


def _cells(attributes: str, *, inverse: bool = True, state: Pattern = column) -> dict[str, Reads]:
    """Each cell from its cell, and from its column's numbers."""
    reads = {"X": cell} | dict.fromkeys(attributes.split(), state)
    return {"transform": reads} | ({"inverse_transform": reads} if inverse else {})


# --- cells and columns ---------------------------------------------------------------------------


def _quartiles(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The cells at both ends of a range of ranks."""
    ends = [like(np.nanpercentile, q, axis=0)(call, out, array) for q in _range(call)]
    found = [end for end in ends if end is not None]
    return union(*found) if found else None


def _range(call: MethodCall) -> tuple[float, float]:
    low, high = call.estimator.quantile_range
    return low, high


def _seen(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """How many cells of a column were not missing; for all columns it is no more than a shape."""
    return inexact(column)(call, out, array) if out.ndim else None


_MEAN = _per_column(like(np.nanmean, axis=0)) | {"sample_weight": everything}
describe_estimators(
    "preprocessing", "StandardScaler",
    Spec({"n_samples_seen_": _MEAN | {"X": _seen}, "*": _MEAN}, _cells("mean_ scale_")),
)  # fmt: skip
_LOW, _HIGH = _per_column(like(np.nanmin, axis=0)), _per_column(like(np.nanmax, axis=0))
describe_estimators(
    "preprocessing", "MinMaxScaler",
    Spec({"data_min_": _LOW, "data_max_": _HIGH, "*": _LOW}, _cells("scale_ min_")),
)  # fmt: skip
describe_estimators("preprocessing", "MaxAbsScaler", Spec({"*": _HIGH}, _cells("scale_")))
describe_estimators(
    "preprocessing", "RobustScaler",
    Spec(
        {"center_": _per_column(like(np.nanmedian, axis=0)), "*": _per_column(_quartiles)},
        _cells("center_ scale_"),
    ),
)  # fmt: skip
describe_estimators("preprocessing", "Normalizer", Spec({}, {"transform": {"X": row}}))
describe_estimators("preprocessing", "Binarizer", Spec({}, {"transform": {"X": cell}}))
describe_estimators(
    "preprocessing", "PowerTransformer",
    Spec({"*": _per_column()}, _cells("lambdas_")),  # its own scaler is from the same columns
)  # fmt: skip
describe_estimators(
    "preprocessing", "QuantileTransformer",
    Spec(
        {"quantiles_": _per_column(inexact(column)), "*": _UNREAD},
        _cells("quantiles_", state=inexact(column)),
    ),
)  # fmt: skip
describe_estimators(
    "preprocessing", "KernelCenterer",
    Spec(
        {"K_fit_rows_": {"K": column, "y": nothing}, "*": {"K": everything, "y": nothing}},
        {"transform": {"K": row, "K_fit_rows_": everything, "K_fit_all_": everything}},
    ),
)  # fmt: skip


# --- columns that are picked, or become several --------------------------------------------------


def columns_from(origin: I64, other: I64 | None = None) -> Pattern:
    """Output column ``other[k]`` (k by default) from column ``origin[k]`` of the same row."""
    made = np.arange(len(origin)) if other is None else other

    def pattern(call: MethodCall, out: Array, array: Array) -> Lineage | None:
        if out.ndim != 2 or not out.size or not array.size:
            return at_most(call, out, array)
        if not len(origin):
            return None
        across = from_pairs(made, origin, out.shape[1:], array.shape[-1:])
        moved = array.ndim == 2
        placed = [
            part([1], [1 if moved else 0], factor.table) for term in across.terms for factor in term
        ]
        lead = follow(0, 0, out.shape[0]) if moved else free(0, out.shape[0])
        return union(*(product(out.shape, array.shape, lead, one) for one in placed))

    return pattern


def _selected(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The columns that were chosen."""
    return columns_from(np.flatnonzero(call.estimator.get_support()))(call, out, array)


def _selected_back(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The columns that were chosen, in their old places; the others are from nothing."""
    places = np.flatnonzero(call.estimator.get_support())
    return columns_from(np.arange(len(places)), places)(call, out, array)


_SELECT: dict[str, Reads] = {
    "transform": {"X": _selected},
    "inverse_transform": {"X": _selected_back},
}


def _scored(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """scikit-learn's score functions look at one column at a time; others may do anything."""
    known = call.estimator.score_func.__module__.startswith("sklearn.")
    return inexact(column if known else everything)(call, out, array)


describe_estimators(
    "feature_selection", "VarianceThreshold",
    Spec({"*": _per_column(inexact(column))}, _SELECT | {"get_support": {"variances_": cell}}),
)  # fmt: skip
describe_estimators(
    "feature_selection", "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe "
    "GenericUnivariateSelect",
    Spec(
        {"*": {"X": _scored}},
        _SELECT | {"get_support": {"scores_": everything, "pvalues_": everything}},
    ),
)  # fmt: skip


def _powers(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The columns with a power; a bias is from nothing."""
    made, origin = np.nonzero(call.estimator.powers_)
    return columns_from(origin, made)(call, out, array)


def _spread(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Columns that become the same number of columns each."""
    if array.ndim != 2 or out.ndim != 2 or out.shape[1] % max(array.shape[1], 1):
        return at_most(call, out, array)
    times = out.shape[1] // array.shape[1]
    return columns_from(np.repeat(np.arange(array.shape[1]), times))(call, out, array)


def _counts(call: MethodCall) -> I64:
    """How many columns each column becomes."""
    fitted = call.estimator
    counts = getattr(fitted, "_n_features_outs", getattr(fitted, "n_bins_", ()))
    return np.asarray(counts, np.int64)


def _encoded(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Columns that become as many columns as they have categories."""
    counts = _counts(call)
    if out.ndim != 2 or counts.sum() != out.shape[1]:
        return (
            cell(call, out, array) if out.shape == array.shape else inexact(row)(call, out, array)
        )
    return columns_from(np.repeat(np.arange(len(counts)), counts))(call, out, array)


def _place_in(values: Any, item: Array) -> int | None:
    """Which of a list of attributes one is."""
    return next((k for k, value in enumerate(values) if value is item), None)


def _categories(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Each column from all of its own categories."""
    place = _place_in(call.estimator.categories_, array)
    counts = np.ones(out.shape[-1], np.int64)
    if call.method != "inverse_transform" and hasattr(call.estimator, "_n_features_outs"):
        counts = _counts(call)
    if place is None or out.ndim != 2 or counts.sum() != out.shape[1] or not out.size:
        return at_most(call, out, array)
    first = int(counts[:place].sum())
    if not counts[place] or not array.size:
        return None
    columns = one_row([(0, out.shape[0] - 1), (first, first + int(counts[place]) - 1)], [], [])
    whole = one_row([], [(0, array.size - 1)], [-1])
    return product(out.shape, array.shape, part([0, 1], [], columns), part([], [0], whole))


def _of_column(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """One of a list with an item per column, from that column."""
    place = call.output.rpartition(".")[2]
    if array.ndim != 2 or not place.isdigit() or int(place) >= array.shape[1] or not out.size:
        return at_most(call, out, array)
    rows = read(0, 0, len(array) - 1), read(1, int(place), int(place))
    return product(out.shape, array.shape, free(0, len(out)), *rows, exact=False)


_BY_CATEGORY: Reads = {"X": _encoded, "categories_": _categories}
_BACK: Reads = {"X": inexact(row), "categories_": inexact(_categories)}
describe_estimators(
    "preprocessing", "OneHotEncoder OrdinalEncoder",
    Spec(
        {"categories_": {"X": _of_column, "y": nothing}, "*": {"y": nothing}},
        {"transform": _BY_CATEGORY, "inverse_transform": _BACK},
    ),
)  # fmt: skip
describe_estimators(
    "preprocessing", "KBinsDiscretizer",
    Spec(
        {"bin_edges_": _per_column(_of_column), "*": _per_column(inexact(column))},
        {"transform": {"X": _encoded, "n_bins_": inexact(_encoded)}},  # stands for the edges too
    ),
)  # fmt: skip
describe_estimators(
    "preprocessing", "PolynomialFeatures",
    Spec({}, {"transform": {"X": _powers}, "powers_": {}}),
)  # fmt: skip
describe_estimators(
    "preprocessing", "SplineTransformer", Spec({}, {"transform": {"X": _spread}}, opaque=True)
)


# --- labels --------------------------------------------------------------------------------------


def looked_up(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The label that was looked up, which is where its value is."""
    if out.ndim != 1 or array.ndim != 1 or not array.size:
        return at_most(call, out, array)
    places = np.minimum(np.searchsorted(array, out), array.size - 1)
    if not np.array_equal(array[places], out):
        return at_most(call, out, array)
    return lineage_of_positions(places.astype(np.int64), array.shape)


def labels_of(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Labels are from the first cell of their value."""
    return like(np.unique)(call, out, array) if array.ndim == 1 else at_most(call, out, array)


describe_estimators(
    "preprocessing", "LabelEncoder",
    Spec(
        {"*": {"y": labels_of}},
        {
            "transform": {"y": row, "classes_": everything},
            "inverse_transform": {"y": row, "classes_": looked_up},
        },
    ),
)  # fmt: skip
describe_estimators(
    "preprocessing", "LabelBinarizer",
    Spec(
        {"*": {"y": labels_of}},
        {
            "transform": {"y": row, "classes_": inexact(everything)},
            "inverse_transform": {"Y": row, "classes_": looked_up},
        },
    ),
)  # fmt: skip


# --- what is missing -----------------------------------------------------------------------------


def _filled(call: MethodCall) -> Any:
    """Where a statistic stands in for what is missing; None where columns went."""
    values = np.asarray(call.values["X"])
    missing = call.estimator.missing_values
    if values.dtype.kind == "f" and isinstance(missing, float) and np.isnan(missing):
        return np.isnan(values)
    return values == missing if values.dtype.kind in "iuf" else None


def _kept(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The cells that are not missing."""
    filled = _filled(call)
    if filled is None or out.shape != array.shape:
        return inexact(row)(call, out, array)
    positions = np.arange(array.size, dtype=np.int64).reshape(array.shape)
    return lineage_of_positions(np.where(filled, -1, positions), array.shape)


def _filled_in(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The statistics of columns, where something is missing."""
    filled = _filled(call)
    if filled is None or out.shape != filled.shape or array.shape != out.shape[1:]:
        return at_most(call, out, array)
    places = np.broadcast_to(np.arange(array.size, dtype=np.int64), out.shape)
    return lineage_of_positions(np.where(filled, places, -1), array.shape)


def _statistic(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """A mean or a median of what is not missing."""
    strategy, missing = call.estimator.strategy, call.estimator.missing_values
    if strategy == "constant":
        return None
    function: Any = {"mean": np.nanmean, "median": np.nanmedian}.get(strategy)
    if function is None or not (isinstance(missing, float) and np.isnan(missing)):
        return inexact(column)(call, out, array)
    return like(function, axis=0)(call, out, array)


describe_estimators(
    "impute", "SimpleImputer",
    Spec(
        {"*": {"X": _statistic, "y": nothing, "fill_value": cell}},
        {"transform": {"X": _kept, "statistics_": _filled_in}},
        opaque=False,
    ),
)  # fmt: skip


def _marked(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The columns that had something missing."""
    return columns_from(np.asarray(call.estimator.features_, np.int64))(call, out, array)


describe_estimators(
    "impute", "MissingIndicator",
    Spec({"*": {"X": at_most, "y": nothing}}, {"transform": {"X": _marked}}),
)  # fmt: skip


# --- projections ---------------------------------------------------------------------------------

_LINE = along(0, 1)  # a column of the result from one line of a matrix
_CENTRED = _WHOLE | {"y": nothing}
_PROJECT: Reads = {"X": row, "mean_": everything, "components_": _LINE}


def _whitened(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The variances of a component, where it is scaled by them."""
    if not call.estimator.whiten:
        return None
    return (everything if call.method == "inverse_transform" else along(0, 1))(call, out, array)


describe_estimators(
    "decomposition", "PCA IncrementalPCA",
    Spec(
        {
            "mean_": _per_column(), "var_": _per_column(), "n_samples_seen_": _UNREAD,
            "*": _CENTRED,
        },
        {
            "transform": _PROJECT | {"explained_variance_": _whitened},
            "inverse_transform": {
                "X": row, "mean_": column, "components_": along(1, 1),
                "explained_variance_": _whitened,
            },
        },
    ),
)  # fmt: skip
describe_estimators(
    "decomposition", "FastICA",
    Spec(
        {"mean_": _per_column(), "*": _CENTRED},
        {
            "transform": _PROJECT,
            "inverse_transform": {"X": row, "mixing_": along(0, 1), "mean_": column},
        },
    ),
)  # fmt: skip
describe_estimators(
    "decomposition", "TruncatedSVD",
    Spec(
        {"*": _CENTRED},
        {
            "transform": {"X": row, "components_": _LINE},
            "inverse_transform": {"X": row, "components_": along(1, 1)},
        },
    ),
)  # fmt: skip
describe_estimators(
    "decomposition", "FactorAnalysis",
    Spec(
        {"mean_": _per_column(), "*": _CENTRED},
        {
            "transform": {
                "X": row, "mean_": everything, "components_": everything,
                "noise_variance_": everything,
            }
        },
    ),
)  # fmt: skip
describe_estimators(
    "decomposition", "NMF MiniBatchNMF",
    Spec(
        {"*": {name: inexact(pattern) for name, pattern in _CENTRED.items()}},
        {
            "transform": {"X": at_most, "components_": at_most},
            "inverse_transform": {"X": row, "components_": along(1, 1)},
        },
    ),
)  # fmt: skip
describe_estimators(
    "random_projection", "GaussianRandomProjection SparseRandomProjection",
    Spec({"*": _UNREAD}, {"transform": {"X": row, "components_": _LINE}}),
)  # fmt: skip


def _by_scale(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Random numbers, but for a width that is found in the data."""
    return everything(call, out, array) if call.estimator.gamma == "scale" else None


describe_estimators(
    "kernel_approximation", "RBFSampler",
    Spec(
        {"random_offset_": _UNREAD, "*": {"X": _by_scale, "y": nothing}},
        {"transform": {"X": row, "random_weights_": along(1, 1), "random_offset_": column}},
    ),
)  # fmt: skip


def _chosen_rows(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The rows that were drawn."""
    rows = np.asarray(call.estimator.component_indices_, np.int64)
    if out.ndim != 2 or rows.shape != out.shape[:1] or not out.size:
        return at_most(call, out, array)
    positions = rows[:, None] * array.shape[1] + np.arange(array.shape[1])
    return lineage_of_positions(positions, array.shape)


def _through_rows(call: MethodCall, out: Array, array: Array) -> Lineage:
    """Everything in the rows that were drawn."""
    rows = np.unique(call.estimator.component_indices_)
    return all_to_all(out.shape, array.shape, exact=len(rows) == len(array))


describe_estimators(
    "kernel_approximation", "Nystroem",
    Spec(
        {
            "components_": {"X": _chosen_rows, "y": nothing},
            "component_indices_": _UNREAD,
            "*": {"X": _through_rows, "y": nothing},
        },
        {"transform": {"X": row, "components_": everything, "normalization_": along(0, 1)}},
    ),
)  # fmt: skip


def _tiled(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """All columns, again and again."""
    if array.ndim != 2 or out.ndim != 2:
        return at_most(call, out, array)
    return columns_from(np.arange(out.shape[1]) % array.shape[1])(call, out, array)


describe_estimators(
    "kernel_approximation", "AdditiveChi2Sampler", Spec({}, {"transform": {"X": _tiled}})
)
