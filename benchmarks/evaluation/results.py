"""What a run found, as values and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evaluation.capture import CaptureRow
from benchmarks.evaluation.latency import LatencyRow
from benchmarks.evaluation.queries import QueryRow
from benchmarks.evaluation.scale import ScaleRow
from benchmarks.evaluation.storage import StorageRow
from benchmarks.evaluation.timing import Spread
from dslog.errors import DslogError

FORMAT = 1


class ResultsError(DslogError, ValueError):
    """A file of results that can't be read."""


@dataclass(slots=True)
class Results:
    """All rows of a run; an experiment that was left out has none."""

    size: str
    machine: Mapping[str, str]
    storage: list[StorageRow] = field(default_factory=list)
    latency: list[LatencyRow] = field(default_factory=list)
    queries: list[QueryRow] = field(default_factory=list)
    capture: list[CaptureRow] = field(default_factory=list)
    scale: list[ScaleRow] = field(default_factory=list)
    coverage: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Results:
        """Undo ``to_json``."""
        return cls(
            size=data["size"],
            machine=data["machine"],
            storage=[StorageRow(**row) for row in data["storage"]],
            latency=[LatencyRow(**row) for row in data["latency"]],
            queries=[_query_row(row) for row in data["queries"]],
            capture=[CaptureRow(**row) for row in data["capture"]],
            scale=[ScaleRow(**row) for row in data["scale"]],
            coverage=data["coverage"],
        )

    def write(self, path: Path) -> None:
        """Write a JSON file."""
        path.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a JSON file that ``write`` wrote."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            msg = f"can't read {path}: {error}"
            raise ResultsError(msg) from error
        except ValueError as error:
            msg = f"{path} is not JSON: {error}"
            raise ResultsError(msg) from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            msg = f"{path} holds no results of this version: make them with dslog bench"
            raise ResultsError(msg)
        try:
            return cls.from_json(data)
        except (KeyError, TypeError) as error:
            msg = f"{path} lacks something that results have ({error}): make it anew"
            raise ResultsError(msg) from error


def _query_row(row: Mapping[str, Any]) -> QueryRow:
    spreads = {key: Spread(**row[key]) if row[key] else None for key in ("cold", "warm")}
    return QueryRow(**{**row, **spreads})
