"""A few boxes with a few rows: the same hits as by way of the index."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dslog.lineage.join import join
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Table


def hits(table, queries, *, backward):
    found = join(table, queries, backward=backward)
    return sorted(zip(found.query.tolist(), found.boxes.tolist(), strict=True))


@st.composite
def tables(draw):
    l, m = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    n = draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    lo = rng.integers(0, 6, (n, l + m))
    hi = lo + rng.integers(0, 4, (n, l + m))
    ref = rng.integers(-1, l, (n, m)) if l else np.full((n, m), -1)
    return Table(l, m, np.concatenate([lo, hi - lo, ref], axis=1).T)


@settings(max_examples=100, deadline=None)
@given(tables(), st.booleans(), st.integers(0, 4), st.integers(0, 9999))
def test_same_hits(table, backward, k, seed):
    d = table.num_out if backward else table.num_in
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 12, (k, d))
    queries = np.stack([low, low + rng.integers(0, 5, (k, d))], axis=2)
    quick = hits(table, queries, backward=backward)
    with LineageCost.using(few_pairs=-1):
        assert hits(table, queries, backward=backward) == quick
