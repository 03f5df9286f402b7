"""One session with a cluster of brokers: a producer, a consumer of the own inbox, and the topics of a group.

Whatever goes wrong ends a session; the next one begins where the journal, or memory, says. So there is one
way to go on, be it after a lost broker, a leader that has changed, or a fault of the client.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Iterable
from typing import Any

from antecede.core.channel import Parcel
from antecede.core.errors import CallerError, SetupError
from antecede.live.errors import NodeFailedError
from antecede.live.kafka.letters import Headers, LetterForm
from antecede.live.transports.tcp import Certificate, make_tls_context

try:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic
    from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code
except ImportError:
    raise SetupError("nodes over Kafka need aiokafka; run: pip install 'antecede[kafka]'") from None

FETCH_BYTES = 256 * 1024
"""Of one partition, fetched at once; a larger record comes alone."""
LONGEST_FETCH = 0.5
"""Seconds that a broker may wait for something to come."""
CLOSING_TIME = 2.0
DENIED = (29, 31)
"""The broker's codes for: not allowed to do this with a topic, or with the cluster."""

TROUBLES = (KafkaError, OSError, TimeoutError, AssertionError)
"""What ends a session, and a new one may be without; aiokafka states what it takes for certain by assert."""


class BrokerSettings:
    """How all clients of a node connect."""

    def __init__(
        self,
        brokers: list[str],
        process: str,
        timeout_seconds: float,
        max_record_bytes: int,
        tls: Certificate | None,
    ) -> None:
        self.largest = max_record_bytes
        self.patience = timeout_seconds
        self.common: dict[str, Any] = {
            "bootstrap_servers": brokers,
            "client_id": f"antecede-{process}",
            "request_timeout_ms": int(1000 * max(timeout_seconds, 2 * LONGEST_FETCH)),
        }
        if tls is not None:
            context = make_tls_context(tls, ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = True  # a broker's certificate names its host
            self.common |= {"security_protocol": "SSL", "ssl_context": context}


class BrokerSession:
    """`inbox` is the own topic; `partition` that of this process in the inboxes of others."""

    def __init__(self, settings: BrokerSettings, inbox: str, partition: int) -> None:
        self.settings = settings
        self.inbox = inbox
        self.partition = partition
        self._producer = AIOKafkaProducer(
            **settings.common, enable_idempotence=True, max_batch_size=settings.largest
        )
        self._consumer = AIOKafkaConsumer(
            **settings.common,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=int(1000 * LONGEST_FETCH),
        )

    async def open(self) -> None:
        """Connect."""
        await self._producer.start()
        await self._consumer.start()

    async def close(self) -> None:
        """Disconnect; what was not acknowledged may still arrive until this returns."""
        await asyncio.gather(self._consumer.stop(), self._producer.stop(), return_exceptions=True)

    # -- topics ------------------------------------------------------------------------------------

    async def create_missing_and_check_topics(self, topics: Iterable[str], partition_count: int) -> None:
        """Make the inboxes that are not there, with as many replicas as the broker makes by default."""
        admin = AIOKafkaAdminClient(**self.settings.common)
        await admin.start()
        configs = {"max.message.bytes": str(self.settings.largest)}
        wanted = [NewTopic(topic, partition_count, -1, {}, configs) for topic in topics]
        try:
            response = await admin.create_topics(wanted)
        finally:
            await admin.close()
        for topic, code, message in response.topic_errors:
            if code and code not in (TopicAlreadyExistsError.errno, *DENIED):
                raise for_code(code)(f"the topic {topic} cannot be made: {message}")
        for topic in topics:
            await self._check_topic_has_partitions(topic, partition_count)

    async def _check_topic_has_partitions(self, topic: str, partition_count: int) -> None:
        there = len(await self._producer.partitions_for(topic))
        if there < partition_count:
            raise CallerError(
                f"the topic {topic} has {there} partitions, and each of {partition_count} members writes to "
                f"one: run kafka-topics.sh --alter --topic {topic} --partitions {partition_count}"
            )

    # -- reading -----------------------------------------------------------------------------------

    def get_inbox_partition(self, partition: int) -> TopicPartition:
        """A partition of the inbox."""
        return TopicPartition(self.inbox, partition)

    async def find_offset_bounds(self, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Where the log of each partition begins and ends."""
        places = {partition: self.get_inbox_partition(partition) for partition in partitions}
        begins = await self._consumer.beginning_offsets(list(places.values()))
        ends = await self._consumer.end_offsets(list(places.values()))
        return {partition: (begins[place], ends[place]) for partition, place in places.items()}

    def begin_reading(self, offsets: dict[int, int]) -> None:
        """Read each partition from its offset on."""
        self._consumer.assign([self.get_inbox_partition(partition) for partition in offsets])
        for partition, offset in offsets.items():
            self._consumer.seek(self.get_inbox_partition(partition), offset)

    def pause_or_resume_partition(self, partition: int, enabled: bool) -> None:
        """Read from a partition, or leave it for now."""
        change = self._consumer.resume if enabled else self._consumer.pause
        change(self.get_inbox_partition(partition))

    async def read_records(self, max_records: int) -> dict[int, list[ConsumerRecord]]:
        """What has come, so many records at most, by partition; waits a while if there is nothing."""
        found = await self._consumer.getmany(timeout_ms=int(1000 * LONGEST_FETCH), max_records=max_records)
        return {place.partition: records for place, records in found.items()}

    # -- writing -----------------------------------------------------------------------------------

    async def write_hello(
        self, form: LetterForm, topic: str, receiver: str, receiver_incarnation: bytes
    ) -> None:
        """Greet a peer; returns when the broker keeps that."""
        await self._write_letters_in_one_batch(topic, [form.build_hello(receiver, receiver_incarnation)])

    async def write_packets(
        self, form: LetterForm, topic: str, common_headers: Headers, first_number: int, parcels: list[Parcel]
    ) -> None:
        """Write packets in one batch, which is kept whole or not at all; returns when the broker keeps it."""
        numbered = enumerate(parcels, first_number)
        await self._write_letters_in_one_batch(
            topic, [form.build_packet_letter(common_headers, number, parcel) for number, parcel in numbered]
        )

    async def _write_letters_in_one_batch(self, topic: str, letters: list[tuple[bytes, Headers]]) -> None:
        batch = self._producer.create_batch()
        for value, headers in letters:
            if batch.append(timestamp=None, key=None, value=value, headers=headers) is None:
                raise NodeFailedError(f"a batch of more than {self.settings.largest} bytes for {topic}")
        batch.close()
        await self._wait_until_written(
            await self._producer.send_batch(batch, topic, partition=self.partition)
        )

    async def _wait_until_written(self, written: Awaitable[Any]) -> None:
        try:
            await written
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise KafkaError("the producer was stopped") from None
