"""One Kafka broker for all tests of a run, started when the first of them asks for it.

The conftest of a folder whose tests need it imports the fixture. Test processes that run side by side share
one broker: whoever comes first starts it, whoever leaves last ends it. Where it cannot run its tests are
skipped; not so in CI.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antecede import AntecedeError
from antecede.live.service.authority import make_certificates_and_tell_if_authority_is_new
from scripts.kafka_broker import Broker, fetch_broker, load_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory) -> Iterator[Broker]:
    """The broker of all."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "kafka"
    yield _join_broker(folder)
    _leave_broker(folder)


@pytest.fixture
def broker_address(broker: Broker) -> str:
    """Where it is: host:port."""
    return broker.address


@pytest.fixture
def own_broker(tmp_path) -> Iterator[Broker]:
    """A broker of one test, to be started and stopped."""
    _check_setup()
    broker = Broker(tmp_path)
    broker.prepare()
    yield broker
    broker.remove()


def _join_broker(folder: Path) -> Broker:
    """The broker, started if nobody else uses it."""
    _check_setup()
    folder.mkdir(exist_ok=True)
    with _lock(folder):
        users = _count_users(folder)
        certificates = folder / "certificates"
        broker = load_broker(folder) or Broker(folder, certificates)
        if not users:
            if not certificates.exists():
                make_certificates_and_tell_if_authority_is_new(
                    certificates, ["localhost", "p0", "p1"], days=1
                )
            broker.start()
        _note_users(folder, users + 1)
    return broker


def _leave_broker(folder: Path) -> None:
    with _lock(folder):
        users = _count_users(folder) - 1
        _note_users(folder, users)
        broker = load_broker(folder)
        if not users and broker is not None:
            broker.stop()


def _check_setup() -> None:
    try:
        fetch_broker()
    except AntecedeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Kafka broker here: {error}")


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _count_users(folder: Path) -> int:
    file = folder / "users"
    return int(file.read_text()) if file.exists() else 0


def _note_users(folder: Path, users: int) -> None:
    (folder / "users").write_text(str(users))
