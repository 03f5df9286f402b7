"""A real Kafka broker on this machine, for tests and for trying things out: one node, loopback only.

    python scripts/kafka_broker.py start      prints its address, and goes on in the background
    python scripts/kafka_broker.py stop

Needs Java 17 and Maven, which fetches the broker once, from wherever it is set up to fetch things. Its data
is in a temporary folder, and gone when it is stopped.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from antecede.core.errors import AntecedeError, SetupError
from antecede.java import find_java
from antecede.machine import make_user_folder
from antecede.maven import Artifact, fetch_jars, make_folder_once

VERSION = "4.3.1"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
HEAP = "256m"
START_TIME = 180.0
STOP_TIME = 30.0

ARTIFACT = Artifact("org.apache.kafka", "kafka_2.13", VERSION)

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{more}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{more}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


TLS_PROPERTIES = """
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keys}
ssl.truststore.type=PEM
ssl.truststore.location={authority}
"""


class Broker:
    """A broker in a folder of its own: it can be killed and started again, with its data and its ports.

    With a folder of certificates, as `antecede node ca localhost` makes them, it has a second port for TLS.
    """

    def __init__(self, folder: Path, certificates: Path | None = None) -> None:
        self.folder = folder
        self.certificates = certificates
        self.port = 0
        self.tls_port = 0
        self.pid = 0

    @property
    def address(self) -> str:
        """For clients: host:port."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, or start it again; returns when it listens."""
        self.prepare()
        with (self.folder / "broker.log").open("ab") as log:
            command = [*make_command(), "kafka.Kafka", str(self.folder / "server.properties")]
            process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self.pid = process.pid
        self._save()
        self._wait_until_listening(process)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it in order, or by another signal; its data stays."""
        if self.pid:
            end_process(self.pid, number)
        self.pid = 0

    def remove(self) -> None:
        """End it and remove its data."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self) -> None:
        """Make its folder, and choose its port; does nothing if that was done."""
        properties = self.folder / "server.properties"
        if properties.exists():
            return
        data = self.folder / "data"
        shutil.copytree(make_formatted_folder(), data)
        self.port, self.tls_port, controller = find_free_ports(3)
        more = "" if self.certificates is None else f",SSL://localhost:{self.tls_port}"
        text = PROPERTIES.format(port=self.port, controller=controller, data=data, more=more)
        if self.certificates is not None:
            text += self._describe_keys(self.certificates)
        properties.write_text(text)

    def _describe_keys(self, certificates: Path) -> str:
        keys = self.folder / "keys.pem"
        parts = [(certificates / f"localhost.{kind}").read_text() for kind in ("key", "pem")]
        keys.write_text("".join(parts))
        return TLS_PROPERTIES.format(keys=keys, authority=certificates / "ca.pem")

    def _wait_until_listening(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_TIME
        while time.monotonic() < end:
            if process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        tail = (self.folder / "broker.log").read_text(errors="replace")[-2000:]
        self.stop(signal.SIGKILL)
        raise SetupError(f"the broker does not start; the end of its log:\n{tail}")

    def _save(self) -> None:
        state = {"pid": self.pid, "port": self.port, "tls_port": self.tls_port}
        (self.folder / "state.json").write_text(json.dumps(state))


def load_broker(folder: Path) -> Broker | None:
    """The broker that was started in a folder."""
    state = folder / "state.json"
    if not state.exists():
        return None
    found: dict[str, Any] = json.loads(state.read_text())
    broker = Broker(folder)
    broker.pid, broker.port, broker.tls_port = found["pid"], found["port"], found["tls_port"]
    return broker


def end_process(pid: int, number: int) -> bool:
    """Send a signal and wait; who does not heed it is killed. Returns whether it has ended."""
    for one in (number, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, one)
        end = time.monotonic() + STOP_TIME
        while time.monotonic() < end:
            if not _is_running(pid):
                return True
            time.sleep(0.05)
    return False


def _is_running(pid: int) -> bool:
    """Whether a process runs; one of our own that has ended is taken off the list.

    Another test process may have started it. Then it stays on the list, as a zombie, until that one ends.
    """
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def find_free_ports(count: int) -> list[int]:
    """Ports that nobody uses at the moment."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


# -- what the broker is made of ----------------------------------------------------------------------------


def make_command() -> list[str]:
    """Java with the classes of the broker; tuned to start soon, not to run for long."""
    jars = fetch_broker()
    java = str(find_java().path)
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    return [java, f"-Xmx{HEAP}", *quick, "-cp", f"{jars}/*"]


def fetch_broker() -> Path:
    """The folder with the classes of the broker; fetched once for this user."""
    return fetch_jars(f"kafka-{VERSION}", [ARTIFACT])


def make_formatted_folder() -> Path:
    """An empty data folder, as the broker's own tool formats it; copied for each broker, as that is slow."""
    with make_folder_once(f"kafka-{VERSION}-formatted") as folder:
        if folder is not None:
            _format_storage(folder)
    return make_user_folder() / f"kafka-{VERSION}-formatted"


def _format_storage(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        properties = Path(temporary) / "server.properties"
        properties.write_text(PROPERTIES.format(port=9092, controller=9093, data=folder, more=""))
        tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties)]
        done = subprocess.run([*make_command(), *tool], capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"the broker's data folder cannot be formatted: {done.stdout}{done.stderr}")


# -- the command -------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> str:
    """Do what was asked for; returns what to print."""
    folder = make_user_folder() / "kafka-broker"
    running = load_broker(folder)
    if arguments == ["stop"]:
        if running is None:
            return "no broker was started here"
        running.stop()
        running.remove()
        return "stopped"
    if arguments != ["start"]:
        raise SetupError("python scripts/kafka_broker.py start|stop")
    if running is not None:
        raise SetupError(f"a broker was started at {running.address}; stop it first")
    folder.mkdir()
    broker = Broker(folder)
    try:
        broker.start()
    except BaseException:
        broker.remove()
        raise
    return broker.address


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except AntecedeError as error:
        sys.exit(str(error))
