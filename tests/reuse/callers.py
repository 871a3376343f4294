"""Calls of zoo operations, each checked against its relation."""

import numpy as np

import dslog


class Caller:
    """Registers calls of zoo operations on ever new arrays, and checks what was stored."""

    def __init__(self, store):
        self.store = store
        self.count = 0

    def arrays(self, operation, *sizes):
        self.count += 1
        shapes = operation.shapes(*sizes)
        ins = [
            self.store.array(f"in{self.count}_{k}", shape).name for k, shape in enumerate(shapes)
        ]
        return shapes, ins, self.store.array(f"out{self.count}", operation.out(*shapes)).name

    def __call__(self, operation, *sizes, capture=True, reuse=None):
        """Register a call; ``capture`` may be a function to be put in the captures' place."""
        shapes, ins, out = self.arrays(operation, *sizes)
        captures = operation.captures(*shapes) if capture is True else capture or None
        done = self.store.register_operation(
            operation.name, ins, [out], captures, op_args=operation.args, reuse=reuse
        )
        for name, relation in zip(ins, operation.relations(*shapes), strict=True):
            (lineage,) = self.store.load(out, name)
            assert np.array_equal(lineage.to_relation(), relation), (operation.name, shapes)
        return done

    def blind(self, operation, *sizes):
        """Register a call without a capture if that can be, else with one."""
        try:
            return self(operation, *sizes, capture=None)
        except dslog.CaptureError:
            return self(operation, *sizes)
