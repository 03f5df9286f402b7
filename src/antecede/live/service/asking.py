"""Ask a running node how it is doing, through its socket."""

import socket
from pathlib import Path
from typing import Any

import msgspec

from antecede.core.errors import CallerError

LONGEST_WAIT = 10.0


def ask_status(socket_path: Path) -> dict[str, Any]:
    """The status of the node that listens at a Unix socket."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LONGEST_WAIT)
            connection.connect(str(socket_path))
            connection.sendall(b'{"do": "status"}\n')
            return _read_status(connection)
    except TimeoutError:
        raise CallerError(f"the node at {socket_path} does not answer: it is stopped, or very busy") from None
    except OSError as error:
        remedy = "start one with: antecede node --config FILE"
        raise CallerError(
            f"no node is running at {socket_path} ({error.strerror or error}); {remedy}"
        ) from None


def _read_status(connection: socket.socket) -> dict[str, Any]:
    with connection.makefile("rb") as lines:
        for line in lines:
            answer: dict[str, Any] = msgspec.json.decode(line)
            event = answer.pop("event")
            if event == "status":
                return answer
            if event == "error":
                raise CallerError(f"the node refuses to answer: {answer['reason']}")
    raise CallerError("the node has ended before it could answer")
