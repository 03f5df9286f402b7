"""Packets and deliveries as every protocol must make them: sizes, numbers, broadcasts, self-sends."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import Delivery
from tests.cases import OTHER, Case
from tests.contract.common import (
    CASES,
    EVERY_CASE,
    EVERY_KIND,
    FEWER,
    NAMES,
    SCRIPTS,
    Script,
    make_endpoint,
    make_script,
    parametrize_cases,
    play_random_run,
)
from tests.harness import World, destinations, maker, run_script


@EVERY_CASE
def test_packets_survive_the_wire_and_know_their_size(case: Case) -> None:
    packets = play_random_run(case).packets
    assert packets
    for packet in packets:
        data = packet.encode()
        assert antecede.decode(data) == packet == antecede.decode(memoryview(data))  # type: ignore[arg-type]
        version, protocol, *_, source, target, number, stamp, payload = msgspec.msgpack.decode(data)
        assert (version, protocol, source, target, number) == (
            1, case.protocol, packet.source, packet.target, packet.number,
        )  # fmt: skip
        assert packet.control_bytes == len(stamp)
        assert (stamp, payload) == (packet.stamp, packet.payload)
        assert data.endswith(msgspec.msgpack.encode(stamp) + msgspec.msgpack.encode(payload))


@EVERY_CASE
def test_packets_of_a_pair_are_numbered_from_one(case: Case) -> None:
    counts: dict[tuple[str, str], int] = {}
    for packet in play_random_run(case).packets:
        pair = (packet.source, packet.target)
        counts[pair] = counts.get(pair, 0) + 1
        assert packet.number == counts[pair] and packet.source != packet.target


@EVERY_CASE
def test_packets_and_deliveries_cannot_be_changed(case: Case) -> None:
    effects = make_endpoint(case, "p1").send(b"x", to=["p0"] if case.facts.unicast else None)
    for value in (effects, effects.packets[0], Delivery("p0", b"")):
        with pytest.raises(AttributeError):
            setattr(value, value.__struct_fields__[0], None)


@parametrize_cases([case for case in CASES if case.facts.broadcast])
def test_a_broadcast_reaches_its_sender_at_once_and_once(case: Case) -> None:
    effects = make_endpoint(case).send(b"to all")
    assert [(delivery.sender, delivery.payload) for delivery in effects.deliveries] == [("p0", b"to all")]
    others = make_endpoint(case).links if case.facts.relays else ["p1", "p2", "p3"]
    assert sorted(packet.target for packet in effects.packets) == others
    everyone = make_endpoint(case).send(b"to all", to=NAMES)
    assert everyone == effects


def with_self(names: list[str], sender: int, choice: int, case: Case) -> list[str] | None:
    """Destinations among which the sender is, now and then."""
    others = [name for at, name in enumerate(names) if at != sender]
    if not case.facts.unicast:
        return [None, names, others][choice % 3]
    some = destinations(names, sender, choice, "multicast" if case.facts.multicast else "unicast")
    return [[names[sender]], [names[sender], *(some or [])], some][choice % 3]


@EVERY_CASE
@FEWER
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_messages_to_oneself_are_delivered_at_once_and_disturb_nothing(
    case: Case, n: int, script: Script
) -> None:
    world = case.world(n)
    for action, a, b in script:
        sender = world.names[a % n]
        if action % 2 and world.network:
            world.arrive(b % len(world.choices()))
        elif not world.endpoints[sender].blocked:
            to = with_self(world.names, a % n, b, case)
            message = world.send(sender, to)
            assert (message in world.order(sender)) == (to is None or sender in to)
    world.drain(lambda size: len(script) % size)
    assert case in OTHER or not world.violations
    assert case.name == "sync-rendezvous" or not world.stuck()


@parametrize_cases([case for case in CASES if case.facts.unicast])
def test_a_message_to_oneself_does_not_jam_what_follows(case: Case) -> None:
    """As printed, RST counts it twice: afterwards nothing more can be delivered to its sender."""
    world = case.world(3)
    for _ in range(3):
        world.send("p0", ["p0"])
        world.send("p0", ["p0", "p1"])
        world.drain()
        world.send("p1", ["p0"])
        world.drain()
    assert world.stuck() == []
    assert len(world.order("p0")) == 9


@EVERY_KIND
def test_the_order_in_which_a_group_is_named_does_not_matter(case: Case, kind: str) -> None:
    options = {key: value(4) if callable(value) else value for key, value in case.options.items()}
    sort, mix = maker(case.protocol, **options), Random(2)
    script = make_script(mix)
    worlds = [World(sort, 4, case.fifo), World(lambda p, group: sort(p, mix.sample(group, 4)), 4, case.fifo)]
    for world in worlds:
        run_script(world, script, kind)
    assert worlds[0].packets == worlds[1].packets
    assert worlds[0].deliveries == worlds[1].deliveries
