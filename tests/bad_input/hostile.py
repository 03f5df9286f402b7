"""Bytes and values made to hurt, where to put them, and what must hold whatever they do."""

import time
from collections.abc import Iterator
from typing import Any

import antecede
from antecede import AntecedeError, Endpoint
from tests.bad_input.scenes import encode

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


def change_part(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the tree with another value in one place."""
    if not path:
        return value
    copy = tree.copy()
    copy[path[0]] = change_part(tree[path[0]], path[1:], value)
    return copy


def list_paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a tree of lists and maps."""
    yield path
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from list_paths(tree[key], (*path, key))


def get_part(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def list_counts(tree: Any) -> list[tuple[Any, ...]]:
    return [path for path in list_paths(tree) if isinstance(get_part(tree, path), int)]
