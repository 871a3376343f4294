"""Run a numpy call on plain values, then give its results their place in the lineage graph.

A call is run once. Its lineage is found by the rules, or known from a call of the same form: then
only the nodes are new. Results are arrays inside tuples and lists, taken out and put back.

``where=``: of an elementwise call, cells whose mask is False keep what the output held before. Of a
reduction, input cells whose mask is False do not contribute. A tracked mask contributes wherever it
is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from dslog.algebra.positions import pairs_of_cells
from dslog.algebra.product import all_to_all, elementwise
from dslog.algebra.restrict import restrict, union
from dslog.capture.numpy import rules
from dslog.capture.numpy.call import Call, Inputs, Lineages, form_of, short_name, signature_of
from dslog.capture.numpy.memory import (
    Latent,
    Memory,
    Tracked,
    memory_of,
    memory_to_write,
    node_of,
    plain_of,
    recorder_of,
    wrap_latent,
    wrap_root,
    wrap_scalar,
    wrap_view,
)
from dslog.capture.numpy.overwrite import identity_on, write_view
from dslog.capture.numpy.registry import REGISTRY, Found, find
from dslog.capture.numpy.way_out import leak, look, oversee
from dslog.capture.recorder import Node, Recorder, Step, StoreRecorder
from dslog.cells.boxes import unpaint
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Mask, Shape

__all__ = ["call_function", "call_ufunc", "execute", "rules"]

Row = tuple[Lineage | None, ...]

_OPTIONS = frozenset({"out", "where"})
_BY_CELL = frozenset({"numpy.clip", "numpy.round", "numpy.around"})
_MODULES = {"linalg", "fft", "char", "strings", "lib", "stride_tricks", "rec"}


def call_function(
    kind: type[Tracked], func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Run a numpy function on arguments with tracked arrays among them, and record it."""
    name = f"{func.__module__}.{func.__name__}"
    if len(args) <= _before_options(func) and _OPTIONS.isdisjoint(kwargs):
        return execute(kind, name, func, args, kwargs)
    given: dict[str, Any] = {}
    signature = signature_of(func)
    if signature is not None:
        bound = signature.bind(*args, **kwargs)
        given = {key: bound.arguments.pop(key) for key in _OPTIONS if key in bound.arguments}
        args, kwargs = bound.args, bound.kwargs
    given |= {key: kwargs[key] for key in _OPTIONS.intersection(kwargs)}
    rest = {key: value for key, value in kwargs.items() if key not in _OPTIONS}
    return execute(kind, name, func, args, rest, **given)


def call_ufunc(
    kind: type[Tracked],
    ufunc: np.ufunc,
    method: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Run a ufunc, or a method of one, and record it."""
    plain = method == "__call__"
    name = f"numpy.{ufunc.__name__}" if plain else f"numpy.{ufunc.__name__}.{method}"
    func = ufunc if plain else getattr(ufunc, method)
    if not kwargs:
        return execute(kind, name, func, args, kwargs)
    given = {key: kwargs[key] for key in _OPTIONS.intersection(kwargs)}
    rest = {key: value for key, value in kwargs.items() if key not in _OPTIONS}
    return execute(kind, name, func, args, rest, **given)


@lru_cache(maxsize=1024)
def _before_options(func: Callable[..., Any]) -> int:
    """How many arguments a function takes by position before its ``out`` or ``where``."""
    signature = signature_of(func)
    if signature is None:
        return 0
    places = [k for k, name in enumerate(signature.parameters) if name in _OPTIONS]
    return min(places, default=1 << 30)


def execute(  # noqa: C901 (each step of a call, once)
    kind: type[Tracked],
    name: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    out: Any = None,
    where: Any = True,
    run: Callable[..., Any] | None = None,
) -> Any:
    """Run a call and record it; its results are tracked arrays of the given class.

    ``out`` are the arrays to be written and ``where`` the mask, as the user gave them; ``run``
    computes the values, if not the function itself.
    """
    if out is not None or where is not True:
        outs = _given_outs(out)
        masked = where is not True and type(where).__name__ != "_NoValueType"
        if outs is not None or masked:
            mask = where if masked else None
            return _execute_into(kind, name, func, args, kwargs, outs, mask, run)
    inputs = Inputs()
    plain_args = tuple([inputs.unwrap(arg) for arg in args])
    plain_kwargs = {key: inputs.unwrap(value) for key, value in kwargs.items()} if kwargs else {}
    result = (run or func)(*plain_args, **plain_kwargs)
    if isinstance(result, (Tracked, tuple, list)):
        result = _without_latent(result, name, inputs)
    is_object = type(result) in PYTHONS and any(plain.dtype.hasobject for plain in inputs.plains)
    if is_object:
        result = np.array(result, object)
    outputs = results_of(result)
    recorder = inputs.recorder
    if recorder is None:
        return still_latent(kind, name, inputs, result) if inputs.latents and outputs else result
    if not outputs or type(result) is not np.ndarray:
        _check_escape(result, name, inputs)
        if not outputs:
            return result
    if inputs.has_scalars:
        plain_args = tuple([inputs.for_rules(arg) for arg in args])
        plain_kwargs = {key: inputs.for_rules(value) for key, value in kwargs.items()}
    form = form_of(func, plain_args, plain_kwargs, inputs.plains)
    found = None if form is None else REGISTRY.known.get(form)
    if found is None:
        call = Call(name, func, plain_args, plain_kwargs, tuple(inputs.plains), tuple(outputs))
        found = find(call, inputs.nodes, recorder)
        if form is not None and found.by_shape:
            REGISTRY.remember(form, found)
    scalars = scalars_of(result)
    made = rebuild(result, iter(track_results(kind, name, inputs, outputs, scalars, found)))
    return made[()] if is_object else made


PYTHONS = frozenset({int, float, complex})
"""Numbers of Python's own, as arrays of objects have them."""


def _given_outs(out: Any) -> tuple[Any, ...] | None:
    """Return the arrays that a call is to write into; None if none is given."""
    outs = out if isinstance(out, tuple) else (out,)
    return None if all(each is None for each in outs) else outs


def _check_escape(result: Any, name: str, inputs: Inputs) -> None:
    """Take note of a result that holds values in something that can't be tracked."""
    if _escapes(result):
        leak(short_name(name), *inputs.arrays)
    elif name in _COMPARE:
        leak("bool", *inputs.arrays, loses=False)
    elif name in _WRITE:
        for array in inputs.arrays:
            look(array)


_COMPARE = frozenset({"numpy.allclose", "numpy.array_equal", "numpy.array_equiv"})
_WRITE = frozenset({"numpy.array2string", "numpy.array_repr", "numpy.array_str"})


def _without_latent(result: Any, name: str, inputs: Inputs) -> Any:
    """Return a result with plain arrays for those that code of the program gave to numpy."""
    if isinstance(result, Tracked):
        if memory_of(result) is not None:
            leak(short_name(name), result, *inputs.arrays)
        return plain_of(result)
    if type(result) in (tuple, list) and any(isinstance(item, Tracked) for item in result):
        return type(result)([_without_latent(item, name, inputs) for item in result])
    return result


def still_latent(kind: type[Tracked], name: str, inputs: Inputs, result: Any) -> Any:
    """Return the result of a call on latent arrays: what is made of them is latent too."""
    arrays: list[Any] = []
    for output, scalar in zip(results_of(result), scalars_of(result), strict=True):
        made = output[()] if scalar else inputs.array_of(output)
        if made is None:
            made = wrap_latent(kind, output, Latent(output, suffix_of(name)))
        arrays.append(made)
    return rebuild(result, iter(arrays))


_HARMLESS = (bool, int, str, type, np.dtype, type(None), type(NotImplemented), np.ufunc)


def _escapes(result: Any) -> bool:
    """Whether a result holds values in something that can't be tracked."""
    if type(result) is np.ndarray or isinstance(result, np.generic):
        return False
    if isinstance(result, (tuple, list)):
        return any(map(_escapes, result))
    return not isinstance(result, _HARMLESS)


def track_results(
    kind: type[Tracked],
    name: str,
    inputs: Inputs,
    outputs: Sequence[Array],
    scalars: Sequence[bool],
    found: Found,
) -> list[Any]:
    """Record a call and give its results, tracked; one that is an input is that input."""
    recorder = recorder_of(inputs.home)
    base = inputs.nodes[0].base
    wanted = f"{base}.{suffix_of(name)}"
    same = [inputs.array_of(output) for output in outputs]
    nodes = [
        recorder.node(output.shape, wanted, base) if array is None else None
        for output, array in zip(outputs, same, strict=True)
    ]
    rows = [row for row, node in zip(found.lineages, nodes, strict=True) if node is not None]
    made = [node for node in nodes if node is not None]
    record(recorder, short_name(name), inputs.nodes, made, rows, found)
    tracked: list[Any] = []
    for output, array, node, scalar in zip(outputs, same, nodes, scalars, strict=True):
        if node is None:
            tracked.append(array)
            continue
        tracked.append(_wrap_result(kind, output, node, inputs, scalar=scalar))
    return tracked


def _wrap_result(
    kind: type[Tracked], output: Array, node: Node, inputs: Inputs, *, scalar: bool
) -> Any:
    """Make a call's result of its values and its node."""
    if scalar:
        if inputs.keeps:
            inputs.home.keep(node, output)
        return wrap_scalar(kind, output[()], node, inputs.home)
    under = None if output.base is None else inputs.under(output)
    if under is not None and (memory := memory_of(under)) is not None:
        return wrap_view(kind, output, memory, node, under.tracking.picked)
    return wrap_root(kind, output, Memory(output, node, inputs.home, keep=inputs.keeps))


def record(
    recorder: Recorder,
    op: str,
    nodes: Sequence[Node],
    made: Sequence[Node],
    rows: Sequence[Row],
    found: Found,
) -> None:
    """Record a call, with the inputs that contributed to something."""
    if not made:
        return
    used = [k for k in range(len(nodes)) if any(row[k] is not None for row in rows)]
    if 0 < len(used) < len(nodes):
        nodes = [nodes[k] for k in used]
        rows = [tuple(row[k] for k in used) for row in rows]
    recorder.record(Step(op, nodes, made, rows, found.args, found.answer))


def _execute_into(
    kind: type[Tracked],
    name: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    outs: tuple[Any, ...] | None,
    where: Any,
    run: Callable[..., Any] | None,
) -> Any:
    """Run a call that writes into arrays, or leaves cells out.

    ``run`` writes into its first argument, which is the first of ``outs``.
    """
    inputs, extra = Inputs(), Inputs()
    plain_args = tuple(inputs.unwrap(arg) for arg in args)
    plain_kwargs = {key: inputs.unwrap(value) for key, value in kwargs.items()}
    owner = getattr(func, "__self__", None)
    is_ufunc = isinstance(func, np.ufunc) or isinstance(owner, np.ufunc)
    options: dict[str, Any] = {}
    if outs is not None:
        plain_outs = tuple(plain_of(o) if isinstance(o, Tracked) else o for o in outs)
        options["out"] = plain_outs if is_ufunc else plain_outs[0]
    oversee(outs or (), *inputs.arrays)
    masking = None
    if where is not None:
        by_cell = isinstance(func, np.ufunc) or name in _BY_CELL
        masking = _masking(options, extra, outs, where, by_cell=by_cell)
    # rules of ufuncs look at shapes only, those of others at values, which may be overwritten
    copies = {} if is_ufunc or outs is None else _copies(outs, inputs.plains)
    if run is not None:
        result = run(*plain_args)
        if result is not plain_args[0]:
            return result
    else:
        result = func(*plain_args, **plain_kwargs, **options)
    recorder = inputs.recorder or extra.recorder or _recorder_of_outs(outs)
    outputs = tuple(results_of(result))
    if recorder is None or not outputs:
        return result if outs is None else _give(outs, result)
    call = Call(
        name,
        func,
        tuple(_exchange(inputs.for_rules(arg), copies) for arg in args),
        {key: _exchange(inputs.for_rules(value), copies) for key, value in kwargs.items()},
        tuple(copies.get(id(plain), plain) for plain in inputs.plains),
        outputs,
    )
    found = find(call, inputs.nodes, recorder, written=outs is not None)
    if masking is not None:
        inputs.nodes, rows = masking.apply(call, inputs.nodes, found.lineages)
        found = replace(found, lineages=rows)
    inputs.recorder = recorder
    if any(_picked(out) for out in outs or ()):
        inputs.nodes, rows = merge(
            [
                [
                    *(
                        (n, lin)
                        for n, lin in zip(inputs.nodes, row, strict=True)
                        if lin is not None
                    ),
                    *((n, all_to_all(output.shape, ())) for n in _picked(out)),
                ]
                for out, output, row in zip(outs or (), outputs, found.lineages, strict=True)
            ]
        )
        found = replace(found, lineages=rows)
    for out in outs or ():
        if out is not None and not (isinstance(out, Tracked) and memory_to_write(out, recorder)):
            leak("out=", *inputs.arrays, *extra.arrays)
    return _place_into(kind, name, inputs, found, outs, result)


def _place_into(
    kind: type[Tracked],
    name: str,
    inputs: Inputs,
    found: Found,
    outs: tuple[Any, ...] | None,
    result: Any,
) -> Any:
    """Record a call that wrote into arrays; others of its results are new."""
    recorder = recorder_of(inputs.home)
    base = inputs.nodes[0].base if inputs.nodes else "array"
    wanted = f"{base}.{suffix_of(name)}"
    made: list[Node] = []
    kept: list[Row] = []
    finish: list[Callable[[], Any]] = []
    outputs, scalars = results_of(result), scalars_of(result)
    targets = outs or (None,) * len(outputs)
    for output, out, row, scalar in zip(outputs, targets, found.lineages, scalars, strict=True):
        memory = memory_to_write(out, inputs.home) if isinstance(out, Tracked) else None
        if out is not None and memory is None:
            finish.append(partial(_same, out))  # a plain array can't be tracked
            continue
        if memory is not None and not any(lineage is not None for lineage in row):
            finish.append(partial(_written, out, write_view, memory, plain_of(out), None))
            continue
        kept.append(row)
        if memory is not None and plain_of(out) is memory.root:
            made.append(memory.next_version())
            finish.append(partial(_written, out, memory.replace, made[-1]))
            continue
        made.append(recorder.node(output.shape, wanted, base))
        if memory is None:
            finish.append(partial(_wrap_result, kind, output, made[-1], inputs, scalar=scalar))
        else:
            finish.append(partial(_written, out, write_view, memory, plain_of(out), made[-1]))
    record(recorder, short_name(name), inputs.nodes, made, kept, found)
    placed = [step() for step in finish]
    if outs is not None:
        return placed[0] if len(placed) == 1 else tuple(placed)
    return rebuild(result, iter(placed))


def _picked(out: Any) -> tuple[Node, ...]:
    """The integers that say which part of an array an output is."""
    return out.tracking.picked if isinstance(out, Tracked) else ()


def _same(out: Any) -> Any:
    return out


def _written(out: Tracked, action: Callable[..., None], *args: Any) -> Tracked:
    action(*args)
    return out


def _masking(
    options: dict[str, Any],
    extra: Inputs,
    outs: tuple[Any, ...] | None,
    where: Any,
    *,
    by_cell: bool,
) -> Masking:
    """Read a ``where``, and pass it on to numpy."""
    plain = options["where"] = extra.unwrap(where)
    before = [node_of(o) if isinstance(o, Tracked) else None for o in outs or ()]
    node = extra.nodes[0] if extra.nodes else None
    of: Literal["cells", "reduced"] = "cells" if by_cell else "reduced"
    return Masking(of, np.array(plain, dtype=bool), node, before)


def _copies(outs: tuple[Any, ...], plains: Sequence[Array]) -> dict[int, Array]:
    """Return copies of the inputs that a call is going to overwrite, by the inputs' id."""
    written = [plain_of(o) if isinstance(o, Tracked) else o for o in outs if o is not None]
    return {
        id(plain): plain.copy()
        for plain in plains
        if any(np.may_share_memory(plain, out) for out in written)
    }


def _exchange(value: Any, copies: Mapping[int, Array]) -> Any:
    if not copies:
        return value
    if type(value) in (list, tuple):
        return type(value)([_exchange(item, copies) for item in value])
    return copies.get(id(value), value)


def _recorder_of_outs(outs: tuple[Any, ...] | None) -> StoreRecorder | None:
    for target in outs or ():
        memory = memory_of(target) if isinstance(target, Tracked) else None
        if memory is not None:
            return memory.recorder
    return None


def _give(out: tuple[Any, ...], result: Any) -> Any:
    """Return what numpy returns for ``out``: the given arrays, and results where none was given."""
    if len(out) == 1:
        return out[0]
    return tuple(
        given if given is not None else made for given, made in zip(out, result, strict=True)
    )


@lru_cache(maxsize=1024)
def suffix_of(name: str) -> str:
    """Return what the names of an operation's results end in: ``svd``, ``add_reduce``."""
    *modules, last = short_name(name).split(".")
    parts = [part for part in modules if part not in _MODULES] + [last]
    return re.sub(r"\W+", "_", "_".join(parts)).strip("_") or "result"


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


@dataclass(frozen=True, slots=True)
class Masking:
    """A ``where`` with the nodes that it brings in: its own, and what each output held before.

    It says which output cells are written, or which input cells are reduced.
    """

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
            pairs.append((self.node, elementwise(shape, self.mask.shape)))
        return pairs

    def _reduced(
        self, call: Call, _place: int, row: Row, nodes: Sequence[Node]
    ) -> list[tuple[Node, Lineage]]:
        pairs = []
        for array, node, lineage in zip(call.inputs, nodes, row, strict=True):
            if lineage is None:
                continue
            if array is not call.args[0]:  # what a reduction begins with
                pairs.append((node, lineage))
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
        rows.append(tuple(union(*by_node[n]) if n in by_node else None for n in nodes))
    return nodes, tuple(rows)


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
