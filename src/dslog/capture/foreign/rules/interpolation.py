"""Rules for ``scipy.interpolate``: what is linear in the values is run to see what it reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import all_to_all, matched
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    data_rule,
    names_of,
    option,
    perhaps_everything,
)
from dslog.capture.foreign.linear_map import MOST_WORK, TINY
from dslog.capture.numpy.call import Call
from dslog.lineage.lineage import Lineage
from dslog.types import Array


@data_rule(
    *names_of("scipy.interpolate", "barycentric_interpolate krogh_interpolate"),
    *names_of("scipy.interpolate", "griddata interpn"),
    kind="value", data="yi values x xi", note="each cell from the values under its weights",
)  # fmt: skip
def interpolate(call: Call, data: Array, out: Array) -> Lineage:
    """Each value in turn is one among zeros; a place is read where it is asked for."""
    lines = "yi" in call.arguments
    name, places = ("yi", "x") if lines else ("values", "xi")
    if data is option(call, places):
        core = 0 if lines or data.ndim == 1 else 1
        if out.shape != data.shape[: data.ndim - core]:
            raise UnknownCallError
        return matched(out.shape, data.shape, {k: k for k in range(out.ndim)})
    if data is not option(call, name):  # nodes, whose distances make the weights
        return all_to_all(out.shape, data.shape, exact=lines)
    known = option(call, "method") in (None, "linear", "nearest") and not option(call, "der")
    if not known or (lines and data.ndim > 1) or data.size * out.size > MOST_WORK:
        return perhaps_everything(call, data, out)
    changes: dict[str, Any] = {name: np.eye(data.size).reshape(*data.shape, data.size)}
    if "fill_value" in call.arguments or not lines:
        changes["fill_value"] = 0.0
    weights = np.asarray(call.again(changes))
    if weights.shape != (*out.shape, data.size):
        raise UnknownCallError
    sizes = np.abs(weights.reshape(out.size, data.size))
    outs, cells = np.nonzero(sizes > TINY * sizes.max(initial=0))
    return from_pairs(outs, cells, out.shape, data.shape)
