"""Turbo-RC: per column, run lengths and integer entropy coding (paper section VII.B).

The paper's format is not public. Here each column, or its steps from row to row when those have
fewer runs, becomes run values and run lengths, and both go through an adaptive binary range coder.
That is stronger than what the paper reports, which never used steps.

An integer is coded as its bit length (a binary tree of 6 decisions, in the context of the length
before), then its bits below the leading one: the upper ones adaptively in the context of the
length, the rest as they are. Each probability is the mean of a fast and a slow estimate.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numba import njit

from dslog.types import I64, U8

LENGTH_BITS = 6
ADAPTIVE_BITS = 8
FAST, SLOW = 5, 8  # rates of the two estimates
LENGTHS = 1 << LENGTH_BITS
LENGTH_SLOTS = LENGTHS * LENGTHS
SLOTS = LENGTH_SLOTS + LENGTHS * (1 << ADAPTIVE_BITS)
HALF = 1 << 15  # probabilities have 16 bits
ONE = (1 << 16) - 1
LEAST = 32
TOP = 1 << 24
MASK = 0xFFFFFFFF
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
                decode(coded, values)
            parts.append(values)
            at += size
        column = np.empty(rows, np.int64)
        spread(parts[0] + low, parts[1] + 1, bool(steps), column)
        columns[name] = column
    return columns


def _runs(column: I64) -> tuple[bool, I64, I64]:
    """Run values and run lengths of the column or of its steps, whichever are fewer."""
    best: tuple[bool, I64, I64] | None = None
    for steps in (False, True):
        heads, times = np.empty(len(column), np.int64), np.empty(len(column), np.int64)
        k = run_lengths(column, steps, heads, times)
        if best is None or k < len(best[1]):
            best = steps, heads[:k].copy(), times[:k].copy()
    assert best is not None
    return best


def _encode(values: I64) -> U8:
    out = np.empty(10 * len(values) + 16, np.uint8)
    size = encode(values, out) if len(values) else 0
    return out[:size]


@njit(cache=True)
def run_lengths(values: I64, steps: bool, heads: I64, times: I64) -> int:
    """Write the runs of a column, or of its steps from row to row; return how many there are."""
    k = -1
    last = 0
    held = 0
    for r in range(values.shape[0]):
        v = values[r] - last if steps else values[r]
        last = values[r]
        if k >= 0 and v == held:
            times[k] += 1
        else:
            k += 1
            heads[k] = v
            times[k] = 1
            held = v
    return k + 1


@njit(cache=True)
def spread(heads: I64, times: I64, steps: bool, out: I64) -> None:
    """Undo ``run_lengths``."""
    at = 0
    last = 0
    for k in range(heads.shape[0]):
        for _ in range(times[k]):
            last = last + heads[k] if steps else heads[k]
            out[at] = last
            at += 1


@njit(cache=True)
def bit_length(value: int) -> int:
    """Number of bits of an integer that is not negative, 0 for 0."""
    n = 0
    while value > 0:
        value >>= 1
        n += 1
    return n


@njit(cache=True, inline="always")
def _flush(low: int, cache: int, pending: int, at: int, out: U8) -> tuple[int, int, int, int]:
    """Move the top byte of ``low`` out, once no carry can change it any more."""
    if low < 0xFF000000 or low > MASK:
        carry = low >> 32
        byte = cache
        while pending > 0:
            out[at] = (byte + carry) & 0xFF
            at += 1
            byte = 0xFF
            pending -= 1
        cache = (low >> 24) & 0xFF
    return (low & 0x00FFFFFF) << 8, cache, pending + 1, at


@njit(cache=True, inline="always")
def _learn(fast: I64, slow: I64, slot: int, bit: int) -> None:
    if bit:
        fast[slot] -= fast[slot] >> FAST
        slow[slot] -= slow[slot] >> SLOW
    else:
        fast[slot] += (ONE - fast[slot]) >> FAST
        slow[slot] += (ONE - slow[slot]) >> SLOW


@njit(cache=True)
def encode(values: I64, out: U8) -> int:
    """Code integers that are not negative into ``out``; return the number of bytes."""
    fast = np.full(SLOTS, HALF, np.int64)
    slow = np.full(SLOTS, HALF, np.int64)
    low, width, cache, pending, at = 0, MASK, 0, 1, 0
    before = 0
    for value in values:
        n = bit_length(value)
        node = 1
        # LENGTH_BITS decisions for the length, then the bits below the leading one
        for k in range(LENGTH_BITS + n - 1 if n else LENGTH_BITS):
            if k < LENGTH_BITS:
                bit = (n >> (LENGTH_BITS - 1 - k)) & 1
                slot = before * LENGTHS + node
                node = 2 * node + bit
            else:
                if k == LENGTH_BITS:
                    node = 1
                bit = (value >> (LENGTH_BITS + n - 2 - k)) & 1
                slot = -1
                if node < (1 << ADAPTIVE_BITS):
                    slot = LENGTH_SLOTS + n * (1 << ADAPTIVE_BITS) + node
                    node = 2 * node + bit
            if slot >= 0:
                bound = (width >> 16) * max((fast[slot] + slow[slot]) >> 1, LEAST)
                _learn(fast, slow, slot, bit)
            else:
                bound = width >> 1
            if bit:
                low += bound
                width -= bound
            else:
                width = bound
            while width < TOP:
                width <<= 8
                low, cache, pending, at = _flush(low, cache, pending, at, out)
        before = n
    for _ in range(5):
        low, cache, pending, at = _flush(low, cache, pending, at, out)
    return at


@njit(cache=True)
def decode(data: U8, values: I64) -> None:
    """Undo ``encode``: fill ``values``."""
    fast = np.full(SLOTS, HALF, np.int64)
    slow = np.full(SLOTS, HALF, np.int64)
    size = data.shape[0]
    code, width = 0, MASK
    for k in range(1, 5):
        code = (code << 8) | data[k]
    at = 5
    before = 0
    for r in range(values.shape[0]):
        node = 1
        n = 0
        value = 0
        k = 0
        total = LENGTH_BITS
        while k < total:
            slot = -1
            if k < LENGTH_BITS:
                slot = before * LENGTHS + node
            elif node < (1 << ADAPTIVE_BITS):
                slot = LENGTH_SLOTS + n * (1 << ADAPTIVE_BITS) + node
            if slot >= 0:
                bound = (width >> 16) * max((fast[slot] + slow[slot]) >> 1, LEAST)
            else:
                bound = width >> 1
            if code < bound:
                bit = 0
                width = bound
            else:
                bit = 1
                code -= bound
                width -= bound
            if slot >= 0:
                _learn(fast, slow, slot, bit)
                node = 2 * node + bit
            while width < TOP:
                width <<= 8
                code = (code << 8) | (data[at] if at < size else 0)
                at += 1
            if k >= LENGTH_BITS:
                value = (value << 1) | bit
            k += 1
            if k == LENGTH_BITS:
                n = node - LENGTHS
                node = 1
                if n:
                    value = 1
                    total = LENGTH_BITS + n - 1
        before = n
        values[r] = value
