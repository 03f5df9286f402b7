"""Packets made by hand with fields of other types, damaged snapshots, and more sets of keys than ids."""

from typing import Any

import msgspec
import pytest

import antecede
from antecede import CallerError, InputError
from tests.bad_input.scenes import EVERY_CASE, check_packet_refused, scene

WRONG: dict[str, list[Any]] = {
    "number": [0, -1, 2.5, True, "1", None, 2**62],
    "payload": ["text", None, bytearray(b"x")],
    "stamp": ["text", None, []],
    **{name: [None, 5, ["p1"]] for name in ("source", "kind", "protocol")},
}
FIELDS = [(field, value) for field, values in WRONG.items() for value in values]


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_packets_made_by_hand(field: str, value: Any) -> None:
    at = scene("vector", "busy")
    check_packet_refused(at.p0, msgspec.structs.replace(at.packet, **{field: value}))
    at.finish()


@EVERY_CASE
def test_snapshots_with_one_bit_changed(name: str) -> None:
    snapshot = scene(name, "busy").p0.snapshot()
    for place in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[place] ^= 1
        with pytest.raises(InputError):
            antecede.restore(bytes(damaged))


@pytest.mark.parametrize(("entries", "keys"), [(1000, 50), (100, 20), (65_536, 8)])
def test_more_sets_of_keys_than_ids(entries: int, keys: int) -> None:
    with pytest.raises(CallerError, match="smaller K"):
        antecede.endpoint("probabilistic", process="a", group=["a", "b"], R=entries, K=keys)
