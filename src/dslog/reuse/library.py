"""Ready signatures for numpy's structured functions, so that a first call hits too.

The library also names the functions of numpy whose lineage depends on values: what a few calls
have in common says nothing about the next one.

They were generated from the capture rules and verified at many shapes by
``scripts/make_reuse_library.py``; a test verifies them again.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from dslog.reuse.form import Form
from dslog.reuse.key import read_key
from dslog.reuse.signature import GEN, PERMANENT, General
from dslog.store.catalog import Signature
from dslog.types import Json

PREFIX = "numpy."
SOURCE = "library"


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


def read_library(item: Json, source: str = SOURCE) -> dict[str, Signature]:
    """Read a library: forms, each with the keys of the calls that follow it."""
    found = {}
    for entry in item["forms"]:
        forms = tuple(replace(Form.from_json(form), trusted=True) for form in entry["forms"])
        content = General(forms=forms, source=source).to_json()
        for key in entry["keys"]:
            text = json.dumps(key, separators=(",", ":"), sort_keys=True)
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
    short = [name.removeprefix(PREFIX), args, rest]
    return json.dumps(short, separators=(",", ":"), sort_keys=True)
