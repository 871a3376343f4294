"""DSLog itself, as it is and with parts of it left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines.engine import Engine, Mask, Prepared, Query
from benchmarks.evaluation.parts import Shape, Workflow
from dslog.capture.store import open_store
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import Method, compress


class Dslog(Engine):
    """A store on disk; ``merge=False`` is the paper's NoMerge, ``provrc`` its compression alone."""

    ours = True

    def __init__(self, name: str, *, method: Method = "auto", merge: bool = True) -> None:
        self.name = name
        self.method: Method = method
        self.merge = merge

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:  # noqa: ARG002
        """Compress and store every step."""
        path = folder / f"store-{self.method}"
        if not path.exists():
            with open_store(path) as store:
                for number, shape in enumerate(workflow.shapes):
                    store.array(f"A{number}", shape)
                for number, step in enumerate(workflow.steps):
                    capture: object = step.relation
                    if self.method != "auto":
                        capture = compress(capture, step.out_shape, step.in_shape, self.method)
                    store.lineage(f"A{number + 1}", f"A{number}", capture)
        return _Prepared(path, len(workflow.steps), merge=self.merge)


class _Prepared(Prepared):
    def __init__(self, path: Path, steps: int, *, merge: bool) -> None:
        self.path = path
        self.names = [f"A{number}" for number in range(steps + 1)]
        self.merge = merge
        self._open = open_store(path, "r")

    def _names(self, query: Query) -> list[str]:
        return self.names[::-1] if query.backward else self.names

    def cold(self, query: Query) -> CellSet:
        """Open the store, query, close it."""
        with open_store(self.path, "r") as store:
            return store.prov_query(self._names(query), query.slices, merge=self.merge)

    def warm(self, query: Query) -> CellSet:
        """Query a store that is open and keeps what it loaded."""
        return self._open.prov_query(self._names(query), query.slices, merge=self.merge)

    def mask(self, answer: Any, shape: Shape) -> Mask:
        """Paint the cells."""
        assert answer.shape == tuple(shape)
        mask: Mask = np.asarray(answer.mask())
        return mask

    def close(self) -> None:
        """Close the store."""
        self._open.close()
