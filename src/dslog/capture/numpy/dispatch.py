"""Run a numpy call on plain values, then give its results their place in the lineage graph.

The results of a call: arrays inside tuples and lists, taken out and put back.

``where=``: cells that a call leaves alone, or passes over.

Of an elementwise call, cells whose mask is False keep what the output held before. Of a reduction,
input cells whose mask is False do not contribute. A tracked mask contributes wherever it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from dslog.algebra.affine import affine
from dslog.algebra.positions import pairs_of_cells
from dslog.algebra.union import restrict, unite
from dslog.capture.numpy.call import Call, Lineages, describe, short_name, signature_of
from dslog.capture.numpy.call_reuse import Found
from dslog.capture.numpy.memory import (
    Inputs,
    Memory,
    Tracked,
    memory_of,
    node_of,
    plain_of,
    recorder_of,
    wrap_root,
    wrap_view,
    write_view,
)
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.overwrite import identity_on
from dslog.capture.numpy.view import is_view
from dslog.capture.recorder import Session
from dslog.cells.boxes import unpaint
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.store.commit import Hit
from dslog.types import Array, Mask, Shape

Row = tuple[Lineage | None, ...]


def results_of(result: Any) -> list[Array]:
    """Return the arrays and scalars in a result, in order, all of them as plain arrays.

    Subclasses of ndarray, and anything else, are not results we could track.
    """
    if type(result) is np.ndarray:
        return [result]
    if isinstance(result, np.generic):
        return [np.asarray(result)]
    if isinstance(result, tuple | list):
        return [array for item in result for array in results_of(item)]
    return []


def rebuild(result: Any, arrays: Iterator[Any]) -> Any:
    """Return a result with its arrays and scalars replaced, in the order of ``results_of``."""
    if type(result) is np.ndarray or isinstance(result, np.generic):
        return next(arrays)
    if isinstance(result, tuple | list):
        items = [rebuild(item, arrays) for item in result]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*items)
        return type(result)(items)
    return result


def scalars_of(result: Any) -> list[bool]:
    """Say for each of ``results_of`` whether it is a scalar."""
    if type(result) is np.ndarray:
        return [False]
    if isinstance(result, np.generic):
        return [True]
    if isinstance(result, tuple | list):
        return [scalar for item in result for scalar in scalars_of(item)]
    return []


@dataclass(slots=True)
class Placing:
    """Gives results their nodes and memory, around the moment when the call is recorded."""

    name: str
    session: Session
    kind: type[Tracked]
    base: str
    inputs: Inputs
    hit: Hit | None = None
    made: list[Node] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def prepare(self, output: Array, row: Row, *, scalar: bool) -> Callable[[], Any]:
        """Make the node of a new array; what is returned makes the array, once recorded."""
        for array, plain in zip(self.inputs.arrays, self.inputs.plains, strict=True):
            if output is plain:
                return partial(_same_result, array)
        node = recorder_of(self.session).node(output.shape, f"{self.base}.{self.name}", self.base)
        self._add(node, row)
        for array, plain in zip(self.inputs.arrays, self.inputs.plains, strict=True):
            memory = memory_of(array)
            if memory is not None and not scalar and is_view(output, plain):
                return partial(wrap_view, self.kind, output, memory, node)
        memory = Memory(output, node, self.session, keep=self._keeps())
        return partial(wrap_root, self.kind, output, memory, scalar=scalar)

    def prepare_out(self, out: Tracked, row: Row) -> Callable[[], Any]:
        """Make the node of an array that the call has written."""
        memory = memory_of(out)
        if memory is None:
            return partial(_same_result, out)
        plain = plain_of(out)
        if not any(lineage is not None for lineage in row):
            return partial(_after, out, write_view, memory, plain, None)
        if plain is memory.root:
            node = memory.next_version()
            self._add(node, row)
            return partial(_after, out, memory.replace, node)
        node = recorder_of(self.session).node(out.shape, f"{self.base}.{self.name}", self.base)
        self._add(node, row)
        return partial(_after, out, write_view, memory, plain, node)

    def record(self, op: str, nodes: Sequence[Node], args: dict[str, object]) -> None:
        """Record the call, with the inputs that contributed to something."""
        if not self.made:
            return
        places = range(len(nodes))
        used = [k for k in places if any(row[k] is not None for row in self.rows)] or places
        lineages: Lineages = tuple(tuple(row[k] for k in used) for row in self.rows)
        recorder = recorder_of(self.session)
        recorder.record(op, [nodes[k] for k in used], self.made, lineages, args, self.hit)

    def _keeps(self) -> bool:
        """Whether the values of some input are kept, and so those of its results."""
        return any(memory.keep for array in self.inputs.arrays if (memory := memory_of(array)))

    def _add(self, node: Node, row: Row) -> None:
        self.made.append(node)
        self.rows.append(row)


def _same_result(result: Any) -> Any:
    return result


def _after(out: Tracked, action: Callable[..., None], *args: Any) -> Tracked:
    action(*args)
    return out


@dataclass(frozen=True, slots=True)
class Masked:
    """The ``where`` of a call, as the user gave it: for each output cell, or each input cell."""

    where: Any
    of: Literal["cells", "reduced"]


@dataclass(frozen=True, slots=True)
class Masking:
    """A mask with the nodes that it brings in: its own, and what each output held before."""

    of: Literal["cells", "reduced"]
    mask: Mask
    node: Node | None
    before: Sequence[Node | None] = ()

    def apply(
        self, call: Call, nodes: Sequence[Node], lineages: Lineages
    ) -> tuple[list[Node], Lineages]:
        """Return nodes and lineage of a call that was masked."""
        step = self._cells if self.of == "cells" else self._reduced
        found = [step(call, place, row, nodes) for place, row in enumerate(lineages)]
        return merge(found)

    def _cells(
        self, call: Call, place: int, row: Row, nodes: Sequence[Node]
    ) -> list[tuple[Node, Lineage]]:
        shape = call.outputs[place].shape
        mask = np.broadcast_to(self.mask, shape)
        pairs = [
            (node, lineage if mask.all() else restrict(lineage, out=mask))
            for node, lineage in zip(nodes, row, strict=True)
            if lineage is not None
        ]
        before = self.before[place] if self.before else None
        if before is not None and not mask.all():
            pairs.append((before, identity_on(shape, unpaint(~mask))))
        if self.node is not None:
            pairs.append((self.node, broadcast(shape, self.mask.shape)))
        return pairs

    def _reduced(
        self, call: Call, _place: int, row: Row, nodes: Sequence[Node]
    ) -> list[tuple[Node, Lineage]]:
        pairs = []
        for array, node, lineage in zip(call.inputs, nodes, row, strict=True):
            if lineage is None:
                continue
            pairs.append((node, restrict(lineage, in_=np.broadcast_to(self.mask, array.shape))))
            if self.node is not None:
                pairs.append((self.node, _through(lineage, self.mask.shape)))
        return pairs


def merge(found: Sequence[Sequence[tuple[Node, Lineage]]]) -> tuple[list[Node], Lineages]:
    """Arrange lineage by node: per output, per node, united where a node comes twice."""
    nodes = list(dict.fromkeys(node for pairs in found for node, _ in pairs))
    rows = []
    for pairs in found:
        by_node: dict[Node, list[Lineage]] = {}
        for node, lineage in pairs:
            by_node.setdefault(node, []).append(lineage)
        rows.append(tuple(unite(by_node[n]) if n in by_node else None for n in nodes))
    return nodes, tuple(rows)


def broadcast(out_shape: Shape, in_shape: Shape) -> Lineage:
    """Each cell from the one that broadcasting puts in its place."""
    shift = len(out_shape) - len(in_shape)
    step = np.zeros((len(in_shape), len(out_shape)), np.int64)
    for axis, size in enumerate(in_shape):
        if size > 1:
            step[axis, axis + shift] = 1
    return affine(out_shape, in_shape, [0] * len(in_shape), step)


def _through(lineage: Lineage, mask_shape: Shape) -> Lineage:
    """The lineage from a mask that is broadcast against an input."""
    if lineage.in_shape == mask_shape:
        return lineage
    pairs = lineage.to_relation()
    l = len(lineage.out_shape)
    index = np.arange(int(np.prod(mask_shape, dtype=np.int64)), dtype=np.int64)
    spread = np.broadcast_to(index.reshape(mask_shape), lineage.in_shape)
    cells = np.broadcast_to(spread[tuple(pairs[:, l:].T)], len(pairs))
    nothing = np.zeros(len(pairs), np.int64)
    masks = pairs_of_cells(nothing, (), cells, mask_shape)
    return compress(np.concatenate([pairs[:, :l], masks], axis=1), lineage.out_shape, mask_shape)


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
