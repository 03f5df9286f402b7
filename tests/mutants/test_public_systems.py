"""Known failures of public systems, each with the shortest execution that shows it, and none of them here."""

from contextlib import suppress
from typing import Any

import pytest

from antecede import Endpoint, Packet
from antecede.protocols.matrix import Matrix
from antecede.protocols.registry import build_endpoint
from antecede.protocols.vector import Vector
from tests.cases import EXACT, Case
from tests.mutants import gates, systems
from tests.mutants.matrix import CarriesOwnColumn, MatrixSelfSends
from tests.mutants.stories import restart_endpoint

CAUSAL = [case for case in EXACT if case.facts.order == "causal" and "unicast" in case.kinds]
GROUP = ["a", "b", "c", "d"]


def cast(kind: type[Endpoint], **options: Any) -> list[Endpoint]:
    """The processes a, b, c and d."""
    return [build_endpoint(kind, process=name, group=GROUP, **options) for name in GROUP]


def say(endpoint: Endpoint, text: str, to: str | None = None) -> dict[str, Packet]:
    """Send to one process, or to all; the packets by their target."""
    targets = None if to is None else [to]
    effects = endpoint.send(text.encode(), to=targets)
    return {packet.target: packet for packet in effects.packets}


def hear(endpoint: Endpoint, *packets: Packet) -> str:
    """The texts delivered as these packets arrive."""
    deliveries = []
    for packet in packets:
        deliveries += endpoint.receive(packet).deliveries
    return " ".join(delivery.payload.decode() for delivery in deliveries)


def with_gate(kind: type[Endpoint], gate: type | None) -> type[Endpoint]:
    """The protocol with another gate, or as it is."""
    return kind if gate is None else gates.on(kind, gate)


@pytest.mark.parametrize(("kind", "heard"), [(Matrix, "m1 m3"), (CarriesOwnColumn, "m3 m1")])
def test_partisan_forgets_what_was_sent_to_others(kind: type[Endpoint], heard: str) -> None:
    a, b, c, _ = cast(kind)
    m1 = say(a, "m1", "c")
    m2 = say(a, "m2", "b")
    assert hear(b, m2["b"]) == "m2"
    m3 = say(b, "m3", "c")
    assert hear(c, m3["c"], m1["c"]) == heard


@pytest.mark.parametrize("case", CAUSAL, ids=lambda case: case.name)
def test_triangle_of_partisan_is_in_order_here(case: Case) -> None:
    world = case.world(3)
    m1 = world.send("p0", ["p2"])
    if world.endpoints["p0"].blocked:  # a synchronous send: m1 has to arrive first
        world.drain()
    m2 = world.send("p0", ["p1"])
    with suppress(AssertionError):  # it may still be in its sender's buffer
        world.arrive_message(m2, "p1")
    caused = m2 in world.order("p1")
    m3 = world.send("p1", ["p2"])
    with suppress(AssertionError):
        world.arrive_message(m3, "p2")
    world.drain()
    assert world.order("p2") == [m1, m3] or not caused
    assert world.violations == [] and world.stuck() == []


@pytest.mark.parametrize(("kind", "heard"), [(Vector, "m1 m2"), (systems.AbsentIsSatisfied, "m2 m1")])
def test_ishikawa_takes_an_unknown_process_as_satisfied(kind: type[Endpoint], heard: str) -> None:
    a, b, c, _ = cast(kind)
    m1 = say(a, "m1")
    hear(b, m1["b"])
    assert hear(c, say(b, "m2")["c"], m1["c"]) == heard


@pytest.mark.parametrize(("kind", "heard"), [(Vector, "m1 m2"), (systems.DropsOlder, "")])
def test_tcb_drops_the_first_of_two_swapped_messages(kind: type[Endpoint], heard: str) -> None:
    a, b, _, _ = cast(kind)
    m1, m2 = say(a, "m1"), say(a, "m2")
    assert hear(b, m2["b"], m1["b"]) == heard


@pytest.mark.parametrize(("gate", "heard"), [(None, "b1 b2"), (gates.HeadOnly, "b1")])
def test_jgroups_looks_at_the_head_of_its_queue_only(gate: type | None, heard: str) -> None:
    a, b, _, d = cast(with_gate(Vector, gate))
    _, a2 = say(a, "a1"), say(a, "a2")
    b1, b2 = say(b, "b1"), say(b, "b2")
    assert hear(d, a2["d"], b2["d"], b1["d"]) == heard  # a2 is the head, and waits for a1


@pytest.mark.parametrize(("gate", "heard"), [(None, "b1"), (gates.BlocksTheOthers, "")])
def test_synapse_blocks_others_while_it_fills_a_gap(gate: type | None, heard: str) -> None:
    a, b, _, d = cast(with_gate(Vector, gate))
    _, a2 = say(a, "a1"), say(a, "a2")
    assert hear(d, a2["d"], say(b, "b1")["d"]) == heard


@pytest.mark.parametrize(("gate", "heard"), [(None, "a1 a2"), (gates.ParksLate, "a1")])
def test_prefect_parks_what_was_unlocked_meanwhile(gate: type | None, heard: str) -> None:
    a, _, _, d = cast(with_gate(Vector, gate))
    a1, a2 = say(a, "a1"), say(a, "a2")
    assert hear(d, a2["d"], a1["d"]) == heard


@pytest.mark.parametrize(("gate", "heard"), [(None, 30), (gates.WakesTwentyDeep, 21)])
def test_prefect_follows_a_reversed_chain_to_the_end(gate: type | None, heard: int) -> None:
    a, _, _, d = cast(with_gate(Vector, gate))
    chain = [say(a, str(number))["d"] for number in range(30)]
    assert len(hear(d, *reversed(chain)).split()) == heard


@pytest.mark.parametrize(("gate", "heard"), [(None, "a1 a2"), (gates.SortsBatchFirst, "a1")])
def test_loro_unlocks_what_waits_in_the_same_batch(gate: type | None, heard: str) -> None:
    a, _, _, d = cast(with_gate(gates.NamesMetNeeds, gate))
    assert hear(d, say(a, "a1")["d"], say(a, "a2")["d"]) == heard


@pytest.mark.parametrize(
    ("kind", "heard"), [(Vector, "a1 a2 a3"), (systems.MarksBeforeAcknowledged, "a1 a3 a2")]
)
def test_p2panda_replays_effects_before_causes_after_a_crash(kind: type[Endpoint], heard: str) -> None:
    a, _, _, d = cast(kind, manual=True)
    chain = [say(a, text)["d"] for text in ("a1", "a2", "a3")]
    for packet in chain:
        d.receive(packet)
    first = d.take().deliveries
    d = restart_endpoint(d)
    taken = [*first]
    for _ in chain:
        taken += d.take().deliveries
    assert " ".join(delivery.payload.decode() for delivery in taken) == heard


@pytest.mark.parametrize(("kind", "heard"), [(Matrix, "s1 s2"), (MatrixSelfSends, "s1")])
def test_rst_jams_after_a_message_to_oneself(kind: type[Endpoint], heard: str) -> None:
    a = cast(kind)[0]
    said = []
    for text in (b"s1", b"s2"):
        effects = a.send(text, to=["a"])
        said += [delivery.payload.decode() for delivery in effects.deliveries]
        said += hear(a, *effects.packets).split()
    assert " ".join(said) == heard
