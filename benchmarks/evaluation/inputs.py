"""Where optional inputs are: the paper's example files, when somebody has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

LIME = "example_lime.npy"
DRISE = "example_drise.npy"
DIGIT = "mnist.npy"


@dataclass(frozen=True, slots=True)
class Inputs:
    """A directory with the paper's example files; None, or one that lacks some, will do."""

    shared: Path | None = None

    def load(self, name: str) -> npt.NDArray[np.generic] | None:
        """Return an example array, or None when it is not there."""
        if self.shared is None:
            return None
        for path in (self.shared / name, self.shared / "data" / name):
            if path.is_file():
                array: npt.NDArray[np.generic] = np.load(path, allow_pickle=False)
                return array
        return None
