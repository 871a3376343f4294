"""Formulas between stores, and formulas that users bring.

Only gen_sig travels: base_sig and dim_sig are lineages of one store's arrays. The file is JSON in
the form of the library (``library.json``): forms, each with the keys of the calls that follow it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from dslog.compress.encoder import compress
from dslog.errors import DslogError
from dslog.lineage.lineage import Lineage
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form
from dslog.reuse.formula import describe_signature
from dslog.reuse.key import variants
from dslog.reuse.learner import generalise
from dslog.reuse.library import read_library
from dslog.reuse.signature import GEN, PERMANENT, General
from dslog.store.arguments import canonical_args
from dslog.store.catalog import Signature, SignatureInfo
from dslog.store.lineage_store import LineageStore
from dslog.types import Shape

FORMAT = 1

Describe = Callable[..., tuple[Sequence[Shape], Sequence[object]]]
"""From input shapes to output shapes and captures, one per (output, input) pair."""


def export_signatures(store: LineageStore, path: str | PathLike[str]) -> int:
    """Write the permanent formulas of a store to a file and return how many there are."""
    entries = []
    for signature in store.signatures():
        if signature.kind == GEN and signature.state == PERMANENT:
            general = General.from_json(signature.content)
            forms = [form.to_json() for form in general.permanent(1)]
            entries.append({"keys": [json.loads(signature.key)], "forms": forms})
    text = json.dumps({"format": FORMAT, "forms": entries}, separators=(",", ":"))
    Path(path).write_text(text, encoding="utf-8")
    return len(entries)


def import_signatures(store: LineageStore, path: str | PathLike[str]) -> int:
    """Take formulas from a file into a store and return how many were new.

    What the store found out by itself stays as it is.
    """
    known = {(one.kind, one.key) for one in store.signatures()}
    found = read_file(path)
    new = [one for one in found.values() if (one.kind, one.key) not in known]
    store.add_signatures(new)
    return len(new)


def read_file(path: str | PathLike[str]) -> Mapping[str, Signature]:
    """Read and check a file of formulas."""
    try:
        item = json.loads(Path(path).read_text(encoding="utf-8"))
        if item.get("format") != FORMAT:
            raise DslogError(f"{path} has format {item.get('format')!r}, not {FORMAT}")
        found = read_library(item, source="import")
        for signature in found.values():
            _check(signature)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise DslogError(
            f"{path} holds no formulas of DSLog: {type(error).__name__}: {error}"
        ) from error
    return found


def _check(signature: Signature) -> None:
    """Apply each form to the calls it says it was solved from; anything wrong raises."""
    for form in General.from_json(signature.content).forms:
        for sizes in form.seen:
            form.apply(sizes)


def teach(
    store: LineageStore,
    name: str,
    describe_call: Describe,
    shapes: Sequence[Sequence[Shape]],
    op_args: Mapping[str, object] | None = None,
) -> SignatureInfo:
    """Let a store know an operation before it is ever called.

    ``describe_call(*input_shapes)`` gives the shapes of the outputs and a capture per (output,
    input) pair: a Lineage, an integer array, or a function from an output cell to input cells. It
    is called for each of ``shapes``, which should be of different sizes, some of them 1 if those
    are to be answered. The formula that is found has to explain all of them.
    """
    args = canonical_args(op_args)
    examples = [_example(name, args, describe_call, tuple(map(tuple, one))) for one in shapes]
    forms = [form for form in generalise(examples) if form.agreeing >= 1]
    for example in examples:
        if not any(example.sizes in form.seen for form in forms):
            raise DslogError(
                f"no formula that two calls agree on explains {name!r} at {example.sizes.inputs}: "
                f"give more shapes of that kind, or leave it out"
            )
    signature = _signature(name, args, forms)
    store.add_signatures([signature])
    return describe_signature(signature)


def _signature(name: str, args: Mapping[str, object], forms: list[Form]) -> Signature:
    key = variants(name, args, forms[0].seen[0])[0].key
    trusted = tuple(replace(form, trusted=True) for form in forms)
    content = General(forms=trusted, source="taught").to_json()
    return Signature(GEN, key, PERMANENT, content)


def _example(
    name: str, args: Mapping[str, object], describe_call: Describe, inputs: tuple[Shape, ...]
) -> Example:
    outputs, captures = describe_call(*inputs)
    sizes = Sizes(inputs, tuple(map(tuple, outputs)))
    pairs = [(out, inp) for out in sizes.outputs for inp in inputs]
    lineages = [
        None if capture is None else _lineage(capture, out, inp)
        for capture, (out, inp) in zip(captures, pairs, strict=True)
    ]
    return Example(variants(name, args, sizes)[0].sizes, tuple(lineages))


def _lineage(capture: object, out: Shape, inp: Shape) -> Lineage:
    if isinstance(capture, Lineage):
        return capture
    if callable(capture):
        pairs = [
            (*cell, *(found if isinstance(found, tuple) else (found,)))
            for cell in np.ndindex(*out)
            for found in capture(cell)
        ]
        capture = np.array(pairs, np.int64).reshape(-1, len(out) + len(inp))
    return compress(capture, out, inp)


def compacted(form: Form) -> Form:
    """Return a form with no more calls seen than say where it holds."""
    place = 1
    while place < len(form.seen):
        less = replace(form, seen=(*form.seen[:place], *form.seen[place + 1 :]))
        if less.scope == form.scope:
            form = less
        else:
            place += 1
    return form
