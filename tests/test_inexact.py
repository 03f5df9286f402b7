"""The protocols that do not keep causal order: the exact statement that each does make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import OTHER, SCRIPTS, Case, Script, with_kinds
from tests.harness import World, run_script


@pytest.mark.parametrize(("case", "kind"), with_kinds(OTHER))
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_nothing_is_stuck_lost_or_repeated(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    run_script(world, script, kind)
    assert world.stuck() == []


@pytest.mark.parametrize(("case", "kind"), with_kinds([case for case in OTHER if case.name != "fifo"]))
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_no_ready_message_is_delayed(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    run_script(world, script, kind)
    assert world.needless == []


@pytest.mark.parametrize("kind", ["unicast", "multicast", "broadcast"])
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_fifo_keeps_the_order_of_each_sender(kind: str, n: int, script: Script) -> None:
    world = next(case for case in OTHER if case.name == "fifo").world(n)
    run_script(world, script, kind)
    for name in world.names:
        for sender in world.names:
            order = [m for m in world.order(name) if world.oracle.sender[m] == sender]
            assert order == sorted(order)


def triangle(world: World) -> list[int]:
    """p0 writes to all (or to p2, then p1); p1 answers; the answer is faster at p2."""
    kinds = world.endpoints["p0"].facts
    first = world.send("p0", ["p2"] if kinds.unicast else None)
    told = world.send("p0", ["p1"]) if kinds.unicast else first
    world.arrive_message(told, "p1")
    answer = world.send("p1", ["p2"] if kinds.unicast else None)
    world.arrive_message(answer, "p2")
    world.arrive_message(first, "p2")
    return [m for m in world.order("p2") if m in (first, answer)]


@pytest.mark.parametrize("name", ["unordered", "fifo"])
def test_triangle_breaks_causal_order(name: str) -> None:
    world = next(case for case in OTHER if case.name == name).world(3)
    assert triangle(world) == [2, 0]
    assert len(world.violations) == 1


@pytest.mark.parametrize(
    ("protocol", "options"),
    [("probabilistic", {"R": 2, "K": 2}), ("plausible", {"R": 1}), ("scalar", {})],
)
def test_a_send_may_deliver_what_was_held(protocol: str, options: dict[str, int]) -> None:
    """The own broadcast counts on the entry for which the answer waits; the own copy comes first."""
    world = Case(protocol, protocol, options).world(3)
    first = world.send("p0")
    world.arrive_message(first, "p1")
    answer = world.send("p1")
    world.arrive_message(answer, "p2")
    assert world.order("p2") == []
    own = world.send("p2")
    assert world.order("p2") == [own, answer]


@pytest.mark.parametrize("name", ["probabilistic", "plausible", "scalar"])
def test_triangle_alone_does_not_fool_shared_entries(name: str) -> None:
    world = next(case for case in OTHER if case.name == name).world(3)
    assert triangle(world) == [0, 1]
