"""The Python gate against a naive one that rescans its queue, and against the definition of a root gap."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.gate import Gate, Item, Pairs
from tests.root_gap_definition import Gap, Row, root_gaps

PAIR = st.tuples(st.integers(0, 3), st.integers(0, 6))
PAIRS = st.lists(PAIR, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), PAIRS, PAIRS),
        st.tuples(st.just("gain"), st.just([]), st.tuples(PAIR).map(list)),
        st.tuples(st.just("take"), st.just([]), st.just([])),
        st.tuples(st.just("drain"), st.just([]), st.just([])),
    ),
    max_size=40,
)
Steps = list[tuple[str, Pairs, Pairs]]


class Naive:
    """Looks at the whole queue again after every delivery. Items are named by their arrival numbers."""

    def __init__(self, add: bool) -> None:
        self.add, self.arrivals = add, 0
        self.have = dict.fromkeys(range(4), 0)
        self.queue: dict[int, tuple[Pairs, Pairs]] = {}

    def offer(self, needs: Pairs, gains: Pairs) -> None:
        self.queue[self.arrivals] = (needs, gains)
        self.arrivals += 1

    def unmet(self, name: int) -> list[tuple[int, int, int]]:
        return [(s, self.have[s], c) for s, c in self.queue[name][0] if self.have[s] < c]

    def take(self) -> int | None:
        name = next((name for name in self.queue if not self.unmet(name)), None)
        for slot, value in self.queue.pop(name)[1] if name is not None else ():
            self.gain(slot, value)
        return name

    def gain(self, slot: int, value: int) -> None:
        self.have[slot] = self.have[slot] + value if self.add else max(self.have[slot], value)


def take(gate: Gate[int]) -> int | None:
    """What the gate would hand out next, taken."""
    arrival = gate.find_ready_arrival()
    return None if arrival is None else gate.take_and_apply_gains(arrival)


def play(gate: Gate[int], naive: Naive, steps: Steps) -> None:
    """The same steps on both, which must answer the same and be in the same state after each."""
    for action, needs, gains in steps:
        if action == "offer":
            assert gate.add_arrival(naive.arrivals, needs, gains) == naive.arrivals
            naive.offer(needs, gains)
        elif action == "gain":
            gate.advance_slot(*gains[0])
            naive.gain(*gains[0])
        else:
            taken = take(gate)
            assert taken == naive.take()
            while action == "drain" and taken is not None:
                taken = take(gate)
                assert taken == naive.take()
        check_same_state(gate, naive)


def check_same_state(gate: Gate[int], naive: Naive) -> None:
    assert {slot: gate.have.get(slot, 0) for slot in range(4)} == naive.have
    assert sorted(gate.items) == list(naive.queue)
    assert list(gate.iterate_held_with_unmet_needs()) == [
        (name, naive.unmet(name)) for name in naive.queue if naive.unmet(name)
    ]


@pytest.mark.parametrize("add", [False, True])
@given(steps=STEPS)
def test_same_order_held_and_state_as_a_rescan(add: bool, steps: Steps) -> None:
    gate: Gate[int] = Gate(add=add)
    naive = Naive(add)
    play(gate, naive, steps)
    play(gate, naive, [("drain", [], [])])
    assert gate.ready == []


@given(offers=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30))
def test_a_jump_frees_everything_up_to_it_in_arrival_order(offers: list[tuple[int, int]]) -> None:
    gate: Gate[int] = Gate()
    for name, (count, _) in enumerate(offers):
        gate.add_arrival(name, [(0, count)], [])
    gate.advance_slot(0, offers[0][1])
    taken = [gate.take_and_apply_gains(arrival) for arrival in iter(gate.find_ready_arrival, None)]
    assert taken == [name for name, (count, _) in enumerate(offers) if count <= offers[0][1]]


@given(offers=st.lists(st.tuples(st.booleans(), PAIRS), max_size=20))
def test_find_with_a_wish_is_the_first_ready_item_that_is_wanted(offers: list[tuple[bool, Pairs]]) -> None:
    gate: Gate[bool] = Gate()
    for wanted, needs in offers:
        gate.add_arrival(wanted, needs, [])
    ready = [at for at, (_, needs) in enumerate(offers) if all(count == 0 for _, count in needs)]
    for expected in [at for at in ready if offers[at][0]]:
        found = gate.find_ready_arrival(lambda wanted: wanted)
        assert found == expected
        gate.take_and_apply_gains(found)
    assert gate.find_ready_arrival(lambda wanted: wanted) is None
    for expected in [at for at in ready if not offers[at][0]]:
        assert gate.find_ready_arrival() == expected and gate.take_and_apply_gains(expected) is False


def test_an_item_without_needs_is_ready_at_once() -> None:
    gate: Gate[str] = Gate()
    assert gate.add_arrival("first", [], [(0, 1)]) == 0
    assert gate.find_ready_arrival() == 0 and list(gate.iterate_held_with_unmet_needs()) == []
    assert gate.take_and_apply_gains(0) == "first"
    assert gate.have == {0: 1}
    assert gate.find_ready_arrival() is None


# -- root gaps ---------------------------------------------------------------------------------------


def waited_for(naive: Naive) -> dict[int, set[int]]:
    counts: dict[int, set[int]] = {}
    for name in naive.queue:
        for slot, _, count in naive.unmet(name):
            counts.setdefault(slot, set()).add(count)
    return counts


def gaps_by_definition(naive: Naive, dense: bool) -> list[Gap]:
    """What is ready is not held, but it is here: it waits for nothing and may be waited for."""
    rows = [Row(*item) for item in naive.queue.values()]
    return sorted(root_gaps(rows, naive.have, dense=dense, add=naive.add))


def spread(gaps: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
    """The counts in a list of gaps, which must be sorted and apart from each other."""
    assert gaps == sorted(gaps)
    assert all(first <= last for _, first, last in gaps)
    counts = [(slot, count) for slot, first, last in gaps for count in range(first, last + 1)]
    assert len(counts) == len(set(counts))
    return set(counts)


@pytest.mark.parametrize("dense", [False, True])
@given(steps=STEPS)
def test_root_gaps_are_what_the_definition_says(dense: bool, steps: Steps) -> None:
    gate: Gate[int] = Gate()
    naive = Naive(add=False)
    for step in steps:
        play(gate, naive, [step])
        assert gate.root_gaps(dense=dense) == gaps_by_definition(naive, dense)


@given(steps=STEPS)
def test_root_gaps_where_gains_add_up(steps: Steps) -> None:
    """Any item may take any place, so these gaps are not the only ones: but they are enough, and no more."""
    gate: Gate[int] = Gate(add=True)
    naive = Naive(add=True)
    for step in steps:
        play(gate, naive, [step])
        assert gate.root_gaps(dense=True) == gaps_by_definition(naive, dense=True)
        gaps, wanted = spread(gate.root_gaps(dense=True)), waited_for(naive)
        assert all(naive.have[slot] < count <= max(wanted.get(slot, {0})) for slot, count in gaps)
        assert nothing_held_after(naive, gaps)
        assert not gaps or not nothing_held_after(naive, set())


def nothing_held_after(naive: Naive, gaps: set[tuple[int, int]]) -> bool:
    """Whether all in the queue can be taken once every slot has gained what its gaps say."""
    later = Naive(add=True)
    later.queue = dict(naive.queue)
    later.have = {slot: have + sum(gap[0] == slot for gap in gaps) for slot, have in naive.have.items()}
    while later.take() is not None:
        pass
    return not later.queue


@given(places=st.lists(st.integers(1, 12), unique=True, min_size=1))
def test_root_gaps_of_a_chain_where_gains_add_up(places: list[int]) -> None:
    """With one sender to a slot it is known which places are missing, whatever order the others came in."""
    gate: Gate[int] = Gate(add=True)
    for place in places:
        gate.add_arrival(place, [(0, place - 1)], [(0, 1)])
    assert spread(gate.root_gaps(dense=True)) == {(0, place) for place in range(1, max(places))} - {
        (0, place) for place in places
    }


def test_a_gap_of_astronomical_size_costs_nothing() -> None:
    gate: Gate[int] = Gate()
    gate.add_arrival(0, [(0, 2**62)], [(0, 2**62 + 1)])
    assert gate.root_gaps(dense=True) == [(0, 1, 2**62)]
    assert gate.root_gaps(dense=False) == [(0, 2**62, 2**62)]


# -- no rescans --------------------------------------------------------------------------------------


class Watched(list[tuple[int, int]]):
    """A list of needs that counts how often one of them is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        Watched.looks += 1
        return super().__getitem__(at)


class Counting(Gate[int]):
    """A gate that counts how often it files an item: once when it arrives, once for each time it is woken."""

    filings: int = 0

    def _file_by_unmet_need_or_mark_ready(self, arrival: int, item: Item[int]) -> None:
        self.filings += 1
        super()._file_by_unmet_need_or_mark_ready(arrival, item)


def looks_and_wakes(offers: list[tuple[Pairs, Pairs]], add: bool) -> tuple[int, int]:
    """Offers everything, takes whatever can be taken after each, and counts."""
    gate, Watched.looks = Counting(add=add), 0
    for name, (needs, gains) in enumerate(offers):
        gate.add_arrival(name, Watched(needs), gains)
        while take(gate) is not None:
            pass
    return Watched.looks, gate.filings - len(offers)


@pytest.mark.parametrize("add", [False, True])
@given(offers=st.lists(st.tuples(PAIRS, PAIRS), max_size=60))
def test_nothing_is_looked_at_twice_without_being_woken(add: bool, offers: list[tuple[Pairs, Pairs]]) -> None:
    needs = sum(len(needs) for needs, _ in offers)
    looks, wakes = looks_and_wakes(offers, add)
    assert looks <= needs + wakes and wakes <= needs


def test_a_reversed_chain_is_looked_at_once_and_woken_once() -> None:
    size = 5000
    offers = [([(0, at)], [(0, at + 1)]) for at in reversed(range(size))]
    looks, wakes = looks_and_wakes(offers, add=False)
    assert wakes == size - 1 and looks == size + wakes


def test_a_slot_that_creeps_wakes_only_what_it_reaches() -> None:
    size, slots = 3000, 3
    waiting: list[tuple[Pairs, Pairs]] = [([(at % slots, 1 + at)], []) for at in range(size)]
    creeping: list[tuple[Pairs, Pairs]] = [([], [(0, value)]) for value in range(1, size + 1)]
    looks, wakes = looks_and_wakes([*waiting, *creeping], add=False)
    assert wakes == size // slots and looks == size + wakes
