"""Bad input of every kind gets one clear error of the family, and leaves the endpoint as it was, to the byte.

Each protocol is tried at two moments: fresh, and in mid-execution with messages held. After the errors the
run goes on, and nothing may be lost. Four processes, p0 to p3; the packets are for p0. What stamps may
hold is tested in test_fuzz_decoder.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import count, product
from random import Random
from typing import Any

import msgspec
import pytest

import antecede
from antecede import CallerError, DuplicateError, Endpoint, InputError, Packet
from tests.cases import EXACT, OTHER, Case
from tests.harness import World, destinations

CASES = {case.name: case for case in [*EXACT, *OTHER]}
EVERY_CASE = pytest.mark.parametrize("name", CASES)
BOTH_MOMENTS = pytest.mark.parametrize("moment", ["fresh", "busy"])
NEVER_HOLDS = {"unordered", "history"}
encode = msgspec.msgpack.encode


# -- scenes --------------------------------------------------------------------------------------------


@dataclass
class Scene:
    """A run in which `packet` is under way to p0 and `received` were received there."""

    world: World
    packet: Packet
    received: list[Packet]

    @property
    def p0(self) -> Any:
        """The endpoint, typed so that it may be called wrongly."""
        return self.world.endpoints["p0"]

    def finish(self) -> None:
        """After all that was refused, the run goes on to its end and nothing is lost."""
        self.world.drain()
        assert self.world.stuck() == [] and self.p0.held() == [] == self.p0.root_gaps()


def scene(name: str, moment: str) -> Scene:
    world = fresh(CASES[name]) if moment == "fresh" else play(CASES[name], *seed_and_steps(name))
    return Scene(world, under_way(world)[0], received(world))


def fresh(case: Case) -> World:
    world = case.world(4)
    world.send("p1", ["p0"] if case.facts.unicast else None)
    return world


@cache
def seed_and_steps(name: str) -> tuple[int, int]:
    """A run of some length that leaves p0 with something held, something received and something to come."""
    for seed, steps in ((seed, steps) for seed in count() for steps in (10, 15, 20)):
        world = play(CASES[name], seed, steps)
        held = world.endpoints["p0"].held() or CASES[name].protocol in NEVER_HOLDS
        if held and under_way(world) and received(world):
            world.drain()
            if not world.stuck():  # a rendezvous may deadlock, as it should
                return seed, steps
    raise AssertionError


def play(case: Case, seed: int, steps: int) -> World:
    world, random = case.world(4), Random(seed)
    for _ in range(steps):
        at = random.randrange(4)
        if world.network and random.random() < 0.5:
            world.arrive(random.randrange(len(world.choices())))
        elif not world.endpoints[f"p{at}"].blocked:
            to = destinations(world.names, at, random.randrange(64), random.choice(case.kinds))
            world.send(f"p{at}", to)
    return world


def under_way(world: World) -> list[Packet]:
    """The messages for p0 that may arrive next."""
    packets = (antecede.decode(world.network[place]) for place in world.choices())
    return [packet for packet in packets if packet.target == "p0" and packet.kind == "message"]


def received(world: World) -> list[Packet]:
    return [
        packet for packet in world.packets if packet.target == "p0" and packet.encode() not in world.network
    ]


# -- checks --------------------------------------------------------------------------------------------


def check_refused(endpoint: Endpoint, error: type[Exception], call: Callable[[], object]) -> None:
    """The call fails with this error and no other, in one sentence, and the state is what it was."""
    before = endpoint.snapshot()
    check_error(error, call)
    assert endpoint.snapshot() == before


def check_error(error: type[Exception], call: Callable[[], object]) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert caught.type is error and issubclass(error, antecede.AntecedeError)
    assert len(text.split()) >= 4 and len(text) < 500, text
    assert text == text.strip() and "\n" not in text, text
    assert not any(noise in text for noise in ("Traceback", " at 0x", "<class", "msgspec")), text


def check_packet_refused(endpoint: Endpoint, packet: Packet, error: type[Exception] = InputError) -> None:
    check_refused(endpoint, error, partial(endpoint.receive, packet))


def forge(packet: Packet, **changes: Any) -> Packet:
    """The packet as it comes out of the decoder after somebody changed it on the wire."""
    return antecede.decode(msgspec.structs.replace(packet, **changes).encode())


# -- packets -------------------------------------------------------------------------------------------


def test_every_protocol_is_tried() -> None:
    assert {case.protocol for case in CASES.values()} == set(antecede.protocols())


@EVERY_CASE
@BOTH_MOMENTS
def test_packets_that_do_not_belong_here(name: str, moment: str) -> None:
    at = scene(name, moment)
    for change in ({"target": "p2"}, {"target": ""}, {"source": "stranger"}, {"source": "p0"}):
        check_packet_refused(at.p0, forge(at.packet, **change))
    for protocol in {*antecede.protocols(), "no such protocol"} - {at.packet.protocol}:
        check_packet_refused(at.p0, forge(at.packet, protocol=protocol))
    check_packet_refused(at.p0, forge(at.packet, group=at.packet.group ^ 1))
    for nonsense in (at.packet.encode(), None, "packet", 5):
        check_refused(at.p0, CallerError, partial(at.p0.receive, nonsense))
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_duplicates(name: str, moment: str) -> None:
    at = scene(name, moment)
    at.world.arrive(at.world.choices().index(at.world.network.index(at.packet.encode())))
    for packet in (*at.received, at.packet, forge(at.packet, payload=b"another", stamp=b"\xc1")):
        check_packet_refused(at.p0, packet, DuplicateError)
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_control_packets_that_nothing_waits_for(name: str, moment: str) -> None:
    at = scene(name, moment)
    stamps = (b"", b"\xc1", *map(encode, (10**9, -1, "x", [1], [4, 1, 1])))
    for kind, stamp in product(("ack", "release", "extra"), stamps):
        check_packet_refused(at.p0, forge(at.packet, kind=kind, stamp=stamp))
    at.finish()


@pytest.mark.parametrize("n", [2, 3, 5, 9])
@EVERY_CASE
def test_packets_of_a_group_of_another_size(name: str, n: int) -> None:
    """The group's tag gives them away. A packet of `probabilistic` is tied to R and K, not to a group."""
    at, other = scene(name, "busy"), CASES[name].world(n)
    if at.packet.protocol == "probabilistic":
        other = Case(name, "probabilistic", {"R": n + 3, "K": 2}).world(4)
    other.send("p1", ["p0"] if CASES[name].facts.unicast else None)
    for packet in other.packets:
        check_packet_refused(at.p0, forge(packet, target="p0", number=10**6))
    at.finish()


@EVERY_CASE
def test_bytes_that_are_not_one_whole_packet(name: str) -> None:
    data = scene(name, "busy").packet.encode()
    for broken in (*(data[:cut] for cut in range(len(data))), data + b"\0", data + data):
        check_error(InputError, partial(antecede.decode, broken))


@pytest.mark.parametrize("place", range(9))
def test_fields_that_are_not_what_they_should_be(place: int) -> None:
    """Version, protocol, group, kind, addresses, number, stamp and payload, each replaced."""
    fields = msgspec.msgpack.decode(fresh(CASES["vector"]).packets[0].encode())
    others: list[Any] = [None, -1, 2**62, 2.5, [], {}, 0 if place in (0, 6) else True]
    for wrong in others:
        broken = encode([*fields[:place], wrong, *fields[place + 1 :]])
        check_error(InputError, partial(antecede.decode, broken))


@pytest.mark.parametrize("version", [0, 2, 255, "1"])
def test_another_version(version: Any) -> None:
    fields = msgspec.msgpack.decode(fresh(CASES["vector"]).packets[0].encode())
    check_error(InputError, partial(antecede.decode, encode([version, *fields[1:]])))
    check_error(InputError, partial(antecede.decode, encode([*fields, 0])))
    check_error(InputError, partial(antecede.decode, version))


# -- callers -------------------------------------------------------------------------------------------


@EVERY_CASE
@BOTH_MOMENTS
def test_sends_that_cannot_be_done(name: str, moment: str) -> None:
    at = scene(name, moment)
    wrong: list[Any] = [
        "p1",
        b"p1",
        [],
        ["nobody"],
        ["p1", "p1"],
        ["p1", "nobody"],
        [None],
        ("p0", "p0"),
        ["P1"],
    ]
    if not at.p0.facts.multicast:
        wrong.append(["p1", "p2"])
    if not at.p0.facts.unicast:
        wrong += [["p1"], ["p0"], ["p0", "p1"]]
    if not at.p0.facts.broadcast:
        wrong.append(None)
    for to in wrong:
        check_refused(at.p0, CallerError, partial(at.p0.send, b"x", to=to))
    for payload in ("x", None, 1, bytearray(b"x"), memoryview(b"x"), [b"x"]):
        check_refused(at.p0, CallerError, partial(at.p0.send, payload))
    at.finish()


@EVERY_CASE
def test_names_that_are_no_names(name: str) -> None:
    p0 = scene(name, "fresh").p0
    others: list[Any] = [5, 2.5, [["p1"]], [{}], True]
    for to in others:
        check_refused(p0, CallerError, partial(p0.send, b"x", to=to))
    manual: Any = msgspec.structs.replace(p0, manual=True)
    check_refused(manual, CallerError, partial(manual.take, ["p1"]))


@EVERY_CASE
def test_take_needs_a_manual_endpoint_and_a_member(name: str) -> None:
    at = scene(name, "busy")
    check_refused(at.p0, CallerError, at.p0.take)
    manual: Any = msgspec.structs.replace(fresh(CASES[name]).endpoints["p0"], manual=True)
    for stranger in ("nobody", "", 5):
        check_refused(manual, CallerError, partial(manual.take, stranger))
    at.finish()


@BOTH_MOMENTS
def test_dependence_on_events_that_never_were(moment: str) -> None:
    at = scene("semantic", moment)
    for depends_on in (-1, at.p0.events + 1, 2**70, "1", 1.0, [1]):
        check_refused(at.p0, CallerError, partial(at.p0.send, b"x", depends_on=depends_on))
    at.finish()
    assert at.p0.send(b"x", depends_on=at.p0.events).packets


GROUP = ["p0", "p1", "p2", "p3"]
WRONG_CALLS: list[tuple[Any, dict[str, Any]]] = [
    ("nonesuch", {}),
    ("", {}),
    ("Matrix", {}),
    *((protocol, {}) for protocol in (None, 5, ["matrix"])),
    *(("matrix", {"process": process}) for process in ("p9", "", None, 0, ["p0"])),
    *(
        ("matrix", {"group": group})
        for group in ("p0", [], ["p0", "p0"], ["p0", ""], ["p0", 1], [["p0"]], b"p0")
    ),
    *(("matrix", {"group": group}) for group in (None, 5)),
    *((protocol, {"colour": 1}) for protocol in antecede.protocols()),
    *((protocol, {"manual": 1}) for protocol in antecede.protocols()),
    *((protocol, {"gate": {}}) for protocol in antecede.protocols()),
    *(("bounded", {"k": k}) for k in (3, 0, -1, "9", 9.0, None, True)),
    *(("bounded", {"k": k, "rule": ">"}) for k in (2, 0, -5)),
    *(("bounded", {"k": 9, "rule": rule}) for rule in ("<", "", None, 1)),
    *((protocol, {}) for protocol in ("bounded", "monitor", "server")),
    *((name, {name: value}) for name in ("monitor", "server") for value in ("p9", "", None, ["p0"])),
    *(("sync", {"form": form}) for form in ("", "both", None)),
    *(("buffered", change) for change in ({"pipelined": 1}, {"multicast": "none"}, {"multicast": True})),
    *(("semantic", {"variant": variant}) for variant in ("", "fixed", None)),
    *(("plausible", {"R": R}) for R in (0, -1, "4", 4.5, None)),
    *(("plausible", {"K": 1}), ("plausible", {"set_id": 0}), ("scalar", {"R": 1})),
    *(("probabilistic", {"R": R, "K": K}) for R, K in ((0, 0), (4, 5), (4, 0), (4, -1), (-4, 2), ("4", 2))),
    *(("probabilistic", {"R": 4, "K": 2, "set_id": set_id}) for set_id in (-1, 6, 2**70, "0", 0.0)),
    *(("scalar", {"memory": memory}) for memory in (-1, "1", None)),
]


@pytest.mark.parametrize(("protocol", "change"), WRONG_CALLS, ids=str)
def test_endpoints_that_cannot_be_made(protocol: Any, change: dict[str, Any]) -> None:
    call = {"process": "p0", "group": GROUP, **change}
    check_error(CallerError, partial(antecede.endpoint, protocol, **call))


@pytest.mark.parametrize(
    ("protocol", "change"),
    [
        ("bounded", {"k": 2**70}),
        ("scalar", {"memory": 2**70}),
        ("vector", {"process": "\ud800", "group": ["\ud800"]}),
    ],
    ids=["k", "memory", "name"],
)
def test_what_no_snapshot_can_hold_is_refused_at_once(protocol: str, change: dict[str, Any]) -> None:
    call = {"process": "p0", "group": GROUP, **change}
    check_error(CallerError, partial(antecede.endpoint, protocol, **call))
