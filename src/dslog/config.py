"""Settings read from ``DSLOG_*`` environment variables.

========================== ============ =====================================================
variable                   default      meaning
========================== ============ =====================================================
DSLOG_SPARK_MASTER         ``local[*]`` where a session that DSLog starts runs: any Spark
                                        master, or ``sc://host:port`` for Spark Connect
DSLOG_SPARK_DRIVER_MEMORY  ``2g``       heap of the driver; 1 GB is too little for a relation
                                        of a few million rows
DSLOG_SPARK_CONF           ``{}``       further Spark settings, as a JSON object; they win over
                                        DSLog's own
DSLOG_SPARK_ROWS           ``4000000``  a step that reads more rows than this, or a Parquet
                                        relation of more rows, goes to Spark
DSLOG_COLLECT_ROWS         ``1000000``  compressed rows, or boxes of a result, that may come to
                                        the driver; more stay in files
DSLOG_REUSE_AFTER          ``1``        how many further calls of an operation must agree before
                                        its lineage is reused: the paper's m
DSLOG_REUSE_PROBES         ``8``        output cells on which a capture is compared with what
                                        reuse says, before it is skipped
DSLOG_PARTITION_ROWS       ``2097152``  rows of a relation that one task compresses
========================== ============ =====================================================

Those about sessions count only when DSLog starts one itself, not when a program brings its own.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from dslog.errors import DslogError, EngineError

_MEMORY = re.compile(r"[1-9][0-9]*(k|m|g|t|kb|mb|gb|tb)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings, each with its default.

    >>> config = Config.from_environment({"DSLOG_SPARK_CONF": '{"spark.task.cpus": 2}'})
    >>> config.spark_master, dict(config.spark_conf)
    ('local[*]', {'spark.task.cpus': '2'})
    """

    spark_master: str = "local[*]"
    spark_driver_memory: str = "2g"
    spark_conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    spark_rows: int = 4_000_000
    collect_rows: int = 1_000_000
    partition_rows: int = 1 << 21
    reuse_after: int = 1
    reuse_probes: int = 8

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Self:
        """Read the settings from ``environ`` (``os.environ``); an empty value counts as unset."""
        environ = os.environ if environ is None else environ
        return cls(
            spark_master=environ.get("DSLOG_SPARK_MASTER") or "local[*]",
            spark_driver_memory=_memory(environ.get("DSLOG_SPARK_DRIVER_MEMORY") or "2g"),
            spark_conf=MappingProxyType(_conf(environ.get("DSLOG_SPARK_CONF") or "{}")),
            spark_rows=_rows(environ, "DSLOG_SPARK_ROWS", "4000000"),
            collect_rows=_rows(environ, "DSLOG_COLLECT_ROWS", "1000000"),
            partition_rows=_rows(environ, "DSLOG_PARTITION_ROWS", "2097152"),
            reuse_after=_count(environ, "DSLOG_REUSE_AFTER", "1"),
            reuse_probes=_count(environ, "DSLOG_REUSE_PROBES", "8"),
        )


def spark_value(value: object) -> str:
    """Write a setting's value the way Spark reads it.

    >>> spark_value(True), spark_value(8)
    ('true', '8')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _memory(text: str) -> str:
    if not _MEMORY.fullmatch(text):
        raise EngineError(
            f"DSLOG_SPARK_DRIVER_MEMORY={text!r} is not an amount of memory. "
            "Write a number and a unit, such as 2g or 1500m."
        )
    return text


def _rows(environ: Mapping[str, str], name: str, default: str) -> int:
    text = environ.get(name) or default
    if not text.isdecimal() or not int(text):
        raise EngineError(f"{name}={text!r} is not a number of rows. Write digits, such as 100000.")
    return int(text)


def _count(environ: Mapping[str, str], name: str, default: str) -> int:
    text = environ.get(name) or default
    if not text.isdecimal() or int(text) == 0:
        raise DslogError(f"{name}={text!r} is not a number of 1 or more. Write digits, such as 3.")
    return int(text)


def _conf(text: str) -> dict[str, str]:
    example = 'Write a JSON object, such as {"spark.sql.shuffle.partitions": 8}.'
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise EngineError(f"DSLOG_SPARK_CONF={text!r} is not JSON: {error}. {example}") from error
    if not isinstance(parsed, dict):
        raise EngineError(f"DSLOG_SPARK_CONF={text!r} is not a JSON object. {example}")
    for key, value in parsed.items():
        if not isinstance(value, str | int | float | bool):
            raise EngineError(
                f"DSLOG_SPARK_CONF gives {key!r} the value {value!r}. "
                "A Spark setting is text, a number, true or false."
            )
    return {key: spark_value(value) for key, value in parsed.items()}
