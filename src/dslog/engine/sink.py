"""Result boxes of a task: merged while they are few, painted as bits or spilled when many."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from dslog.cells.boxes import coalesce, to_flat
from dslog.engine.kernels import set_bits

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
Shape = tuple[int, ...]

CHUNK = 1 << 16  # bytes of a bitmap that travel together; empty ones stay at home
_HOLD = 1 << 20  # boxes held before they are merged


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """Where the results of a task go.

    A result over an array of ``shape`` is bits if ``dense``. Otherwise it is boxes: up to
    ``inline`` of them travel to the driver, more are written into ``directory``.
    """

    shape: Shape
    dense: bool
    inline: int
    directory: Path


@dataclass(frozen=True, slots=True)
class Result:
    """A piece of a result: boxes here or in a file, or a stretch of bits from byte ``start`` on."""

    boxes: int
    start: int
    file: str | None
    data: bytes


class Sink:
    """Takes boxes in and gives them back as few, merged results."""

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan
        self._held: list[I64] = []
        self._count = 0
        self._spilled: list[Result] = []
        cells = math.prod(plan.shape)
        self._bits: U8 | None = np.zeros(-(-cells // 8), np.uint8) if plan.dense else None

    @property
    def dense(self) -> bool:
        """Whether results are bits."""
        return self._bits is not None

    def add_mask(self, mask: npt.NDArray[np.bool_]) -> None:
        """Take in cells as a mask of the whole array; only for a dense sink."""
        assert self._bits is not None  # noqa: S101
        self._bits |= np.packbits(mask)

    def add(self, boxes: I64) -> None:
        """Take in boxes, which may overlap."""
        if self._bits is not None:
            flat = to_flat(boxes, self._plan.shape)
            set_bits(self._bits, flat[:, 0].copy(), flat[:, 1].copy())
            return
        self._held.append(boxes)
        self._count += len(boxes)
        if self._count > _HOLD:
            self._merge()
            if self._count > _HOLD // 2:
                self._spill()

    def results(self) -> Iterator[Result]:
        """Give everything back."""
        if self._bits is not None:
            yield from _stretches(self._bits)
            return
        self._merge()
        if self._count > self._plan.inline:
            self._spill()
        yield from self._spilled
        if self._count:
            yield Result(self._count, -1, None, self._held[0].tobytes())

    def _merge(self) -> None:
        if self._held:
            self._held = [np.ascontiguousarray(coalesce(np.concatenate(self._held)))]
            self._count = len(self._held[0])

    def _spill(self) -> None:
        name = write_boxes(self._held[0], self._plan.directory)
        self._spilled.append(Result(self._count, -1, name, b""))
        self._held, self._count = [], 0


def _stretches(bits: U8) -> Iterator[Result]:
    for start in range(0, len(bits), CHUNK):
        stretch = bits[start : start + CHUNK]
        if stretch.any():
            yield Result(0, start, None, stretch.tobytes())


def write_boxes(boxes: I64, directory: Path) -> str:
    """Write boxes into a fresh file and return its name."""
    name = f"{uuid4().hex}.npy"
    with (directory / name).open("xb") as file:
        np.save(file, boxes, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return name


def read_boxes(path: Path) -> I64:
    """Map a file of boxes into memory."""
    boxes: I64 = np.load(path, mmap_mode="r", allow_pickle=False)
    return boxes
