"""Packets that do not belong here get one clear error and change nothing; the run then goes on to its end."""

from functools import partial
from itertools import product
from typing import Any

import msgspec
import pytest

import antecede
from antecede import CallerError, DuplicateError, InputError
from tests.bad_input.scenes import (
    BOTH_MOMENTS,
    CASES,
    EVERY_CASE,
    check_error,
    check_packet_refused,
    check_refused,
    encode,
    forge_packet,
    make_fresh_world,
    play_scene,
)
from tests.cases import Case


def test_every_protocol_is_tried() -> None:
    assert {case.protocol for case in CASES.values()} == set(antecede.list_protocols())


@EVERY_CASE
@BOTH_MOMENTS
def test_packets_that_do_not_belong_here(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    for change in ({"target": "p2"}, {"target": ""}, {"source": "stranger"}, {"source": "p0"}):
        check_packet_refused(at.p0, forge_packet(at.packet, **change))
    for protocol in {*antecede.list_protocols(), "no such protocol"} - {at.packet.protocol}:
        check_packet_refused(at.p0, forge_packet(at.packet, protocol=protocol))
    check_packet_refused(at.p0, forge_packet(at.packet, group=at.packet.group ^ 1))
    for nonsense in (at.packet.encode(), None, "packet", 5):
        check_refused(at.p0, CallerError, partial(at.p0.receive, nonsense))
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_duplicates(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    at.world.arrive(at.world.choices().index(at.world.network.index(at.packet.encode())))
    for packet in (*at.received, at.packet, forge_packet(at.packet, payload=b"another", stamp=b"\xc1")):
        check_packet_refused(at.p0, packet, DuplicateError)
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_control_packets_that_nothing_waits_for(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    stamps = (b"", b"\xc1", *map(encode, (10**9, -1, "x", [1], [4, 1, 1])))
    for kind, stamp in product(("ack", "release", "extra", "ping", "pong"), stamps):
        check_packet_refused(at.p0, forge_packet(at.packet, kind=kind, stamp=stamp))
    at.finish()


@pytest.mark.parametrize("n", [2, 3, 5, 9])
@EVERY_CASE
def test_packets_of_a_group_of_another_size(name: str, n: int) -> None:
    """The group's tag gives them away. A packet of `probabilistic` is tied to R and K, not to a group."""
    at, other = play_scene(name, "busy"), CASES[name].world(n)
    if at.packet.protocol == "probabilistic":
        other = Case(name, "probabilistic", {"R": n + 3, "K": 2}).world(4)
    other.send("p1", ["p0"] if CASES[name].facts.unicast else None)
    for packet in other.packets:
        check_packet_refused(at.p0, forge_packet(packet, target="p0", number=10**6))
    at.finish()


@EVERY_CASE
def test_bytes_that_are_not_one_whole_packet(name: str) -> None:
    data = play_scene(name, "busy").packet.encode()
    for broken in (*(data[:cut] for cut in range(len(data))), data + b"\0", data + data):
        check_error(InputError, partial(antecede.decode, broken))


@pytest.mark.parametrize("place", range(9))
def test_fields_that_are_not_what_they_should_be(place: int) -> None:
    """Version, protocol, group, kind, addresses, number, stamp and payload, each replaced."""
    fields = msgspec.msgpack.decode(make_fresh_world(CASES["vector"]).packets[0].encode())
    others: list[Any] = [None, -1, 2**62, 2.5, [], {}, 0 if place in (0, 6) else True]
    for wrong in others:
        broken = encode([*fields[:place], wrong, *fields[place + 1 :]])
        check_error(InputError, partial(antecede.decode, broken))


@pytest.mark.parametrize("version", [0, 2, 255, "1"])
def test_another_version(version: Any) -> None:
    fields = msgspec.msgpack.decode(make_fresh_world(CASES["vector"]).packets[0].encode())
    check_error(InputError, partial(antecede.decode, encode([version, *fields[1:]])))
    check_error(InputError, partial(antecede.decode, encode([*fields, 0])))
    check_error(InputError, partial(antecede.decode, version))
