"""Stamps that are hostile, truncated, of another protocol or group, or wrong in one place."""

import tracemalloc
from itertools import product
from typing import Any

import msgspec
import pytest

import antecede
from antecede import AntecedeError
from tests.bad_input.hostile import ANYTHING, HOSTILE, change_part, check_harmless, list_counts, list_paths
from tests.bad_input.scenes import (
    BOTH_MOMENTS,
    CASES,
    EVERY_CASE,
    check_packet_refused,
    encode,
    forge_packet,
    make_fresh_world,
    play_scene,
)


@EVERY_CASE
@BOTH_MOMENTS
def test_hostile_stamps(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    for stamp in HOSTILE.values():
        check_packet_refused(at.p0, forge_packet(at.packet, stamp=stamp))
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_truncated_stamps_and_trailing_bytes(name: str, moment: str) -> None:
    at = play_scene(name, moment)
    stamp = at.packet.stamp
    for cut in range(len(stamp) if len(stamp) > 1 else 0):
        check_packet_refused(at.p0, forge_packet(at.packet, stamp=stamp[:cut]))
    check_packet_refused(at.p0, forge_packet(at.packet, stamp=stamp + b"\0"))
    at.finish()


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_declared_lengths_cost_no_memory(data: bytes) -> None:
    packet = make_fresh_world(CASES["history"]).packets[0]
    fields = msgspec.msgpack.decode(packet.encode())
    stamp_and_payload = encode(fields[7]) + encode(fields[8])
    before_stamp = encode(fields).removesuffix(stamp_and_payload)
    tracemalloc.start()
    for hostile in (data, b"\x99\x01" + data, before_stamp + data, b"\x93\x01\xa6matrix" + data):
        for read in (antecede.decode, antecede.restore):
            with pytest.raises(AntecedeError):
                read(hostile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


NO_COUNTS: list[Any] = [-1, 2**62, 2**64 - 1, "0"]
PACKED = bytes(17)
BIG = b"\3" + bytes(24) + (2**62).to_bytes(8, "little")
GOOD: dict[str, Any] = {
    "fifo": 0,
    "matrix": [[0, 2], PACKED],
    "pairs": [[0, 1, 0, 0], {2: [0, 1, 0, 0]}],
    "optimal": [1, [0, 2], [0, 0, 0, 1], {14: 1}],
    "acknowledged": [1, [0, 2], [0, 0, 0, 1], {14: 1}],
    "predecessors": [1, [0, 2], {2: {3: 1}}],
    "flood": [3, 1, 0],
    "release": 0,
    "eager": [0, True],
    "vector": [0, 1, 0, 0],
    "history": [[0, 0, 0, 1], [0, 2], [[3, 1, [2], b"x"]]],
    "server": [0, 1, 0, 0],
    "bounded": [3, 2, 1],
    "monitor": [0, 0, 0, 0],
    "semantic": [[0, 2], PACKED, PACKED, bytes(5), bytes(5)],
    "probabilistic": [0, 1, [1, 1, 0, 0]],
    "plausible": [0, 1, [1, 0]],
    "scalar": [0, 1, [1]],
}
"""A stamp from p1 to p0 that is taken; for probabilistic R = 4 and K = 2, for plausible R = 2."""

LENGTHS: list[Any] = [[], [0], [0, 1, 0], [0, 1, 0, 0, 0]]
PACKS: list[Any] = [
    b"",
    bytes(16),
    bytes(18),
    bytes(26),
    b"\4" + bytes(16),
    b"\3" + bytes(96) + BIG[1:],
    None,
]
DESTS: list[Any] = [[0, 4], [2], [0, 1], [0, 0], [0, -1], [0, 2**62], 0]
# fmt: off
WRONG: dict[str, dict[tuple[int, ...], list[Any]]] = {
    "fifo": {(): [-1, 2**62, [], [0], True, None, 0.5]},
    "matrix": {(0,): DESTS, (1,): PACKS, (): [[], [[]], [[], PACKED, 0]]},
    "pairs": {(0,): LENGTHS, (1, 2): LENGTHS, (1,): [{4: [0] * 4}, {-1: [0] * 4}, {"2": [0] * 4}, []]},
    "optimal": {(0,): [0], (1,): [*DESTS, []], (): [[], [1, [0], [0] * 4], [1, [0], [0] * 4, {}, 0]],
                (2,): [*LENGTHS, [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, -1], [0, 0, 0, 2**62], [0] * 4, {}],
                (3,): [{16: 1}, {-1: 1}, {14: 0}, {14: 2}, {2: 1}, {"14": 1}, {14: [1]}, [], 1]},
    "acknowledged": {(0,): [0], (1,): [*DESTS, []], (2,): LENGTHS, (3,): [{16: 1}, {14: 2}, []]},
    "flood": {(0,): [4, 0], (1,): [0], (): [[3, 1], [3, 1, 0, 0], 3, {}]},
    "release": {(): [-1, 2**62, [], [0], True, None, 0.5]},
    "eager": {(): [[], [0], [0, True, 0], 0, {}], (1,): [None, 2]},
    "predecessors": {(0,): [0], (1,): [*DESTS, []], (2,): [{4: {}}, {2: {4: 1}}, {-1: {}}, {2: 0}]},
    "vector": {(): LENGTHS, (1,): [0]},
    "history": {(0,): [*LENGTHS, [1, 0, 0, 1], [0] * 4], (1,): [*DESTS, []], (2, 0, 2): [[4], [-1], 0],
                (2, 0): [[4, 1, [], b""], [3, 0, [], b""], [3, 2, [], b""], [3, 1, [2], "x"], [3, 1, [2]]],
                (2,): [[[3, 1, [2], b"x"]] * 2]},
    "server": {(): LENGTHS, (1,): [0]},
    "bounded": {(): [[3], [3, 2], [3, 2, 1, 0], 0, {}], (0,): [4], (1,): [4]},
    "monitor": {(): LENGTHS},
    "semantic": {(0,): DESTS, (1,): PACKS, (2,): PACKS, (3,): [b"", bytes(4), bytes(6), PACKED, BIG],
                 (4,): [b"", bytes(4), bytes(6), PACKED, BIG], (): [[], [[], PACKED, PACKED, bytes(5)]]},
    "probabilistic": {(0,): [6, 2**61], (1,): [0], (2,): [*LENGTHS, [1, 0, 1, 1], [0, 1, 1, 1]], (): [[0]]},
    "plausible": {(0,): [2], (1,): [0], (2,): [[], [1], [0, 1], [1, 0, 0]]},
    "scalar": {(0,): [1], (1,): [0], (2,): [[], [0], [1, 1]]},
}
# fmt: on


def case_of(protocol: str) -> str:
    """The last case of a protocol; for plausible that is the one with R = 2."""
    return [name for name, case in CASES.items() if case.protocol == protocol][-1]


STAMPLESS = {"unordered", "sync", "buffered"}


def test_every_protocol_with_stamps_has_a_good_one_and_wrong_ones() -> None:
    assert GOOD.keys() == WRONG.keys() == antecede.list_protocols().keys() - STAMPLESS


@pytest.mark.parametrize("protocol", GOOD)
def test_stamps_that_are_wrong_in_one_place(protocol: str) -> None:
    at = play_scene(case_of(protocol), "fresh")
    good = GOOD[protocol]
    wrong_values = dict.fromkeys(list_counts(good), NO_COUNTS)
    for path, values in WRONG[protocol].items():
        wrong_values[path] = [*wrong_values.get(path, []), *values]
    for path, values in wrong_values.items():
        for value in values:
            tree = change_part(good, path, value)
            forged = forge_packet(at.packet, stamp=encode(tree))
            check_packet_refused(at.p0, forged)
    at.finish()


@pytest.mark.parametrize("protocol", GOOD)
def test_stamps_with_any_other_value_in_one_place(protocol: str) -> None:
    at = play_scene(case_of(protocol), "fresh")
    snapshot, good = at.p0.snapshot(), GOOD[protocol]
    taken = forge_packet(at.packet, stamp=encode(good))
    antecede.restore(snapshot).receive(taken)
    for path, value in product(list_paths(good), ANYTHING):
        tree = change_part(good, path, value)
        forged = forge_packet(at.packet, stamp=encode(tree))
        check_harmless(snapshot, forged.encode())


@pytest.mark.parametrize("flat", [[3], [3, 1, 2], [4, 1], [3, -1], [3, 2**62], 0, {}, None], ids=str)
def test_extras_of_bounded_that_are_wrong(flat: Any) -> None:
    at = play_scene("bounded-n", "fresh")
    check_packet_refused(at.p0, forge_packet(at.packet, kind="extra", stamp=encode(flat)))
    at.finish()


CONTROL: list[tuple[str, str, list[Any]]] = [
    ("acknowledged", "ack", [0, 1, 2**62, [1], None]),
    ("release", "ack", [0, 1, 2**62, [1], None]),
    ("eager", "ack", [0, 1, 2**62, [1], None]),
    ("eager", "release", [0, 1, 2**62, [1], None]),
    (
        "flood",
        "ping",
        [0, [3, 1, 0], [4, 1, 0, 0], [3, 0, 0, 0], [3, 1, 0, 4], [0, 1, 0, 2], [3, 1, 0, 0, 0]],
    ),
    ("flood", "pong", [0, 1, 2**62, [1], None]),
]
"""Of a process that has sent nothing; the packet that carries it is the first of its pair."""


@pytest.mark.parametrize(("name", "kind", "stamps"), CONTROL, ids=lambda value: str(value)[:12])
def test_control_packets_that_are_wrong(name: str, kind: str, stamps: list[Any]) -> None:
    at = play_scene(name, "fresh")
    for stamp in stamps:
        check_packet_refused(at.p0, forge_packet(at.packet, kind=kind, stamp=encode(stamp)))
    at.finish()


SAME_SHAPE = [
    {"vector", "server", "monitor"},
    {"unordered", "sync", "buffered"},
    {"probabilistic", "plausible", "scalar"},
    {"optimal", "acknowledged"},
    {"fifo", "release"},
    {"bounded", "flood"},
]
"""Only the envelope tells these apart."""


@EVERY_CASE
def test_stamps_of_other_protocols(name: str) -> None:
    at = play_scene(name, "busy")
    stamps = {**{protocol: encode(tree) for protocol, tree in GOOD.items()}, "unordered": b""}
    alike = [shape for shape in SAME_SHAPE if at.packet.protocol in shape]
    for protocol in stamps.keys() - {at.packet.protocol}.union(*alike):
        check_packet_refused(at.p0, forge_packet(at.packet, stamp=stamps[protocol]))
    at.finish()


@pytest.mark.parametrize("n", [3, 5, 9])
@pytest.mark.parametrize(
    "protocol", ["matrix", "pairs", "vector", "history", "server", "monitor", "semantic"]
)
def test_stamps_of_groups_of_another_size(protocol: str, n: int) -> None:
    """With the tag of the group forged: only the stamp gives them away."""
    at, other = play_scene(protocol, "busy"), CASES[protocol].world(n)
    other.send("p1", ["p0"] if CASES[protocol].facts.unicast else None)
    check_packet_refused(at.p0, forge_packet(at.packet, stamp=other.packets[0].stamp))
    at.finish()


@pytest.mark.parametrize("protocol", ["optimal", "predecessors", "bounded"])
def test_sparse_stamps_that_name_a_process_beyond_the_group(protocol: str) -> None:
    name = case_of(protocol)
    at, larger = play_scene(name, "busy"), CASES[name].world(5)
    larger.send("p1", ["p4"])
    larger.send("p1", ["p0"])
    check_packet_refused(at.p0, forge_packet(at.packet, stamp=larger.packets[-1].stamp))
    at.finish()
