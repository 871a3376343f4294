"""The Spark session that DSLog uses: the one that is there, or a local one of its own.

A program that has a session (classic or Connect) keeps it: DSLog changes none of its settings.
Without one, the first call starts Spark in this machine's cores, once per process. A program that
``spark-submit`` runs gets the master and the settings it was submitted with.
"""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dslog.config import Config, spark_value
from dslog.errors import EngineError
from dslog.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OURS = "spark.dslog.started"
_starting = threading.Lock()


def get_session(config: "Mapping[str, object] | SparkSession | None" = None) -> "SparkSession":
    """Return the active session, or start a local one.

    ``config`` may be a session, which is then used as it is, or Spark settings. Settings win over
    the environment (:mod:`dslog.config`) when a session is started; a session that already runs
    takes those that Spark lets change, and the others are an error rather than ignored.
    """
    if config is not None and not isinstance(config, Mapping):
        return _checked(config)
    wanted = {key: spark_value(value) for key, value in (config or {}).items()}
    with _starting:
        session = active()
        if session is None:
            return _start(wanted)
    _apply(session, wanted)
    return session


def active() -> "SparkSession | None":
    """Return the session this process has, if any, without starting or importing Spark."""
    # Connect first: its local mode runs a classic session inside the same process.
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        remote = connect.SparkSession
        session = remote.getActiveSession() or remote._get_default_session()  # noqa: SLF001
        if session is not None:
            return cast("SparkSession", session)
    core = sys.modules.get("pyspark")
    if core is None or core.SparkContext._active_spark_context is None:  # noqa: SLF001
        return None
    from pyspark.sql import SparkSession

    # A session is active per thread; in another thread the context is there, so attach to it.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def stop() -> None:
    """Stop the session that :func:`spark` started; one that the program brought stays."""
    session = active()
    if session is not None and session.conf.get(_OURS, "false") == "true":
        session.stop()


def _checked(session: Any) -> "SparkSession":
    if not hasattr(session, "createDataFrame"):
        raise EngineError(
            f"{session!r} is neither a SparkSession nor a mapping of Spark settings. "
            "Pass one of these, or nothing for the active session."
        )
    return cast("SparkSession", session)


def _apply(session: "SparkSession", wanted: Mapping[str, str]) -> None:
    for key, value in wanted.items():
        current = session.conf.get(key, None)
        if current == value:
            continue
        if not session.conf.isModifiable(key):
            raise EngineError(
                f"can't set {key} to {value!r}: Spark already runs, with {current!r}. "
                "Stop that session first, or leave the setting out."
            )
        session.conf.set(key, value)


def _start(wanted: Mapping[str, str]) -> "SparkSession":
    config = Config.from_environment()
    given = {**config.spark_conf, **wanted}
    master = given.pop("spark.master", config.spark_master)
    remote = given.pop("spark.remote", master if master.startswith("sc://") else "")
    remote = remote or os.environ.get("SPARK_REMOTE", "")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    settings = _session_settings() | given
    environment: dict[str, str] = {}
    if remote:
        builder = builder.remote(remote)
    elif "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit chose the master
        settings = _context_settings(config, master) | settings
        environment = _environment(master)
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _set(environment):
            return builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise EngineError(
            f"Spark can't start on {remote or master}: {error} "
            "Spark's own message, if any, is on stderr. Check DSLOG_SPARK_MASTER and "
            "DSLOG_SPARK_CONF, or pass a SparkSession that works."
        ) from error


def _session_settings() -> dict[str, str]:
    """Return settings of the SQL session, which every kind of session takes."""
    return {
        _OURS: "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "250000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.python.filterPushdown.enabled": "true",
    }


def _context_settings(config: Config, master: str) -> dict[str, str]:
    """Return settings that count only when the driver's Java starts."""
    log4j = Path(str(files("dslog.spark") / "log4j2.properties")).as_uri()
    settings = {
        "spark.app.name": "dslog",
        "spark.driver.memory": config.spark_driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if _here(master):
        # Workers must find this very dslog, also when it is on sys.path only.
        root = str(Path(str(files("dslog"))).parent)
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": path,
            "spark.python.daemon.module": "dslog.spark.daemon",
        }
    return settings


def _environment(master: str) -> dict[str, str]:
    """Return the environment that Spark's launcher and workers need."""
    environment = {"JAVA_HOME": str(java_home())}
    if _here(master):
        environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    elif "PYSPARK_PYTHON" not in os.environ:
        environment["PYSPARK_PYTHON"] = sys.executable
    return environment


def _here(master: str) -> bool:
    return master.partition("[")[0] in {"local", "local-cluster"}


@contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while Spark starts, and put back what was there."""
    before = {key: os.environ.get(key) for key in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
