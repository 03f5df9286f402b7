"""The tests of this folder run on Spark, some with a broker."""

from tests.kafka_broker import broker, broker_address
from tests.spark_session import spark

__all__ = ["broker", "broker_address", "spark"]
