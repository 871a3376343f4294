"""The page a demo leaves behind: one HTML file with everything in it.

Arrays as PNG images, without an image library.

What the demo found, in sentences that the terminal and the page share.
"""

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet
from dslog.cells.text import box_text, counted, shape_text
from dslog.cli.demo.flights import NAME, Flights
from dslog.cli.demo.lineage_size import Size, total
from dslog.cli.demo.photo import Photo
from dslog.cli.printer import size_text
from dslog.types import U8

PINK = (255, 0, 160)
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def to_pixels(values: npt.NDArray[np.float64]) -> U8:
    """Return values of 0 to 255, (h, w) or (h, w, 3), as RGB; a cell with NaN in it is pink."""
    colour = values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=2)
    missing = np.isnan(colour).any(axis=2)
    pixels = np.clip(np.nan_to_num(colour), 0, 255).astype(np.uint8)
    pixels[missing] = PINK
    return pixels


def enlarge(pixels: U8, times: int) -> U8:
    """Return an image in which every pixel is a square of ``times`` pixels."""
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def to_png(pixels: U8) -> bytes:
    """Write an RGB image, (h, w, 3), as PNG."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with its filter, none
    lines[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def to_url(pixels: U8) -> str:
    """Return an RGB image as an address that a page can hold."""
    return "data:image/png;base64," + base64.b64encode(to_png(pixels)).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


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


_SHOWN = 362  # height of both images on the page
_ZOOM, _NEAR = 14, 15  # pixels per cell, cells on each side of the middle


def write_page(path: Path, photo: Photo, flights: Flights, store: Path) -> None:
    """Write the page."""
    template = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    words = {
        "carrier": NAME,
        "store": str(store),
        "result_shape": shape_text(photo.result.shape),
        "source_shape": shape_text(photo.source.shape),
        "wrong": ", ".join(map(str, photo.wrong)),
        "made_it": "; ".join(
            box_text(box, photo.made_it.shape) for box in photo.made_it.boxes.tolist()
        ),
    }
    for kind, found in zip(
        ("photo", "average", "row"), findings(photo, flights, str(store)), strict=True
    ):
        for name in ("title", "question", "answer", "command", "printed"):
            words[f"{kind}_{name}"] = getattr(found, name)
        words[f"{kind}_path"] = " → ".join(found.path)
    page = {key: escape(text) for key, text in words.items()}
    page |= _images(photo)
    page |= _figures(photo, flights)
    page |= {
        "months": _months(flights),
        "dots": _dots(flights),
        "sizes": _sizes([*photo.sizes, *flights.sizes]),
    }
    path.write_text(template.substitute(page), encoding="utf-8")


def _figures(photo: Photo, flights: Flights) -> dict[str, str]:
    """Return the numbers at the top of the page."""
    whole = total([*photo.sizes, *flights.sizes])
    return {
        "pairs": f"{whole.pairs / 1e6:.1f} million",
        "raw": size_text(whole.raw),
        "parquet": size_text(whole.parquet),
        "dslog": size_text(whole.dslog),
        "photo_ms": f"{photo.query_seconds * 1000:.1f} ms",
        "flights_ms": f"{flights.query_seconds * 1000:.1f} ms",
    }


def _images(photo: Photo) -> dict[str, str]:
    result, source = to_pixels(photo.result), to_pixels(photo.source)
    asked = CellSet.from_indices(photo.result.shape, [photo.wrong])
    result_zoom, result_cells = _zoom(result, asked)
    source_zoom, source_cells = _zoom(source, photo.made_it)
    return {
        "result": to_url(result),
        "result_width": _width(result),
        "result_ring": _ring(result, asked),
        "source": to_url(source),
        "source_width": _width(source),
        "source_ring": _ring(source, photo.made_it),
        "result_zoom": to_url(result_zoom),
        "result_cells": result_cells,
        "source_zoom": to_url(source_zoom),
        "source_cells": source_cells,
    }


def _width(pixels: U8) -> str:
    return str(round(_SHOWN * pixels.shape[1] / pixels.shape[0]))


def _ring(pixels: U8, cells: CellSet) -> str:
    """Place a ring around cells, by share of the image."""
    top, left = (_middle(cells, axis) / pixels.shape[axis] * 100 for axis in (0, 1))
    return f"top: {top:.2f}%; left: {left:.2f}%"


def _zoom(pixels: U8, cells: CellSet) -> tuple[U8, str]:
    """Cut out the neighbourhood of cells, enlarge it, and place a frame around them."""
    starts = [
        int(np.clip(int(_middle(cells, axis)) - _NEAR, 0, pixels.shape[axis] - 2 * _NEAR))
        for axis in (0, 1)
    ]
    part = pixels[starts[0] :, starts[1] :][: 2 * _NEAR, : 2 * _NEAR]
    low, high = cells.boxes[:, :2, 0].min(axis=0), cells.boxes[:, :2, 1].max(axis=0) + 1
    (top, left), (bottom, right) = ((ends - starts) * _ZOOM for ends in (low, high))
    frame = f"top: {top}px; left: {left}px; width: {right - left}px; height: {bottom - top}px"
    return enlarge(part, _ZOOM), frame


def _middle(cells: CellSet, axis: int) -> float:
    return float(cells.boxes[:, axis].min() + cells.boxes[:, axis].max() + 1) / 2


def _months(flights: Flights) -> str:
    """Draw the averages as bars up and down from zero."""
    width, zero, scale = 30, 90, 2.4
    parts = [f'<line class="axis" x1="0" x2="{12 * width}" y1="{zero}" y2="{zero}"/>']
    for month, delay in enumerate(flights.monthly, start=1):
        left = (month - 1) * width
        top, height = (zero - delay * scale, delay * scale) if delay > 0 else (zero, -delay * scale)
        kind = "lit" if month == 1 else "bar"
        parts.append(
            f'<rect class="{kind}" x="{left + 5}" y="{top:.1f}" width="{width - 10}" '
            f'height="{height:.1f}"/>'
        )
        beside = zero + 14 if delay > 0 else zero - 5
        parts.append(f'<text x="{left + 8}" y="{beside}">{month:>2}</text>')
    parts.append(f'<text class="strong" x="32" y="24">{flights.average:+.1f}</text>')
    return _svg(12 * width, 165, parts)


def _dots(flights: Flights) -> str:
    """Draw each flight as a dot along its delay."""
    width, base = 520, 120
    low, high = min(flights.delays), max(flights.delays)
    parts = [f'<line class="axis" x1="0" x2="{width}" y1="{base + 12}" y2="{base + 12}"/>']
    piles: dict[int, int] = {}
    for delay in flights.delays:
        x = 12 + (delay - low) / (high - low) * (width - 60)
        pile = piles[round(x / 8)] = piles.get(round(x / 8), -1) + 1
        kind = "lit" if delay == high else "bar"
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{base - 9 * pile}" r="4"/>')
    parts.append(f'<text x="4" y="{base + 28}">{low:+.0f}</text>')
    parts.append(f'<text class="strong" x="{width - 60}" y="{base + 28}">{high:+,.0f}</text>')
    return _svg(width, 165, parts)


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}">{inside}</svg>'


def _sizes(sizes: Sequence[Size]) -> str:
    head = "".join(
        f"<th>{word}</th>" for word in ("to", "pairs", "raw", "Parquet", "DSLog", "less")
    )
    rows = [_size(size, "") for size in sizes] + [_size(total(sizes), ' class="total"')]
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _size(size: Size, kind: str) -> str:
    cells = [escape(size.step), f"{size.pairs:,}"]
    cells += [size_text(part) for part in (size.raw, size.parquet, size.dslog)]
    cells.append(size.times)
    return f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
