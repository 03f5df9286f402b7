"""What the counterexamples need: a cast of endpoints, and short ways to say what came of a step."""

from typing import Any

import msgspec

from antecede import Effects, Endpoint, Packet
from antecede.protocols.registry import build_endpoint


def cast(kind: type[Endpoint], n: int, **options: Any) -> list[Any]:
    """n endpoints of a class; the process with id i is called p<i>."""
    names = [f"p{i}" for i in range(n)]
    return [build_endpoint(kind, process=name, group=names, **options) for name in names]


def send(endpoint: Any, text: str, *targets: int, **how: Any) -> Packet:
    """Send to the processes with these ids (none: broadcast); the first packet that comes of it."""
    to = [f"p{i}" for i in targets] if targets else None
    effects: Effects = endpoint.send(text.encode(), to=to, **how)
    return effects.packets[0]


def copies(endpoint: Any, text: str, *targets: int) -> list[Packet]:
    """Send to these processes (none: broadcast); one packet for each, in that order."""
    effects: Effects = endpoint.send(text.encode(), to=[f"p{i}" for i in targets] if targets else None)
    return effects.packets


def texts(endpoint: Any, *packets: Packet) -> str:
    """Let packets arrive one after the other; the texts delivered, in order, with blanks between them."""
    delivered = [delivery for packet in packets for delivery in endpoint.receive(packet).deliveries]
    return " ".join(delivery.payload.decode() for delivery in delivered)


def answer(endpoint: Any, packet: Packet) -> Packet:
    """Let a packet arrive; the packet that goes out in turn."""
    effects: Effects = endpoint.receive(packet)
    return effects.packets[0]


def stamp(packet: Packet) -> Any:
    """The stamp as plain values."""
    return msgspec.msgpack.decode(packet.stamp, strict=False)
