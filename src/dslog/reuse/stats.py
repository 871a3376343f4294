"""What reuse did, per operation, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dslog.reuse.formula import formulas
from dslog.reuse.keys import open_names, read_key
from dslog.reuse.knowledge import FIRST, GEN, NOT_REUSABLE, TRACKED, FirstCalls, General
from dslog.store.records import OperationReuse, Signature, SignatureInfo

Json = Any


def statistics(signatures: Iterable[Signature], agreeing: int) -> list[OperationReuse]:
    """Sum up signatures by operation, in the order of names."""
    groups: dict[str, list[Signature]] = {}
    for signature in signatures:
        groups.setdefault(read_key(signature.key)[0], []).append(signature)
    return [
        OperationReuse(
            name,
            sum(one.hits for one in group),
            sum(one.misses for one in group),
            sum(one.refusals for one in group),
            sum(one.saved for one in group),
            tuple(describe(one, agreeing) for one in group),
        )
        for name, group in sorted(groups.items())
    ]


def describe(signature: Signature, agreeing: int = 1) -> SignatureInfo:
    """Say what a signature is for and what it knows."""
    _, args, rest = read_key(signature.key)
    lines: tuple[str, ...] = ()
    if signature.kind == GEN or (signature.kind == TRACKED and signature.content):
        lines = tuple(_lines(signature, args, agreeing))
    elif signature.kind == FIRST and FirstCalls.from_json(signature.content).values:
        lines = ("depends on values: only calls on the same arrays are reused",)
    return SignatureInfo(
        signature.kind,
        signature.state,
        args,
        _shapes(signature.kind, rest),
        lines,
        signature.hits,
        signature.misses,
        signature.refusals,
        signature.saved,
    )


def _lines(signature: Signature, args: Json, agreeing: int) -> list[str]:
    general = General.from_json(signature.content)
    if signature.state == NOT_REUSABLE:
        return ["no formula fits the calls seen"]
    names = open_names(args)
    forms = general.permanent(agreeing) or general.forms
    return [line for form in forms for line in formulas(form, names)]


def _shapes(kind: str, rest: Json) -> str:
    if kind in (FIRST, GEN, TRACKED):
        inputs, outputs = (", ".join(f"{rank}-d" for rank in ranks) for ranks in rest)
        return f"{inputs} -> {outputs}"
    if kind == "dim_sig":
        inputs, outputs = (
            ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes) for shapes in rest
        )
        return f"{inputs} -> {outputs}"
    named = [one if isinstance(one, str) else f"content {one['content'][:8]}" for one in rest[0]]
    return ", ".join(named)
