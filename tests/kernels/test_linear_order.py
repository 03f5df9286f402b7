"""The order that ranks alone decide, where there are no causes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.histories import Edges
from antecede.kernels.linear_order import Ranks, order_events_by_edges, sort_by_ranks

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([float("nan"), 0.0, 1.5, 2.5]),
        st.sampled_from([0, 1, 2**62]),
        st.sampled_from([-(2**62), 0, 2**63 - 1]),
    )
)


@given(EVENTS, st.booleans())
def test_events_without_causes_are_in_the_order_of_their_ranks(rows, ascending):
    if ascending:
        rows.sort(key=lambda row: row[0])
    execution, line, index = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 2, 3))
    time = np.array([row[1] for row in rows], dtype=np.float64)
    ranks: Ranks = [execution, time, line, index]
    nothing = Edges(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    ordered = order_events_by_edges(sort_by_ranks(len(rows), ranks), [(*nothing, 1)], nothing, nothing)
    assert ordered.sorted.order.tolist() == np.lexsort(ranks[::-1]).tolist()
