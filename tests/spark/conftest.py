"""The tests of this folder run on Spark, some with a broker."""

import asyncio
import os

import pytest

from antecede.kafka_address import KafkaTopics
from tests.kafka.topics import make_topic
from tests.kafka_broker import broker, broker_address
from tests.spark_session import spark

__all__ = ["broker", "broker_address", "source", "spark"]


@pytest.fixture
def source(spark, broker_address: str, request: pytest.FixtureRequest) -> KafkaTopics:
    """Two topics with three partitions each, of this test."""
    if not spark.conf.get("spark.jars", ""):
        assert not os.environ.get("CI"), "the session has no Kafka connector"
        pytest.skip("no Kafka connector here")
    topics = tuple(f"{request.node.name[:100]}.{name}" for name in ("one", "two"))
    for topic in topics:
        asyncio.run(make_topic(broker_address, topic, 3))
    return KafkaTopics(broker_address, topics)
