"""Strangers at a listening node: refused, counted, logged once, and nobody else is disturbed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme

from antecede import CallerError, live
from antecede.core import wire
from antecede.live.handshake import Hello, Proof, Secrets, check_and_hash_key, read_hello
from antecede.live.records import Sealer, encode_record
from tests.live.cluster import Cluster, find_free_port, get_hub

KEY = b"sixteen bytes and more"


class Caller:
    """Somebody who speaks to a node over a plain socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.outgoing, self.incoming = Sealer(None), Sealer(None)

    def send(self, body: bytes) -> bytes:
        frame = self.outgoing.make_sealed_frame(body)
        self.writer.write(frame)
        return frame

    async def read(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return self.incoming.unseal_frame(await self.reader.readexactly(size))

    async def is_refused(self) -> bool:
        """Whether the node hangs up without another word."""
        try:
            return await asyncio.wait_for(self.reader.read(1), 5) == b""
        except ConnectionError:
            return True

    def hello(self, node: live.Node, **changes: Any) -> Hello:
        """What the peer p1 would say to p0."""
        own = get_hub(node).make_hello("p0")
        return msgspec.structs.replace(own, process="p1", target="p0", incarnation=b"1" * 16, **changes)

    async def shake_hands(self, node: live.Node, key: bytes | None) -> list[bytes]:
        """Become p1; returns the frames that were sent."""
        mine = self.hello(node)
        frames = [self.send(wire.encode(mine))]
        theirs = read_hello(await self.read())
        secrets = Secrets(check_and_hash_key(key), mine, theirs)
        secrets.check_proof(theirs.proof, "listener")
        frames.append(self.send(wire.encode(Proof(secrets.make_proof("dialer")))))
        self.outgoing = Sealer(secrets.derive_hash("frames of the dialer"))
        self.incoming = Sealer(secrets.derive_hash("frames of the listener"))
        return frames


Attack = Callable[[live.Node, Callable[[], Awaitable[Caller]]], Awaitable[None]]


def attack(test: Attack, **settings: Any) -> tuple[dict[tuple[str, str], int], bytes]:
    """Let somebody attack p0, of whose group p2 is another member; afterwards p2 and p0 can still talk."""

    async def run() -> tuple[dict[tuple[str, str], int], bytes]:
        port = find_free_port()
        address = f"tcp://127.0.0.1:{port}"
        peers: dict[str, str | None] = {"p1": None, "p2": None}
        common: dict[str, Any] = {"key": KEY, "linger": 0.0, **settings}
        async with (
            live.join("optimal", process="p0", listen=address, peers=peers, **common) as node,
            live.join("optimal", process="p2", peers={"p0": address, "p1": address}, **common) as friend,
        ):

            async def call() -> Caller:
                return Caller(*await asyncio.open_connection("127.0.0.1", port))

            await test(node, call)
            await friend.send(b"still here", to=["p0"])
            delivery = await asyncio.wait_for(anext(node), 5)
            refused = {key: count for key, count in node.status().refused.items() if key[1] != "p2"}
            return refused, delivery.payload

    return asyncio.run(run())


def check_attack(test: Attack, kind: str, peer: str = "", **settings: Any) -> None:
    """An attack that is refused as it should be."""
    refused, payload = attack(test, **settings)
    assert payload == b"still here"
    assert refused.get((kind, peer), 0) >= 1


def test_who_speaks_something_else() -> None:
    async def speak(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        for text in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" * 50, b"\0" * 64):
            caller = await call()
            caller.writer.write(text)
            assert await caller.is_refused()

    check_attack(speak, "handshake")


def test_a_frame_that_declares_4_gigabytes() -> None:
    async def declare(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        caller.writer.write(b"\xff\xff\xff\xff")
        assert await caller.is_refused()

    check_attack(declare, "size")


def test_a_large_frame_from_a_member_is_refused_before_it_is_there() -> None:
    async def declare(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        await caller.shake_hands(node, KEY)
        await caller.read()
        caller.writer.write((2**31).to_bytes(4, "big"))
        assert await caller.is_refused()

    check_attack(declare, "size", "p1")


@pytest.mark.parametrize("key", [None, b"another key of a group"])
def test_who_does_not_have_the_key(key: bytes | None) -> None:
    async def guess(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        mine = caller.hello(node)
        caller.send(wire.encode(mine))
        theirs = read_hello(await caller.read())
        secrets = Secrets(check_and_hash_key(key), mine, theirs)
        caller.send(wire.encode(Proof(secrets.make_proof("dialer"))))
        assert await caller.is_refused()
        assert not node.status().peers["p1"].connected

    check_attack(guess, "handshake")


@pytest.mark.parametrize(
    "changes",
    [{"version": 2}, {"group": "others"}, {"protocol": "vector"}, {"tag": 1}, {"target": "p9"},
     {"process": "p7"}, {"process": "p0"}, {"magic": "something"}],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_who_belongs_elsewhere(changes: dict[str, Any]) -> None:
    async def greet(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        hello = msgspec.structs.replace(caller.hello(node), **changes)
        caller.send(wire.encode(hello))
        assert await caller.is_refused()

    check_attack(greet, "handshake")


def test_a_recorded_conversation_is_of_no_use() -> None:
    async def replay(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        frames = await caller.shake_hands(node, KEY)
        await caller.read()
        frames.append(caller.send(encode_record(0, 100, 1, [])))
        await asyncio.sleep(0.05)
        assert node.status().peers["p1"].connected
        caller.writer.close()
        again = await call()
        for frame in frames:
            again.writer.write(frame)
        await again.read()  # the greeting, with another nonce
        assert await again.is_refused()
        assert not node.status().peers["p1"].connected

    check_attack(replay, "handshake")


@pytest.mark.parametrize("how", ["altered", "repeated", "left out", "truncated"])
def test_frames_that_are_not_as_they_were_sent(how: str) -> None:
    async def disturb(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        caller = await call()
        await caller.shake_hands(node, KEY)
        caller.send(encode_record(0, 100, 1, []))
        frame = caller.outgoing.make_sealed_frame(encode_record(0, 101, 1, []))
        if how == "altered":
            frame = frame[:6] + bytes([frame[6] ^ 1]) + frame[7:]
        elif how == "repeated":
            frame += frame
        elif how == "left out":
            frame = caller.outgoing.make_sealed_frame(encode_record(0, 102, 1, []))
        else:
            frame = (len(frame) - 5).to_bytes(4, "big") + frame[4:-1]
        await caller.read()
        caller.writer.write(frame)
        while await asyncio.wait_for(caller.reader.read(1000), 5):
            pass
        assert node.status().delivered == 0

    check_attack(disturb, "frame", "p1")


def test_a_member_that_sends_beyond_its_credit_or_leaves_packets_out() -> None:
    async def overdo(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        for first, number in ((1, 17), (3, 1)):
            caller = await call()
            await caller.shake_hands(node, KEY)
            caller.send(encode_record(0, 100, first, [(0, b"", b"12345678")] * number))
            await caller.read()
            assert await caller.is_refused()
        assert node.status().peers["p1"].received == 0

    check_attack(overdo, "frame", "p1", window=16)


def test_half_open_handshakes_end_and_a_flood_of_connections_is_bounded() -> None:
    async def flood(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        callers = [await call() for _ in range(30)]
        await asyncio.sleep(0.05)
        assert len(get_hub(node)._connections) <= 10
        for caller in callers:
            assert await caller.is_refused()
        refused = node.status().refused
        assert refused["flood", ""] >= 20
        assert refused["time", ""] >= 6

    check_attack(flood, "flood", most_strangers=8, handshake_time=0.4)


def test_members_connect_during_a_flood() -> None:
    async def run() -> None:
        port = find_free_port()
        address = f"tcp://127.0.0.1:{port}"
        callers = []
        async with live.join(
            "optimal", process="p0", listen=address, peers={"p1": None}, key=KEY, most_strangers=8, linger=0.0
        ) as node:

            async def flood() -> None:
                while True:
                    callers.append(await asyncio.open_connection("127.0.0.1", port))

            task = asyncio.create_task(flood())
            await asyncio.sleep(0.1)
            async with live.join("optimal", process="p1", peers={"p0": address}, key=KEY, linger=0.0) as peer:
                await peer.send(b"through", to=["p0"])
                delivery = await asyncio.wait_for(anext(node), 10)
            task.cancel()
            assert delivery.payload == b"through"
            assert node.status().refused["flood", ""] > 0

    asyncio.run(run())


def test_each_kind_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def speak(node: live.Node, call: Callable[[], Awaitable[Caller]]) -> None:
        for _ in range(5):
            caller = await call()
            caller.writer.write(b"\xff\xff\xff\xff")
            assert await caller.is_refused()

    caplog.set_level(logging.WARNING, "antecede.live")
    check_attack(speak, "size")
    assert sum("a stranger (size)" in record.getMessage() for record in caplog.records) == 1


def test_nodes_with_a_key_understand_each_other_and_nobody_else() -> None:
    async def run() -> None:
        async with Cluster("vector", 3, "tcp", key=KEY) as cluster:
            cluster.consume()
            await cluster.nodes["p0"].send(b"hello")
            await cluster.wait_for(3)
        async with Cluster("optimal", 2, "tcp") as cluster:
            await asyncio.sleep(0.1)
            cluster.stop("p1")
            await asyncio.sleep(0.1)
            await cluster.start("p1", key=KEY)
            await asyncio.sleep(0.5)
            assert not cluster.nodes["p0"].status().peers["p1"].connected

    asyncio.run(run())


# -- mutual TLS ------------------------------------------------------------------------------------------


def make_certificate(folder: Path, authority: trustme.CA, name: str) -> live.Certificate:
    issued = authority.issue_cert(common_name=name)
    files = [folder / f"{name}.{kind}" for kind in ("pem", "key", "ca")]
    issued.cert_chain_pems[0].write_to_path(files[0])
    issued.private_key_pem.write_to_path(files[1])
    authority.cert_pem.write_to_path(files[2])
    return live.Certificate(certificate=files[0], private_key=files[1], authority=files[2])


def talk_over_tls(first: live.Certificate, second: live.Certificate) -> bool:
    """Whether p0 and p1 get to talk with these certificates."""

    async def run() -> bool:
        address = f"tcp://127.0.0.1:{find_free_port()}"
        async with (
            live.join("optimal", process="p0", listen=address, peers={"p1": None}, tls=first, linger=0.0),
            live.join("optimal", process="p1", peers={"p0": address}, tls=second, linger=0.0) as node,
        ):
            for _ in range(100):
                if node.status().peers["p0"].connected:
                    return True
                await asyncio.sleep(0.01)
            return False

    return asyncio.run(run())


def test_members_with_certificates_of_the_group_talk_and_others_do_not(tmp_path: Path) -> None:
    ours, theirs = trustme.CA(), trustme.CA()
    p0, p1, p2 = (make_certificate(tmp_path, ours, name) for name in ("p0", "p1", "p2"))
    (tmp_path / "other").mkdir()
    stranger = make_certificate(tmp_path / "other", theirs, "p1")
    assert talk_over_tls(p0, p1)
    assert not talk_over_tls(p0, stranger)
    assert not talk_over_tls(p0, p2)  # a member, and not the one that it says it is
    assert not talk_over_tls(p2, p1)


def test_half_open_handshakes_and_strangers_under_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    p0, p1 = (make_certificate(tmp_path, authority, name) for name in ("p0", "p1"))

    async def run() -> None:
        port = find_free_port()
        address = f"tcp://127.0.0.1:{port}"
        common: dict[str, Any] = {"linger": 0.0, "most_strangers": 8, "handshake_time": 0.4}
        async with live.join(
            "optimal", process="p0", listen=address, peers={"p1": None}, tls=p0, **common
        ) as node:
            silent = [Caller(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(30)]
            await asyncio.sleep(0.05)
            assert len(get_hub(node)._connections) <= 9
            for caller in silent:
                assert await caller.is_refused()
            plain = Caller(*await asyncio.open_connection("127.0.0.1", port))
            plain.writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await plain.is_refused()
            assert not get_hub(node)._connections
            refused = node.status().refused
            assert refused["flood", ""] >= 20
            assert refused["time", ""] >= 6
            assert refused["handshake", ""] == 1
            async with live.join("optimal", process="p1", peers={"p0": address}, tls=p1, linger=0.0) as peer:
                await peer.send(b"through", to=["p0"])
                assert (await asyncio.wait_for(anext(node), 10)).payload == b"through"

    asyncio.run(run())


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    missing = live.Certificate(
        certificate=tmp_path / "a.pem", private_key=tmp_path / "a.key", authority=tmp_path / "ca.pem"
    )
    with pytest.raises(CallerError, match=r"a\.pem"):
        talk_over_tls(missing, missing)
