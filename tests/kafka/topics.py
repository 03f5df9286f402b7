"""What a stranger to antecede does with topics: read them, write to them, delete from them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from antecede.live.kafka.address import locate_inboxes


def get_topic(address: str) -> str:
    """The topic of an inbox."""
    return locate_inboxes("x", address, {}, "g").topics["x"]


@asynccontextmanager
async def _start(client: Any) -> AsyncIterator[Any]:
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def read_records(broker: str, topic: str, partition: int) -> list[Any]:
    """All records of a partition, as they are."""
    place = TopicPartition(topic, partition)
    async with _start(AIOKafkaConsumer(bootstrap_servers=broker, auto_offset_reset="earliest")) as consumer:
        end = (await consumer.end_offsets([place]))[place]
        consumer.assign([place])
        consumer.seek(place, (await consumer.beginning_offsets([place]))[place])
        records: list[Any] = []
        while await consumer.position(place) < end:
            for found in (await consumer.getmany(timeout_ms=200)).values():
                records += found
    return records


async def write_records(broker: str, topic: str, partition: int, records: list[tuple[Any, Any]]) -> None:
    """Write values with headers."""
    async with _start(AIOKafkaProducer(bootstrap_servers=broker)) as producer:
        for value, headers in records:
            await producer.send_and_wait(topic, value, b"a key", partition=partition, headers=headers)


async def delete_records(broker: str, topic: str, partition: int, before: int) -> None:
    """Delete what is before an offset, as retention does."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    try:
        await admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before)})
    finally:
        await admin.close()


async def make_topic(broker: str, topic: str, partitions: int) -> None:
    """Make a topic."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
    finally:
        await admin.close()


async def add_partitions(broker: str, topic: str, partitions: int) -> None:
    """Let a topic have so many partitions."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    try:
        await admin.create_partitions({topic: NewPartitions(partitions)})
    finally:
        await admin.close()


async def limit_records(broker: str, topic: str, size: int) -> None:
    """Let a topic take records up to a size, in bytes."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    change = ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": str(size)})
    try:
        await admin.alter_configs([change])
    finally:
        await admin.close()


async def wait_until(is_so: Any, timeout: float = 30.0) -> None:
    """Wait until something is so."""

    async def poll() -> None:
        while not is_so():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(poll(), timeout)


class Record(NamedTuple):
    """A record for any partition of any topic."""

    topic: str
    partition: int
    value: bytes | None
    headers: dict[str, bytes]
    key: bytes | None = None


async def publish(broker: str, records: list[Record]) -> None:
    """Write records, those of a partition in this order."""
    async with _start(AIOKafkaProducer(bootstrap_servers=broker)) as producer:
        for record in records:
            await producer.send(
                record.topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers.items()),
            )
        await producer.flush()
