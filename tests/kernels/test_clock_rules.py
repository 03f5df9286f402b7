"""Faults of vector clocks: none in true clocks, exactly the one that was put in, and only real ones."""

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antecede.kernels.clock_rules import ClockFault, find_clock_faults
from antecede.kernels.ragged import Rows
from tests.kernels.clocked import Clocked, columns, consistent, find_cause, first_with, garbage, lines


def list_faults(found, index=None):
    """The faults as (kind, event, other, slot, value)."""
    faults = find_clock_faults(*columns(found), index)
    rows = zip(*(column.tolist() for column in faults), strict=True)
    return [(ClockFault(kind), *rest) for kind, *rest in rows]


def sight(found, kinds):
    return {fault for fault in list_faults(found) if fault[0] in kinds}


def before(found, event):
    """The last event with a clock before it in its process, unless it restarts there."""
    line = lines(found)[found[event].process]
    earlier = [i for i in line[: line.index(event)] if found[i].clock]
    return earlier[-1] if earlier else None


def list_new_claims(found, event):
    """The new claims of an event on other processes."""
    last = before(found, event)
    known = found[last].clock if last is not None else {}
    me = found[event]
    return {q: c for q, c in me.clock.items() if q != me.process and c > known.get(q, 0)}


def list_claimed_events(found, event):
    """The events of other processes that an event claims, or what stands for those that are missing."""
    me = found[event]
    meant = [find_cause(found, q, c) for q, c in me.clock.items() if q != me.process and c]
    return [f for f in meant if f is not None]


@given(consistent())
def test_true_clocks_have_no_fault(found):
    assert list_faults(found) == []


@given(garbage())
def test_own_entries_are_one_two_three(found):
    want = set()
    for process, line in lines(found).items():
        last, other = 0, -1
        for event in line:
            own = found[event].own
            if own < 1:
                continue
            if own != last + 1:
                kind, value = (ClockFault.REPEAT, own) if own == last else (ClockFault.HOLE, last + 1)
                want.add((kind, event, other, process, value))
            last, other = own, event
    assert sight(found, {ClockFault.REPEAT, ClockFault.HOLE, ClockFault.RESTART}) == want
    bare = {(ClockFault.UNCOUNTED, i, -1, e.process, 0) for i, e in enumerate(found) if e.clock and e.own < 1}
    assert sight(found, {ClockFault.UNCOUNTED}) == bare


@given(garbage())
def test_entries_that_shrink_or_lead_back_are_found_exactly(found):
    shrinks, cyclic = set(), set()
    for i, me in enumerate(found):
        last = before(found, i) if me.clock else None
        for q, c in found[last].clock.items() if last is not None else ():
            if q != me.process and me.clock.get(q, 0) < c:
                shrinks.add((ClockFault.SHRINKS, i, last, q, me.clock.get(q, 0)))
        for q, c in list_new_claims(found, i).items():
            other = first_with(found, q, c)
            if other is not None and 1 <= me.own <= found[other].clock.get(me.process, 0):
                cyclic.add((ClockFault.CYCLIC, i, other, me.process, found[other].clock[me.process]))
    assert sight(found, {ClockFault.SHRINKS}) == shrinks
    assert sight(found, {ClockFault.CYCLIC}) == cyclic


@given(garbage())
def test_what_is_told_of_claims_is_true_and_nothing_is_passed_over_in_silence(found):
    faults = list_faults(found)
    top = {p: max(found[i].own for i in line) for p, line in lines(found).items()}
    for kind, event, other, slot, value in faults:
        if kind is ClockFault.NOT_TRANSITIVE:
            assert other in list_claimed_events(found, event)
            assert found[other].clock[slot] == value > found[event].clock.get(slot, 0)
        if kind in (ClockFault.UNKNOWN, ClockFault.BEYOND):
            assert list_new_claims(found, event)[slot] == value > top.get(slot, 0)
            assert (kind is ClockFault.UNKNOWN) == (slot not in top)
    if not faults:
        for i, me in enumerate(found):
            assert all(c <= top[q] for q, c in me.clock.items() if c)
            for other in list_claimed_events(found, i):
                assert all(me.clock.get(q, 0) >= c for q, c in found[other].clock.items())
                assert me.own < 1 or found[other].clock.get(me.process, 0) < me.own


@given(consistent(), st.data())
def test_a_lowered_entry_is_told_once_where_anything_contradicts_it(found, data):
    foreign = [(i, q) for i, e in enumerate(found) for q in e.clock if q != e.process]
    assume(foreign)
    event, slot = data.draw(st.sampled_from(foreign))
    lower = data.draw(st.integers(0, found[event].clock[slot] - 1))
    clock = found[event].clock | {slot: lower}
    found[event] = found[event]._replace(clock=clock if lower else {q: c for q, c in clock.items() if c})
    last = before(found, event)
    witnesses = list_claimed_events(found, event) + ([last] if last is not None else [])
    contradicted = any(found[f].clock.get(slot, 0) > lower for f in witnesses)
    faults = list_faults(found)
    assert len(faults) == contradicted
    for kind, at, other, where, _ in faults:
        assert (at, where) == (event, slot) and other in witnesses
        assert (kind is ClockFault.SHRINKS) == (other == last)


@given(consistent(), st.data())
def test_a_missing_event_is_a_hole_told_once(found, data):
    top = {p: len(line) for p, line in lines(found).items()}
    inner = [i for i, e in enumerate(found) if e.own < top[e.process]]
    assume(inner)
    gone = found.pop(data.draw(st.sampled_from(inner)))
    after, last = (first_with(found, gone.process, gone.own + step) for step in (1, -1))
    other = -1 if last is None else last
    assert list_faults(found) == [(ClockFault.HOLE, after, other, gone.process, gone.own)]


@given(consistent(), st.data())
def test_a_missing_last_event_is_told_by_those_that_heard_of_it_there(found, data):
    top = {p: len(line) for p, line in lines(found).items()}
    ends = [i for i, e in enumerate(found) if e.own == top[e.process] > 1]
    assume(ends)
    gone = found.pop(data.draw(st.sampled_from(ends)))
    claims = {i for i, e in enumerate(found) if e.clock.get(gone.process, 0) == gone.own}
    faults = list_faults(found)
    assert {f[1] for f in faults} <= claims
    assert bool(faults) == bool(claims)
    assert all((f[0], f[3:]) == (ClockFault.BEYOND, (gone.process, gone.own)) for f in faults)
    for event in claims - {f[1] for f in faults}:
        last = before(found, event)
        assert any(
            i in claims for i in [*list_claimed_events(found, event), *([last] if last is not None else [])]
        )


@given(consistent(), st.data())
def test_a_second_copy_is_a_repeat_told_once(found, data):
    event = data.draw(st.integers(0, len(found) - 1))
    me = found[event]
    assert list_faults([*found, me]) == [(ClockFault.REPEAT, len(found), event, me.process, me.own)]


@given(consistent(), st.data())
def test_an_entry_for_a_process_without_events_is_told_where_it_enters(found, data):
    event = data.draw(st.integers(0, len(found) - 1))
    found[event] = found[event]._replace(clock=found[event].clock | {9: 2})
    faults = list_faults(found)
    assert (ClockFault.UNKNOWN, event, -1, 9, 2) in faults
    assert {f[0] for f in faults if f[1] == event} == {ClockFault.UNKNOWN}
    # Those that follow do not have the entry, and that is a fault of theirs.
    assert {f[0] for f in faults if f[1] != event} <= {ClockFault.SHRINKS, ClockFault.NOT_TRANSITIVE}


def test_an_unknown_entry_that_was_taken_over_is_told_once():
    found = [
        Clocked(0, 1, {0: 1, 9: 2}),
        Clocked(0, 2, {0: 2, 9: 2}),
        Clocked(1, 1, {0: 2, 1: 1, 9: 2}),
        Clocked(2, 1, {0: 2, 1: 1, 2: 1, 9: 2}),
    ]
    assert list_faults(found) == [(ClockFault.UNKNOWN, 0, -1, 9, 2)]


def test_a_restart_begins_anew():
    found = [Clocked(0, 1, {0: 1, 1: 1}), Clocked(0, 2, {0: 2, 1: 1}), Clocked(1, 1, {1: 1})]
    again = [*found, Clocked(0, 1, {0: 1}), Clocked(0, 2, {0: 2})]
    assert list_faults(again, [0, 1, 0, 2, 3]) == [(ClockFault.RESTART, 3, 1, 0, 1)]


def test_an_own_entry_that_falls_shrinks():
    found = [Clocked(0, own, {0: own}) for own in (1, 2, 3, 2)]
    assert list_faults(found, [0, 1, 2, 3]) == [(ClockFault.SHRINKS, 3, 2, 0, 2)]


def test_two_that_claim_each_other():
    found = [Clocked(0, 1, {0: 1, 1: 1}), Clocked(1, 1, {0: 1, 1: 1})]
    assert list_faults(found) == [(ClockFault.CYCLIC, 0, 1, 0, 1), (ClockFault.CYCLIC, 1, 0, 1, 1)]


def test_a_cause_that_leads_back_is_told_but_not_also_what_it_knew():
    found = [
        Clocked(0, 1, {0: 1, 1: 1}),
        Clocked(0, 2, {0: 2, 1: 1, 2: 1}),
        Clocked(1, 1, {0: 2, 1: 1, 2: 1}),
        Clocked(2, 1, {2: 1}),
    ]
    assert list_faults(found) == [(ClockFault.CYCLIC, 0, 2, 0, 2), (ClockFault.CYCLIC, 2, 1, 1, 1)]


def test_a_claim_without_what_the_claimed_knew():
    found = [Clocked(0, 1, {0: 1}), Clocked(1, 1, {0: 1, 1: 1}), Clocked(2, 1, {1: 1, 2: 1})]
    assert list_faults(found) == [(ClockFault.NOT_TRANSITIVE, 2, 1, 0, 1)]


def test_events_without_clocks_are_passed_over():
    found = [Clocked(0, 1, {0: 1, 1: 1}), Clocked(0, 0, {}), Clocked(0, 2, {0: 2}), Clocked(1, 1, {1: 1})]
    assert list_faults(found, [0, 1, 2, 0]) == [(ClockFault.SHRINKS, 2, 0, 1, 0)]
    assert len(find_clock_faults([], [], Rows.of([])).kind) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_events_are_listed_does_not_matter(seed):
    found = [Clocked(0, 1, {0: 1, 3: 1}), Clocked(0, 3, {0: 3}), Clocked(1, 1, {1: 1, 0: 9})]
    names = Random(seed).sample(range(3), 3)
    listed = [found[i] for i in names]
    back = [
        (kind, names[event], names[other] if other >= 0 else -1, slot, value)
        for kind, event, other, slot, value in list_faults(listed)
    ]
    assert sorted(back) == sorted(list_faults(found))
    assert len(back) == 4
