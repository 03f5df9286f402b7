"""What a packet costs: nodes over TCP, raw streams with the same payloads, and the endpoints alone.

Processor time, divided by the packets with a message: one to all is seven, and what `buffered` answers is
part of their cost. Each is measured several times in turn, and the least counts, so that what else runs here
counts for little.

`buffered` sends a message when the one before it was acknowledged: there is never more than one packet of a
process under way, and nothing to put into one write. Raw streams that only write have no such round trips;
so beside it there are also raw streams that wait for an answer to each payload.
"""

import asyncio
import gc
from collections.abc import Iterator
from random import Random
from time import process_time

from rich.table import Table

from antecede import endpoint
from antecede.core.endpoint import Endpoint
from antecede.core.packet import Packet, decode
from bench.live.group import NAMES, NODES, PAYLOAD, PROTOCOLS, choose_targets, count_copies, open_group
from bench.measure import verdict

BAR = 2.0
"""How many times as much as raw streams and endpoints together a node may take."""
FRAME = len(PAYLOAD).to_bytes(4, "big") + PAYLOAD
ANSWER = b"\0\0\0\1."
AT_SENDER = ("buffered",)


def tables(quick: bool) -> Iterator[Table]:
    packets, repeats = (2_000, 1) if quick else (40_000, 3)
    table = Table(
        title=f"Live: {NODES} nodes over TCP, payloads of 100 bytes, no journal", title_justify="left"
    )
    table.caption = (
        "Microseconds of processor time for a packet, both ends. The ratio is that of a node to raw streams "
        "and endpoints alone together; the last one has streams that wait for an answer to each payload."
    )
    table.add_column("protocol", no_wrap=True)
    for name in ("a node", "raw streams", "endpoints alone", "ratio", "bar", "", "with answers", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for protocol in PROTOCOLS:
        runs = [_measure_once(protocol, packets) for _ in range(repeats)]
        node, raw, alone, answered = map(min, zip(*runs, strict=True))
        ratio = node / (raw + alone)
        shown = [f"{1e6 * seconds:.1f}" for seconds in (node, raw, alone)]
        fair = (f"{1e6 * answered:.1f}", f"{node / (answered + alone):.2f} ×")
        table.add_row(
            protocol,
            *shown,
            f"{ratio:.2f} ×",
            f"{BAR:.0f} ×",
            verdict(ratio <= BAR),
            *(fair if protocol in AT_SENDER else ("", "")),
        )
    yield table


def _measure_once(protocol: str, packets: int) -> tuple[float, float, float, float]:
    node = asyncio.run(_measure_nodes(protocol, packets))
    raw = asyncio.run(_measure_streams(packets))
    alone = _measure_endpoints(protocol, packets)
    answered = asyncio.run(_measure_answers(packets)) if protocol in AT_SENDER else 0.0
    return node, raw, alone, answered


async def _measure_nodes(protocol: str, packets: int) -> float:
    """Seconds of processor time for a packet, as fast as it goes."""
    group = await open_group(protocol)
    copies, _ = count_copies(protocol)
    messages = packets // NODES // copies
    gc.collect()
    start = process_time()
    await group.send_many(messages)
    seconds = process_time() - start
    await group.leave()
    return seconds / (messages * NODES * copies)


async def _measure_streams(packets: int) -> float:
    """The same for a payload with its length before it, over one connection."""
    received = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(packets):
            await _read_frame(reader)
        received.set()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
    start = process_time()
    for _ in range(packets):
        writer.write(FRAME)
        await writer.drain()
    await received.wait()
    seconds = process_time() - start
    writer.close()
    server.close()
    return seconds / packets


async def _measure_answers(packets: int) -> float:
    """The same over a connection for each node, on which every payload waits for the answer to the last."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(packets // NODES):
            await _read_frame(reader)
            writer.write(ANSWER)
        writer.close()

    async def ask(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(packets // NODES):
            writer.write(FRAME)
            await _read_frame(reader)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    start = process_time()
    await asyncio.gather(*(ask(port) for _ in range(NODES)))
    seconds = process_time() - start
    server.close()
    return seconds / (packets // NODES * NODES)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


def _measure_endpoints(protocol: str, packets: int) -> float:
    """The same for packets that are made, encoded, decoded and taken in without a network."""
    members = {name: endpoint(protocol, process=name, group=NAMES) for name in NAMES}
    random = Random(1)
    under_way: list[Packet] = []
    copies, _ = count_copies(protocol)
    rounds = packets // (NODES * copies)
    start = process_time()
    for _ in range(rounds):
        for name, member in members.items():
            effects = member.send(PAYLOAD, choose_targets(protocol, name, random))
            under_way += effects.packets
        while under_way:
            under_way = [after for packet in under_way for after in _pass_on(members, packet)]
    return (process_time() - start) / (rounds * NODES * copies)


def _pass_on(members: dict[str, Endpoint], packet: Packet) -> list[Packet]:
    arrived = decode(packet.encode())
    return members[arrived.target].receive(arrived).packets
