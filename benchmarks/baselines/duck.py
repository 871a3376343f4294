"""Queries by DuckDB: equality joins from step to step.

As in the paper: one query that joins all steps and keeps distinct cells at its end. Tuned: the
cells are made distinct after each step, by a semi-join. Either way the first step selects the box
by its bounds, so that Parquet statistics and filters can help.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.baselines.engine import Engine, LimitError, Prepared, Query, path_of
from benchmarks.baselines.formats import Format
from benchmarks.workloads.part import Workflow
from dslog.types import Mask, Shape

MEMORY = "6GB"


class DuckDb(Engine):
    """Relations in one of the formats, queried by DuckDB."""

    def __init__(self, form: Format, *, dedup: bool) -> None:
        self.form = form
        self.dedup = dedup
        self.name = f"{form.name}, DuckDB" + (" distinct" if dedup else "")

    def prepare(self, workflow: Workflow, folder: Path, limit: float) -> Prepared:
        """Write a file per step, unless another engine of the same format did."""
        paths = []
        for number, step in enumerate(workflow.steps):
            stem = folder / f"step{number}"
            path = self.form.path(stem)
            if not path.exists():
                self.form.store(step.relation, len(step.out_shape), stem)
            paths.append(path)
        return _Prepared(workflow, self.form, paths, limit, dedup=self.dedup)


class _Prepared(Prepared):
    def __init__(
        self, workflow: Workflow, form: Format, paths: list[Path], limit: float, *, dedup: bool
    ) -> None:
        self.workflow = workflow
        self.form = form
        self.paths = paths
        self.limit = limit
        self.sql = distinct_sql if dedup else joined_sql
        self._cold = self._connect()
        self._warm: duckdb.DuckDBPyConnection | None = None

    def _connect(self) -> duckdb.DuckDBPyConnection:
        # no spilling: it takes hours
        return duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": ""})

    def cold(self, query: Query) -> Any:
        """Read files, decode what DuckDB can't read, and query."""
        sources = []
        for number, path in enumerate(self.paths):
            source = self.form.source(path)
            if not isinstance(source, str):
                self._cold.register(f"t{number}", source)
                source = f"t{number}"
            sources.append(source)
        return self._run(self._cold, sources, query)

    def warm(self, query: Query) -> Any:
        """Query tables that DuckDB holds in memory."""
        if self._warm is None:
            self._warm = self._connect()
            for number, path in enumerate(self.paths):
                source = self.form.source(path)
                text = source if isinstance(source, str) else "source"
                self._warm.execute(f"CREATE TABLE t{number} AS SELECT * FROM {text}")  # noqa: S608
        return self._run(self._warm, [f"t{k}" for k in range(len(self.paths))], query)

    def _run(
        self, connection: duckdb.DuckDBPyConnection, sources: list[str], query: Query
    ) -> dict[str, Any]:
        sql = self.sql(self.workflow, sources, query)
        with _limited(connection, self.limit):
            found: dict[str, Any] = connection.execute(sql).fetchnumpy()
            return found

    def mask(self, answer: Any, shape: Shape) -> Mask:
        """Set the cells whose coordinates were found."""
        mask = np.zeros(shape, np.bool_)
        mask[tuple(np.asarray(column) for column in answer.values())] = True
        return mask

    def close(self) -> None:
        """Close the connections."""
        self._cold.close()
        if self._warm is not None:
            self._warm.close()


@contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, limit: float) -> Iterator[None]:
    """Interrupt what takes too long; that and lack of memory are a LimitError."""
    timer = threading.Timer(limit, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb.InterruptException as error:
        msg = f"more than {limit:g} s"
        raise LimitError(msg) from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        msg = f"more than {MEMORY} of memory"
        raise LimitError(msg) from error
    finally:
        timer.cancel()


def _names(workflow: Workflow, step: int, query: Query) -> tuple[list[str], list[str]]:
    """Names of the columns that a step is entered by and left by."""
    part = workflow.steps[step]
    outs = [f"b{j}" for j in range(len(part.out_shape))]
    ins = [f"a{i}" for i in range(len(part.in_shape))]
    return (outs, ins) if query.backward else (ins, outs)


def _bounds(columns: list[str], query: Query, table: str = "") -> str:
    dot = f"{table}." if table else ""
    terms = (
        f"{dot}{name} BETWEEN {low} AND {high}"
        for name, low, high in zip(columns, query.low, query.high, strict=True)
    )
    return " AND ".join(terms)


def joined_sql(workflow: Workflow, sources: list[str], query: Query) -> str:
    """One join over all steps, distinct at the end: the paper's way."""
    text, where = "", ""
    left: list[str] = []
    for place, step in enumerate(path_of(workflow, query)):
        enter, leave = _names(workflow, step, query)
        if place == 0:
            text, where = f"{sources[step]} s0", _bounds(enter, query, "s0")
        else:
            pairs = zip(enter, left, strict=True)
            on = " AND ".join(f"s{place}.{x} = {y}" for x, y in pairs)
            text += f" JOIN {sources[step]} s{place} ON {on}"
        left = [f"s{place}.{name}" for name in leave]
    last = ", ".join(left)
    return f"SELECT DISTINCT {last} FROM {text} WHERE {where}"  # noqa: S608


def distinct_sql(workflow: Workflow, sources: list[str], query: Query) -> str:
    """A semi-join per step, with distinct cells handed on."""
    parts = []
    for place, step in enumerate(path_of(workflow, query)):
        enter, leave = _names(workflow, step, query)
        named = ", ".join(f"s.{name} AS c{k}" for k, name in enumerate(leave))
        if place == 0:
            rest = f"WHERE {_bounds(enter, query, 's')}"
        else:
            on = " AND ".join(f"s.{name} = h.c{k}" for k, name in enumerate(enter))
            rest = f"SEMI JOIN h{place - 1} h ON {on}"
        parts.append(
            f"h{place} AS MATERIALIZED (SELECT DISTINCT {named} FROM {sources[step]} s {rest})"  # noqa: S608
        )
    return f"WITH {', '.join(parts)} SELECT * FROM h{len(parts) - 1}"  # noqa: S608
