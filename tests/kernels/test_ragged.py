"""The small helpers for flat arrays, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.arrays import number_names_by_scope
from antecede.kernels.ragged import (
    compress_codes,
    compute_starts,
    expand_ranges,
    find_places_among_chosen,
    invert_permutation,
    join_keys,
    list_item_rows,
    rank_within_groups,
    rank_within_runs,
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
    assert compute_starts(lengths)[-1] == len(expected)


def test_joined_keys_keep_the_order_of_pairs_and_do_not_overflow() -> None:
    high = np.array([0, 1, 1, 2])
    low = np.array([9, 0, 3, 1])
    assert join_keys(high, low, 10).tolist() == [9, 10, 13, 21]
    with pytest.raises(CallerError, match="63 bits"):
        join_keys(np.array([2**40]), np.array([0]), 2**30)


@given(st.lists(st.integers(0, 5)))
def test_the_rank_in_a_run(values: list[int]) -> None:
    ascending = np.sort(np.array(values, dtype=np.int64))
    assert rank_within_runs(ascending).tolist() == rank_within_groups(ascending).tolist()


@given(st.lists(st.one_of(st.integers(-20, 20), st.integers(-(10**12), 10**12))))
def test_compressed_codes_stand_for_the_numbers(numbers: list[int]) -> None:
    values, codes = compress_codes(np.array(numbers, dtype=np.int64))
    assert values.tolist() == sorted(set(numbers))
    assert values[codes].tolist() == numbers


@given(st.lists(st.integers(0, 4)))
def test_items_know_the_row_they_are_of(lengths: list[int]) -> None:
    expected = [row for row, length in enumerate(lengths) for _ in range(length)]
    assert list_item_rows(compute_starts(lengths)).tolist() == expected


@given(st.permutations(range(9)), st.integers(0, 9))
def test_places_among_the_chosen(order: list[int], number: int) -> None:
    chosen = order[:number]
    expected = [chosen.index(k) if k in chosen else -1 for k in range(9)]
    assert find_places_among_chosen(np.array(chosen, dtype=np.int64), 9).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4))))
def test_names_are_numbered_in_each_scope(pairs: list[tuple[int, int]]) -> None:
    pairs.sort(key=lambda pair: pair[0])
    scope, name = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    codes, first = number_names_by_scope(scope, name, 5)
    seen = list(dict.fromkeys(pair for pair in pairs if pair[1] >= 0))
    assert codes.tolist() == [seen.index(pair) if pair[1] >= 0 else -1 for pair in pairs]
    assert first.tolist() == [pairs.index(pair) for pair in seen]
