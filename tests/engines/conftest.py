"""Each test runs over both engines; only on Spark does it start a JVM."""

import pytest

from tests.engines.engines import Engine, LocalEngine, SparkEngine
from tests.spark_session import spark

__all__ = ["command_engine", "engine", "spark"]


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"))


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def command_engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine; a command that runs on Spark finds the session of the tests."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)
