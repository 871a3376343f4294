"""Contributions of input cells to what a model said, and the lineage they become.

What both methods check and draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.memory import Tracked, plain_of
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import recompress
from dslog.errors import CaptureError
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Row, Table
from dslog.store.catalog import Operation
from dslog.store.lineage_store import LineageStore
from dslog.types import Floats, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """How much each input cell contributed to each output cell, estimated from samples.

    ``contributions`` has one map per explained output cell, (len(outputs), ...), over the first
    axes of the input: axes that it leaves out, such as colours, share one number. A positive number
    speaks for the output, a negative one against it. ``outputs`` are the explained cells, indices
    into an output of ``out_shape``. ``settings`` are the arguments of the method beside samples and
    seed: with all three the same call gives the same numbers again.

    It is an estimate, and stays one: its lineage is labelled as not exact, and a registered
    operation says how it was made.
    """

    method: str
    contributions: Floats
    outputs: tuple[int, ...]
    out_shape: Shape
    in_shape: Shape
    samples: int
    seed: int
    settings: Mapping[str, object] = field(default_factory=dict)

    def mask(self, threshold: float = 0.5) -> npt.NDArray[np.bool_]:
        """Say which cells contribute at least ``threshold`` times what the strongest one does.

        The strongest is that of the same output. Only positive contributions count; an output
        without any has no cells.
        """
        if not 0 <= threshold <= 1:
            raise CaptureError(
                f"threshold {threshold} is not between 0 and 1: it is a share of the largest "
                f"contribution"
            )
        cells = tuple(range(1, self.contributions.ndim))
        peak = self.contributions.max(axis=cells, initial=0.0, keepdims=True)
        found = (self.contributions >= threshold * peak) & (self.contributions > 0)
        return np.asarray(found)

    def lineage(self, threshold: float = 0.5) -> Lineage:
        """Return the cells of the mask as lineage, labelled as not exact."""
        l, m = len(self.out_shape), len(self.in_shape)
        rest = self.in_shape[self.contributions.ndim - 1 :]
        parts = [Lineage.empty(self.out_shape, self.in_shape)]
        for output, mask in zip(self.outputs, self.mask(threshold), strict=True):
            boxes = CellSet.from_mask(mask).boxes
            outs = tuple((index, index) for index in np.atleast_1d(output).tolist()) * l
            whole = tuple((0, size - 1) for size in rest)
            rows = [
                Row(outs[:l], (*((lo, hi) for lo, hi in box), *whole), (-1,) * m)
                for box in boxes.tolist()
            ]
            table = Table.of_rows(l, m, rows)
            parts.append(Lineage.of_table(self.out_shape, self.in_shape, table))
        return recompress(parts).with_exact(False)

    def label(self, threshold: float = 0.5) -> dict[str, object]:
        """Return what an operation in the store says of how its lineage was made."""
        return {
            "estimate": True,
            "threshold": threshold,
            "samples": self.samples,
            "seed": self.seed,
            **self.settings,
        }

    def register(
        self,
        store: LineageStore,
        in_: str,
        out: str,
        threshold: float = 0.5,
    ) -> Operation:
        """Store the model's call: array ``out`` was made of ``in_``, with this lineage.

        Both arrays are defined if they were not. The operation is called after the method, and its
        arguments are the threshold, the samples, the seed and the settings.
        """
        store.array(in_, self.in_shape)
        store.array(out, self.out_shape)
        return store.register_operation(
            self.method,
            [in_],
            [out],
            [self.lineage(threshold)],
            op_args=self.label(threshold),
            reuse=False,
        )


def read_input(values: Any, least_axes: int) -> npt.NDArray[Any]:
    """Return what is to be explained as a plain array of numbers."""
    plain = plain_of(values) if isinstance(values, Tracked) else np.asarray(values)
    if plain.dtype.kind not in "biuf" or plain.ndim < least_axes or not plain.size:
        raise CaptureError(
            f"can't explain an array of shape {plain.shape} and type {plain.dtype}: give numbers "
            f"with at least {least_axes} axes, and some cells"
        )
    return plain


def check_samples(samples: int) -> None:
    """Refuse a number of samples that says nothing."""
    if samples < 2:
        raise CaptureError(f"samples={samples} is too few: take at least 2, better hundreds")


def chunks(total: int, size: int) -> Iterator[slice]:
    """Split a range into slices of at most ``size``."""
    return (slice(start, min(start + size, total)) for start in range(0, total, size))
