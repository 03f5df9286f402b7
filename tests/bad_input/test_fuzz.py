"""Fuzzing: random bytes, and packets, stamps, snapshots and welcomes with random damage."""

import zlib
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import AntecedeError, Endpoint
from antecede.core.packet import Kind
from tests.bad_input.hostile import ANYTHING, change_part, check_harmless, get_part, list_paths
from tests.bad_input.scenes import CASES, EVERY_CASE, encode, forge_packet, play_case

Tricks = list[tuple[int, int, Any]]
TRICKS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 10**6), st.sampled_from(ANYTHING)), min_size=1, max_size=3
)


@cache
def samples(name: str) -> list[tuple[bytes, bytes]]:
    """Packets under way in some runs, each with the snapshot of the process that it is for."""
    worlds = [play_case(CASES[name], seed, 25) for seed in range(5)]
    pairs = ((world, antecede.decode(data)) for world in worlds for data in world.network)
    return [(world.endpoints[packet.target].snapshot(), packet.encode()) for world, packet in pairs]


def with_tricks(data: bytes, tricks: Tricks, other: bytes) -> bytes:
    """Bits flipped, pieces cut out, put in twice, or put in from elsewhere."""
    for trick, place, _ in tricks:
        at = place % (len(data) + 1)
        length = place // 1000 % 8 + 1
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
        paths = list(list_paths(tree))
        path = paths[place % len(paths)]
        old = get_part(tree, path)
        if isinstance(old, list) and trick >= 2:
            value = [old[1:], old[:-1], old + old[:1], [*old, value]][trick - 2]
        elif isinstance(old, dict) and trick >= 2 and isinstance(value, int | str):
            value = {**old, value: next(iter(old.values()), 0)}
        elif isinstance(old, bytes) and trick >= 2:
            value = with_tricks(old, [(trick, place, None)], old)
        tree = change_part(tree, path, value)
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
@given(choice=st.integers(0, 10**6), tricks=TRICKS, kind=st.sampled_from(["same", *get_args(Kind)]))
def test_mutated_stamps_in_sound_envelopes(name: str, choice: int, tricks: Tricks, kind: str) -> None:
    snapshot, data = samples(name)[choice % len(samples(name))]
    packet = antecede.decode(data)
    stamp = encode(with_other_parts(msgspec.msgpack.decode(packet.stamp or b"\x01"), tricks))
    forged = forge_packet(packet, stamp=stamp, kind=packet.kind if kind == "same" else kind)
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
    for path, value in product(list_paths(tree), ANYTHING):
        state = encode(change_part(tree, path, value))
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
    tree = change_part(
        msgspec.msgpack.decode(ends["p0"].welcome("p3", sent)), (2,), dict.fromkeys(range(4), 9)
    )
    packet = ends["p1"].send(b"9").packets[-1].encode()
    blank = CASES["probabilistic"].world(4).endpoints["p3"].snapshot()
    for path, value in product(list_paths(tree), ANYTHING):
        newcomer: Any = antecede.restore(blank)
        try:
            newcomer.join(encode(change_part(tree, path, value)))
        except AntecedeError:
            assert newcomer.snapshot() == blank
        else:
            check_harmless(newcomer.snapshot(), packet)
