"""The broker."""

from tests.kafka_broker import broker, broker_address, own_broker

__all__ = ["broker", "broker_address", "own_broker"]
