"""``store.track(values, "A")``: where tracking begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.capture.numpy.memory import Memory
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.state import Tracked, plain_of, wrap_root
from dslog.capture.numpy.strided import can_be_root
from dslog.capture.numpy.tracked import TrackedArray


def track(
    session: Session, values: Any, name: str | None = None, *, keep_values: bool = False
) -> TrackedArray:
    """Return values as a tracked array, without a copy: writes to it change the values.

    Arrays whose cells share memory (from ``broadcast_to``, ``as_strided``) are copied.
    """
    plain = plain_of(values) if isinstance(values, Tracked) else np.asarray(values)
    plain = plain.view() if can_be_root(plain) else plain.copy()
    node = session.source(plain.shape, name)
    return wrap_root(TrackedArray, plain, Memory(plain, node, session, keep=keep_values))
