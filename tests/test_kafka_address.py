"""Addresses of topics."""

import pytest

from antecede.core.errors import CallerError
from antecede.kafka_address import is_kafka_address, parse_kafka_address


def test_brokers_and_topics() -> None:
    found = parse_kafka_address("kafka://a:9092,b:9093/orders,payments,orders")
    assert found.brokers == "a:9092,b:9093" and found.topics == ("orders", "payments")
    assert str(found) == "kafka://a:9092,b:9093/orders,payments"
    assert is_kafka_address("kafka://a:1/t") and not is_kafka_address("kafka")


@pytest.mark.parametrize(
    "text", ["kafka://a/t", "kafka://a:9092", "kafka://a:9092/", "kafka://a:9092/t,", "kafka://a:1/t u", "t"]
)
def test_what_is_no_address_is_told_with_the_form(text: str) -> None:
    with pytest.raises(CallerError, match="write kafka://host:port/topic"):
        parse_kafka_address(text)
