"""Rules for ``scipy.spatial.distance`` and ``scipy.cluster.vq``: rows against rows."""

from __future__ import annotations

import numpy as np

from dslog.algebra.product import all_to_all, matched, part, product, read
from dslog.capture.foreign.data_rule import (
    by_place,
    data_rule,
    everything,
    names_of,
    option,
    whole_axes,
)
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.index_run import index_run
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.types import Array

data_rule(
    *names_of("scipy.spatial.distance", "braycurtis canberra chebyshev cityblock correlation"),
    *names_of("scipy.spatial.distance", "cosine dice euclidean hamming jaccard mahalanobis"),
    *names_of("scipy.spatial.distance", "minkowski rogerstanimoto russellrao seuclidean"),
    *names_of("scipy.spatial.distance", "sokalsneath sqeuclidean yule"),
    data="u v w V VI", note="the distance from all cells of both",
)(everything)  # fmt: skip

_OF_ALL = ("seuclidean", "mahalanobis")  # they estimate a variance from all rows


def _is_of_all(call: Call) -> bool:
    metric = option(call, "metric")
    return str(metric) in _OF_ALL and not {"V", "VI"} & call.arguments.keys()


@data_rule("scipy.spatial.distance.cdist", data="XA XB", note="each cell from a row of both")
def cdist(call: Call, data: Array, out: Array) -> Lineage:
    """Row i of the one, row j of the other."""
    if _is_of_all(call):
        return all_to_all(out.shape, data.shape)
    follows = {0: 0 if data is option(call, "XA") else 1}
    if option(call, "XA") is option(call, "XB"):
        return all_to_all(out.shape, data.shape, exact=False)
    return matched(out.shape, data.shape, follows)


@data_rule("scipy.spatial.distance.pdist", data="X", note="each cell from two rows")
def pdist(call: Call, data: Array, out: Array) -> Lineage:
    """Distances from row i to the rows after it are next to each other."""
    if _is_of_all(call) or not out.size:
        return all_to_all(out.shape, data.shape)
    n = len(data)
    i = np.arange(n - 1)
    first = i * n - i * (i + 1) // 2
    last = first + n - 2 - i
    own = Table.of_boxes(first, last, i, i)
    columns = [first, i + 1 - first, last - first, 0 * i, 0 * i]
    both = concat([own, Table(1, 1, np.stack(columns))])
    return product(out.shape, data.shape, part([0], [0], both), read(1, 0, data.shape[1] - 1))


@rule("scipy.spatial.distance.squareform", kind="index-run", note="the cell that moved")
def squareform(call: Call) -> Lineages | None:
    """Of a matrix the upper triangle, without a look at the other."""
    return index_run(call, "X", {"checks": False})


data_rule(
    "scipy.spatial.distance.jensenshannon", data="p q", note="each cell from the axis of both"
)(whole_axes)
data_rule("scipy.cluster.vq.whiten", data="obs", note="each cell from its column")(
    by_place(obs={1: 1})
)
data_rule("scipy.cluster.vq.vq", data="obs code_book", note="from the row and all codes")(
    by_place(obs={0: 0})
)
