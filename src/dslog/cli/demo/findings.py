"""What the demo found, in sentences that the terminal and the page share."""

from collections.abc import Iterator
from dataclasses import dataclass

from dslog.cells.wording import box_text, counted
from dslog.cli.demo.flights import NAME, Flights
from dslog.cli.demo.photo import Photo


@dataclass(frozen=True, slots=True)
class Finding:
    """One question, its answer, and the command that asks it again, with what that prints."""

    title: str
    question: str
    answer: str
    command: str
    printed: str
    path: tuple[str, ...]


def findings(photo: Photo, flights: Flights, store: str) -> Iterator[Finding]:
    """Return what was found in the photo, and the two findings in the flights."""
    yield Finding(
        "One wrong pixel",
        photo_question(photo),
        photo_answer(photo),
        f"dslog first-nan {store} final",
        str(photo.first_nan),
        ("photo", *(size.step for size in photo.sizes)),
    )
    yield Finding(
        "One odd average",
        flights_question(flights),
        flights_answer(flights),
        f"dslog why {store} delays --cells '{flights.group}, delay'",
        str(flights.why),
        ("flights", *(size.step for size in flights.sizes)),
    )
    yield Finding(
        "One flight that vanished",
        f"Row {flights.vanished:,} of the flights, {flights.vanished_text}, is in no average. "
        f"Where did it go?",
        row_answer(flights),
        f"dslog dropped {store} flights {flights.vanished}",
        str(flights.dropped),
        ("flights", *(size.step for size in flights.sizes)),
    )


def photo_question(photo: Photo) -> str:
    """Return what is asked of the photo."""
    return (
        f"A photo went through {photo.calls} numpy calls: grey, resize, brighten, soften, rot90, "
        f"flip. {counted(photo.nans, 'cell')} of the result came out as NaN, one of them "
        f"final[{', '.join(map(str, photo.wrong))}]. Which cells of the photo made it, and where "
        f"did the NaN come in?"
    )


def photo_answer(photo: Photo) -> str:
    """Return what lineage says about it."""
    made = photo.made_it
    boxes = "; ".join(box_text(box, made.shape) for box in made.boxes.tolist())
    touched = counted(photo.touched.count, "cell")
    exactly = "exactly those that are NaN" if photo.touched_exactly_nans else "not those"
    return (
        f"{made.count} of {photo.source.size:,} cells: photo[{boxes}], found in "
        f"{photo.query_seconds * 1000:.1f} ms. One of them is NaN in the photo itself: "
        f"photo[{', '.join(map(str, photo.cause))}]. Asked forward, it touched {touched} of the "
        f"result, {exactly}."
    )


def flights_question(flights: Flights) -> str:
    """Return what is asked of the flights."""
    return (
        f"Spark dropped the flights that never arrived ({flights.rows:,} rows of "
        f"{flights.columns} columns became {flights.arrived:,}), joined the names of the airlines "
        f"and averaged delays per airline and month ({flights.groups} rows). {NAME}, early in "
        f"most months, was {flights.average:.1f} minutes late in January. Which flights made this "
        f"number?"
    )


def flights_answer(flights: Flights) -> str:
    """Return what lineage says about it."""
    return (
        f"{flights.made_of} of {flights.rows:,} flights, found in "
        f"{flights.query_seconds * 1000:.1f} ms. One stands out: row {flights.cause:,}, "
        f"{flights.cause_text}, was {max(flights.delays):,.0f} minutes late. Without it the "
        f"average would be {flights.without:.1f}."
    )


def row_answer(flights: Flights) -> str:
    """Return which step dropped the row."""
    ending = flights.dropped.endings[0]
    return (
        f"{ending.text} dropped it: nothing of {', '.join(ending.outputs)} was made of this row, "
        f"because it never arrived and has no arr_delay."
    )
