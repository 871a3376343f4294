"""The tracked arrays and scalars that a call takes, and what is known of them before it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.capture.numpy.memory import (
    Tracked,
    TrackedScalar,
    memory_of,
    node_of,
    nodes_behind,
    plain_of,
    scalar_node,
    wrap_latent,
)
from dslog.capture.numpy.view import is_view
from dslog.capture.recorder import Node, StoreRecorder
from dslog.errors import CaptureError
from dslog.types import Array


class Inputs:
    """Tracked arrays and scalars, each once, with their nodes.

    The nodes are taken before a call runs: afterwards an array may hold something else. Rules look
    at arrays, so a scalar is there as an array of no axes.
    """

    __slots__ = ("_scalars", "arrays", "latents", "nodes", "plains", "recorder")

    def __init__(self) -> None:
        self.latents: list[Tracked] = []  # which are no inputs: nothing tracked is in them
        self.arrays: list[Tracked | TrackedScalar] = []
        self.plains: list[Array] = []
        self.nodes: list[Node] = []
        self.recorder: StoreRecorder | None = None
        self._scalars: dict[int, Array] = {}

    def unwrap(self, value: Any) -> Any:
        """Return an argument with plain values in place of tracked ones, also inside lists."""
        if isinstance(value, Tracked):
            return self._add(value)
        if isinstance(value, TrackedScalar):
            self._add_scalar(value)
            return value.plain
        if type(value) in (list, tuple):
            return type(value)([self.unwrap(item) for item in value])
        return value

    def for_rules(self, value: Any) -> Any:
        """Return an argument as rules get it: scalars that are inputs are arrays of no axes."""
        if isinstance(value, Tracked):
            return plain_of(value)
        if isinstance(value, TrackedScalar):
            return self._scalars.get(id(value), value.plain)
        if type(value) in (list, tuple):
            return type(value)([self.for_rules(item) for item in value])
        return value

    @property
    def has_scalars(self) -> bool:
        """Whether some input is a scalar."""
        return bool(self._scalars)

    @property
    def home(self) -> StoreRecorder:
        """The recorder of the store; there is one if there is an array."""
        if self.recorder is None:
            raise AssertionError("no argument is tracked")
        return self.recorder

    @property
    def keeps(self) -> bool:
        """Whether the values of some input are kept, and so those of its results."""
        return any(node.keep for node in self.nodes)

    def array_of(self, plain: Array) -> Tracked | None:
        """Return the input whose values these are; a view of a latent one is latent."""
        for array, own in zip(self.arrays, self.plains, strict=True):
            if own is plain and isinstance(array, Tracked):
                return array
        return self._latent_of(plain) if self.latents else None

    def _latent_of(self, plain: Array) -> Tracked | None:
        for array in self.latents:
            own, latent = plain_of(array), array.tracking.latent
            if own is plain:
                return array
            if latent is not None and is_view(plain, own):
                return wrap_latent(type(array), plain, latent)
        return None

    def under(self, view: Array) -> Tracked | None:
        """Return the input that a result is a view of."""
        for array, plain in zip(self.arrays, self.plains, strict=True):
            if isinstance(array, Tracked) and is_view(view, plain) and memory_of(array) is not None:
                return array
        return None

    def _add(self, array: Tracked) -> Array:
        plain = plain_of(array)
        if any(array is known for known in self.arrays):
            return plain
        memory = memory_of(array)
        if memory is None:
            if array.tracking.latent is not None:
                self.latents.append(array)
            return plain
        self._join(memory.recorder, array)
        node = node_of(array)
        if node is not None:
            self.arrays.append(array)
            self.plains.append(plain)
            self.nodes.append(node)
        return plain

    def _add_scalar(self, scalar: TrackedScalar) -> None:
        if id(scalar) in self._scalars or scalar.home.closed:
            return
        self._join(scalar.home, scalar)
        node = scalar_node(scalar)
        self._scalars[id(scalar)] = plain = np.asarray(scalar.plain)
        self.arrays.append(scalar)
        self.plains.append(plain)
        self.nodes.append(node)

    def _join(self, recorder: StoreRecorder, value: Tracked | TrackedScalar) -> None:
        if self.recorder not in (None, recorder):
            name = next(iter(nodes_behind(value))).name
            raise CaptureError(
                f"a call takes arrays of two stores, {self.nodes[0].name!r} and {name!r}: track "
                f"both in one store, or give dslog.plain(x) for the one that needs no lineage"
            )
        self.recorder = recorder
