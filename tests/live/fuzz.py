"""Any bytes, at every stage of a connection: the listening side refuses them, and nothing else happens.

An input is what one read from a socket could bring: noise, or something that was right before it was changed,
with a seal that is right, so that it gets as far as possible. After each, the node has no error but a
refusal, and keeps its bounds; in the end it still talks to an honest peer.
"""

import asyncio
import logging
from collections import Counter
from random import Random
from typing import Any

import msgspec

import antecede
from antecede.core import wire
from antecede.core.station import Station
from antecede.live.connection import Connection
from antecede.live.handshake import Proof, read_hello
from antecede.live.hub import Hub
from antecede.live.node import Node
from antecede.live.records import Sealer, encode_record
from antecede.live.settings import NodeSettings

NAMES = ["p0", "p1", "p2"]
WINDOW = 64


class DeafTransport(asyncio.Transport):
    """Takes what is written, and closes at once."""

    def __init__(self, protocol: Connection) -> None:
        super().__init__()
        self.protocol, self.closed, self.written = protocol, False, b""

    def write(self, data: Any) -> None:
        self.written = bytes(data)

    def abort(self) -> None:
        if not self.closed:
            self.closed = True
            self.protocol.connection_lost(None)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Fuzzer:
    """A node, and somebody who connects to it again and again."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.counts: Counter[str] = Counter()
        station = Station(antecede.endpoint("optimal", process="p0", group=NAMES))
        settings = NodeSettings(window=WINDOW, most_strangers=8)
        addresses = dict.fromkeys(NAMES[1:])
        self.hub = Hub(
            station, addresses, settings, {}, group="g", incarnation=b"0" * 16, key=None, certified=False
        )
        self.node = Node(station, self.hub, None, None)
        self.honest = Station(antecede.endpoint("optimal", process="p1", group=NAMES))
        self.connection = self._connect()
        self.sealer = Sealer(None)

    def _connect(self) -> Connection:
        connection = self.hub._accept_connection_and_limit_strangers()
        connection.connection_made(DeafTransport(connection))
        self.sealer = Sealer(None)
        self.counts["connections"] += 1
        return connection

    def _feed(self, body: bytes) -> None:
        self.connection.data_received(self.sealer.make_sealed_frame(body))

    def reach(self, stage: str) -> None:
        """A connection on which so much of the handshake went well."""
        self.connection.close("fuzzed enough")
        self.connection = self._connect()
        if stage == "greeting":
            return
        self._feed(self._make_hello())
        if stage == "open":
            self._feed(wire.encode(Proof(b"")))
            self.sealer = Sealer(None)
            self._feed(encode_record(0, WINDOW, 1, []))

    def _make_hello(self) -> bytes:
        own = self.hub.make_hello("p0")
        return wire.encode(msgspec.structs.replace(own, process="p1", target="p0", incarnation=b"1" * 16))

    def feed_something(self, stage: str) -> None:
        """One input."""
        kind = self.random.random()
        if kind < 0.1:
            data = self.random.randbytes(self.random.randrange(1, 40))
        else:
            body = self._change(self._make_right(stage))
            data = self.sealer.make_sealed_frame(body)
            if kind < 0.2:
                data = self._change(data)
        self.connection.data_received(data)

    def _make_right(self, stage: str) -> bytes:
        """What would be right now."""
        if stage == "greeting":
            return self._make_hello()
        if stage == "proof":
            return wire.encode(Proof(b""))
        peer = self.hub.peers["p1"]
        channel = self.honest.channels["p0"]
        if not channel.waiting:
            self.honest.send(b"payload", ["p0"], {})
        return encode_record(0, WINDOW, peer.accepted + 1, list(channel.waiting)[:2])

    def _change(self, data: bytes) -> bytes:
        """Change, cut or repeat some of it."""
        random = self.random
        changed = bytearray(data)
        for _ in range(random.choice([0, 1, 1, 2, 8])):
            at = random.randrange(len(changed) + 1)
            what = random.randrange(4)
            if what == 0 and at < len(changed):
                changed[at] ^= 1 << random.randrange(8)
            elif what == 1:
                del changed[at:]
            elif what == 2:
                changed[at:at] = random.randbytes(random.randrange(1, 9))
            elif at < len(changed):
                changed[at] = random.choice([0, 0x7F, 0x90, 0xC4, 0xCF, 0xDD, 0xFF])
        return bytes(changed)

    def check_bounds(self) -> None:
        """What must be true whatever comes."""
        peer = self.hub.peers["p1"]
        assert len(self.hub._connections) <= 9
        assert peer.accepted <= peer.channel.received <= max(peer.granted, peer.channel.received)
        assert peer.channel.unsettled <= WINDOW
        assert len(self.node.station.queue) <= WINDOW
        assert self.hub.peers["p2"].channel.received == 0


async def _fuzz(seed: int, inputs: int) -> Counter[str]:
    fuzzer = Fuzzer(seed)
    done = 0
    while done < inputs:
        stage = fuzzer.random.choice(["greeting", "proof", "open", "open", "open"])
        fuzzer.reach(stage)
        for _ in range(20):
            if fuzzer.connection.state == "closed":
                break
            fuzzer.feed_something(stage)
            fuzzer.counts[stage] += 1
            done += 1
        while fuzzer.node.station.queue:
            fuzzer.node.station.acknowledge_deliveries_up_to(fuzzer.node.station.hand_next_delivery().number)
        fuzzer.check_bounds()
        if done % 5000 < 20:
            await asyncio.sleep(0)  # timers, and what is to go out
    fuzzer.counts["taken in"] = fuzzer.hub.peers["p1"].channel.received
    for (kind, peer), number in fuzzer.hub.refusals.counts.items():
        fuzzer.counts[f"refused ({kind}) {peer or 'stranger'}"] = number
    _check_honest_peer(fuzzer)
    return fuzzer.counts


def _check_honest_peer(fuzzer: Fuzzer) -> None:
    """Another member is not concerned."""
    other = Station(antecede.endpoint("optimal", process="p2", group=NAMES))
    other.send(b"honest", ["p0"], {})
    fuzzer.connection = fuzzer._connect()
    hello = read_hello(fuzzer._make_hello())
    fuzzer._feed(wire.encode(msgspec.structs.replace(hello, process="p2", incarnation=b"2" * 16)))
    fuzzer._feed(wire.encode(Proof(b"")))
    fuzzer.sealer = Sealer(None)
    fuzzer._feed(encode_record(0, WINDOW, 1, list(other.channels["p0"].waiting)))
    assert [item.payload for item in fuzzer.node.station.queue] == [b"honest"]


def run_fuzz(seed: int, inputs: int) -> Counter[str]:
    """Feed that many inputs; returns what they met with."""
    logging.getLogger("antecede.live").setLevel(logging.ERROR)
    return asyncio.run(_fuzz(seed, inputs))
