"""Waiting is visible: `manual`, `take` and `blocked`; and nothing recurses."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import CallerError, Effects, Endpoint, Gap, Packet
from tests.cases import Case
from tests.contract.common import EVERY_CASE, EVERY_KIND, FEWER, NAMES, SCRIPTS, Script, make_endpoint
from tests.harness import World, destinations


@EVERY_KIND
@FEWER
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_taking_all_there_is_equals_automatic_delivery(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    manual = {
        name: msgspec.structs.replace(end, manual=True) for name, end in case.world(n).endpoints.items()
    }
    for action, a, b in script:
        sender = world.names[a % n]
        if action % 2 and world.network:
            packet = antecede.decode(world.network[world.choices()[a % len(world.choices())]])
            check_same(world, manual, packet.target, lambda end, packet=packet: end.receive(packet))
            world.network.remove(packet.encode())
        elif not world.endpoints[sender].blocked:
            to = destinations(world.names, a % n, b, kind)
            check_same(world, manual, sender, lambda end, b=b, to=to: end.send(str(b).encode(), to=to))


def check_same(world: World, manual: dict[str, Endpoint], name: str, call: Any) -> None:
    """The same call on an endpoint that delivers by itself and on one of whom all is taken at once."""
    effects = call(world.endpoints[name])
    one_by_one = [call(manual[name])]
    while (taken := manual[name].take()).deliveries:
        assert len(taken.deliveries) == 1
        one_by_one.append(taken)
    assert [d for some in one_by_one for d in some.deliveries] == effects.deliveries
    assert [p for some in one_by_one for p in some.packets] == effects.packets
    assert manual[name].blocked
    world.network += [packet.encode() for packet in effects.packets]


@EVERY_CASE
def test_a_take_that_finds_nothing_is_blocked_until_there_is_something(case: Case) -> None:
    p0, p1 = make_endpoint(case, manual=True), make_endpoint(case, "p1")
    assert not p0.blocked
    assert p0.take() == Effects([], [])
    assert p0.blocked
    packet = next(
        p for p in p1.send(b"x", to=["p0"] if case.facts.unicast else None).packets if p.target == "p0"
    )
    assert p0.receive(packet).deliveries == []
    if packet.stamp and case.protocol == "buffered":
        assert p0.blocked
        return
    assert not p0.blocked
    assert [delivery.payload for delivery in p0.take().deliveries] == [b"x"]
    assert not p0.blocked


def letters(protocol: str, **options: Any) -> Any:
    """p0, which takes by hand, with a message from p1 and then one from p2."""
    p0 = antecede.endpoint(protocol, process="p0", group=NAMES, manual=True, **options)
    for name in ("p1", "p2"):
        p0.receive(
            antecede.endpoint(protocol, process=name, group=NAMES, **options).send(b"x", to=["p0"]).packets[0]
        )
    return p0


@pytest.mark.parametrize(
    "protocol", ["unordered", "fifo", "matrix", "optimal", "acknowledged", "pairs", "predecessors", "sync"]
)
def test_selective_receive_picks_the_wanted_sender(protocol: str) -> None:
    p0 = letters(protocol)
    assert [p0.take("p2").deliveries[0].sender, p0.take("p2").deliveries, p0.blocked] == ["p2", [], True]
    assert p0.take("p1").deliveries[0].sender == "p1"
    assert not p0.blocked


@pytest.mark.parametrize("protocol", ["buffered", "release", "eager", "history"])
def test_selective_receive_waits_where_only_the_head_may_be_taken(protocol: str) -> None:
    """The second letter may be an effect of the first: Mattern95 makes the application wait, and says so."""
    p0 = letters(protocol)
    assert p0.take("p2").deliveries == [] and p0.blocked
    assert p0.take("p1").deliveries[0].sender == "p1"
    assert not p0.blocked
    assert p0.take("p2").deliveries[0].sender == "p2"


@pytest.mark.parametrize("form", ["rendezvous", "site"])
def test_a_synchronous_send_blocks_until_it_is_acknowledged(form: str) -> None:
    p0, p1 = (
        antecede.endpoint("sync", process=name, group=NAMES, manual=True, form=form) for name in ("p0", "p1")
    )
    packet = p0.send(b"x", to=["p1"]).packets[0]
    assert p0.blocked and p0.take() == Effects([], [])
    with pytest.raises(CallerError, match="blocked"):
        p0.send(b"y", to=["p1"])
    arrived = p1.receive(packet).packets
    acks: list[Packet] = [*arrived, *p1.take().packets]
    assert [len(arrived), len(acks), acks[0].kind] == [form == "site", 1, "ack"]
    p0.receive(acks[0])
    assert p0.send(b"y", to=["p1"]).packets
    assert p0.root_gaps() != []


@pytest.mark.parametrize("protocol", ["fifo", "vector"])
def test_one_packet_may_release_a_hundred_thousand(protocol: str) -> None:
    a, b = (antecede.endpoint(protocol, process=name, group=["a", "b"]) for name in "ab")
    packets = [a.send(b"").packets[0] for _ in range(100_000)]
    for packet in reversed(packets[1:]):
        assert b.receive(packet).deliveries == []
    assert b.root_gaps() == [Gap("a", 1, 1)]
    assert len(b.receive(packets[0]).deliveries) == 100_000
    assert b.held() == []
