"""Arrays of counts kept narrow: as plain arrays, and never wider or narrower than their largest count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede.protocols.counts import (
    Counts,
    increment_count,
    merge_maximum_counts,
    narrow_counts,
    pack_counts,
    view_packed_counts,
)
from antecede.protocols.matrix import Matrix

EDGES = (0, 2**8 - 1, 2**16 - 1, 2**32 - 1)
OVER_EDGES = [edge + 1 for edge in EDGES]
COUNTS = st.sampled_from([1, 7, *EDGES, *OVER_EDGES, 2**62 - 2])
FOUR_COUNTS = st.lists(COUNTS, min_size=4, max_size=4)
MATRICES = FOUR_COUNTS.map(lambda counts: np.array(counts).reshape(2, 2))


def is_narrow(array: Counts) -> bool:
    return array.dtype == narrow_counts(array.astype(np.int64)).dtype


@given(MATRICES, st.integers(0, 1), st.integers(0, 1))
def test_one_more_is_as_in_a_wide_array(array: Counts, x: int, y: int) -> None:
    counted = increment_count(narrow_counts(array), x, y)
    array[x, y] += 1
    assert counted.tolist() == array.tolist() and is_narrow(counted)


@given(MATRICES, MATRICES, st.booleans())
def test_the_larger_of_two_is_as_in_wide_arrays(array: Counts, other: Counts, loose: bool) -> None:
    carried = other.astype("<u8") if loose else narrow_counts(other)
    raised = merge_maximum_counts(narrow_counts(array), carried)
    assert raised.tolist() == np.maximum(array, other).tolist()
    assert is_narrow(raised)


@given(MATRICES)
def test_what_is_packed_is_read_as_it_was(array: Counts) -> None:
    assert pack_counts(narrow_counts(array)) == pack_counts(array)
    assert view_packed_counts(pack_counts(array), 2, 2).tolist() == array.tolist()


@pytest.mark.parametrize("edge", EDGES)
def test_matrix_goes_on_over_an_edge_and_after_a_restart(edge: int) -> None:
    a, b = (antecede.endpoint("matrix", process=name, group=["a", "b"]) for name in "ab")
    for end in (a, b):
        assert isinstance(end, Matrix)
        end.sent = narrow_counts(np.array([[0, edge], [0, 0]]))
    b.gate.have[0] = edge  # type: ignore[attr-defined]
    for _ in range(3):
        packet = a.send(b"x", ["b"]).packets[0]
        assert len(b.receive(packet).deliveries) == 1
        a = antecede.restore(a.snapshot())
        b = antecede.restore(b.snapshot())
    assert isinstance(b, Matrix)
    assert b.sent[0, 1] == edge + 3
    assert is_narrow(b.sent)
