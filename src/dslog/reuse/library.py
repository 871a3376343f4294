"""Formulas that a store did not find itself: those shipped for numpy, of other stores, of users.

A library is JSON: forms, each with the keys of the calls that follow it. ``library.json`` has
numpy's structured functions, so that a first call hits too; it was generated from the capture
rules and verified at many shapes by ``scripts/make_reuse_library.py``, and a test verifies it
again. It also names the functions of numpy whose lineage depends on values: what a few calls have
in common says nothing about the next one.

Stores exchange formulas in files of the same form. Only gen_sig travels: base_sig and dim_sig are
lineages of one store's arrays.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dslog.compress.encoder import compress
from dslog.errors import DslogError
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import as_shape
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form
from dslog.reuse.formula import describe_signature
from dslog.reuse.key import read_key, variants
from dslog.reuse.learner import generalise
from dslog.reuse.signature import GEN, PERMANENT, General
from dslog.store.arguments import canonical_args
from dslog.store.catalog import Signature, SignatureInfo, compact
from dslog.store.lineage_store import LineageStore
from dslog.types import Json, Shape

PREFIX = "numpy."
FORMAT = 1
Describe = Callable[..., tuple[Sequence[Shape], Sequence[object]]]
"""From input shapes to output shapes and captures, one per (output, input) pair."""


@lru_cache(maxsize=1)
def numpy_library() -> Mapping[str, Signature]:
    """Return the signatures by key; the keys hold numpy's names without ``numpy.``."""
    return MappingProxyType(read_library(_shipped()))


def depends_on_values(name: str) -> bool:
    """Whether an operation is one of numpy's whose lineage depends on values.

    >>> depends_on_values("numpy.sort"), depends_on_values("numpy.flip"), depends_on_values("sort")
    (True, False, False)
    """
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) in _on_values()


@lru_cache(maxsize=1)
def _on_values() -> frozenset[str]:
    return frozenset(_shipped()["values"])


def _shipped() -> Json:
    text = resources.files("dslog.reuse").joinpath("library.json").read_text(encoding="utf-8")
    return json.loads(text)


def read_library(item: Json, source: str = "library") -> dict[str, Signature]:
    """Read a library: forms, each with the keys of the calls that follow it."""
    found = {}
    for entry in item["forms"]:
        forms = tuple(replace(Form.from_json(form), trusted=True) for form in entry["forms"])
        content = General(forms=forms, source=source).to_json()
        for key in entry["keys"]:
            text = compact(key)
            found[text] = Signature(GEN, text, PERMANENT, content)
    return found


def library_key(key: str, *, trusted: bool) -> str | None:
    """Return the key under which the library may know a call.

    A plain name such as ``sum`` may mean anything; it is looked up only when the user said that
    reuse may answer. ``numpy.sum`` means numpy's.
    """
    if not key.startswith(f'["{PREFIX}'):
        return key if trusted else None
    name, args, rest = read_key(key)
    return compact([name.removeprefix(PREFIX), args, rest])


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
        for signature in found.values():  # anything wrong with a form raises when it is applied
            for form in General.from_json(signature.content).forms:
                for sizes in form.seen:
                    form.apply(sizes)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise DslogError(
            f"{path} holds no formulas of DSLog: {type(error).__name__}: {error}"
        ) from error
    return found


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
    examples = [_example(name, args, describe_call, tuple(map(as_shape, one))) for one in shapes]
    forms = [form for form in generalise(examples) if form.agreeing >= 1]
    for example in examples:
        if not any(example.sizes in form.seen for form in forms):
            raise DslogError(
                f"no formula that two calls agree on explains {name!r} at {example.sizes.inputs}: "
                f"give more shapes of that kind, or leave it out"
            )
    key = variants(name, args, forms[0].seen[0])[0].key
    trusted = tuple(replace(form, trusted=True) for form in forms)
    content = General(forms=trusted, source="taught").to_json()
    signature = Signature(GEN, key, PERMANENT, content)
    store.add_signatures([signature])
    return describe_signature(signature)


def _example(
    name: str, args: Mapping[str, object], describe_call: Describe, inputs: tuple[Shape, ...]
) -> Example:
    outputs, captures = describe_call(*inputs)
    sizes = Sizes(inputs, tuple(map(as_shape, outputs)))
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
