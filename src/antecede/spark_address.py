"""Addresses of a Spark: what `--master` may be, and whether anybody answers there.

Spark itself tries a master that is silent for a minute, and a server of Spark Connect for ten. So both are
asked something first that they answer at once and that leaves no trace in their logs.
"""

import os
import re
import socket
import struct
from typing import Literal, NamedTuple

from antecede.core.errors import CallerError, SetupError

ANSWER_TIME = 8.0
"""Seconds in which somebody must answer."""
CONNECT_PORT = 15002
"""Of a server of Spark Connect that names none."""

_EMBEDDED = re.compile(r"local(\[ *(\*|\d+) *(, *\d+ *)?\])?|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]")
_STANDALONE = re.compile(r"spark://([^\s/,;:]+:\d{1,5}(?:,[^\s/,;:]+:\d{1,5})*)")
_CONNECT = re.compile(r"sc://([^\s/,;:]+|\[[0-9A-Fa-f:]+\])(?::(\d{1,5}))?/?(;.*)?")
_MANAGED = re.compile(r"yarn|k8s://\S+")
_FORMS = "local[2], spark://HOST:7077, yarn, k8s://HOST:PORT, or sc://HOST:15002 for Spark Connect"

_NO_FILE = b"/files/antecede"
_ASK_MASTER = struct.pack(">qbi", 13 + len(_NO_FILE), 6, len(_NO_FILE)) + _NO_FILE
"""A request of Spark's own protocol for a file that no master has."""
_ASK_CONNECT = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a conversation in HTTP/2 begins, which Spark Connect speaks."""


class SparkAddress(NamedTuple):
    """Where Spark runs: embedded in this process, on a cluster, or behind a server of Spark Connect."""

    text: str
    kind: Literal["embedded", "cluster", "connect"]
    hosts: tuple[tuple[str, int], ...] = ()
    """Who can be asked whether they are there."""
    is_remote: bool = False
    """Whether the session is one of Spark Connect, be the server elsewhere or started for it."""


def find_spark_address(master: str | None) -> SparkAddress:
    """What the user names; else what the environment does (`SPARK_REMOTE`); else an embedded Spark."""
    remote = None if master is not None else os.environ.get("SPARK_REMOTE")
    address = parse_spark_address(master or remote or "local[*]")
    return address._replace(is_remote=remote is not None or address.kind == "connect")


def parse_spark_address(text: str) -> SparkAddress:
    """The address that a text is; a sentence if it is none."""
    if _EMBEDDED.fullmatch(text):
        return SparkAddress(text, "embedded")
    if _MANAGED.fullmatch(text):
        return SparkAddress(text, "cluster")
    if match := _STANDALONE.fullmatch(text):
        pairs = (host.rpartition(":") for host in match[1].split(","))
        return SparkAddress(text, "cluster", tuple((host, int(port)) for host, _, port in pairs))
    if match := _CONNECT.fullmatch(text):
        return SparkAddress(text, "connect", ((match[1].strip("[]"), int(match[2] or CONNECT_PORT)),))
    raise CallerError(f"--master {text}: is no address of a Spark; write {_FORMS}")


def check_spark_answers(address: SparkAddress) -> None:
    """Refuse an address at which nobody answers, or somebody else."""
    question = _ASK_CONNECT if address.kind == "connect" else _ASK_MASTER
    faults = []
    for host, port in address.hosts:
        fault = _find_connection_fault(host, port, question, ANSWER_TIME / len(address.hosts))
        if fault is None:
            return
        faults.append(f"{host}:{port} {fault}")
    if faults:
        raise SetupError(
            f"--master {address.text}: {'; '.join(faults)}; start Spark there, or name another master"
        )


def _find_connection_fault(host: str, port: int, request: bytes, timeout_seconds: float) -> str | None:
    """What is wrong with whoever listens there; None if they answer."""
    try:
        with socket.create_connection((host, port), timeout=timeout_seconds / 2) as connection:
            connection.settimeout(timeout_seconds / 2)
            connection.sendall(request)
            answer = connection.recv(4096)  # all of it: what is left unread would be taken for an error
    except TimeoutError:
        return f"does not answer within {timeout_seconds:g} seconds"
    except (OSError, OverflowError, UnicodeError) as error:
        return f"does not answer ({getattr(error, 'strerror', None) or error})"
    if answer.startswith(b"HTTP/"):
        return "is a web page of Spark or of something else, and not a master"
    return None
