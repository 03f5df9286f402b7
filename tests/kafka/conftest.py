"""The broker."""

from tests.kafka_broker import broker_address, own_broker

__all__ = ["broker_address", "own_broker"]
