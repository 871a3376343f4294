"""The place where reuse plugs in: it is asked before a capture and told after one."""

import numpy as np
import pytest

import dslog
from dslog.capture.read_capture import read_capture
from dslog.store.catalog import Signature
from dslog.store.hooks import Answer
from dslog.store.lineage_store import LineageStore


class Remembering:
    """Answers a call of the same name and arguments with the bodies of the first one."""

    def __init__(self):
        self.asked = []

    def answer(self, request, catalog):
        self.asked.append(request)
        known = catalog.signature("dim_sig", request.name)
        if known is None:
            return None
        return Answer("dim_sig", tuple(int(body) for body in known.content.split()))

    def learn(self, seen, catalog, transaction):
        content = " ".join(str(body) for body in seen.bodies)
        transaction.put_signature(Signature("dim_sig", seen.request.name, "permanent", content))


@pytest.fixture
def store():
    with LineageStore(":memory:", read_capture=read_capture, reuse=Remembering()) as opened:
        for name in "ABC":
            opened.array(name, (4,))
        yield opened


def flip(index):
    return [3 - index[0]]


def test_learn_then_answer_without_a_capture(store):
    first = store.register_operation("flip", ["A"], ["B"], flip, op_args={"axis": np.int8(0)})
    second = store.register_operation("flip", ["B"], ["C"], reuse=True)
    assert (first.reused, second.reused) == (None, "dim_sig")
    assert [op.reused for op in store.operations()] == [None, "dim_sig"]
    assert store.prov_query(["C", "B"], 0).indices().tolist() == [[3]]
    assert store.stats()["stored_lineages"] == 1
    assert store.stats()["reused_operations"] == 1
    asked = store._registrar.reuse.asked
    assert asked[0].captures == (flip,)
    assert asked[0].args == {"axis": 0}
    assert asked[1].captures is None
    assert [(p.out.name, p.in_.name) for p in asked[1].pairs] == [("C", "B")]


def test_an_answer_spares_the_capture(store):
    store.register_operation("flip", ["A"], ["B"], flip)
    store.register_operation("flip", ["B"], ["C"], lambda index: 1 / 0)


def test_reuse_false_never_asks(store):
    store.register_operation("flip", ["A"], ["B"], flip)
    again = store.register_operation("flip", ["B"], ["C"], flip, reuse=False)
    assert again.reused is None
    assert len(store._registrar.reuse.asked) == 1


def test_no_capture_and_no_answer(store):
    with pytest.raises(dslog.CaptureError, match=r"'flip' has no capture.*capture=\[\.\.\.\]"):
        store.register_operation("flip", ["A"], ["B"])
    assert store.operations() == []


def test_learning_that_fails_takes_everything_back(store, monkeypatch):
    monkeypatch.setattr(Remembering, "learn", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.register_operation("flip", ["A"], ["B"], flip)
    assert store.operations() == []
    assert store.lineages() == []
