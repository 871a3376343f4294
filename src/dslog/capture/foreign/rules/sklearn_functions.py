"""Functions of scikit-learn that scale, split and select: preprocessing, splits, algebra.

Most keep to rows, to columns or to neither. What a fit inside of a function reads is everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import (
    all_to_all,
    follow,
    matched,
    product,
    same_order,
)
from dslog.algebra.restrict import union
from dslog.capture.foreign.data_rule import by_place, data_rule
from dslog.capture.numpy.call import Argument, Call, Lineages, arrange
from dslog.capture.numpy.index_run import index_run
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array


def sklearn_names(module: str, listed: str) -> list[str]:
    """Return dotted names: ``sklearn_names("metrics", "auc accuracy_score")``."""
    return [f"sklearn.{module}.{name}" for name in listed.split()]


def of_all(call: Call, *, exact: bool = True) -> Lineages | None:
    """Every output from every cell of every input."""
    return tuple(
        tuple(all_to_all(out.shape, array.shape, exact=exact) for array in call.inputs)
        for out in call.outputs
    )


def some_of_all(call: Call) -> Lineages | None:
    """Every output from every cell of every input, at most."""
    return of_all(call, exact=False)


def first_of(call: Call) -> Any:
    """Return a call's first argument, whatever it is called."""
    return call.args[0] if call.args else next(iter(call.arguments.values()))


# --- cells and labels ---------------------------------------------------------------------------


@rule(
    *sklearn_names("preprocessing", "binarize"),
    *sklearn_names("utils", "check_array check_X_y as_float_array column_or_1d"),
    "sklearn.utils.extmath.make_nonnegative",
    note="each cell from its cell",
)
def by_cell(call: Call) -> Lineages | None:
    """What is checked, or compared with a constant."""
    values = [value for value in call.arguments.values() if isinstance(value, np.ndarray)]
    if len(values) < len(call.outputs):
        return None
    rows: list[list[Argument]] = []
    for out, value in zip(call.outputs, values, strict=False):
        if out.size != value.size:
            return None
        same = same_order(out.shape, value.shape)
        rows.append([(other, same if other is value else None) for other in values])
    return arrange(call, *rows)


@rule("sklearn.preprocessing.label_binarize", note="each cell from its label and all classes")
def label_binarize(call: Call) -> Lineages | None:
    """A label is looked for among the classes."""
    y, classes = call.argument("y"), call.argument("classes")
    (out,) = call.outputs
    found = all_to_all(out.shape, np.shape(classes), exact=False)
    return arrange(call, [(y, matched(out.shape, np.shape(y), {0: 0})), (classes, found)])


# --- rows that move ------------------------------------------------------------------------------


@rule(
    "sklearn.model_selection.train_test_split",
    *sklearn_names("utils", "shuffle resample"),
    kind="value", note="each row from the row that moved",
)  # fmt: skip
def moved_rows(call: Call) -> Lineages | None:
    """A seed gives the same rows again; without one, rows are known by their values."""
    arrays = call.arguments.get("arrays", ())
    if not arrays or not all(type(array) is np.ndarray for array in arrays):
        return None
    parts, rest = divmod(len(call.outputs), len(arrays))
    more = [value for name, value in call.arguments.items() if name != "arrays"]
    if rest or not parts:
        return None
    found = _again(call, len(arrays[0]), parts) or _recognised(call, arrays, parts)
    outputs = []
    for k, out in enumerate(call.outputs):
        array, (rows, origins, exact) = arrays[k // parts], found[k % parts]
        lineage = Lineage.empty(out.shape, array.shape)
        if out.size:
            pairs = from_pairs(rows, origins, out.shape[:1], array.shape[:1]).terms
            rest_axes = [follow(axis, axis, n) for axis, n in enumerate(out.shape) if axis]
            lineage = product(out.shape, array.shape, pairs, *rest_axes, exact=exact)
        others = [(value, None) for value in (*arrays, *more) if value is not array]
        outputs.append([(array, lineage), *others])
    return arrange(call, *outputs)


Moved = list[tuple[I64, I64, bool]]
"""Per part of a split: rows of the output, rows of the input, whether that is exact."""


def _again(call: Call, size: int, parts: int) -> Moved | None:
    """Split the numbers of the rows in the same way."""
    shuffles = call.argument("shuffle", True) is not False
    if shuffles and not isinstance(call.argument("random_state"), (int, np.integer)):
        return None
    result = call.again({"arrays": (np.arange(size),)})
    found = [np.asarray(one) for one in ([result] if parts == 1 else result)]
    return [(np.arange(len(one)), one, True) for one in found]


def _recognised(call: Call, arrays: tuple[Array, ...], parts: int) -> Moved:
    """Look for the rows of outputs among those of inputs; equal ones can't be told apart."""
    n = len(arrays[0])
    keys: list[Array] = [np.zeros(n, np.int64), *(np.zeros(0, np.int64) for _ in range(parts))]
    keys[1:] = [np.zeros(len(call.outputs[p]), np.int64) for p in range(parts)]
    for k, array in enumerate(arrays):
        if array.dtype == object or not array.size:
            continue
        made = [array, *call.outputs[k * parts : (k + 1) * parts]]
        width = array.size // n
        raw = [np.ascontiguousarray(one).reshape(len(one), width) for one in made]
        bits = np.concatenate(raw).view(np.dtype((np.void, array.itemsize * width)))[:, 0]
        number = np.unique(bits, return_inverse=True)[1]
        both = np.stack([np.concatenate(keys), number], axis=1)
        one_key = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
        keys = np.split(one_key, np.cumsum([len(key) for key in keys])[:-1])
    order = np.argsort(keys[0], kind="stable")
    ordered = keys[0][order]
    found = []
    for key in keys[1:]:
        lo, hi = (np.searchsorted(ordered, key, side=side) for side in ("left", "right"))
        counts = hi - lo
        rows = np.repeat(np.arange(len(key)), counts)
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found.append((rows, order[np.repeat(lo, counts) + steps], bool((counts == 1).all())))
    return found


@rule(
    "sklearn.feature_extraction.image.extract_patches_2d", kind="index-run",
    note="each cell from the cell that moved",
)  # fmt: skip
def extract_patches(call: Call) -> Lineages | None:
    """All patches, or those that a seed draws."""
    seeded = isinstance(call.argument("random_state"), (int, np.integer))
    drawn = call.argument("max_patches") is not None
    return None if drawn and not seeded else index_run(call, "image")


# --- columns -------------------------------------------------------------------------------------


data_rule(
    *sklearn_names(
        "feature_selection",
        "f_classif chi2 f_regression r_regression mutual_info_regression mutual_info_classif",
    ),
    data="X y",
    note="each score from its column and all targets",
)(by_place(X={1: 0}))  # columns are scored apart; noise is the same for equal shapes


@rule("sklearn.covariance.empirical_covariance", note="each cell from its two columns")
def empirical_covariance(call: Call) -> Lineages | None:
    """Means are taken of the same columns."""
    x = call.argument("X")
    (out,) = call.outputs
    if np.ndim(x) != 2:
        return of_all(call)
    ends = [matched(out.shape, np.shape(x), {1: axis}) for axis in (0, 1)]
    return arrange(call, [(x, union(*ends))])


# --- algebra -------------------------------------------------------------------------------------


data_rule(
    "sklearn.decomposition.sparse_encode", data="X dictionary",
    note="each cell from its row and the dictionary",
)(by_place(X={0: 0}))  # fmt: skip


# --- whole fits ----------------------------------------------------------------------------------


rule(
    *sklearn_names(
        "utils.extmath",
        "randomized_svd randomized_range_finder fast_logdet squared_norm density",
    ),
    *sklearn_names("covariance", "ledoit_wolf oas log_likelihood graphical_lasso"),
    *sklearn_names("decomposition", "fastica"),
    *sklearn_names("linear_model", "lars_path lasso_path enet_path orthogonal_mp"),
    *sklearn_names("cluster", "k_means affinity_propagation spectral_clustering"),
    *sklearn_names(
        "manifold", "smacof spectral_embedding locally_linear_embedding trustworthiness"
    ),
    *sklearn_names("utils", "compute_sample_weight class_weight.compute_sample_weight"),
    note="each cell from everything",
)(of_all)
rule(
    *sklearn_names(
        "model_selection",
        "cross_val_predict cross_val_score cross_validate learning_curve validation_curve "
        "permutation_test_score",
    ),
    *sklearn_names("inspection", "permutation_importance partial_dependence"),
    *sklearn_names("covariance", "fast_mcd ledoit_wolf_shrinkage"),
    *sklearn_names("decomposition", "non_negative_factorization dict_learning"),
    *sklearn_names("decomposition", "dict_learning_online"),
    *sklearn_names("linear_model", "ridge_regression orthogonal_mp_gram lars_path_gram"),
    *sklearn_names("cluster", "dbscan mean_shift estimate_bandwidth ward_tree"),
    *sklearn_names("cluster", "linkage_tree cluster_optics_dbscan cluster_optics_xi"),
    *sklearn_names("cluster", "compute_optics_graph"),
    *sklearn_names("utils", "compute_class_weight class_weight.compute_class_weight"),
    "sklearn.isotonic.isotonic_regression", "sklearn.calibration.calibration_curve",
    "sklearn.feature_extraction.image.reconstruct_from_patches_2d",
    kind="superset", note="each cell from everything, at most",
)(some_of_all)  # fmt: skip
"""What a split, a cluster or a penalty leaves out is not followed."""
