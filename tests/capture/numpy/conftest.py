"""What tests of rules share: running a rule, and oracles that know nothing of rules."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dslog.capture.numpy import rules  # noqa: F401  registers them
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.tracer import trace
from dslog.lineage.lineage import Lineage


@dataclass(frozen=True)
class Untracked:
    """Marks an array argument of a case that is not tracked."""

    array: Any


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from arrays_in(one)


def unmarked(value: Any) -> Any:
    if isinstance(value, Untracked):
        return value.array
    if type(value) in (list, tuple):
        return type(value)(map(unmarked, value))
    return value


def results_of(result: Any) -> Iterator[np.ndarray]:
    """The arrays of a result in order; scalars are arrays of no axes."""
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from results_of(one)
    elif isinstance(result, (np.ndarray, np.generic, bool, int, float)):
        yield np.asarray(result)


def make_call(func, args, kwargs) -> Call:
    inputs: list[np.ndarray] = []
    for array in itertools.chain(arrays_in(args), arrays_in(list(kwargs.values()))):
        if not any(array is one for one in inputs):
            inputs.append(array)
    args, kwargs = unmarked(args), {key: unmarked(v) for key, v in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = tuple(results_of(func(*args, **kwargs)))
    return Call(getattr(func, "__name__", "?"), func, args, kwargs, tuple(inputs), outputs)


def capture(call: Call) -> tuple[str, list[list[Lineage]]]:
    """The kind of rule that knew the call, and its lineage with None written out."""
    for entry in REGISTRY.find(call.func):
        found = entry.rule(call)
        if found is not None:
            return entry.kind, written_out(call, found)
    pytest.fail(f"no rule for {call.name}{[a.shape for a in call.inputs]} {call.kwargs}")


def written_out(call, lineages) -> list[list[Lineage]]:
    assert len(lineages) == len(call.outputs)
    full = []
    for out, per_input in zip(call.outputs, lineages, strict=True):
        assert len(per_input) == len(call.inputs)
        full.append([])
        for inp, lineage in zip(call.inputs, per_input, strict=True):
            if lineage is not None:
                assert lineage.out_shape == out.shape
                assert lineage.in_shape == inp.shape
            full[-1].append(Lineage.empty(out.shape, inp.shape) if lineage is None else lineage)
    return full


def pairs_of(lineage: Lineage) -> set[tuple[int, ...]]:
    pairs = {tuple(map(int, one)) for one in lineage.to_relation()}
    sizes = lineage.out_shape + lineage.in_shape
    assert all(0 <= i < n for pair in pairs for i, n in zip(pair, sizes, strict=True))
    return pairs


Pairs = list[list[set[tuple[int, ...]]]]


def differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind in "fc":
        return (a != b) & ~(np.isnan(a) & np.isnan(b))
    return a != b


def nudged(value: Any, size: float) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return not value
    return value + (type(value)(1) if np.asarray(value).dtype.kind in "iu" else size)


def influence(call: Call, size: float, kinds: str) -> Pairs:
    """Which output cells change, bit by bit, when one input cell does."""
    found: Pairs = [[set() for _ in call.inputs] for _ in call.outputs]
    before_all = [output.copy() for output in call.outputs]  # they may be views
    for place, array in enumerate(call.inputs):
        if array.dtype.kind not in kinds:
            continue
        for cell in itertools.product(*map(range, array.shape)):
            before = array[cell]
            array[cell] = nudged(before, size)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outputs = [
                        out.copy() for out in results_of(call.func(*call.args, **call.kwargs))
                    ]
            finally:
                array[cell] = before
            for k, (old, new) in enumerate(zip(before_all, outputs, strict=True)):
                assert old.shape == new.shape, "a nudge must not change shapes: choose other values"
                for out in np.argwhere(differ(old, new)):
                    found[k][place].add((*map(int, out), *cell))
    return found


def check(
    func, *args, oracle="influence", size=1e-6, expect=None, kind=None, nudge="fc", same=True,
    **kwargs,
):  # fmt: skip
    """Check a rule against an oracle.

    "influence": the pairs are exactly those where a small change of the input changes the output.
    "contains": they contain those. "trace": they are the tracer's. "expect": those of ``expect``,
    one function (output cell, input cell) -> bool per output and input; also contains influence.
    ``nudge`` are the kinds of dtype whose cells are changed, by ``size`` or by one.
    """
    call = make_call(func, args, kwargs)
    found_kind, lineages = capture(call)
    if kind is not None:
        assert found_kind == kind
    found = [[pairs_of(one) for one in per_input] for per_input in lineages]
    if oracle == "trace":
        traced = trace(call)
        assert traced is not None, "the tracer can't follow this call"
        assert found == [[pairs_of(one) for one in row] for row in written_out(call, traced)]
    changed = influence(call, size, nudge)
    if oracle == "influence":
        assert found == changed
    for per_output, per_changed in zip(found, changed, strict=True):
        for mine, theirs in zip(per_output, per_changed, strict=True):
            assert theirs <= mine
    if expect is not None:
        assert found == expected(call, expect)
    if same:
        same_for_other_layouts(func, args, kwargs, lineages)
    return lineages


def expected(call: Call, expect) -> Pairs:
    tests = expect if isinstance(expect, list) else [[expect]]
    return [
        [
            {
                (*b, *a)
                for b in itertools.product(*map(range, out.shape))
                for a in itertools.product(*map(range, inp.shape))
                if test is not None and test(b, a)
            }
            for inp, test in zip(call.inputs, row, strict=True)
        ]
        for out, row in zip(call.outputs, tests, strict=True)
    ]


def relaid(value: Any, how: str, seen: dict) -> Any:
    if isinstance(value, np.ndarray):
        if id(value) not in seen:
            if how == "F":
                seen[id(value)] = np.array(value, order="F")
            else:
                wide = np.zeros((*value.shape, 2), value.dtype)
                wide[..., 1] = value
                seen[id(value)] = wide[..., 1]
        return seen[id(value)]
    if type(value) in (list, tuple):
        return type(value)(relaid(one, how, seen) for one in value)
    return value


def same_for_other_layouts(func, args, kwargs, lineages) -> None:
    """Fortran-ordered and non-contiguous inputs have the same lineage."""
    for how in ("F", "strided"):
        seen: dict = {}
        again = make_call(
            func, relaid(args, how, seen), {k: relaid(v, how, seen) for k, v in kwargs.items()}
        )
        _, other = capture(again)
        for mine, theirs in zip(lineages, other, strict=True):
            for one, two in zip(mine, theirs, strict=True):
                assert np.array_equal(one.to_relation(), two.to_relation())


@pytest.fixture(name="check")
def check_fixture():
    return check


@pytest.fixture(name="make_call")
def make_call_fixture():
    return make_call


@pytest.fixture(name="capture")
def capture_fixture():
    return capture
