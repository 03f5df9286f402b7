"""Addresses of inboxes: kafka://host:port,host:port/topic. Without a topic it is called GROUP.PROCESS."""

from collections.abc import Mapping

import msgspec

from antecede.core.errors import CallerError
from antecede.kafka_address import BROKERS, SCHEME, TOPIC
from antecede.live.transports import split_address

FORM = "write kafka://host:port or kafka://host:port/topic"


class Inboxes(msgspec.Struct, frozen=True):
    """The brokers of a group, as `host:port`, and the topic of each member."""

    brokers: list[str]
    topics: dict[str, str]


def uses_kafka(listen: str | None, peers: Mapping[str, str | None]) -> bool:
    """Whether one of the addresses names Kafka."""
    addresses = [listen, *peers.values()]
    return any(isinstance(one, str) and one.startswith(f"{SCHEME}://") for one in addresses)


def locate_inboxes(process: str, listen: str | None, peers: Mapping[str, str | None], group: str) -> Inboxes:
    """Where all members have their inboxes; refuses what does not fit together."""
    found: dict[str, str] = {}
    topics: dict[str, str] = {}
    for member, address in {process: listen, **peers}.items():
        if address is None:
            what = "`listen`" if member == process else f"the address of {member!r}"
            raise CallerError(f"{what} is missing: over Kafka each member has an inbox; {FORM}")
        brokers, topic = _parse_brokers_and_topic(address, f"{group}.{member}")
        found[brokers] = member
        if topic in topics.values():
            raise CallerError(f"{address}: the topic {topic} is the inbox of two members; {FORM}")
        topics[member] = topic
    if len(found) > 1:
        raise CallerError(f"a group has one cluster of brokers, and these are several: {', '.join(found)}")
    (brokers,) = found
    return Inboxes(brokers.split(","), topics)


def _parse_brokers_and_topic(address: str, default_topic: str) -> tuple[str, str]:
    scheme, place = split_address(address)
    if scheme != SCHEME:
        raise CallerError(f"{address}: where one member is reached over Kafka, all are; {FORM}")
    brokers, _, topic = place.partition("/")
    if not BROKERS.fullmatch(brokers):
        raise CallerError(f"{address}: {FORM}")
    topic = topic or default_topic
    if not TOPIC.fullmatch(topic):
        raise CallerError(
            f"{address}: {topic!r} cannot be the name of a topic (letters, digits, '.', '_' and '-'); "
            "name one: kafka://host:port/topic"
        )
    return brokers, topic
