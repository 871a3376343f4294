"""Turbo-RC: per column, run lengths and integer entropy coding (paper section VII.B).

The paper's format is not public. Here each column, or its steps from row to row when those have
fewer runs, becomes run values and run lengths, and both go through the adaptive range coder of
``kernels``. That is stronger than what the paper reports, which never used steps.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.baselines import kernels

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
_HEAD = 8  # bytes that hold the length of the header


def write_turbo(columns: dict[str, I64], path: Path) -> None:
    """Write columns of equal length to a file."""
    header, streams = {}, []
    for name, column in columns.items():
        steps, heads, times = _runs(column)
        low = int(heads.min(initial=0))
        parts = [_encode(heads - low), _encode(times - 1)]
        header[name] = [len(column), int(steps), low, len(heads), *map(len, parts)]
        streams += parts
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(_HEAD, "little"))
        file.write(text)
        for stream in streams:
            file.write(stream.tobytes())


def read_turbo(path: Path) -> dict[str, I64]:
    """Read what ``write_turbo`` wrote."""
    data = path.read_bytes()
    at = _HEAD + int.from_bytes(data[:_HEAD], "little")
    header = json.loads(data[_HEAD:at])
    columns = {}
    for name, (rows, steps, low, runs, *sizes) in header.items():
        parts = []
        for size in sizes:
            coded = np.frombuffer(data, np.uint8, size, at).copy()
            values = np.empty(runs, np.int64)
            if runs:
                kernels.decode(coded, values)
            parts.append(values)
            at += size
        column = np.empty(rows, np.int64)
        kernels.spread(parts[0] + low, parts[1] + 1, bool(steps), column)
        columns[name] = column
    return columns


def _runs(column: I64) -> tuple[bool, I64, I64]:
    """Run values and run lengths of the column or of its steps, whichever are fewer."""
    best: tuple[bool, I64, I64] | None = None
    for steps in (False, True):
        heads, times = np.empty(len(column), np.int64), np.empty(len(column), np.int64)
        k = kernels.run_lengths(column, steps, heads, times)
        if best is None or k < len(best[1]):
            best = steps, heads[:k].copy(), times[:k].copy()
    assert best is not None
    return best


def _encode(values: I64) -> U8:
    out = np.empty(10 * len(values) + 16, np.uint8)
    size = kernels.encode(values, out) if len(values) else 0
    return out[:size]
