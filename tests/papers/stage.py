"""What scenes need: a cast of endpoints p0, p1, ..., and short ways to say what came of a step."""

from typing import Any, TypeVar

import msgspec

from antecede import Effects, Endpoint, Packet
from antecede.core.gated import Gated
from antecede.protocols.registry import build_endpoint

E = TypeVar("E", bound=Endpoint)


def cast(kind: type[E], n: int, **options: Any) -> list[E]:
    """n endpoints of one class; the process with id i is called p<i>."""
    names = [f"p{i}" for i in range(n)]
    made = [build_endpoint(kind, process=name, group=names, **options) for name in names]
    return [member for member in made if isinstance(member, kind)]


def send(endpoint: Endpoint, text: str, *targets: int, **how: Any) -> Packet:
    """Send to the processes with these ids (to none: broadcast); the first packet that comes of it."""
    to = [f"p{i}" for i in targets] if targets else None
    effects = endpoint.send(text.encode(), to=to, **how)
    return effects.packets[0]


def words(effects: Effects) -> str:
    """The texts delivered, in order, with blanks between them."""
    return " ".join(delivery.payload.decode() for delivery in effects.deliveries)


def hear_each(endpoint: Endpoint, *packets: Packet) -> list[str]:
    """The texts delivered as each of these packets arrives."""
    return [words(endpoint.receive(packet)) for packet in packets]


def have(endpoint: Gated, size: int | None = None) -> list[int]:
    """The gate's counts as a dense vector: DELIV, k, SR or V, as the paper may call it."""
    counts = endpoint.gate.have
    return [counts.get(slot, 0) for slot in range(size or endpoint.n)]


def missing(endpoint: Endpoint) -> list[tuple[str, str, int, int]]:
    """Every unmet need of every held message: text, slot, what it has and what it needs."""
    unmet = []
    for held in endpoint.held():
        text = held.payload.decode()
        unmet += [(text, need.slot, need.have, need.needs) for need in held.missing]
    return unmet


def stamp(packet: Packet) -> Any:
    """The stamp as plain MessagePack values."""
    return msgspec.msgpack.decode(packet.stamp, strict=False) if packet.stamp else None
