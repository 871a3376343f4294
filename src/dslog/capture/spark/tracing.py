"""Compute the row lineage of a trail: one pass of Spark over its ids."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame

from dslog.capture.products import RowMap
from dslog.capture.spark.assembly import Gathered, OutOfOrderError, gather
from dslog.capture.spark.nearby import few_of, gather_nearby, most_here
from dslog.capture.spark.numbering import Numbering
from dslog.capture.spark.ordering import moves_rows, spread_in_order
from dslog.capture.spark.outlet import Outlet
from dslog.capture.spark.rows import Id, Trail
from dslog.capture.spark.spine import SpineSpec, StepSpec, TapSpec


@dataclass(frozen=True)
class Tap:
    """Numbers that come with the rows at the end of a trail, and that they are to be mapped to.

    ``columns`` are pairs of a column and what numbers its ids; without that its values count.
    With a ``flag``, only rows count whose column of that name is 1. With ``spread``, a row is
    mapped to a run: its columns say how many rows before the number it begins and how many behind
    it ends.
    """

    columns: tuple[tuple[str, Numbering | None], ...]
    flag: str | None = None
    spread: tuple[str, str] | None = None

    @property
    def names(self) -> list[str]:
        """All columns it looks at."""
        flag = [self.flag] if self.flag else []
        return [*(name for name, _ in self.columns), *flag, *(self.spread or ())]


def trace(
    frame: DataFrame,
    trail: Trail,
    outlet: Outlet,
    taps: Sequence[Tap] = (),
    *,
    moved: bool | None = None,
) -> list[RowMap]:
    """Fill in what is not known of the trail's rows, and return a map for every tap.

    What is too large for the driver goes to the outlet. ``moved`` says whether the rows are out of
    order; without it Spark's plan is asked.
    """
    if not taps and all(step.rows.known for step in trail.steps):
        return []
    spec, columns = _specify(trail, taps)
    gathered = _run(frame.select(*columns), trail, spec, outlet, moved)
    relation = _fill(trail, gathered)
    return [gathered.maps[relation + n] for n in range(len(taps))]


def ids_of_groups(frame: DataFrame, trail: Trail, outlet: Outlet, same: Column) -> DataFrame | None:
    """Return what ``trace_groups`` reads of a DataFrame; None if its rows are out of order.

    ``same`` is a number that the rows of a group share.
    """
    spec, columns = _specify(trail, ())
    ids = few_of(frame.select(*columns, same), spec, most_here(outlet))
    return None if moves_rows(ids, trail) else ids


def trace_groups(ids: DataFrame, trail: Trail, outlet: Outlet) -> tuple[int, RowMap] | None:
    """Fill in what is not known of the trail's rows, and number groups by their first rows.

    Returns how many groups there are and the group of each row; None if rows are too many.
    """
    gathered = gather_nearby(ids, _specify(trail, ())[0], most_here(outlet), grouped=True)
    if gathered is None:
        return None
    _fill(trail, gathered)
    return gathered.groups


def _fill(trail: Trail, gathered: Gathered) -> int:
    """Tell the steps of a trail what was found; return how many relations that was."""
    relation = 0
    for step, count in zip(trail.steps, gathered.counts, strict=True):
        links = ("left",) if step.other is None else ("left", "right")
        if not step.rows.known:
            step.rows.count = count
            for place, link in enumerate(links, start=relation):
                step.rows.maps[link] = gathered.maps[place]
        relation += len(links)
    return relation


def map_rows(frame: DataFrame, trail: Trail, one: Id, outlet: Outlet) -> RowMap:
    """Map the rows of a DataFrame to those of another that a column of ids names."""
    found = trace(frame, trail, outlet, [Tap(((one.column, one.numbering),))])[0]
    return replace(found, forward=False)


def _specify(trail: Trail, taps: Sequence[Tap]) -> tuple[SpineSpec, list[str]]:
    columns = list(trail.columns)
    for tap in taps:
        columns += tap.names
    columns = list(dict.fromkeys(columns))
    steps = [
        StepSpec(number, step.prefix, step.other, wanted=not step.rows.known)
        for number, step in enumerate(trail.steps, start=1)
    ]
    specs = [
        TapSpec(
            tuple(columns.index(c) for c, _ in tap.columns),
            tuple(numbering for _, numbering in tap.columns),
            columns.index(tap.flag) if tap.flag else None,
            (columns.index(tap.spread[0]), columns.index(tap.spread[1])) if tap.spread else None,
        )
        for tap in taps
    ]
    numberings = tuple(one.numbering for one in trail.ids)
    return SpineSpec(numberings, tuple(steps), trail.ends, tuple(specs)), columns


def _run(
    ids: DataFrame, trail: Trail, spec: SpineSpec, outlet: Outlet, moved: bool | None
) -> Gathered:
    small = not moved and trail.ids[0].numbering.total <= most_here(outlet)
    few = few_of(ids, spec, most_here(outlet)) if small else ids
    if not (moves_rows(few, trail) if moved is None else moved):
        gathered = gather_nearby(few, spec, most_here(outlet)) if small else None
        if gathered is not None:
            return gathered
        with suppress(OutOfOrderError):
            return gather(ids, replace(spec, ordered=len(trail.ids) == 1), outlet)
    return gather(spread_in_order(ids, trail), spec, outlet)
