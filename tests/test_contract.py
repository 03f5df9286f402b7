"""The public contract, at its boundary, for every protocol: packets, deliveries, explanations, waiting."""

import doctest
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antecede
from antecede import CallerError, Delivery, Effects, Endpoint, Gap, Packet
from antecede.protocols import registry
from tests.cases import EXACT, OTHER, Case, with_kinds
from tests.harness import World, destinations, maker, run_script

CASES = [*EXACT, *OTHER]
EVERY_KIND = pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
NAMES = ["p0", "p1", "p2", "p3"]
Script = list[tuple[int, int, int]]
SCRIPTS = st.integers(0, 2**32).map(lambda seed: script_of(Random(seed)))
"""Long runs, made from a seed: short ones, which Hypothesis likes best, seldom hold anything."""
FEWER = settings(max_examples=settings().max_examples // 3)


def script_of(random: Random) -> Script:
    return [
        (random.randrange(4), random.randrange(999), random.randrange(999))
        for _ in range(random.randrange(60))
    ]


def among(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


EVERY_CASE = among(CASES)


def made(case: Case, process: str = "p0", **more: Any) -> Any:
    """An endpoint in a group of four; typed so that every protocol's own calls may be tried."""
    options = {key: value(4) if callable(value) else value for key, value in case.options.items()}
    return maker(case.protocol, **options, **more)(process, NAMES)


def random_run(case: Case, seed: int = 2) -> World:
    world = case.world(4)
    run_script(world, script_of(Random(seed)), case.kinds[-1])
    return world


# -- packets and deliveries ------------------------------------------------------------------------------


@EVERY_CASE
def test_packets_survive_the_wire_and_know_their_size(case: Case) -> None:
    packets = random_run(case).packets
    assert packets
    for packet in packets:
        data = packet.encode()
        assert antecede.decode(data) == packet == antecede.decode(memoryview(data))  # type: ignore[arg-type]
        version, protocol, *_, source, target, number, stamp, payload = msgspec.msgpack.decode(data)
        assert (version, protocol, source, target, number) == (
            1, case.protocol, packet.source, packet.target, packet.number,
        )  # fmt: skip
        assert packet.control_bytes == len(stamp) and (stamp, payload) == (packet.stamp, packet.payload)
        assert data.endswith(msgspec.msgpack.encode(stamp) + msgspec.msgpack.encode(payload))


@EVERY_CASE
def test_packets_of_a_pair_are_numbered_from_one(case: Case) -> None:
    counts: dict[tuple[str, str], int] = {}
    for packet in random_run(case).packets:
        pair = (packet.source, packet.target)
        counts[pair] = counts.get(pair, 0) + 1
        assert packet.number == counts[pair] and packet.source != packet.target


@EVERY_CASE
def test_packets_and_deliveries_cannot_be_changed(case: Case) -> None:
    effects = made(case, "p1").send(b"x", to=["p0"] if case.facts.unicast else None)
    for value in (effects, effects.packets[0], Delivery("p0", b"")):
        with pytest.raises(AttributeError):
            setattr(value, value.__struct_fields__[0], None)


@among([case for case in CASES if case.facts.broadcast])
def test_a_broadcast_reaches_its_sender_at_once_and_once(case: Case) -> None:
    effects = made(case).send(b"to all")
    assert [(delivery.sender, delivery.payload) for delivery in effects.deliveries] == [("p0", b"to all")]
    assert sorted(packet.target for packet in effects.packets) == ["p1", "p2", "p3"]
    everyone = made(case).send(b"to all", to=NAMES)
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


@among([case for case in CASES if case.facts.unicast])
def test_a_message_to_oneself_does_not_jam_what_follows(case: Case) -> None:
    """As printed, RST counts it twice: afterwards nothing more can be delivered to its sender."""
    world = case.world(3)
    for _ in range(3):
        world.send("p0", ["p0"])
        world.send("p0", ["p0", "p1"])
        world.drain()
        world.send("p1", ["p0"])
        world.drain()
    assert world.stuck() == [] and len(world.order("p0")) == 9


@EVERY_KIND
def test_the_order_in_which_a_group_is_named_does_not_matter(case: Case, kind: str) -> None:
    options = {key: value(4) if callable(value) else value for key, value in case.options.items()}
    sort, mix = maker(case.protocol, **options), Random(2)
    script = script_of(mix)
    worlds = [World(sort, 4, case.fifo), World(lambda p, group: sort(p, mix.sample(group, 4)), 4, case.fifo)]
    for world in worlds:
        run_script(world, script, kind)
    assert worlds[0].packets == worlds[1].packets and worlds[0].deliveries == worlds[1].deliveries


# -- facts -----------------------------------------------------------------------------------------------


def test_every_protocol_of_the_plan_is_there() -> None:
    names = (
        "unordered fifo sync matrix pairs optimal predecessors vector history server bounded monitor buffered"
    )
    assert set(antecede.protocols()) == {*names.split(), "semantic", "probabilistic", "plausible", "scalar"}


@EVERY_CASE
def test_facts_are_complete_and_true(case: Case) -> None:
    facts = case.facts
    assert facts.name == case.protocol and facts.title and facts.paper and facts.stamp
    assert facts.exact == (facts.order in ("causal", "causal at one process", "semantic"))
    assert facts.exact or not facts.delay_optimal
    assert facts.monitor == (facts.order == "causal at one process")
    assert set(case.options) <= set(facts.options) <= set(made(case).__struct_fields__)
    assert accepts(case, ["p1"]) == facts.unicast
    assert accepts(case, ["p1", "p2"]) == facts.multicast
    assert accepts(case, None) == facts.broadcast


def accepts(case: Case, to: list[str] | None) -> bool:
    try:
        return bool(made(case).send(b"x", to=to))
    except CallerError:
        return False


def test_the_examples_in_the_documentation_of_endpoint_run() -> None:
    results = doctest.testmod(registry)
    assert results.attempted > 0 and results.failed == 0


# -- held() and root_gaps() tell the truth ---------------------------------------------------------------

BY_NUMBER = {"vector", "matrix", "monitor", "server", "semantic"}
"""A gap of these is the numbers of the packets that are missing; `fifo` and `bounded` name some of them."""
BY_STAMP = {"optimal", "predecessors", "pairs"}
"""A gap of these names what the stamp of the missing packet says of its sender."""


def explained(world: World, script: Script, kind: str) -> Iterator[str]:
    """Plays the script; after every arrival yields the process that has something to explain."""
    for action, a, b in script:
        if action % 2 and world.network:
            at = antecede.decode(world.network[world.choices()[a % len(world.choices())]]).target
            world.arrive(a % len(world.choices()))
            if at in world.watch:
                yield at
        else:
            sender = world.names[a % len(world.names)]
            if not world.endpoints[sender].blocked:
                world.send(sender, destinations(world.names, a % len(world.names), b, kind))


@EVERY_KIND
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_held_is_what_arrived_and_was_not_delivered(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    for at in explained(world, script, kind):
        held = world.endpoints[at].held()
        here = [one for one in held if one.number and one.payload]
        assert sorted(int(one.payload) for one in here) == sorted(world.waiting[at])
        assert all(one.missing and str(one) for one in held)
        assert all(missing.have < missing.needs for one in held for missing in one.missing)
        assert bool(world.endpoints[at].root_gaps()) >= bool(held)
        assert {(one.sender, one.number) for one in here} == {named(world, at, int(m.payload)) for m in here}


def named(world: World, at: str, message: int) -> tuple[str, int]:
    """Sender and number of the packet that carries a message to a process."""
    copies = (packet for packet in world.packets if packet.kind == "message" and packet.target == at)
    return next((packet.source, packet.number) for packet in copies if int(packet.payload) == message)


NUMBERED = [case for case in CASES if case.protocol in BY_NUMBER or case.name == "plausible-R=n"]


@pytest.mark.parametrize(("case", "kind"), with_kinds(NUMBERED))
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_root_gaps_are_the_causes_that_have_not_arrived(
    case: Case, kind: str, n: int, script: Script
) -> None:
    world = case.world(n)
    for at in explained(world, script, kind):
        causes = {cause for message in world.waiting[at] for cause in world.oracle.missing(at, message)}
        missing = {named(world, at, cause) for cause in causes - world.waiting[at]}
        assert {number for gap in world.endpoints[at].root_gaps() for number in spread(gap)} == missing


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_root_gaps_of_fifo_are_the_earlier_packets_of_the_sender(n: int, script: Script) -> None:
    world = Case("fifo", "fifo").world(n)
    for at in explained(world, script, "multicast"):
        held = {(one.sender, one.number) for one in world.endpoints[at].held()}
        arrived = {named(world, at, message) for message in world.order(at)} | held
        earlier = {(sender, number) for sender, last in held for number in range(1, last)}
        assert {
            number for gap in world.endpoints[at].root_gaps() for number in spread(gap)
        } == earlier - arrived


def spread(gap: Gap) -> list[tuple[str, int]]:
    """One by one; entry 2 of a clock with an entry for each process is that of p2."""
    return [(gap.slot.replace("entry ", "p"), number) for number in range(gap.first, gap.last + 1)]


FLOWING = [case for case in CASES if case.protocol in BY_NUMBER | BY_STAMP | {"fifo", "bounded"}]


@pytest.mark.parametrize(("case", "kind"), with_kinds(FLOWING))
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_recover_the_root_gaps_and_all_else_follows(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    for _ in explained(world, script, kind):
        pass
    for at in sorted(world.watch):
        while gaps := {number for gap in world.endpoints[at].root_gaps() for number in spread(gap)}:
            assert case.protocol not in BY_STAMP or len(gaps) == len(world.endpoints[at].root_gaps())
            found = [choice for choice in range(len(world.network)) if identity(world, choice, at) in gaps]
            assert found and (case.protocol == "pairs" or len(found) == len(gaps))
            world.arrive(found[0])
        assert world.endpoints[at].held() == [] and not world.waiting[at]


def identity(world: World, choice: int, at: str) -> tuple[str, int] | None:
    """How the gaps of a process would name a packet under way."""
    packet = antecede.decode(world.network[choice])
    if packet.target != at:
        return None
    if packet.protocol not in BY_STAMP:
        return packet.source, packet.number
    first = msgspec.msgpack.decode(packet.stamp)[0]
    return packet.source, first[world.names.index(packet.source)] if packet.protocol == "pairs" else first


def test_buffered_names_only_what_each_message_waits_for() -> None:
    """Two copies before their releases, a posted message, and one behind it that waits for another thing."""
    ends = {name: antecede.endpoint("buffered", process=name, group=NAMES) for name in NAMES}
    for sender in ("p1", "p2"):
        ends["p0"].receive(ends[sender].send(b"copy").packets[0])
    ends["p0"].send(b"posted", to=["p3"])
    ends["p0"].send(b"behind", to=["p1"])
    missing = {(one.sender, one.number): [str(gap.slot) for gap in one.missing] for one in ends["p0"].held()}
    assert missing == {
        ("p1", 1): ["release by p1"],
        ("p2", 1): ["release by p1", "release by p2"],
        ("p0", 0): ["acknowledgement by p3"],
    }


# -- waiting is visible ----------------------------------------------------------------------------------


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
    p0, p1 = made(case, manual=True), made(case, "p1")
    assert not p0.blocked and p0.take() == Effects([], []) and p0.blocked
    packet = next(
        p for p in p1.send(b"x", to=["p0"] if case.facts.unicast else None).packets if p.target == "p0"
    )
    assert p0.receive(packet).deliveries == []
    if packet.stamp and case.protocol == "buffered":
        assert p0.blocked
        return
    assert not p0.blocked
    assert [delivery.payload for delivery in p0.take().deliveries] == [b"x"] and not p0.blocked


def letters(protocol: str, **options: Any) -> Any:
    """p0, which takes by hand, with a message from p1 and then one from p2."""
    p0 = antecede.endpoint(protocol, process="p0", group=NAMES, manual=True, **options)
    for name in ("p1", "p2"):
        p0.receive(
            antecede.endpoint(protocol, process=name, group=NAMES, **options).send(b"x", to=["p0"]).packets[0]
        )
    return p0


@pytest.mark.parametrize(
    "protocol", ["unordered", "fifo", "matrix", "optimal", "pairs", "predecessors", "sync"]
)
def test_selective_receive_picks_the_wanted_sender(protocol: str) -> None:
    p0 = letters(protocol)
    assert [p0.take("p2").deliveries[0].sender, p0.take("p2").deliveries, p0.blocked] == ["p2", [], True]
    assert p0.take("p1").deliveries[0].sender == "p1" and not p0.blocked


@pytest.mark.parametrize("protocol", ["buffered", "history"])
def test_selective_receive_waits_where_only_the_head_may_be_taken(protocol: str) -> None:
    """The second letter may be an effect of the first: 002 makes the application wait, and says so."""
    p0 = letters(protocol)
    assert p0.take("p2").deliveries == [] and p0.blocked
    assert p0.take("p1").deliveries[0].sender == "p1" and not p0.blocked
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
    assert p0.send(b"y", to=["p1"]).packets and p0.root_gaps() != []


@pytest.mark.parametrize("protocol", ["fifo", "vector"])
def test_one_packet_may_release_a_hundred_thousand(protocol: str) -> None:
    a, b = (antecede.endpoint(protocol, process=name, group=["a", "b"]) for name in "ab")
    packets = [a.send(b"").packets[0] for _ in range(100_000)]
    for packet in reversed(packets[1:]):
        assert b.receive(packet).deliveries == []
    assert b.root_gaps() == [Gap("a", 1, 1)]
    assert len(b.receive(packets[0]).deliveries) == 100_000 and b.held() == []
