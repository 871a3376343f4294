"""Commands of SQL that write rows: INSERT, and tables made of a query.

Spark runs a command as soon as it is given. So the query of one is recorded first, and the command
is given the rows that were: what is read again goes on from these.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dslog.capture.spark.catalyst import Catalyst, expr_id, items, kind_of, output_ids
from dslog.capture.spark.frame import Frame, KnownFrames
from dslog.capture.spark.plan_reader import analysed, execution, of_plan, scala_object
from dslog.capture.spark.row_id import RowSet
from dslog.capture.spark.sink import RowSink, folder_of_table, leave, spread_of
from dslog.capture.spark.table_node import Origin, Tracker

_WRITES = re.compile(r"\b(insert|create|replace)\b", re.IGNORECASE)
_INSERT, _CREATE = "InsertIntoHadoopFsRelationCommand", "CreateDataSourceTableAsSelectCommand"
_NO_ROWS = re.compile("View|Cache|Explain|Describe")


def run_sql(tracker: Tracker, session: SparkSession, query: str, params: Any) -> DataFrame:
    """Run a query; what it writes of tracked tables goes on, or is noted as a leak."""
    if not params and _WRITES.search(query):
        found = _written(tracker, session, query)
        if found is not None:
            return found
    return session.sql(query, args=params or None)


def note_command(known: KnownFrames, plain: DataFrame) -> None:
    """Take note of tracked tables whose rows a command wrote that nobody followed."""
    if kind_of(analysed(plain)) != "CommandResult":
        return
    command = execution(plain).analyzed()
    if not _NO_ROWS.search(kind_of(command)):
        for frame in known.frames_in(command):
            leave(frame, "sql")


def _written(tracker: Tracker, session: SparkSession, query: str) -> DataFrame | None:
    """Run a command on the rows that were recorded of its query; None if it is no such command."""
    some = session.range(0)
    command = _command(some, query)
    if command is None:
        return None
    plan = command.query()
    known = KnownFrames.of(tracker)
    plain = of_plan(some, plan)
    if not known.is_derived(plain) and known.frame_of(plain) is None:
        return None
    table = tracker.table("query", tuple(plain.columns), RowSet(), Origin("sql", {"query": query}))
    frame = Frame(known, table, plain)
    names = [str(name) for name in items(command.outputColumnNames())]
    if kind_of(command) == _INSERT:
        folder: str | None = str(command.outputPath().toString())
        options = _mapped(command.options())
        spread = spread_of(
            [one.name() for one in items(command.partitionColumns())], command.bucketSpec()
        )
    else:
        made = command.table()
        where = str(made.identifier().quotedString())
        folder, options = folder_of_table(session, where), _mapped(made.storage().properties())
        spread = spread_of(items(made.partitionColumnNames()), made.bucketSpec())
    sink = RowSink(frame, spread, options, names)
    sink.before(folder)
    result = of_plan(some, _on_rows(Catalyst(some), command, analysed(sink.rows)))
    folder = folder or folder_of_table(session, where)
    if not sink.link(folder):
        leave(frame, "sql")
    return result


def _command(some: DataFrame, query: str) -> Any | None:
    """Return the command that a query is, which has not run, if it writes rows to files."""
    state = some.sparkSession._jsparkSession.sessionState()  # noqa: SLF001
    package = Catalyst(some).jvm.org.apache.spark.sql.execution
    skip = scala_object(package, "CommandExecutionMode").SKIP()
    try:
        found = state.executePlan(state.sqlParser().parsePlan(query), skip).analyzed()
    except Exception:  # noqa: BLE001 (Spark says what is wrong when it runs the query)
        return None
    return found if kind_of(found) in (_INSERT, _CREATE) else None


def _on_rows(catalyst: Catalyst, command: Any, rows: Any) -> Any:
    """Return a command that writes other rows, in the same columns."""
    columns = dict(zip(output_ids(command.query()), items(rows.output()), strict=True))
    count = command.productArity()
    gateway: Any = catalyst.frame.sparkSession.sparkContext._gateway  # noqa: SLF001
    args = gateway.new_array(catalyst.jvm.java.lang.Object, count)
    for place in range(count):
        name, value = command.productElementName(place), command.productElement(place)
        if name == "query":
            value = rows
        elif name == "partitionColumns":
            value = catalyst.seq([columns[expr_id(one)] for one in items(value)])
        args[place] = value
    return command.makeCopy(args)


def _mapped(options: Any) -> dict[str, object]:
    pairs = items(options.toSeq())
    return {str(pair.productElement(0)): pair.productElement(1) for pair in pairs}
