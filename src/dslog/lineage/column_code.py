"""How one column of integers is written: the shortest of four plain codes.

A column is taken as it is or as differences from row to row, above its least value; then either
*bit-packed* at the width of its range (within a fraction of a bit per row of the entropy when
values are scattered, and written at memory speed) or cut into *byte planes* that zstd squeezes
(better where values repeat or are skewed). A sample decides.

Either way eight rows make one Arrow value, ``fixed_size_binary(bits)``: Parquet has no integers
below 32 bits, and bytes under a general compressor are what it is good at.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dslog.kernel import kernel
from dslog.lineage.lineage_cost import LineageCost
from dslog.types import I64, U8, Json

U64 = npt.NDArray[np.uint64]
Spec = list[Any]  # [kind, width, base] and, for differences, the first value
_ZSTD = pa.Codec("zstd", compression_level=1)


def width_of(span: int) -> int:
    """Bits that hold every number from 0 to ``span``.

    >>> width_of(255), width_of(256)
    (8, 9)
    """
    return max(1, int(span).bit_length())


def encode_column(name: str, values: I64) -> tuple[Spec, dict[str, pa.Array]]:
    """Return how a column is written and the Arrow columns that hold it."""
    low, high, step_low, step_high = map(int, spans(values))
    best: tuple[float, Spec] | None = None
    sample = values[: LineageCost.current().sample_rows]
    for steps, base, span in (
        (False, low, high - low),
        (True, step_low, step_high - step_low),
    ):
        bits = width_of(span)
        planes = np.empty((-(-bits // 8), len(sample)), np.uint8)
        _split(sample, base, steps, planes)
        squeezed = 8.0 * sum(len(_ZSTD.compress(plane, asbytes=True)) for plane in planes)
        first = [int(values[0])] if steps else []
        letter = "d" if steps else ""
        for cost, spec in (
            (float(bits), [f"{letter}bits", bits, base, *first]),
            (1.05 * squeezed / len(sample), [f"{letter}bytes", len(planes), base, *first]),
        ):
            if best is None or cost < best[0]:
                best = cost, spec
    assert best is not None  # noqa: S101
    return best[1], _write(name, values, best[1])


def _write(name: str, values: I64, spec: Spec) -> dict[str, pa.Array]:
    kind, width, base = spec[:3]
    steps = kind.startswith("d")
    groups = -(-len(values) // 8)
    if kind.endswith("bits"):
        out = np.zeros(groups * width, np.uint8)
        _pack(_steps(values, base) if steps else values, base, width, out)
        return {name: _grouped(out, width)}
    planes = np.zeros((width, groups * 8), np.uint8)
    _split(values, base, steps, planes)
    return {f"{name}.{k}": _grouped(plane, 8) for k, plane in enumerate(planes)}


def _steps(values: I64, first: int) -> I64:
    """Differences from row to row, behind one that is given: the first value is in the spec."""
    steps = np.empty_like(values)
    steps[0] = first
    np.subtract(values[1:], values[:-1], out=steps[1:])
    return steps


def decode_column(name: str, spec: Spec, blob: pa.Table, n: int) -> I64:
    """Undo ``encode_column``; a column that Spark wrote is a "plain" Parquet column."""
    if spec[0] == "plain":
        plain: I64 = blob.column(name).to_numpy().astype(np.int64, copy=False)
        _check_length(len(plain), n)
        return plain
    kind: str = spec[0]
    check_spec(spec, 64 if kind.endswith("bits") else 8)
    width, base = int(spec[1]), int(spec[2])
    _check_length(blob.num_rows, -(-n // 8))
    values: I64 = np.empty(n, np.int64)
    if kind.endswith("bits"):
        _unpack(_bytes_of(blob.column(name), width), base, width, values)
    else:
        values.fill(base)
        for k in range(width):
            plane = _bytes_of(blob.column(f"{name}.{k}"), 8)[:n]
            values += plane.astype(np.int64) << (8 * k)
    return _summed(values, spec[3]) if kind.startswith("d") else values


def _summed(steps: I64, first: int) -> I64:
    """Undo ``_steps``; values that are no int64 are an error."""
    steps[:1] = first
    widest = max(map(abs, (int(steps.min()), int(steps.max())))) if len(steps) else 0
    if widest * len(steps) >= 1 << 62 and np.abs(np.cumsum(steps.astype(float))).max() >= 2.0**62:
        raise ValueError("the values of a column are too large")
    np.cumsum(steps, out=steps)
    return steps


def _check_length(have: int, want: int) -> None:
    if have != want:
        raise ValueError(f"a column has {have} values, not {want}")


def encode_text(values: I64) -> Spec:
    """Return a column as packed bits in base64, behind the numbers that say how to read them."""
    low, high, step_low, step_high = map(int, spans(values))
    plain, steps = width_of(high - low), width_of(step_high - step_low)
    spec: Spec = ["bits", plain, low] if plain <= steps else ["dbits", steps, step_low]
    if plain > steps:
        spec.append(int(values[0]))
        values = _steps(values, step_low)
    out = np.zeros(-(-len(values) * spec[1] // 8), np.uint8)
    _pack(values, spec[2], spec[1], out)
    return [*spec, base64.b64encode(out.tobytes()).decode()]


def decode_text(spec: Spec, n: int) -> I64:
    """Undo ``encode_text``."""
    check_spec(spec, 64)
    kind, width, base, *rest = spec
    packed = np.frombuffer(base64.b64decode(rest[-1], validate=True), np.uint8)
    _check_length(len(packed), -(-n * width // 8))
    values = np.empty(n, np.int64)
    _unpack(packed, int(base), int(width), values)
    return _summed(values, rest[0]) if kind == "dbits" else values


def _grouped(data: U8, width: int) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(width), len(data) // width, [None, pa.py_buffer(data)])


def _bytes_of(column: pa.ChunkedArray, width: int) -> U8:
    chunks = [
        np.frombuffer(chunk.buffers()[1], np.uint8)[
            chunk.offset * width : (chunk.offset + len(chunk)) * width
        ]
        for chunk in column.chunks
    ]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.uint8)


@kernel
def spans(values: I64) -> tuple[int, int, int, int]:
    """Least and greatest value, least and greatest step (with one step of 0 at the start)."""
    low, high = values[0], values[0]
    step_low, step_high = 0, 0
    last = values[0]
    for v in values:
        low = min(low, v)
        high = max(high, v)
        step_low = min(step_low, v - last)
        step_high = max(step_high, v - last)
        last = v
    return low, high, step_low, step_high


@kernel
def _split(values: I64, base: int, steps: bool, planes: U8) -> None:
    """Write the bytes of each value, or of each step, above ``base``, lowest plane first."""
    last = values[0] - base  # a first step of ``base``: the value itself is in the spec
    for r in range(len(values)):
        rest = np.uint64(values[r] - base - (last if steps else 0))
        for k in range(len(planes)):
            planes[k, r] = (rest >> np.uint64(8 * k)) & np.uint64(255)
        last = values[r]


@kernel
def _pack(values: I64, base: int, bits: int, out: U8) -> None:
    held = np.uint64(0)
    have = 0
    at = 0
    for v in values:
        rest = np.uint64(v - base)
        left = bits
        while left > 0:
            take = min(left, 64 - have)
            held |= rest << np.uint64(have)
            rest = rest >> np.uint64(take) if take < 64 else np.uint64(0)
            have += take
            left -= take
            while have >= 8 and (left > 0 or have >= 56):
                out[at] = held & np.uint64(255)
                held >>= np.uint64(8)
                have -= 8
                at += 1
    while have > 0:
        out[at] = held & np.uint64(255)
        held >>= np.uint64(8)
        have -= 8
        at += 1


def _unpack(packed: U8, base: int, bits: int, values: I64) -> None:
    words = np.zeros(len(values) * bits // 64 + 2, np.uint64)
    size = min(len(packed), words.nbytes)
    words.view(np.uint8)[:size] = packed[:size]
    _unpack_words(words, base, bits, values)


@kernel
def _unpack_words(words: U64, base: int, bits: int, values: I64) -> None:
    """Read each value from the one or two words that hold it."""
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - bits)
    at = 0
    for k in range(len(values)):
        word, shift = at >> 6, at & 63
        value = words[word] >> np.uint64(shift)
        if shift + bits > 64:
            value |= words[word + 1] << np.uint64(64 - shift)
        values[k] = np.int64(value & mask) + base
        at += bits


def check_spec(spec: Json, most: int) -> None:
    """Raise a ValueError unless a column's code makes sense; ``most`` units to a value."""
    kind, width, *numbers = spec
    texts = numbers[2 if str(kind).startswith("d") else 1 :]
    whole = numbers[: len(numbers) - len(texts)]
    if (
        kind not in ("bits", "dbits", "bytes", "dbytes")
        or type(width) is not int
        or not 0 < width <= most
        or not all(type(value) is int and abs(value) < 1 << 63 for value in whole)
    ):
        raise ValueError("the code of a column can't be right")
