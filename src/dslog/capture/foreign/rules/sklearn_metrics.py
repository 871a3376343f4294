"""Metrics of scikit-learn: numbers that read all labels, and distances between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import all_to_all, identity, matched
from dslog.algebra.restrict import union
from dslog.capture.foreign.rules.sklearn_functions import (
    first_of,
    of_all,
    sklearn_names,
    some_of_all,
)
from dslog.capture.numpy.call import Argument, Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage

# --- scores --------------------------------------------------------------------------------------


@rule(
    *sklearn_names(
        "metrics",
        "mean_squared_error root_mean_squared_error mean_absolute_error r2_score max_error "
        "mean_absolute_percentage_error mean_squared_log_error root_mean_squared_log_error "
        "explained_variance_score mean_pinball_loss mean_tweedie_deviance mean_poisson_deviance "
        "mean_gamma_deviance d2_tweedie_score d2_pinball_score",
    ),
    note="the score from all targets and weights; raw values from their columns",
)
def regression_score(call: Call) -> Lineages | None:
    """One number, or with ``multioutput="raw_values"`` one per column."""
    return _scores(call, exact=True)


@rule(
    *sklearn_names("metrics", "median_absolute_error d2_absolute_error_score"),
    kind="superset", note="the score from all targets, at most",
)  # fmt: skip
def rank_score(call: Call) -> Lineages | None:
    """A median reads a few of the errors."""
    return _scores(call, exact=False)


def _scores(call: Call, *, exact: bool) -> Lineages | None:
    raw = call.argument("multioutput") == "raw_values" if _is_text(call) else False
    pairs: list[list[Argument]] = []
    for out in call.outputs:
        of_output: list[Argument] = []
        for array in call.inputs:
            by_column = raw and array.ndim == 2 and array.shape[1:] == out.shape
            follows = {1: 0} if by_column else {}
            of_output.append((array, matched(out.shape, array.shape, follows).with_exact(exact)))
        pairs.append(of_output)
    return arrange(call, *pairs)


def _is_text(call: Call) -> bool:
    return isinstance(call.argument("multioutput"), str)


rule(
    *sklearn_names(
        "metrics",
        "accuracy_score balanced_accuracy_score f1_score fbeta_score precision_score recall_score "
        "jaccard_score hamming_loss zero_one_loss log_loss hinge_loss brier_score_loss "
        "cohen_kappa_score matthews_corrcoef roc_auc_score average_precision_score auc "
        "top_k_accuracy_score dcg_score ndcg_score coverage_error label_ranking_loss "
        "label_ranking_average_precision_score d2_log_loss_score d2_brier_score "
        "class_likelihood_ratios precision_recall_fscore_support multilabel_confusion_matrix "
        "rand_score adjusted_rand_score mutual_info_score adjusted_mutual_info_score "
        "normalized_mutual_info_score homogeneity_score completeness_score v_measure_score "
        "homogeneity_completeness_v_measure fowlkes_mallows_score calinski_harabasz_score "
        "davies_bouldin_score pair_confusion_matrix silhouette_samples",
    ),
    *sklearn_names("metrics.cluster", "contingency_matrix entropy expected_mutual_information"),
    note="each number from all labels, scores and weights",
)(of_all)
rule(
    *sklearn_names(
        "metrics",
        "silhouette_score consensus_score confusion_matrix_at_thresholds",
    ),
    kind="superset", note="each point from all labels and scores, at most",
)(some_of_all)  # fmt: skip


@rule("sklearn.metrics.confusion_matrix", kind="value", note="each count from the labels counted")
def confusion_matrix(call: Call) -> Lineages | None:
    """A pair of labels is counted in one cell; shares divide by the sum of many."""
    truth, guess = call.argument("y_true"), call.argument("y_pred")
    labels, weights = call.argument("labels"), call.argument("sample_weight")
    (out,) = call.outputs
    if call.argument("normalize") is not None or np.ndim(truth) != 1 or np.ndim(guess) != 1:
        return of_all(call, exact=False)
    known = np.unique(np.concatenate([truth, guess])) if labels is None else np.asarray(labels)
    order = np.argsort(known, kind="stable")
    places = []
    kept = np.ones(len(truth), bool)
    for values in (truth, guess):
        at = np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)
        kept &= known[order[at]] == values
        places.append(order[at])
    cells = places[0] * len(known) + places[1]
    if out.shape != (len(known), len(known)):
        return of_all(call, exact=False)
    rows = from_pairs(cells[kept], np.flatnonzero(kept), out.shape, (len(truth),))
    pairs: list[Argument] = [(values, rows) for values in (truth, guess, weights)]
    if call.which(labels) is not None:
        pairs.append((labels, all_to_all(out.shape, np.shape(labels), exact=False)))
    return arrange(call, pairs)


# --- distances -----------------------------------------------------------------------------------

_OF_ALL = ("seuclidean", "mahalanobis")  # they need the spread of all rows


@rule(
    *sklearn_names(
        "metrics.pairwise",
        "euclidean_distances nan_euclidean_distances manhattan_distances cosine_distances "
        "haversine_distances cosine_similarity linear_kernel polynomial_kernel rbf_kernel "
        "sigmoid_kernel laplacian_kernel chi2_kernel additive_chi2_kernel pairwise_distances "
        "pairwise_kernels",
    ),
    note="each cell from its two rows",
)
def between_rows(call: Call) -> Lineages | None:
    """Row i of X with row j of Y, which is X where there is none."""
    x, y, metric = call.argument("X"), call.argument("Y"), call.argument("metric")
    (out,) = call.outputs
    if isinstance(metric, str) and metric in _OF_ALL:
        return of_all(call, exact=False)
    if isinstance(metric, str) and metric == "precomputed":
        return arrange(call, [(x, identity(out.shape))])
    left = matched(out.shape, np.shape(x), {0: 0})
    if y is None or y is x:
        return arrange(call, [(x, union(left, matched(out.shape, np.shape(x), {0: 1})))])
    pairs: list[Argument] = [(x, left), (y, matched(out.shape, np.shape(y), {0: 1}))]
    for name, axis in (("X_norm_squared", 0), ("Y_norm_squared", 1)):
        norms = call.argument(name)
        if call.which(norms) is not None:
            pairs.append((norms, _of_norms(out.shape, np.shape(norms), axis)))
    return arrange(call, pairs)


def _of_norms(out_shape: Any, shape: Any, axis: int) -> Lineage:
    """A norm per row, whichever way the line of them lies."""
    long = int(np.argmax(shape))
    return matched(out_shape, shape, {long: axis})


@rule(
    "sklearn.metrics.pairwise_distances_argmin", "sklearn.metrics.pairwise_distances_argmin_min",
    note="each cell from its row and all rows of the other",
)  # fmt: skip
def nearest_rows(call: Call) -> Lineages | None:
    """The nearest row is found by comparing all."""
    values = first_of(call), call.argument("Y")
    own = 0 if int(call.argument("axis", 1)) == 1 else 1
    return arrange(
        call,
        *(
            [
                (v, matched(out.shape, np.shape(v), {0: 0} if place == own else {}))
                for place, v in enumerate(values)
            ]
            for out in call.outputs
        ),
    )
