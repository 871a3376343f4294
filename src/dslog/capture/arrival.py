"""Modules that are imported later: what is to be done with one is done once it is there."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Execute = Callable[[Callable[[ModuleType], None], ModuleType], None]
"""Execute a module, by its loader, and do what is to be done."""


class Arrivals(importlib.abc.MetaPathFinder):
    """Sees modules of some names being imported; to be put first in ``sys.meta_path``."""

    def __init__(self, names: Iterable[str], execute: Execute) -> None:
        self._names, self._execute = set(names), execute

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module as everybody does, and have it executed in our way."""
        del path, target
        if name not in self._names:
            return None
        self._names.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = partial(self._execute, spec.loader.exec_module)
        spec.loader.exec_module = run  # type: ignore[method-assign]
        return spec


def when_imported(name: str, act: Callable[[], None]) -> None:
    """Do something once a module is there: now, or when the program imports it."""

    def execute(run: Callable[[ModuleType], None], module: ModuleType) -> None:
        run(module)
        act()

    if name in sys.modules:
        act()
    else:
        sys.meta_path.insert(0, Arrivals([name], execute))
