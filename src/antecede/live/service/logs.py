"""The log of a node that runs as a process: JSON lines, for programs that collect them."""

import logging
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

import msgspec

from antecede.core.errors import CallerError


class JsonLines(logging.Formatter):
    """One object for each entry: time, level, process, text, and the facts that belong to it."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self.process = process

    def format(self, record: logging.LogRecord) -> str:
        """A line without its end."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self.process,
            "text": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


def configure_json_log(process: str, path: Path | None) -> None:
    """Write the log of this program to a file, or to the standard error output.

    A file that was moved away is made anew, so whatever rotates logs may do so.
    """
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        try:
            handler = WatchedFileHandler(path, encoding="utf-8")
        except OSError as error:
            raise CallerError(
                f"log {path}: {error.strerror}; name a file in a folder that is there"
            ) from None
    handler.setFormatter(JsonLines(process))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("antecede").setLevel(logging.INFO)
    # While a broker is away its client says so many times a second; the node says it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
