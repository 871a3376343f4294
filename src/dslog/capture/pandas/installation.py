"""Tracking a program that knows nothing of it: what it reads and makes are sources.

What ``pd.read_csv`` and its kin return, and frames and series that the program's own code makes of
plain values, begin their lineage there, named by the variable that they are assigned to.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd

from dslog.capture.pandas import interception, patches
from dslog.capture.pandas.assigned_name import assigned_name, program_frame
from dslog.capture.pandas.table_state import HERE, state_of, untracked, words
from dslog.capture.pandas.tracked_table import make_source
from dslog.capture.place import caller, origin_of
from dslog.capture.store import Store, open_store
from dslog.errors import CaptureError

READERS = words(
    """
    read_csv read_table read_fwf read_parquet read_json read_excel read_sql read_sql_query
    read_sql_table read_feather read_orc read_html read_xml read_pickle read_hdf read_stata
    read_sas read_spss read_clipboard
    """
)


class Installation:
    """A store that takes what a program reads and makes."""

    current: Installation | None = None

    def __init__(self, store: Store, *, owned: bool) -> None:
        self.store = store
        self._owned = owned
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Have the program's sources seen."""
        store = self.store
        store.watch_program()
        patches.begin(store.recorder)
        known = {name: getattr(pd, name, None) for name in READERS}
        patches.patch_everywhere(
            {name: (old, self._reader(name, old)) for name, old in known.items() if old is not None}
        )
        patches.ON_SOURCE.append(self._constructed)

    def end(self) -> None:
        """Let the program be as it was; the store goes on, but for one that was opened here."""
        with suppress(ValueError):
            patches.ON_SOURCE.remove(self._constructed)
        if self._owned:
            self.store.close()
        patches.end(self.store.recorder)

    def _reader(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def read(*args: Any, **kwargs: Any) -> Any:
            if HERE.inside or Installation.current is not self:
                return original(*args, **kwargs)
            with untracked():
                result = original(*args, **kwargs)
            where = args[0] if args else next(iter(kwargs.values()), None)
            if isinstance(result, (pd.DataFrame, pd.Series)):
                self._source(result, name, where)
            elif isinstance(result, dict):  # the sheets of a workbook
                for sheet, table in result.items():
                    self._source(table, name, where, name=str(sheet))
            elif isinstance(result, list):
                for table in result:
                    self._source(table, name, where)
            return result

        return read

    def _source(self, value: Any, op: str, where: Any, name: str | None = None) -> None:
        frame = program_frame(sys._getframe(1))  # noqa: SLF001
        text = fspath(where) if isinstance(where, (str, PathLike)) else None
        stem = Path(text).stem if isinstance(text, str) and "\n" not in text else ""
        wanted = name or assigned_name(frame) or (stem if stem.isprintable() else "") or op
        args: dict[str, object] = {"from": text} if isinstance(text, str) else {}
        try:
            make_source(self.store.recorder, value, wanted, op, args)
        except Exception as error:  # noqa: BLE001 (the program goes on)
            interception.give_up(op, (), {}, value, error)

    def _constructed(self, kind: str, value: Any, args: Any, kwargs: Any) -> None:
        frame = caller()
        if (
            Installation.current is not self
            or frame is None
            or origin_of(frame.f_code) != "program"
        ):
            return
        if state_of(value) is None and (args or kwargs):
            self._source(value, kind, None)


def install(store: Store | str | PathLike[str]) -> Store:
    """Track what the program reads with pandas, or makes, from here on, in a store.

    The store is one that is open, or the path of one, which ``uninstall`` closes. A program that is
    not to know of it is run by ``python -m dslog.pandas --store PATH script.py``, and a notebook by
    ``%load_ext dslog.pandas``.
    """
    if Installation.current is not None:
        if Installation.current.store is store:
            return Installation.current.store
        raise CaptureError(
            "pandas is tracked in another store already: call dslog.pandas.uninstall() first"
        )
    opened = store if isinstance(store, Store) else open_store(store)
    made = Installation(opened, owned=opened is not store)
    Installation.current = made
    made.begin()
    return opened


def uninstall() -> None:
    """Stop tracking what the program reads and makes; what is tracked stays so."""
    made, Installation.current = Installation.current, None
    if made is not None:
        made.end()
