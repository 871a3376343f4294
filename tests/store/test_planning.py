"""Plans are kept between queries, and never outlive what they were made from."""

import pytest

import dslog
from dslog.errors import NotFoundError, PathError
from dslog.store.engines import Planner
from dslog.store.store_cost import StoreCost


@pytest.fixture
def chain(tmp_path):
    with dslog.open(tmp_path / "s") as store:
        for name in "ABC":
            store.array(name, (5,))
        store.lineage("B", "A", lambda i: [i])
        store.lineage("C", "B", lambda i: [i])
    return tmp_path / "s"


def test_a_plan_is_made_once(chain, monkeypatch):
    made = []
    make = Planner._make
    monkeypatch.setattr(Planner, "_make", lambda self, path: made.append(path) or make(self, path))
    with dslog.open(chain) as store:
        for _ in range(3):
            store.prov_query(["C", "B", "A"], 1)
            store.prov_query(["A", "B"], 1)
    assert made == [("C", "B", "A"), ("A", "B")]


@pytest.mark.parametrize("writers", ["the same store", "another store"])
def test_new_lineage_is_seen(chain, writers):
    with dslog.open(chain) as store, dslog.open(chain) as other:
        writer = store if writers == "the same store" else other
        assert store.prov_query(["C", "B", "A"], 1).indices().tolist() == [[1]]
        writer.lineage("B", "A", lambda i: [(i[0] + 1) % 5])
        assert store.prov_query(["C", "B", "A"], 1).indices().tolist() == [[1], [2]]
        with pytest.raises(NotFoundError, match="'D'"):
            store.prov_query(["D", "C"], 1)
        writer.array("D", (5,))
        with pytest.raises(PathError, match="no lineage between 'D' and 'C'"):
            store.prov_query(["D", "C"], 1)
        writer.lineage("D", "C", lambda i: [i])
        assert store.prov_query(["D", "C"], 1).count == 1


def test_a_path_that_comes_back(chain):
    with dslog.open(chain) as store:
        assert store.prov_query(["A", "B", "A", "B"], 3).indices().tolist() == [[3]]


def test_few_plans_are_kept(chain):
    with StoreCost.using(plans=2), dslog.open(chain) as store:
        for path in (["B", "A"], ["A", "B"], ["C", "B"], ["B", "C"]):
            assert store.prov_query(path, 1).count == 1
            assert len(store._planner._kept) <= 2
