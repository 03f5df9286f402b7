"""Nodes as processes, as a user runs them, and what they say."""

import json
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.live.cluster import find_free_port

PATIENCE = 60.0


def write_config(path: Path, tables: dict[str, dict[str, Any]], **values: Any) -> Path:
    """A TOML file; JSON writes texts, numbers and truth values as TOML does."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    for table, content in tables.items():
        lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in content.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_group(
    folder: Path,
    names: list[str],
    protocol: str = "optimal",
    addresses: dict[str, str] | None = None,
    **values: Any,
) -> dict[str, Path]:
    """The configurations of a group; over TCP, if no addresses are given."""
    if addresses is None:
        addresses = {name: f"tcp://127.0.0.1:{find_free_port()}" for name in names}
    configs = {}
    for name in names:
        peers = {other: address for other, address in addresses.items() if other != name}
        own = {
            key: value.replace("NAME", name) if isinstance(value, str) else value
            for key, value in values.items()
        }
        listen = addresses[name]
        configs[name] = write_config(
            folder / f"{name}.toml", {"peers": peers}, protocol=protocol, process=name, listen=listen, **own
        )
    return configs


class Lines:
    """What comes from a stream, line by line, with a limit to patience."""

    def __init__(self, stream: Any) -> None:
        self.all: list[dict[str, Any]] = []
        self._others: list[dict[str, Any]] = []
        self._queue: queue.Queue[bytes | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._queue.put(line)
        self._queue.put(None)

    def hear(self, event: str) -> dict[str, Any]:
        """The next line of that event; the others wait until they are asked for."""
        for at, line in enumerate(self._others):
            if line["event"] == event:
                return self._others.pop(at)
        while True:
            data = self._queue.get(timeout=PATIENCE)
            assert data is not None, f"no {event!r} came; before: {self.all}"
            self.all.append(json.loads(data))
            if self.all[-1]["event"] == event:
                return self.all[-1]
            self._others.append(self.all[-1])


class NodeProcess:
    """`antecede node --config`, with an application at its standard input and output."""

    def __init__(self, config: Path, **options: Any) -> None:
        command = [sys.executable, "-m", "antecede", "node", "--config", str(config)]
        pipe = subprocess.PIPE
        self._error_file = config.with_suffix(".stderr")
        self.errors = self._error_file.open("w")
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.errors, **options)
        self.lines = Lines(self.process.stdout)

    def __enter__(self) -> "NodeProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                stream.close()

    def say(self, do: str, **facts: Any) -> None:
        self.write(json.dumps({"do": do, **facts}))

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, event: str) -> dict[str, Any]:
        return self.lines.hear(event)

    def end(self, number: int) -> int:
        """Send a signal and wait; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def read_errors(self) -> str:
        return self._error_file.read_text()


class SocketClient:
    """An application at the socket of a node."""

    def __init__(self, path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(str(path))
        self.lines = Lines(self.connection.makefile("rb"))

    def say(self, do: str, **facts: Any) -> None:
        self.connection.sendall(json.dumps({"do": do, **facts}).encode() + b"\n")

    def hear(self, event: str) -> dict[str, Any]:
        return self.lines.hear(event)

    def close(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()
