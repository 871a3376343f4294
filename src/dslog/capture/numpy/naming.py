"""Names that a user gives to tracked arrays."""

from __future__ import annotations

from dslog.capture.numpy.scope import recorder_of
from dslog.capture.numpy.state import Tracked, memory_of, node_of
from dslog.capture.numpy.structured import identity
from dslog.errors import CaptureError


def name_array(array: Tracked, name: str) -> None:
    """Give an array a name; one that the store knows already gets a copy of that name."""
    node, memory, state = node_of(array), memory_of(array), array.tracking
    if node is None or memory is None or state is None:
        raise CaptureError(
            f"this array is not tracked, so it can't be named: use store.track(x, {name!r})"
        )
    recorder = recorder_of(memory.session)
    if not recorder.rename(node, name):
        old, node = node, recorder.node(node.shape, name, name)
        recorder.record("named", [old], [node], ((identity(node.shape),),), {})
        if state.plain is memory.root:
            memory.replace(node)
        else:
            state.node = node
    if state.plain is memory.root:
        memory.relabel()
