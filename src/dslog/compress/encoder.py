"""The encoder: from a raw relation to the smallest Lineage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dslog.compress.provrc import provrc
from dslog.lineage.lineage import Lineage, Orientation
from dslog.relation.relation import read


def compress(
    relation: Any,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    method: str = "auto",
    orientation: Orientation = "backward",
) -> Lineage:
    """Compress a raw relation: an integer array (n, l + m) or an Arrow table b0.. a0.. ."""
    out_shape, in_shape = tuple(out_shape), tuple(in_shape)
    pairs = read(relation, out_shape, in_shape)
    if orientation == "forward":
        l = len(out_shape)
        pairs = np.ascontiguousarray(np.concatenate([pairs[:, l:], pairs[:, :l]], axis=1))
        table = provrc(pairs, in_shape, out_shape)
        lineage = Lineage.of_table(in_shape, out_shape, table)
        return Lineage(out_shape, in_shape, lineage.terms, orientation="forward")
    return Lineage.of_table(out_shape, in_shape, provrc(pairs, out_shape, in_shape))
