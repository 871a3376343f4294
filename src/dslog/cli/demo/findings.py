"""What the demo found, in sentences that the terminal and the page share."""

from dslog.cells.wording import box_text, counted
from dslog.cli.demo.flights import NAME, Flights
from dslog.cli.demo.photo import Photo


def photo_question(photo: Photo) -> str:
    """Return what is asked of the photo."""
    return (
        f"A photo went through {photo.calls} numpy calls: grey, resize, brighten, soften, rot90, "
        f"flip. {counted(photo.nans, 'cell')} of the result came out as NaN, one of them "
        f"final[{', '.join(map(str, photo.wrong))}]. Which cells of the photo made it?"
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
        f"Spark dropped the flights that never arrived ({flights.rows:,} rows became "
        f"{flights.arrived:,}) and averaged delays per carrier and month ({flights.groups} rows). "
        f"{NAME}, early in most months, was {flights.average:.1f} minutes late in January. "
        f"Which flights made this number?"
    )


def flights_answer(flights: Flights) -> str:
    """Return what lineage says about it."""
    return (
        f"{flights.made_it.count} of {flights.rows:,} flights, found in "
        f"{flights.query_seconds * 1000:.1f} ms. One stands out: row {flights.cause:,}, "
        f"{flights.cause_text}, was {max(flights.delays):,.0f} minutes late. Without it the "
        f"average would be {flights.without:.1f}."
    )
