"""Values of tracked arrays, for those who asked to have them kept.

One ``.npy`` file per array in the folder ``values`` of the store, never pickled; arrays of Python
objects have no such form and are passed over. A store in memory keeps them in memory.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import numpy as np

from dslog.capture.numpy.call import Array
from dslog.errors import NotFoundError, did_you_mean


class Keeper:
    """Saves and loads values by the array's name."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._memory: dict[str, Array] = {}

    def save(self, name: str, values: Array) -> None:
        """Keep the values of an array."""
        if values.dtype.hasobject:
            return
        if self._directory is None:
            self._memory[name] = values
            return
        self._directory.mkdir(exist_ok=True)
        path = self._path(self._directory, name)
        draft = path.with_suffix(".tmp")
        with draft.open("wb") as file:
            np.save(file, values, allow_pickle=False)
        draft.replace(path)

    def load(self, name: str) -> Array:
        """Return the values of an array, or raise if they were not kept."""
        found = self.find(name)
        if found is None:
            hint = did_you_mean(name, self._names())
            raise NotFoundError(
                f"no values of {name!r} are kept: track with keep_values=True to keep them.{hint}"
            )
        return found

    def find(self, name: str) -> Array | None:
        """Return the values of an array, or None if they were not kept."""
        if self._directory is None:
            return self._memory.get(name)
        path = self._path(self._directory, name)
        return np.load(path, allow_pickle=False) if path.exists() else None

    def _names(self) -> list[str]:
        if self._directory is None:
            return list(self._memory)
        return [path.stem for path in self._directory.glob("*.npy")]

    def _path(self, directory: Path, name: str) -> Path:
        return directory / f"{quote(name, safe='')}.npy"
