"""A directory for what a run writes and throws away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Scratch:
    """Gives folders below ``root``, each removed when it is done with."""

    root: Path

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Make an empty folder; remove it, with all that is in it, at the end."""
        path = Path(tempfile.mkdtemp(dir=self.root))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def scratch_space(parent: Path | None = None) -> Iterator[Scratch]:
    """Give a scratch directory that goes away at the end."""
    with tempfile.TemporaryDirectory(prefix="dslog-bench-", dir=parent) as name:
        yield Scratch(Path(name))
