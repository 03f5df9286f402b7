"""The tests of this folder run on Spark."""

from tests.spark_session import spark

__all__ = ["spark"]
