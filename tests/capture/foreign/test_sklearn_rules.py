"""What functions of scikit-learn read, against calls with one cell changed."""

import warnings

import numpy as np
import pytest
from numpy_oracles import influence, make_call, pairs_of, written_out
from rule_examples import followed

pytest.importorskip("sklearn")
from sklearn import (
    cluster,
    covariance,
    decomposition,
    feature_selection,
    metrics,
    model_selection,
    preprocessing,
    utils,
)
from sklearn.feature_extraction import image
from sklearn.metrics import pairwise
from sklearn.utils import extmath

from dslog.capture.foreign.rules import sklearn_functions, sklearn_metrics  # noqa: F401
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import REGISTRY, function_named

RANDOM = np.random.default_rng(11)
X, Y = RANDOM.random((5, 3)) + 0.5, RANDOM.random((4, 3)) + 0.5
P, Q = RANDOM.random(6) + 0.5, RANDOM.random(6) + 0.5
P2, Q2 = RANDOM.random((6, 2)) + 0.5, RANDOM.random((6, 2)) + 0.5
LABELS, GUESS = np.array([0, 1, 1, 0, 1, 0]), np.array([0, 1, 0, 0, 1, 1])
WEIGHTS = RANDOM.random(6) + 0.5
SCORES = RANDOM.permutation(6) / 7 + 0.1
TARGET = RANDOM.random(5)


def called(func, args, kwargs):
    """A call as capture makes it: Python's numbers are results, too."""

    def numbers(*some, **more):
        result = func(*some, **more)
        return np.float64(result) if type(result) is float else result

    call = make_call(numbers, args, kwargs)
    return Call(func.__name__, func, call.args, call.kwargs, call.inputs, call.outputs), numbers


def judge(func, *args, oracle="influence", exact=True, size=1e-6, **kwargs):
    call, numbers = called(func, args, kwargs)
    for entry in REGISTRY.find(func):
        found = entry.rule(call)
        if found is not None:
            break
    else:
        found = followed(call)
    lineages = written_out(call, found)
    assert all(one.exact == exact for row in lineages for one in row if one.terms)
    again = Call(call.name, numbers, call.args, call.kwargs, call.inputs, call.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = influence(again, size, "f")
    for mine, theirs, array in zip(
        (one for row in lineages for one in row),
        (pairs for row in changed for pairs in row),
        call.inputs * len(call.outputs),
        strict=True,
    ):
        assert theirs <= pairs_of(mine)
        if oracle == "influence" and array.dtype.kind == "f":
            assert theirs == pairs_of(mine)
    return lineages


EXACT = {
    "scale": (preprocessing.scale, X),
    "scale of rows": (preprocessing.scale, X, {"axis": 1}),
    "normalize": (preprocessing.normalize, X),
    "normalize columns": (preprocessing.normalize, X, {"axis": 0}),
    "norms": (preprocessing.normalize, X, {"return_norm": True}),
    "add_dummy_feature": (preprocessing.add_dummy_feature, X),
    "mean_squared_error": (metrics.mean_squared_error, P, Q, {"sample_weight": WEIGHTS}),
    "raw values": (metrics.mean_squared_error, P2, Q2, {"multioutput": "raw_values"}),
    "r2_score": (metrics.r2_score, P, Q),
    "raw r2_score": (metrics.r2_score, P2, Q2, {"multioutput": "raw_values"}),
    "mean_absolute_error": (metrics.mean_absolute_error, P2, Q2),
    "log_loss": (metrics.log_loss, LABELS, SCORES),
    "euclidean_distances": (pairwise.euclidean_distances, X, Y),
    "manhattan_distances": (pairwise.manhattan_distances, X, Y),
    "cosine_similarity": (pairwise.cosine_similarity, X, Y),
    "linear_kernel": (pairwise.linear_kernel, X, Y),
    "rbf_kernel": (pairwise.rbf_kernel, X, Y),
    "polynomial_kernel": (pairwise.polynomial_kernel, X, Y),
    "sigmoid_kernel": (pairwise.sigmoid_kernel, X, Y),
    "laplacian_kernel": (pairwise.laplacian_kernel, X, Y),
    "chi2_kernel": (pairwise.chi2_kernel, X, Y),
    "pairwise_distances": (pairwise.pairwise_distances, X, Y, {"metric": "cityblock"}),
    "pairwise_kernels": (pairwise.pairwise_kernels, X, Y, {"metric": "rbf"}),
    "kernel of one": (pairwise.linear_kernel, X),
    "paired_distances": (pairwise.paired_distances, X[:4], Y),
    "f_regression": (feature_selection.f_regression, X, TARGET),
    "empirical_covariance": (covariance.empirical_covariance, X),
    "softmax": (extmath.softmax, X),
    "row_norms": (extmath.row_norms, X),
    "safe_sparse_dot": (extmath.safe_sparse_dot, X, Y.T),
}
READ = {
    "precision_recall_curve": (metrics.precision_recall_curve, LABELS, SCORES),
    "robust_scale": (preprocessing.robust_scale, X),
    "roc_curve": (metrics.roc_curve, LABELS, SCORES),
    "scale with something missing": (preprocessing.scale, np.where(X > 1.4, np.nan, X)),
    "shrunk_covariance": (covariance.shrunk_covariance, X[:3]),
    "det_curve": (metrics.det_curve, LABELS, SCORES),
    "weighted_mode": (extmath.weighted_mode, LABELS * 1.0, WEIGHTS),
    "kmeans_plusplus": (cluster.kmeans_plusplus, X, 2, {"random_state": 0}),
    "minmax_scale": (preprocessing.minmax_scale, X),
    "maxabs_scale": (preprocessing.maxabs_scale, X),
    "power_transform": (preprocessing.power_transform, X),
    "binarize": (preprocessing.binarize, X),
    "check_array": (utils.check_array, X),
    "check_X_y": (utils.check_X_y, X, {"y": TARGET}),
    "max_error": (metrics.max_error, P, Q),
    "accuracy_score": (metrics.accuracy_score, LABELS, GUESS, {"sample_weight": WEIGHTS}),
    "f1_score": (metrics.f1_score, LABELS, GUESS),
    "f1_score per class": (metrics.f1_score, LABELS, GUESS, {"average": None}),
    "roc_auc_score": (metrics.roc_auc_score, LABELS, SCORES),
    "confusion_matrix": (metrics.confusion_matrix, LABELS, GUESS),
    "weighted confusion_matrix": (
        metrics.confusion_matrix, LABELS, GUESS, {"sample_weight": WEIGHTS, "labels": [1, 0]},
    ),
    "silhouette_samples": (metrics.silhouette_samples, X, LABELS[:5]),
    "distances of one": (pairwise.euclidean_distances, X),
    "argmin": (metrics.pairwise_distances_argmin, X, Y),
    "argmin_min": (metrics.pairwise_distances_argmin_min, X, Y, {"axis": 0}),
    "f_classif": (feature_selection.f_classif, X, LABELS[:5]),
    "chi2": (feature_selection.chi2, X, LABELS[:5]),
    "svd_flip": (extmath.svd_flip, X[:, :2].copy(), X[:2].copy()),
    "svd_flip of v": (
        extmath.svd_flip, X[:, :2].copy(), X[:2].copy(), {"u_based_decision": False},
    ),
    "randomized_svd": (extmath.randomized_svd, X, 2, {"random_state": 0}),
    "ledoit_wolf": (covariance.ledoit_wolf, X),
    "sample weights": (utils.class_weight.compute_sample_weight, "balanced", LABELS),
    "precision_recall_fscore_support": (
        metrics.precision_recall_fscore_support, LABELS, GUESS, {"average": None},
    ),
}  # fmt: skip
SUPERSET = {
    "quantile_transform": (preprocessing.quantile_transform, X, {"n_quantiles": 4}),
    "median_absolute_error": (metrics.median_absolute_error, P, Q),
    "shares": (metrics.confusion_matrix, LABELS, GUESS, {"normalize": "all"}),
    "seuclidean": (pairwise.pairwise_distances, X, {"metric": "seuclidean"}),
    "nmf": (
        decomposition.non_negative_factorization, X, {"n_components": 2, "random_state": 0},
    ),
}  # fmt: skip


def split(case):
    kwargs = case[-1] if isinstance(case[-1], dict) else {}
    return case[0], [arg for arg in case[1:] if not isinstance(arg, dict)], kwargs


@pytest.mark.parametrize("name", EXACT)
def test_what_changes_is_what_is_read(name):
    func, args, kwargs = split(EXACT[name])
    judge(func, *args, oracle="influence", size=1e-3, **kwargs)


@pytest.mark.parametrize("name", READ)
def test_what_is_read_though_it_may_not_change(name):
    func, args, kwargs = split(READ[name])
    judge(func, *args, oracle="contains", **kwargs)


@pytest.mark.parametrize("name", SUPERSET)
def test_what_is_labelled(name):
    func, args, kwargs = split(SUPERSET[name])
    judge(func, *args, oracle="contains", exact=False, **kwargs)


def test_counts_are_of_their_labels():
    (lineages,) = judge(metrics.confusion_matrix, LABELS, GUESS, oracle="contains")
    for lineage in lineages:
        assert pairs_of(lineage) == {
            (t, g, i) for i, (t, g) in enumerate(zip(LABELS, GUESS, strict=True))
        }


ROWS = np.arange(24.0).reshape(8, 3)
MARKS = np.array([0, 1, 0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"random_state": 3},
        {"shuffle": False},
        {"stratify": MARKS.copy(), "test_size": 0.5},
        {"random_state": 3, "train_size": 3},
    ],
    ids=str,
)
def test_splits_move_rows(options):
    call, _ = called(model_selection.train_test_split, (ROWS, MARKS), options)
    (entry,) = REGISTRY.find(call.func)
    found = written_out(call, entry.rule(call))
    for k, out in enumerate(call.outputs):
        lineage = found[k][k // 2]
        assert lineage.exact
        where = out[:, 0] // 3 if k < 2 else call.outputs[k - 2][:, 0] // 3
        cells = [(j,) for j in range(3)] if k < 2 else [()]
        expected = {(b, *c, int(a), *c) for b, a in enumerate(where) for c in cells}
        assert pairs_of(lineage) == expected
        assert not found[k][1 - k // 2].terms


@pytest.mark.parametrize("func", [utils.shuffle, utils.resample])
@pytest.mark.parametrize("seed", [None, 0])
def test_draws_move_rows(func, seed):
    call, _ = called(func, (ROWS,), {"random_state": seed})
    (entry,) = REGISTRY.find(func)
    ((lineage,),) = written_out(call, entry.rule(call))
    values = {(i, j): v for (i, j), v in np.ndenumerate(ROWS)}
    assert lineage.exact
    for i, j, a, b in pairs_of(lineage):
        assert call.outputs[0][i, j] == values[a, b]
    assert len(pairs_of(lineage)) == ROWS.size


def test_rows_without_cells_are_known_by_others():
    call, _ = called(utils.shuffle, (np.zeros((8, 0)), ROWS, MARKS.astype(object)), {})
    (entry,) = REGISTRY.find(utils.shuffle)
    found = written_out(call, entry.rule(call))
    assert found[2][2].exact
    expected = {(i, int(row[0] // 3)) for i, row in enumerate(call.outputs[1])}
    assert pairs_of(found[2][2]) == expected


def test_equal_rows_cannot_be_told_apart():
    call, _ = called(utils.shuffle, (MARKS,), {})
    (entry,) = REGISTRY.find(utils.shuffle)
    ((lineage,),) = written_out(call, entry.rule(call))
    assert not lineage.exact
    assert pairs_of(lineage) == {
        (i, k) for i, v in enumerate(call.outputs[0]) for k in np.flatnonzero(v == MARKS)
    }


@pytest.mark.parametrize("options", [{}, {"max_patches": 3, "random_state": 0}], ids=str)
def test_patches_are_moved(options):
    picture = np.arange(20.0).reshape(4, 5)
    call, _ = called(image.extract_patches_2d, (picture, (2, 2)), options)
    (entry,) = REGISTRY.find(image.extract_patches_2d)
    ((lineage,),) = written_out(call, entry.rule(call))
    for *cell, i, j in pairs_of(lineage):
        assert call.outputs[0][tuple(cell)] == picture[i, j]
    assert len(pairs_of(lineage)) == call.outputs[0].size


def test_classes_are_called_by_their_names():
    """What is not installed is passed over, but so would be a name that is written wrong."""
    from dslog.capture.foreign.estimator_rule import SPECS
    from dslog.capture.foreign.rules import predictors, transformers  # noqa: F401

    assert [name for name in SPECS if function_named(name) is None] == []
