"""Packets made by hand with fields of other types, damaged snapshots, and more sets of keys than ids."""

from typing import Any

import msgspec
import pytest

import antecede
from antecede import CallerError, InputError
from tests.bad_input.scenes import CASES, EVERY_CASE, check_packet_refused, play_scene
from tests.harness import World

WRONG: dict[str, list[Any]] = {
    "number": [0, -1, 2.5, True, "1", None, 2**62],
    "payload": ["text", None, bytearray(b"x")],
    "stamp": ["text", None, []],
    **{name: [None, 5, ["p1"]] for name in ("source", "kind", "protocol")},
}
FIELDS = [(field, value) for field, values in WRONG.items() for value in values]


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_packets_made_by_hand(field: str, value: Any) -> None:
    at = play_scene("vector", "busy")
    check_packet_refused(at.p0, msgspec.structs.replace(at.packet, **{field: value}))
    at.finish()


@EVERY_CASE
def test_snapshots_with_one_bit_changed(name: str) -> None:
    snapshot = play_scene(name, "busy").p0.snapshot()
    for place in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[place] ^= 1
        with pytest.raises(InputError):
            antecede.restore(bytes(damaged))


@pytest.mark.parametrize(("entries", "keys"), [(1000, 50), (100, 20), (65_536, 8)])
def test_more_sets_of_keys_than_ids(entries: int, keys: int) -> None:
    with pytest.raises(CallerError, match="smaller K"):
        antecede.endpoint("probabilistic", process="a", group=["a", "b"], R=entries, K=keys)


@pytest.mark.parametrize("name", ["vector", "pairs", "optimal", "history", "semantic"])
def test_an_endpoint_from_an_old_snapshot_says_what_it_is_told_and_what_it_has(name: str) -> None:
    """p0 sends one message, then two more that its snapshot does not know; the answer tells of three."""
    world = CASES[name].world(3)
    to = ["p1"] if world.endpoints["p0"].facts.unicast else None
    world.send("p0", to)
    snapshot = world.endpoints["p0"].snapshot()
    for message in (0, world.send("p0", to), world.send("p0", to)):
        world.arrive_message(message, "p1")
    check_told_of_three(world, snapshot)


@pytest.mark.parametrize("name", ["matrix", "bounded-2n", "predecessors"])
def test_the_same_where_messages_are_counted_by_destination(name: str) -> None:
    """As above, but the three are to p2, and p1 learns of them."""
    world = CASES[name].world(3)
    world.send("p0", ["p2"])
    snapshot = world.endpoints["p0"].snapshot()
    world.send("p0", ["p2"])
    world.send("p0", ["p2"])
    world.arrive_message(world.send("p0", ["p1"]), "p1")
    check_told_of_three(world, snapshot)


def check_told_of_three(world: World, snapshot: bytes) -> None:
    """p1 writes to p0, which has come back from a snapshot with one message."""
    world.send("p1", ["p0"] if world.endpoints["p1"].facts.unicast else None)
    answer = next(packet for packet in world.packets if packet.target == "p0")
    with pytest.raises(InputError, match="tells of 3 messages or events of this process, which has had 1"):
        antecede.restore(snapshot).receive(answer)
