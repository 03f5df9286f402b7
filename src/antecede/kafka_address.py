"""Addresses of Kafka topics: kafka://host:port,host:port/topic,topic."""

import re
from typing import NamedTuple

from antecede.core.errors import CallerError

SCHEME = "kafka"
BROKERS = re.compile(r"[^\s/,]+:\d{1,5}(,[^\s/,]+:\d{1,5})*")
TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FORM = "write kafka://host:port/topic, or kafka://host:port/topic,topic for several topics"


class KafkaTopics(NamedTuple):
    """Topics of one cluster of brokers."""

    brokers: str
    """As Kafka's clients want them: host:port,host:port."""
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{SCHEME}://{self.brokers}/{','.join(self.topics)}"


def is_kafka_address(text: str) -> bool:
    """Whether something names topics, and not files."""
    return text.startswith(f"{SCHEME}://")


def parse_kafka_address(text: str) -> KafkaTopics:
    """The brokers and topics of an address; a sentence if it is none."""
    brokers, _, names = text.removeprefix(f"{SCHEME}://").partition("/")
    topics = tuple(dict.fromkeys(name.strip() for name in names.split(",")))
    if not is_kafka_address(text) or not BROKERS.fullmatch(brokers):
        raise CallerError(f"{text}: is no address of topics; {_FORM}")
    for topic in topics:
        if not TOPIC.fullmatch(topic):
            raise CallerError(
                f"{text}: {topic!r} cannot be the name of a topic (letters, digits, '.', '_' and '-'); "
                + _FORM
            )
    return KafkaTopics(brokers, topics)
