"""Lists with one item twice, against counting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.ragged import compute_starts
from antecede.kernels.repeats import find_lists_with_repeats


@given(lists=st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=5))
def test_they_are_found(lists: list[list[int]]) -> None:
    items = np.array([item for one in lists for item in one], dtype=np.int64)
    found = find_lists_with_repeats(compute_starts([len(one) for one in lists]), items, 5)
    named = [[item for item in one if item >= 0] for one in lists]
    assert found.tolist() == [len(set(one)) < len(one) for one in named]
