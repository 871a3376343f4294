"""Small charts as SVG text: lines and dots over logarithmic axes.

Colours come from the page's style sheet by class, so that charts follow light and dark themes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a place, with the range it was seen in; ``note`` shows under the mouse."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour class."""

    name: str
    style: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """One value of a colour class; ``note`` shows under the mouse."""

    style: str
    value: float
    note: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        span = math.log(self.high / self.low) or 1.0
        share = math.log(max(value, self.low) / self.low) / span
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten within the scale, thinned to at most eight."""
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, math.ceil((last - first + 1) / 8))
        return [10.0**power for power in range(first, last + 1, step)]


def log_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten around positive values."""
    positive = [value for value in values if value > 0] or [1.0]
    low = 10.0 ** math.floor(math.log10(min(positive)))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    return low, max(high, low * 10)


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_ticks: Sequence[tuple[float, str]],
    y_text: Callable[[float], str],
    x_label: str,
    width: int = 420,
    height: int = 280,
) -> str:
    """Lines over equally spaced places on the x axis; the y axis is logarithmic."""
    left, right, top, bottom = 56, 14, 30, 44
    places = {x: k for k, (x, _) in enumerate(x_ticks)}
    step = (width - left - right - 24) / max(1, len(x_ticks) - 1)

    def across(x: float) -> float:
        return left + 12 + places[x] * step

    values = [v for s in series for p in s.points for v in (p.y, p.low, p.high) if v]
    down = Scale(*log_bounds(values), height - bottom, top)
    parts = [_frame(title, width, height)]
    for tick in down.ticks():
        y = down(tick)
        parts.append(_rule("grid", left, y, width - right, y))
        parts.append(_text("tick", left - 6, y + 3.5, y_text(tick), "end"))
    parts += [_text("tick", across(x), height - bottom + 16, text) for x, text in x_ticks]
    parts.append(_text("label", (left + width - right) / 2, height - 8, x_label))
    parts += [_line(one, across, down) for one in series]
    return "".join([*parts, "</svg>"])


def dot_chart(
    rows: Sequence[tuple[str, Sequence[Dot]]],
    *,
    title: str,
    x_text: Callable[[float], str],
    width: int = 880,
) -> str:
    """One line per row with its dots, all on one logarithmic axis."""
    left, right, top, pitch = 150, 20, 40, 24
    base = top + pitch * len(rows)
    across = Scale(
        *log_bounds([dot.value for _, dots in rows for dot in dots]), left, width - right
    )
    parts = [_frame(title, width, base + 34)]
    for tick in across.ticks():
        parts.append(_rule("grid", across(tick), top - 6, across(tick), base))
        parts.append(_text("tick", across(tick), base + 16, x_text(tick)))
    for number, (name, dots) in enumerate(rows):
        y = top + pitch * number + pitch / 2
        parts.append(_text("name", left - 10, y + 4, name, "end"))
        parts.append(_rule("grid", left, y, width - right, y))
        for dot in dots:
            mark = _dot(across(dot.value), y, 6 if dot.style == "ours" else 4.5, dot.note)
            parts.append(f'<g class="series {dot.style}">{mark}</g>')
    return "".join([*parts, "</svg>"])


def _line(series: Series, across: Callable[[float], float], down: Scale) -> str:
    ordered = sorted(series.points, key=lambda p: across(p.x))
    path = " L".join(f"{across(p.x):.1f},{down(p.y):.1f}" for p in ordered)
    parts = [f'<path d="M{path}"/>']
    for p in ordered:
        x = across(p.x)
        if p.low is not None and p.high is not None and p.high > p.low:
            parts.append(_rule("bar", x, down(p.low), x, down(p.high)))
        parts.append(_dot(x, down(p.y), 3, f"{series.name}: {p.note}"))
    return f'<g class="series {series.style}">{"".join(parts)}</g>'


def _frame(title: str, width: float, height: float) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}">{_text("title", 0, 14, title, "start")}'
    )


def _text(style: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {at}>{escape(text)}</text>'


def _rule(style: str, x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{style}" {ends}/>'


def _dot(x: float, y: float, size: float, note: str) -> str:
    at = f'cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
    return f"<circle {at}><title>{escape(note)}</title></circle>"
