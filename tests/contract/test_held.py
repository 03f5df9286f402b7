"""`held()` and `root_gaps()` tell the truth, by the oracle and by recovering only what they name."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import Gap
from tests.cases import Case, with_kinds
from tests.contract.common import CASES, EVERY_KIND, FEWER, NAMES, SCRIPTS, Script
from tests.harness import World, destinations

BY_NUMBER = {"vector", "matrix", "monitor", "server", "semantic"}
"""A gap of these is the numbers of the packets that are missing; `fifo` and `bounded` name some of them."""
BY_STAMP = {"optimal", "acknowledged", "predecessors", "pairs"}
"""A gap of these names what the stamp of the missing packet says of its sender."""
BY_LINK = {"flood"}
"""A gap of these is the places of the missing packets on their link."""


def play_and_explain(world: World, script: Script, kind: str) -> Iterator[str]:
    """Plays the script; after every arrival yields the process that has something to explain."""
    for action, a, b in script:
        if action % 2 and world.network:
            choices = world.choices()
            choice = a % len(choices)
            packet = antecede.decode(world.network[choices[choice]])
            world.arrive(choice)
            if packet.target in world.watch:
                yield packet.target
        else:
            place = a % len(world.names)
            sender = world.names[place]
            if not world.endpoints[sender].blocked:
                to = destinations(world.names, place, b, kind)
                world.send(sender, to)


@EVERY_KIND
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_held_is_what_arrived_and_was_not_delivered(case: Case, kind: str, n: int, script: Script) -> None:
    world = case.world(n)
    for at in play_and_explain(world, script, kind):
        held = world.endpoints[at].held()
        here = [one for one in held if one.number and one.payload]
        assert {int(one.payload) for one in here} == world.waiting[at]
        assert len(here) == len(world.waiting[at])
        assert all(one.missing and str(one) for one in held)
        assert all(missing.have < missing.needs for one in held for missing in one.missing)
        assert bool(world.endpoints[at].root_gaps()) >= bool(held)
        for one in here:
            assert (one.sender, one.number) in name_packets(world, at, int(one.payload))


def name_packets(world: World, at: str, message: int) -> list[tuple[str, int]]:
    """Source and number of the packets that carry a message to a process: one, unless others pass it on."""
    found = []
    for packet in world.packets:
        if packet.kind == "message" and packet.target == at and int(packet.payload) == message:
            found.append((packet.source, packet.number))
    assert len(found) == 1 or world.endpoints[at].facts.relays
    return found


def name_packet(world: World, at: str, message: int) -> tuple[str, int]:
    """Sender and number of the one packet that carries a message to a process."""
    (name,) = name_packets(world, at, message)
    return name


NUMBERED = [case for case in CASES if case.protocol in BY_NUMBER or case.name == "plausible-R=n"]


@pytest.mark.parametrize(("case", "kind"), with_kinds(NUMBERED))
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_root_gaps_are_the_causes_that_have_not_arrived(
    case: Case, kind: str, n: int, script: Script
) -> None:
    world = case.world(n)
    for at in play_and_explain(world, script, kind):
        causes: set[int] = set()
        for message in world.waiting[at]:
            causes.update(world.oracle.list_missing_causes(at, message))
        missing = {name_packet(world, at, cause) for cause in causes - world.waiting[at]}
        assert name_gaps(world, at) == missing


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_root_gaps_of_fifo_are_the_earlier_packets_of_the_sender(n: int, script: Script) -> None:
    world = Case("fifo", "fifo").world(n)
    for at in play_and_explain(world, script, "multicast"):
        held = {(one.sender, one.number) for one in world.endpoints[at].held()}
        arrived = {name_packet(world, at, message) for message in world.order(at)} | held
        earlier = {(sender, number) for sender, last in held for number in range(1, last)}
        assert name_gaps(world, at) == earlier - arrived


def list_numbers(gap: Gap) -> list[tuple[str, int]]:
    """One by one; entry 2 of a clock with an entry for each process is that of p2."""
    process = gap.slot.replace("entry ", "p")
    return [(process, number) for number in range(gap.first, gap.last + 1)]


FLOWING = [case for case in CASES if case.protocol in BY_NUMBER | BY_STAMP | BY_LINK | {"fifo", "bounded"}]


def name_gaps(world: World, at: str) -> set[tuple[str, int]]:
    """What the root gaps of a process name, one by one."""
    gaps = world.endpoints[at].root_gaps()
    return {number for gap in gaps for number in list_numbers(gap)}


def find_named(world: World, at: str, gaps: set[tuple[str, int]]) -> list[int]:
    """The packets under way that gaps of a process name."""
    return [choice for choice in range(len(world.network)) if identify_packet(world, choice, at) in gaps]


@pytest.mark.parametrize(("case", "kind"), with_kinds(FLOWING))
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_recover_the_root_gaps_until_there_are_none_and_all_else_follows(
    case: Case, kind: str, n: int, script: Script
) -> None:
    world = case.world(n)
    for _ in play_and_explain(world, script, kind):
        pass
    for at in sorted(world.watch):
        while gaps := name_gaps(world, at):
            if case.protocol in BY_STAMP:
                assert len(gaps) == len(world.endpoints[at].root_gaps())
            choices = find_named(world, at, gaps)
            assert choices and (case.protocol == "pairs" or len(choices) == len(gaps))
            world.arrive(choices[0])
        assert world.endpoints[at].held() == []
        assert not world.waiting[at]


def recover_once(world: World, at: str) -> None:
    """Let everything arrive that the root gaps name now."""
    gaps = name_gaps(world, at)
    while choices := find_named(world, at, gaps):
        world.arrive(choices[0])


COMPLETE = [case for case in CASES if case.protocol in BY_NUMBER | BY_LINK | {"fifo"}]


@pytest.mark.parametrize(("case", "kind"), with_kinds(COMPLETE))
@FEWER
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_where_stamps_tell_of_the_whole_past_recovering_once_is_enough(
    case: Case, kind: str, n: int, script: Script
) -> None:
    world = case.world(n)
    for _ in play_and_explain(world, script, kind):
        pass
    for at in sorted(world.watch):
        recover_once(world, at)
        assert world.endpoints[at].held() == []
        assert not world.waiting[at]


@pytest.mark.parametrize("name", ["optimal", "acknowledged", "predecessors", "pairs", "bounded-2n"])
def test_where_stamps_name_the_latest_causes_what_is_recovered_may_wait_for_more(name: str) -> None:
    """first: p1 to p0; second: p2 to p0, after p1 wrote to p2; third: p3 to p0, after p2 wrote to p3."""
    world = next(case for case in CASES if case.name == name).world(4)
    first = world.send("p1", ["p0"])
    world.arrive_message(world.send("p1", ["p2"]), "p2")
    second = world.send("p2", ["p0"])
    world.arrive_message(world.send("p2", ["p3"]), "p3")
    third = world.send("p3", ["p0"])
    world.arrive_message(third, "p0")
    recover_once(world, "p0")
    assert world.waiting["p0"] == {second, third}
    assert world.order("p0") == []
    recover_once(world, "p0")
    assert world.order("p0") == [first, second, third]


def identify_packet(world: World, choice: int, at: str) -> tuple[str, int] | None:
    """How the gaps of a process would name a packet under way."""
    packet = antecede.decode(world.network[choice])
    if packet.target != at or packet.kind == "ack":
        return None
    if packet.protocol not in BY_STAMP | BY_LINK:
        return packet.source, packet.number
    first, *_, last = msgspec.msgpack.decode(packet.stamp)
    if packet.protocol in BY_LINK:
        return packet.source, last + 1
    if packet.protocol == "pairs":
        first = first[world.names.index(packet.source)]
    return packet.source, first


def test_release_names_what_is_kept_and_what_came_too_early() -> None:
    ends = {name: antecede.endpoint("release", process=name, group=NAMES) for name in NAMES}
    ends["p0"].send(b"first", to=["p1"])
    ends["p0"].send(b"kept", to=["p2"])
    _, second = (ends["p3"].send(text, to=["p0"]).packets[0] for text in (b"lost", b"early"))
    ends["p0"].receive(second)
    assert [str(one) for one in ends["p0"].held()] == [
        "message 2 from p3 waits for p3 #1 (has 0)",
        "message 0 from p0 waits for acknowledgement by p1 #1 (has 0)",
    ]
    assert ends["p0"].root_gaps() == [Gap("p3", 1, 1), Gap("acknowledgement by p1", 1, 1)]


def test_eager_names_the_clearances_that_own_messages_wait_for() -> None:
    """p1 writes to p2, then to p0: that is flagged. What p0 sent before is gone, what it sends then waits."""
    ends = {name: antecede.endpoint("eager", process=name, group=NAMES) for name in NAMES}
    to_p2 = ends["p1"].send(b"slow", to=["p2"]).packets[0]
    flagged = ends["p1"].send(b"flagged", to=["p0"]).packets[0]
    assert ends["p0"].send(b"before", to=["p3"]).packets
    assert ends["p0"].receive(flagged).deliveries
    assert ends["p0"].send(b"after", to=["p2"]).packets == []
    assert [str(one) for one in ends["p0"].held()] == ["message 0 from p0 waits for release by p1 #1 (has 0)"]
    assert ends["p0"].root_gaps() == [Gap("release by p1", 1, 1)]
    (acknowledged,) = ends["p2"].receive(to_p2).packets
    (cleared,) = ends["p1"].receive(acknowledged).packets
    (after,) = ends["p0"].receive(cleared).packets
    assert (after.payload, ends["p0"].held(), ends["p0"].root_gaps()) == (b"after", [], [])


def test_eager_waits_for_what_was_flagged_before_and_for_nothing_later() -> None:
    """Else a process to which flagged messages come again and again would never send."""
    ends = {name: antecede.endpoint("eager", process=name, group=NAMES) for name in NAMES}
    to_p2 = ends["p1"].send(b"slow", to=["p2"]).packets[0]
    first = ends["p1"].send(b"first", to=["p0"]).packets[0]
    ends["p1"].send(b"slower", to=["p3"])
    second = ends["p1"].send(b"second", to=["p0"]).packets[0]
    ends["p0"].receive(first)
    ends["p0"].send(b"between", to=["p2"])
    ends["p0"].receive(second)
    ends["p0"].send(b"after", to=["p2"])
    (acknowledged,) = ends["p2"].receive(to_p2).packets
    (cleared,) = ends["p1"].receive(acknowledged).packets
    (between,) = ends["p0"].receive(cleared).packets
    assert between.payload == b"between"
    assert [(one.payload, one.missing[0].needs) for one in ends["p0"].held()] == [(b"after", 2)]


def test_flood_names_a_message_once_however_many_copies_wait() -> None:
    """p1 and p2 have both m and n of p3; of m nothing has arrived at p0, of n the copies of both have."""
    world = Case("flood", "flood", {"overlay": "full"}).world(4)
    for message in (world.send("p3"), world.send("p3")):
        world.arrive_message(message, "p1")
        world.arrive_message(message, "p2")
    for source in ("p1", "p2"):
        packets = [p for p in world.packets if (p.source, p.target) == (source, "p0")]
        world.endpoints["p0"].receive(packets[1])
    (held,) = world.endpoints["p0"].held()
    assert (held.sender, held.payload) == ("p1", b"1")
    assert world.endpoints["p0"].root_gaps() == [Gap("p1", 1, 1), Gap("p2", 1, 1)]


def test_buffered_names_only_what_each_message_waits_for() -> None:
    """Two copies before their releases, a posted message, and one behind it that waits for another thing."""
    ends = {name: antecede.endpoint("buffered", process=name, group=NAMES) for name in NAMES}
    for sender in ("p1", "p2"):
        ends["p0"].receive(ends[sender].send(b"copy").packets[0])
    ends["p0"].send(b"posted", to=["p3"])
    ends["p0"].send(b"behind", to=["p1"])
    missing = {}
    for one in ends["p0"].held():
        missing[one.sender, one.number] = [gap.slot for gap in one.missing]
    assert missing == {
        ("p1", 1): ["release by p1"],
        ("p2", 1): ["release by p1", "release by p2"],
        ("p0", 0): ["acknowledgement by p3"],
    }
