"""Whatever bytes come in: an error of the family and nothing changed, or a packet that does no harm.

First stamps that are wrong in one known place, then random and mutated bytes, packets, stamps and snapshots.
"""

import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import AntecedeError, Endpoint
from tests.test_bad_input import (
    BOTH_MOMENTS,
    CASES,
    EVERY_CASE,
    check_packet_refused,
    encode,
    forge,
    fresh,
    play,
    scene,
)

HUGE = b"\xff\xff\xff\xff"
HOSTILE = {
    "a byte that MessagePack never uses": b"\xc1",
    "bytes of 4 GiB": b"\xc6" + HUGE,
    "text of 4 GiB": b"\xdb" + HUGE,
    "an array of 2^32 - 1": b"\xdd" + HUGE,
    "a map of 2^32 - 1": b"\xdf" + HUGE,
    "an extension of 4 GiB": b"\xc9" + HUGE + b"\x01",
    "an array in an array": b"\x91\xdd" + HUGE,
    "bytes in an array": b"\x92\x90\xc6" + HUGE,
    "arrays without end": b"\x91" * 100_000,
    "maps without end": b"\x81\x01" * 100_000,
    "nil": b"\xc0",
    "not a number": encode(float("nan")),
    "text": encode("stamp"),
    "negative": encode(-1),
    "2^62": encode(2**62),
    "2^64 - 1": encode(2**64 - 1),
    "a hundred counts": encode([0] * 100),
    "a negative count": encode([-1, 1, 0, 0]),
}


# fmt: off
ANYTHING: list[Any] = [
    0, 1, 2, 3, 4, 5, 255, 2**32, 2**62 - 1, 2**62, 2**63, 2**64 - 1, -1, None, True, 1.5, "p1",
    b"", b"\1", [], [1], {},
]
# fmt: on


def check_harmless(snapshot: bytes, data: bytes) -> None:
    """The bytes are refused and change nothing, or are taken and leave an endpoint that works."""
    endpoint, started = antecede.restore(snapshot), time.process_time()
    before = endpoint.snapshot()
    try:
        endpoint.receive(antecede.decode(data))
    except AntecedeError:
        assert endpoint.snapshot() == before
    else:
        check_works(endpoint)
    assert time.process_time() - started < 5


def check_works(endpoint: Endpoint) -> None:
    [str(line) for line in (*endpoint.held(), *endpoint.root_gaps())]
    assert isinstance(antecede.restore(endpoint.snapshot()), Endpoint)
    if not endpoint.blocked:
        other = next(name for name in endpoint.group if name != endpoint.process)
        effects = endpoint.send(b"1", to=[other] if endpoint.facts.unicast else None)
        assert [antecede.decode(packet.encode()) for packet in effects.packets] == effects.packets
        assert isinstance(antecede.restore(endpoint.snapshot()), Endpoint)


@EVERY_CASE
@BOTH_MOMENTS
def test_hostile_stamps(name: str, moment: str) -> None:
    at = scene(name, moment)
    for stamp in HOSTILE.values():
        check_packet_refused(at.p0, forge(at.packet, stamp=stamp))
    at.finish()


@EVERY_CASE
@BOTH_MOMENTS
def test_truncated_stamps_and_trailing_bytes(name: str, moment: str) -> None:
    at = scene(name, moment)
    stamp = at.packet.stamp
    for cut in range(len(stamp) if len(stamp) > 1 else 0):
        check_packet_refused(at.p0, forge(at.packet, stamp=stamp[:cut]))
    check_packet_refused(at.p0, forge(at.packet, stamp=stamp + b"\0"))
    at.finish()


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_declared_lengths_cost_no_memory(data: bytes) -> None:
    fields = msgspec.msgpack.decode(fresh(CASES["history"]).packets[0].encode())
    before_stamp = encode(fields)[: -len(encode(fields[7])) - len(encode(fields[8]))]
    tracemalloc.start()
    for hostile in (data, b"\x99\x01" + data, before_stamp + data, b"\x93\x01\xa6matrix" + data):
        for read in (antecede.decode, antecede.restore):
            with pytest.raises(AntecedeError):
                read(hostile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


# -- stamps that are wrong in one place ----------------------------------------------------------------

PACKED, BIG = bytes(17), b"\3" + bytes(24) + (2**62).to_bytes(8, "little")
GOOD: dict[str, Any] = {
    "fifo": 0,
    "matrix": [[0, 2], PACKED],
    "pairs": [[0, 1, 0, 0], {2: [0, 1, 0, 0]}],
    "optimal": [1, [0, 2], {3: {1: [2]}}],
    "predecessors": [1, [0, 2], {2: {3: 1}}],
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
    "optimal": {(0,): [0], (1,): [*DESTS, []], (): [[], [1, [0]], [1, [0], {}, 0]], (2, 3, 1): [[4], [-1], 0],
                (2,): [{4: {1: []}}, {3: {}}, {3: {0: []}}, {3: {2**62: []}}, {"3": {1: []}}, {3: [1]}, []]},
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


def changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the tree with another value in one place."""
    if not path:
        return value
    copy = tree.copy()
    copy[path[0]] = changed(tree[path[0]], path[1:], value)
    return copy


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a tree of lists and maps."""
    yield path
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from places(tree[key], (*path, key))


def part(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def counts(tree: Any) -> list[tuple[Any, ...]]:
    return [path for path in places(tree) if isinstance(part(tree, path), int)]


def case_of(protocol: str) -> str:
    """The last case of a protocol; for plausible that is the one with R = 2."""
    return [name for name, case in CASES.items() if case.protocol == protocol][-1]


@pytest.mark.parametrize("protocol", GOOD)
def test_stamps_that_are_wrong_in_one_place(protocol: str) -> None:
    at = scene(case_of(protocol), "fresh")
    good, places_of_counts = GOOD[protocol], counts(GOOD[protocol])
    wrong = [changed(good, path, value) for path, values in WRONG[protocol].items() for value in values]
    wrong += [
        changed(good, path, value) for path in places_of_counts for value in (-1, 2**62, 2**64 - 1, "0")
    ]
    for tree in wrong:
        check_packet_refused(at.p0, forge(at.packet, stamp=encode(tree)))
    at.finish()


@pytest.mark.parametrize("protocol", GOOD)
def test_stamps_with_any_other_value_in_one_place(protocol: str) -> None:
    at = scene(case_of(protocol), "fresh")
    snapshot, good = at.p0.snapshot(), GOOD[protocol]
    antecede.restore(snapshot).receive(forge(at.packet, stamp=encode(good)))
    for path, value in product(places(good), ANYTHING):
        check_harmless(snapshot, forge(at.packet, stamp=encode(changed(good, path, value))).encode())


@pytest.mark.parametrize("flat", [[3], [3, 1, 2], [4, 1], [3, -1], [3, 2**62], 0, {}, None], ids=str)
def test_extras_of_bounded_that_are_wrong(flat: Any) -> None:
    at = scene("bounded-n", "fresh")
    check_packet_refused(at.p0, forge(at.packet, kind="extra", stamp=encode(flat)))
    at.finish()


SAME_SHAPE = [
    {"vector", "server", "monitor"},
    {"unordered", "sync", "buffered"},
    {"probabilistic", "plausible", "scalar"},
]
"""Only the envelope tells these apart."""


@EVERY_CASE
def test_stamps_of_other_protocols(name: str) -> None:
    at = scene(name, "busy")
    stamps = {**{protocol: encode(tree) for protocol, tree in GOOD.items()}, "unordered": b""}
    alike = [shape for shape in SAME_SHAPE if at.packet.protocol in shape]
    for protocol in stamps.keys() - {at.packet.protocol}.union(*alike):
        check_packet_refused(at.p0, forge(at.packet, stamp=stamps[protocol]))
    at.finish()


@pytest.mark.parametrize("n", [3, 5, 9])
@pytest.mark.parametrize(
    "protocol", ["matrix", "pairs", "vector", "history", "server", "monitor", "semantic"]
)
def test_stamps_of_groups_of_another_size(protocol: str, n: int) -> None:
    """With the tag of the group forged: only the stamp gives them away."""
    at, other = scene(protocol, "busy"), CASES[protocol].world(n)
    other.send("p1", ["p0"] if CASES[protocol].facts.unicast else None)
    check_packet_refused(at.p0, forge(at.packet, stamp=other.packets[0].stamp))
    at.finish()


@pytest.mark.parametrize("protocol", ["optimal", "predecessors", "bounded"])
def test_sparse_stamps_that_name_a_process_beyond_the_group(protocol: str) -> None:
    at, larger = scene(case_of(protocol), "busy"), CASES[case_of(protocol)].world(5)
    larger.send("p1", ["p4"])
    larger.send("p1", ["p0"])
    check_packet_refused(at.p0, forge(at.packet, stamp=larger.packets[-1].stamp))
    at.finish()


# -- fuzz ----------------------------------------------------------------------------------------------

Tricks = list[tuple[int, int, Any]]
TRICKS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 10**6), st.sampled_from(ANYTHING)), min_size=1, max_size=3
)


@cache
def samples(name: str) -> list[tuple[bytes, bytes]]:
    """Packets under way in some runs, each with the snapshot of the process that it is for."""
    worlds = [play(CASES[name], seed, 25) for seed in range(5)]
    pairs = ((world, antecede.decode(data)) for world in worlds for data in world.network)
    return [(world.endpoints[packet.target].snapshot(), packet.encode()) for world, packet in pairs]


def with_tricks(data: bytes, tricks: Tricks, other: bytes) -> bytes:
    """Bits flipped, pieces cut out, put in twice, or put in from elsewhere."""
    for trick, place, _ in tricks:
        at, length = place % (len(data) + 1), place // 1000 % 8 + 1
        if trick <= 1 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << place % 8]) + data[at + 1 :]
        elif trick == 2:
            data = data[:at] + data[at + length :]
        elif trick == 3:
            data = data[: at + length] + data[at:]
        elif trick == 4:
            data = data[:at] + other[place % (len(other) + 1) :]
        else:
            data = data[:at]
    return data


def with_other_parts(tree: Any, tricks: Tricks) -> Any:
    """Parts of the tree replaced, dropped, doubled, swapped or added to."""
    for trick, place, value in tricks:
        paths = list(places(tree))
        path = paths[place % len(paths)]
        old = part(tree, path)
        if isinstance(old, list) and trick >= 2:
            value = [old[1:], old[:-1], old + old[:1], [*old, value]][trick - 2]
        elif isinstance(old, dict) and trick >= 2 and isinstance(value, int | str):
            value = {**old, value: next(iter(old.values()), 0)}
        elif isinstance(old, bytes) and trick >= 2:
            value = with_tricks(old, [(trick, place, None)], old)
        tree = changed(tree, path, value)
    return tree


@given(data=st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    for read in (antecede.decode, antecede.restore):
        with pytest.raises(AntecedeError):
            read(data)


@EVERY_CASE
@given(choice=st.integers(0, 10**6), tricks=TRICKS)
def test_mutated_packets(name: str, choice: int, tricks: Tricks) -> None:
    snapshot, data = samples(name)[choice % len(samples(name))]
    check_harmless(snapshot, with_tricks(data, tricks, samples(name)[-1][1]))


@EVERY_CASE
@given(choice=st.integers(0, 10**6), tricks=TRICKS, kind=st.sampled_from(["same", "message", "extra", "ack"]))
def test_mutated_stamps_in_sound_envelopes(name: str, choice: int, tricks: Tricks, kind: str) -> None:
    snapshot, data = samples(name)[choice % len(samples(name))]
    packet = antecede.decode(data)
    stamp = encode(with_other_parts(msgspec.msgpack.decode(packet.stamp or b"\x01"), tricks))
    forged = forge(packet, stamp=stamp, kind=packet.kind if kind == "same" else kind)
    check_harmless(snapshot, forged.encode())


@EVERY_CASE
@given(choice=st.integers(0, 10**6), tricks=TRICKS)
def test_mutated_snapshots(name: str, choice: int, tricks: Tricks) -> None:
    """An error of the family, or some endpoint: a snapshot is trusted further than a packet."""
    snapshot, data = samples(name)[choice % len(samples(name))]
    with suppress(AntecedeError):
        assert isinstance(antecede.restore(with_tricks(snapshot, tricks, data)), Endpoint)


@EVERY_CASE
def test_snapshots_with_any_other_value_in_one_place(name: str) -> None:
    """With the checksum made good again, so that what stands in the state is looked at."""
    version, protocol, _, state = msgspec.msgpack.decode(samples(name)[0][0])
    tree = msgspec.msgpack.decode(state)
    for path, value in product(places(tree), ANYTHING):
        state = encode(changed(tree, path, value))
        with suppress(AntecedeError):
            broken = encode([version, protocol, zlib.crc32(state), state])
            assert isinstance(antecede.restore(broken), Endpoint)


def test_welcomes_with_any_other_value_in_one_place() -> None:
    """What a newcomer gets from its sponsor: refused and nothing changed, or a newcomer that works.

    All entries stand at 9, so that the next message is suspected and what is remembered is looked at.
    """
    world = CASES["probabilistic"].world(3)
    for name in ("p0", "p1", "p0"):
        world.send(name)
    world.drain()
    ends: dict[str, Any] = world.endpoints
    sent = {name: end.admit("p3") for name, end in ends.items()}
    tree = changed(msgspec.msgpack.decode(ends["p0"].welcome("p3", sent)), (2,), dict.fromkeys(range(4), 9))
    packet = ends["p1"].send(b"9").packets[-1].encode()
    blank = CASES["probabilistic"].world(4).endpoints["p3"].snapshot()
    for path, value in product(places(tree), ANYTHING):
        newcomer: Any = antecede.restore(blank)
        try:
            newcomer.join(encode(changed(tree, path, value)))
        except AntecedeError:
            assert newcomer.snapshot() == blank
        else:
            check_harmless(newcomer.snapshot(), packet)
