"""Run a numpy call on plain values, then give its results their place in the lineage graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dslog.capture.numpy.arguments import describe
from dslog.capture.numpy.call import Array, Call, Lineages, short_name, signature_of
from dslog.capture.numpy.inputs import Inputs
from dslog.capture.numpy.masking import Masked, Masking
from dslog.capture.numpy.recall import Found
from dslog.capture.numpy.results import Placing, rebuild, results_of, scalars_of
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.state import Tracked, memory_of, node_of, plain_of


@dataclass(frozen=True, slots=True)
class Job:
    """A call as it is to be run and recorded.

    ``out`` holds the arrays to be written, as the user gave them; ``masked`` the call's ``where``;
    ``run`` computes the values, if not the function itself.
    """

    name: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    out: tuple[Any, ...] | None = None
    masked: Masked | None = None
    run: Callable[..., Any] | None = None

    @property
    def is_ufunc(self) -> bool:
        """Whether a ufunc, or its method, is called."""
        owner = getattr(self.func, "__self__", None)
        return isinstance(self.func, np.ufunc) or isinstance(owner, np.ufunc)


def job_of(func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Job:
    """Describe a call of a numpy function: its ``out`` and ``where`` are taken out."""
    name = f"{func.__module__}.{func.__name__}"
    signature = signature_of(func)
    options = () if signature is None else _OPTIONS.intersection(signature.parameters)
    if not options and not _OPTIONS.intersection(kwargs):
        return Job(name, func, args, kwargs)
    given: dict[str, Any] = {}
    if signature is not None:
        bound = signature.bind(*args, **kwargs)
        given = {key: bound.arguments.pop(key) for key in options if key in bound.arguments}
        args, kwargs = bound.args, bound.kwargs
    given |= {key: kwargs[key] for key in _OPTIONS.intersection(kwargs)}
    kwargs = {key: value for key, value in kwargs.items() if key not in _OPTIONS}
    return _with_options(Job(name, func, args, kwargs), given)


def job_of_ufunc(
    ufunc: np.ufunc, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Job:
    """Describe a call of a ufunc, or of its method."""
    name = f"numpy.{ufunc.__name__}"
    given = {key: kwargs[key] for key in _OPTIONS.intersection(kwargs)}
    rest = {key: value for key, value in kwargs.items() if key not in _OPTIONS}
    if method == "__call__":
        return _with_options(Job(name, ufunc, args, rest), given)
    return _with_options(Job(f"{name}.{method}", getattr(ufunc, method), args, rest), given)


_OPTIONS = frozenset({"out", "where"})
_BY_CELL = frozenset({"numpy.clip", "numpy.round", "numpy.around"})


def _with_options(job: Job, given: Mapping[str, Any]) -> Job:
    """Add ``out`` and ``where`` as they were given, if they mean anything."""
    out, where = given.get("out"), given.get("where", True)
    outs = None if out is None else out if isinstance(out, tuple) else (out,)
    if outs is not None and all(each is None for each in outs):
        outs = None
    if where is True or type(where).__name__ == "_NoValueType":
        return replace(job, out=outs)
    of: Literal["cells", "reduced"] = (
        "cells" if isinstance(job.func, np.ufunc) or job.name in _BY_CELL else "reduced"
    )
    return replace(job, out=outs, masked=Masked(where, of))


def execute(job: Job, kind: type[Tracked]) -> Any:
    """Run a call and record it; its results are tracked arrays of the given class."""
    inputs, extra = Inputs(), Inputs()
    args = tuple(inputs.unwrap(arg) for arg in job.args)
    kwargs = {name: inputs.unwrap(value) for name, value in job.kwargs.items()}
    masking, options = _options(job, extra)
    copies = _copies(job, inputs.plains)
    result = (job.run or job.func)(*args, **kwargs, **options)
    session = inputs.session or extra.session or _session_of(job.out)
    outputs = tuple(results_of(result))
    if session is None or not outputs:
        return result if job.out is None else _give(job.out, result)
    call = Call(
        job.name,
        job.func,
        tuple(_exchange(arg, copies) for arg in args),
        {name: _exchange(value, copies) for name, value in kwargs.items()},
        tuple(copies.get(id(plain), plain) for plain in inputs.plains),
        outputs,
    )
    found = (
        session.recall.find(call, inputs.nodes, written=job.out is not None)
        if inputs.nodes
        else Found(((),) * len(outputs))
    )
    nodes, lineages = inputs.nodes, found.lineages
    if masking is not None:
        nodes, lineages = masking.apply(call, nodes, lineages)
    base = nodes[0].base if nodes else "array"
    placing = Placing(_suffix(job.name), session, kind, base, inputs, found.hit)
    return _place(job, placing, call, nodes, lineages, result)


def _place(
    job: Job,
    placing: Placing,
    call: Call,
    nodes: Sequence[Any],
    lineages: Lineages,
    result: Any,
) -> Any:
    finish = []
    outs = job.out or (None,) * len(call.outputs)
    scalars = scalars_of(result)
    for output, out, row, scalar in zip(call.outputs, outs, lineages, scalars, strict=True):
        if isinstance(out, Tracked):
            finish.append(placing.prepare_out(out, row))
        elif out is not None:
            finish.append(partial(_same, out))  # a plain array can't be tracked
        else:
            finish.append(placing.prepare(output, row, scalar=scalar))
    placing.record(short_name(job.name), nodes, describe(call))
    placed = [step() for step in finish]
    if job.out is not None:
        return placed[0] if len(placed) == 1 else tuple(placed)
    return rebuild(result, iter(placed))


def _same(out: Any) -> Any:
    return out


def _options(job: Job, extra: Inputs) -> tuple[Masking | None, dict[str, Any]]:
    """Return the call's mask, and the arguments ``out`` and ``where`` for numpy."""
    options: dict[str, Any] = {}
    if job.out is not None:
        plain = tuple(plain_of(o) if isinstance(o, Tracked) else o for o in job.out)
        options["out"] = plain if job.is_ufunc else plain[0]
    if job.masked is None:
        return None, options
    where = options["where"] = extra.unwrap(job.masked.where)
    before = [node_of(o) if isinstance(o, Tracked) else None for o in job.out or ()]
    node = extra.nodes[0] if extra.nodes else None
    return Masking(job.masked.of, np.array(where, dtype=bool), node, before), options


def _copies(job: Job, plains: Sequence[Array]) -> dict[int, Array]:
    """Return copies of the inputs that the call is going to overwrite, by the inputs' id.

    Ufuncs' rules look at shapes only, so they need none.
    """
    if job.is_ufunc or job.out is None:
        return {}
    outs = [plain_of(o) if isinstance(o, Tracked) else o for o in job.out if o is not None]
    return {
        id(plain): plain.copy()
        for plain in plains
        if any(np.may_share_memory(plain, out) for out in outs)
    }


def _exchange(value: Any, copies: Mapping[int, Array]) -> Any:
    if not copies:
        return value
    if type(value) in (list, tuple):
        return type(value)([_exchange(item, copies) for item in value])
    return copies.get(id(value), value)


def _session_of(out: tuple[Any, ...] | None) -> Session | None:
    for target in out or ():
        memory = memory_of(target) if isinstance(target, Tracked) else None
        if memory is not None:
            return memory.session
    return None


def _give(out: tuple[Any, ...], result: Any) -> Any:
    """Return what numpy returns for ``out``: the given arrays, and results where none was given."""
    if len(out) == 1:
        return out[0]
    return tuple(
        given if given is not None else made for given, made in zip(out, result, strict=True)
    )


def _suffix(name: str) -> str:
    """Return what the names of an operation's results end in: ``svd``, ``add_reduce``."""
    *modules, last = short_name(name).split(".")
    parts = [part for part in modules if part not in _MODULES] + [last]
    return re.sub(r"\W+", "_", "_".join(parts)).strip("_") or "result"


_MODULES = {"linalg", "fft", "char", "strings", "lib", "stride_tricks", "rec"}
