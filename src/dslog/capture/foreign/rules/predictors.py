"""Predictors of scikit-learn: what their fits are made from, and what a prediction reads.

A prediction is from its row and from what was fitted: all of a matrix of coefficients, the centres,
the neighbours that were found, or the features that a tree asks for on the row's way down.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs, lineage_of_positions
from dslog.algebra.product import follow, matched
from dslog.capture.foreign.estimator_rule import (
    MethodCall,
    Pattern,
    Reads,
    Spec,
    along,
    at_most,
    cell,
    describe_estimators,
    everything,
    inexact,
    nothing,
    per_output,
    per_target,
    row,
)
from dslog.capture.foreign.rules.transformers import labels_of, looked_up
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array

_ALL: Reads = {"X": everything, "y": everything, "sample_weight": everything}
_FROM_Y: Reads = {"X": nothing, "sample_weight": nothing, "y": labels_of}

# --- linear models -------------------------------------------------------------------------------


def _if_fitted(pattern: Pattern) -> Pattern:
    """An intercept that is not fitted is from nothing."""

    def checked(call: MethodCall, out: Array, array: Array) -> Lineage | None:
        fitted = getattr(call.estimator, "fit_intercept", True)
        return pattern(call, out, array) if fitted else None

    return checked


def _intercept(reads: Reads) -> Reads:
    return {name: _if_fitted(pattern) for name, pattern in reads.items()}


_LINEAR: Reads = {"X": row, "coef_": per_output, "intercept_": per_output}
_TARGETS = _ALL | {"y": per_target}
describe_estimators(
    "linear_model", "LinearRegression Ridge",
    Spec(
        {
            "coef_": _TARGETS, "intercept_": _intercept(_TARGETS),
            "rank_": _ALL | {"y": nothing}, "singular_": _ALL | {"y": nothing}, "*": _ALL,
        },
        {"predict": _LINEAR},
    ),
)  # fmt: skip
_REGRESSION = Spec({"intercept_": _intercept(_ALL), "*": _ALL}, {"predict": _LINEAR})
describe_estimators(
    "linear_model",
    "RidgeCV Lasso LassoCV ElasticNet ElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV HuberRegressor TheilSenRegressor "
    "SGDRegressor PassiveAggressiveRegressor QuantileRegressor TweedieRegressor PoissonRegressor "
    "GammaRegressor MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet MultiTaskElasticNetCV",
    _REGRESSION,
)
describe_estimators("svm", "LinearSVR", _REGRESSION)

_SCORED: Reads = {
    "X": row, "coef_": everything, "intercept_": everything, "classes_": looked_up
}  # fmt: skip
_PROBABLE: Reads = {"X": row, "coef_": everything, "intercept_": everything}
_CLASSIFIER: dict[str, Reads] = {
    "decision_function": _LINEAR,
    "predict": _SCORED,
    "predict_proba": _PROBABLE,
}
_CLASSIFICATION = Spec(
    {"classes_": _FROM_Y, "intercept_": _intercept(_ALL), "*": _ALL}, _CLASSIFIER
)
describe_estimators(
    "linear_model", "LogisticRegression LogisticRegressionCV SGDClassifier Perceptron "
    "PassiveAggressiveClassifier RidgeClassifier RidgeClassifierCV",
    _CLASSIFICATION,
)  # fmt: skip
describe_estimators("svm", "LinearSVC", _CLASSIFICATION)


# --- classes -------------------------------------------------------------------------------------


def _class_of(call: MethodCall, array: Array) -> I64 | None:
    """Which class each row belongs to."""
    y = np.asarray(call.values.get("y"))
    if y.shape != array.shape[:1]:
        return None
    return np.searchsorted(call.estimator.classes_, y).astype(np.int64)


def _by_class(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Each class's numbers from the rows of that class, columns apart."""
    which = _class_of(call, array)
    if which is None or not out.size or array.ndim > out.ndim:
        return at_most(call, out, array)
    rows = from_pairs(which, np.arange(len(which)), out.shape[:1], array.shape[:1]).terms
    columns = [follow(1, 1, out.shape[1])] if array.ndim == 2 else []
    return matched(out.shape, array.shape, {}, rows, *columns)


_PRIOR: Reads = {"X": nothing, "y": everything, "sample_weight": everything}
_GAUSS: Reads = {
    "X": row, "theta_": everything, "var_": everything, "class_prior_": everything
}  # fmt: skip
describe_estimators(
    "naive_bayes", "GaussianNB",
    Spec(
        {
            "theta_": _ALL | {"X": _by_class, "sample_weight": _by_class},
            "var_": _ALL | {"sample_weight": _by_class}, "class_prior_": _PRIOR,
            "class_count_": _PRIOR | {"y": _by_class, "sample_weight": _by_class},
            "epsilon_": _ALL | {"y": nothing, "sample_weight": nothing},
            "classes_": _FROM_Y, "*": _ALL,
        },
        {
            "predict": _GAUSS | {"classes_": looked_up}, "predict_proba": _GAUSS,
            "predict_joint_log_proba": {
                "X": row, "theta_": along(0, 1), "var_": along(0, 1), "class_prior_": along(0, 1),
            },
        },
    ),
)  # fmt: skip
describe_estimators(
    "discriminant_analysis", "LinearDiscriminantAnalysis",
    Spec(
        {
            "classes_": _FROM_Y, "priors_": _PRIOR, "means_": _ALL | {"X": _by_class},
            "xbar_": _ALL | {"X": along(-1, -1)}, "*": _ALL,
        },
        _CLASSIFIER
        | {"transform": {"X": row, "scalings_": along(1, 1), "xbar_": everything}},
    ),
)  # fmt: skip


def _machines(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """Support vectors are rows of the training set."""
    rows = np.asarray(call.estimator.support_, np.int64)
    if out.ndim != 2 or not out.size or not np.array_equal(array[rows], out):
        return at_most(call, out, array)
    positions = rows[:, None] * array.shape[1] + np.arange(array.shape[1])
    return lineage_of_positions(positions, array.shape)


_VECTORS: Reads = {"X": _machines, "y": nothing, "sample_weight": nothing}
_KERNEL: Reads = dict.fromkeys(("support_vectors_", "dual_coef_", "intercept_"), everything)
_MACHINE = {"X": row} | _KERNEL
_MACHINES: dict[str, Reads] = {
    "predict": _MACHINE | {"classes_": looked_up},
    "predict_proba": _MACHINE,
    "decision_function": _MACHINE,
    "coef_": {"dual_coef_": everything, "support_vectors_": along(-1, -1)},
}
_SHARES = _PRIOR | {"sample_weight": nothing}
describe_estimators(
    "svm", "SVC NuSVC SVR NuSVR",
    Spec(
        {
            "support_vectors_": _VECTORS, "classes_": _FROM_Y, "class_weight_": _SHARES, "*": _ALL,
        },
        _MACHINES,
    ),
)  # fmt: skip
describe_estimators(
    "svm", "OneClassSVM",
    Spec({"support_vectors_": _VECTORS, "*": _ALL | {"y": nothing}}, _MACHINES),
)  # fmt: skip


# --- centres and densities -----------------------------------------------------------------------

describe_estimators(
    "cluster", "KMeans MiniBatchKMeans",
    Spec(
        {"*": _ALL | {"y": nothing, "init": everything}},
        {
            "predict": {"X": row, "cluster_centers_": everything},
            "transform": {"X": row, "cluster_centers_": along(0, 1)},
        },
    ),
)  # fmt: skip
_MIXED: Reads = {"X": row} | dict.fromkeys(
    ("weights_", "means_", "precisions_cholesky_"), everything
)
describe_estimators(
    "mixture", "GaussianMixture",
    Spec(
        {"*": _ALL | {"y": nothing}},
        {"predict": _MIXED, "predict_proba": _MIXED, "score_samples": _MIXED},
    ),
)  # fmt: skip
_STEPS: Reads = {
    "T": along(0, 0), "X_thresholds_": inexact(everything), "y_thresholds_": inexact(everything)
}  # fmt: skip
describe_estimators(
    "isotonic", "IsotonicRegression", Spec({"*": _ALL}, {"predict": _STEPS, "transform": _STEPS})
)
_LAYERS: Reads = {"X": row, "coefs_": everything, "intercepts_": everything}
describe_estimators(
    "neural_network", "MLPClassifier MLPRegressor",
    Spec({"*": _ALL, "classes_": _FROM_Y}, {"predict": _LAYERS, "predict_proba": _LAYERS}),
)  # fmt: skip


# --- neighbours ----------------------------------------------------------------------------------


def _found(call: MethodCall, **options: Any) -> I64 | None:
    """The neighbours of each row, looked for once more."""
    x = call.values.get("X")
    if x is None:
        return None
    return np.asarray(call.estimator.kneighbors(x, return_distance=False, **options), np.int64)


def _neighbours(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The rows of the training set that a row's neighbours are."""
    return _of_found(call, out, array, {})


def _their_targets(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The targets of a row's neighbours, each for itself."""
    return _of_found(call, out, array, {1: 1} if array.ndim == 2 == out.ndim else {})


def _of_found(
    call: MethodCall, out: Array, array: Array, follows: dict[int, int]
) -> Lineage | None:
    found = _found(call)
    if found is None or len(found) != len(out):
        return at_most(call, out, array)
    rows = np.repeat(np.arange(len(found)), found.shape[1])
    pairs = from_pairs(rows, found, out.shape[:1], array.shape[:1])
    axes = [follow(j, i, out.shape[j]) for i, j in follows.items()]
    return matched(out.shape, array.shape, {}, pairs.terms, *axes)


def _each_neighbour(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The row of the training set that one neighbour is."""
    found = _found(call, n_neighbors=out.shape[1]) if out.ndim == 2 else None
    if found is None or found.shape != out.shape:
        return at_most(call, out, array)
    pairs = from_pairs(np.arange(found.size), found, out.shape, array.shape[:1])
    return matched(out.shape, array.shape, {}, pairs.terms)


_NEAR: Reads = {"X": row, "_fit_X": _neighbours, "_y": _their_targets}
_NEAREST: dict[str, Reads] = {"kneighbors": {"X": row, "_fit_X": _each_neighbour}}
_KEPT: Reads = {"X": cell, "y": nothing}
describe_estimators(
    "neighbors", "KNeighborsClassifier KNeighborsRegressor",
    Spec(
        {"_fit_X": _KEPT, "_y": {"X": nothing, "y": along(0, 0)}, "classes_": _FROM_Y},
        _NEAREST | {"predict": _NEAR | {"classes_": looked_up}, "predict_proba": _NEAR},
    ),
)  # fmt: skip
describe_estimators("neighbors", "NearestNeighbors", Spec({"_fit_X": _KEPT}, _NEAREST))


# --- trees ---------------------------------------------------------------------------------------


def _on_the_way(call: MethodCall, out: Array, array: Array) -> Lineage | None:
    """The features that are asked for on the way of a row down the trees."""
    fitted = call.estimator
    if array.ndim != 2 or len(array) != len(out) or not out.size:
        return at_most(call, out, array)
    trees = getattr(fitted, "estimators_", [fitted])
    features = np.concatenate([tree.tree_.feature for tree in trees])
    visited = fitted.decision_path(array)
    visited = (visited[0] if isinstance(visited, tuple) else visited).tocoo()
    asked = features[visited.col]
    rows, asked = visited.row[asked >= 0].astype(np.int64), asked[asked >= 0]
    cells = np.unique(rows * array.shape[1] + asked)
    pairs = from_pairs(cells // array.shape[1], cells, out.shape[:1], array.shape)
    return matched(out.shape, array.shape, {}, pairs.terms)


_DOWN: Reads = {"X": _on_the_way}
_TREES = Spec(
    {"classes_": _FROM_Y},
    {"predict": _DOWN | {"classes_": looked_up}, "predict_proba": _DOWN, "apply": _DOWN},
    opaque=True,
)
describe_estimators(
    "tree", "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
    _TREES,
)  # fmt: skip
describe_estimators(
    "ensemble", "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier "
    "ExtraTreesRegressor",
    _TREES,
)  # fmt: skip
