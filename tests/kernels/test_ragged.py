"""The small helpers for flat arrays, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.ragged import (
    expand_ranges,
    invert_permutation,
    join_keys,
    rank_within_groups,
    starts_of_lengths,
)


@given(st.lists(st.integers(0, 5)))
def test_the_rank_of_an_item_is_how_many_of_its_group_lie_before_it(groups: list[int]) -> None:
    ranks = rank_within_groups(np.array(groups, dtype=np.int64))
    assert ranks.tolist() == [groups[:at].count(group) for at, group in enumerate(groups)]


@given(st.permutations(range(7)))
def test_the_inverse_says_where_each_number_lies(order: list[int]) -> None:
    assert invert_permutation(np.array(order)).tolist() == [order.index(k) for k in range(7)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4))))
def test_ranges_lie_one_behind_the_other(ranges: list[tuple[int, int]]) -> None:
    first, lengths = (np.array([pair[k] for pair in ranges], dtype=np.int64) for k in (0, 1))
    expected = [number for low, length in ranges for number in range(low, low + length)]
    assert expand_ranges(first, lengths).tolist() == expected
    assert starts_of_lengths(lengths)[-1] == len(expected)


def test_joined_keys_keep_the_order_of_pairs_and_do_not_overflow() -> None:
    high, low = np.array([0, 1, 1, 2]), np.array([9, 0, 3, 1])
    assert join_keys(high, low, 10).tolist() == [9, 10, 13, 21]
    with pytest.raises(CallerError, match="63 bits"):
        join_keys(np.array([2**40]), np.array([0]), 2**30)
