"""Nodes over TCP beside aiokafka and a broker, each node and each client a process of its own.

In one event loop Kafka has an advantage: its broker works on another core meanwhile. Here all cores are there
for both. Every process sends to each of the others in turn, as fast as it may.
"""

import asyncio
from collections.abc import Iterator
from multiprocessing.pool import Pool
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from rich.table import Table

from antecede.core.errors import SetupError
from bench.live import journal
from bench.live.group import NAMES, NODES, OTHERS, PAYLOAD, PROTOCOLS, count_copies
from bench.live.others import create_topics, quieten_client, start_broker
from bench.live.processes import Cost, Stopwatch, add_costs, make_pool
from bench.measure import count, processor_time_of, verdict


class ClientTask(NamedTuple):
    """What a client is to do; `topics` has the inbox of each process."""

    name: str
    address: str
    topics: dict[str, str]
    messages: int


def run_client(task: ClientTask) -> Cost:
    """The work of one process."""
    quieten_client()
    return asyncio.run(_exchange(task))


async def _exchange(task: ClientTask) -> Cost:
    consumer = AIOKafkaConsumer(
        task.topics[task.name], bootstrap_servers=task.address, auto_offset_reset="earliest"
    )
    producer = AIOKafkaProducer(bootstrap_servers=task.address)
    await consumer.start()
    await producer.start()
    loop = asyncio.get_running_loop()
    stopwatch = await loop.run_in_executor(None, Stopwatch)
    await asyncio.gather(_send(producer, task), _take(consumer, task.messages))
    cost = await loop.run_in_executor(None, stopwatch.stop)
    await producer.stop()
    await consumer.stop()
    return cost


async def _send(producer: AIOKafkaProducer, task: ClientTask) -> None:
    others = OTHERS[task.name]
    for number in range(task.messages):
        await producer.send(task.topics[others[number % len(others)]], PAYLOAD)


async def _take(consumer: AIOKafkaConsumer, number: int) -> None:
    async for _ in consumer:
        number -= 1
        if not number:
            return


def tables(quick: bool) -> Iterator[Table]:
    rounds, repeats = (10, 1) if quick else (700, 3)
    table = Table(title=f"Live: {NODES} nodes as processes, beside Kafka alone", title_justify="left")
    table.caption = (
        "Packets with a message, 100 bytes, as fast as it goes, the best of some runs; microseconds of "
        "processor time for each, all processes together, the broker too."
    )
    table.add_column("", no_wrap=True)
    for name in ("packets/s", "processor µs", "to Kafka", ""):
        table.add_column(name, justify="right", no_wrap=True)
    with make_pool(__name__) as pool:
        try:
            kafka = _measure_kafka(pool, rounds, repeats)
        except SetupError as error:
            table.caption = f"No Kafka here: {error}"
            yield table
            return
        for protocol in PROTOCOLS:
            cost = min(_measure_nodes(pool, protocol, rounds) for _ in range(repeats))
            ratio = kafka.wall / cost.wall
            table.add_row(protocol, *_show(cost), f"{ratio:.1f} ×", verdict(ratio > 1))
        table.add_row("aiokafka", *_show(kafka), "1.0 ×", "")
    yield table


def _show(cost: Cost) -> tuple[str, str]:
    return count(1 / cost.wall), f"{1e6 * cost.processor:.1f}"


def _measure_nodes(pool: Pool, protocol: str, rounds: int) -> Cost:
    """Seconds for a packet."""
    copies, _ = count_copies(protocol)
    messages = rounds * (NODES - 1) // copies
    outcomes = journal.run_nodes(pool, protocol, messages, False, None)
    wall, processor = add_costs([one.node for one in outcomes])
    packets = messages * NODES * copies
    return Cost(wall / packets, processor / packets)


def _measure_kafka(pool: Pool, rounds: int, repeats: int) -> Cost:
    """The same; one time more, as Java compiles what is used often."""
    with start_broker() as broker:
        runs = [_measure_clients(pool, broker.address, broker.pid, rounds) for _ in range(repeats + 1)]
    return min(runs[1:])


def _measure_clients(pool: Pool, address: str, broker: int, rounds: int) -> Cost:
    messages = rounds * (NODES - 1)
    topics = asyncio.run(create_topics(address))
    tasks = [ClientTask(name, address, topics, messages) for name in NAMES]
    before = processor_time_of(broker)
    wall, processor = add_costs(pool.map(run_client, tasks, chunksize=1))
    processor += processor_time_of(broker) - before
    packets = messages * NODES
    return Cost(wall / packets, processor / packets)
