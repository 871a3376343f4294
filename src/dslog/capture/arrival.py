"""Modules that are imported later: what is to be done with one is done once it is there."""

from __future__ import annotations

import importlib.abc
import importlib.util
from collections.abc import Callable, Collection, Iterable
from functools import partial
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Any

Execute = Callable[[Callable[[ModuleType], None], ModuleType], None]
"""Execute a module, by its loader, and do what is to be done."""


class Arrivals(importlib.abc.MetaPathFinder):
    """Sees modules of some names being imported; to be put first in ``sys.meta_path``.

    Of ``compiled`` packages it also sees all modules that are written in C.
    """

    def __init__(
        self, names: Iterable[str], execute: Execute, compiled: Collection[str] = ()
    ) -> None:
        self._names, self._execute, self._compiled = set(names), execute, compiled
        self._asked: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module as everybody does, and have it executed in our way."""
        del path, target
        named, package = name in self._names, name.partition(".")[0]
        if name in self._asked or not (named or package in self._compiled):
            return None
        self._names.discard(name)
        self._asked.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asked.discard(name)
        if spec is None or spec.loader is None:
            return spec
        if not (named or isinstance(spec.loader, ExtensionFileLoader)):
            return spec
        run = partial(self._execute, spec.loader.exec_module)
        spec.loader.exec_module = run  # type: ignore[method-assign]
        return spec
