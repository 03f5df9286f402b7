"""What waits too long is given up also while no rows come, and so Spark begins no micro-batch.

A thread looks at the marks beside the query, and lets a tick do it behind the last batch. It reads and writes
a few files of its own and needs no job: what is given up so is what has waited, not what comes.
"""

import threading
import time

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from antecede.streams.ledger import Ledger

_PAUSE = 1
"""Seconds between two looks."""


def give_up_while_active(query: StreamingQuery, ledger: Ledger, is_working: threading.Lock) -> None:
    """Look for what has waited too long, every second until the query ends, but not during a batch."""

    def give_up_every_second() -> None:
        while _is_active(query):
            if is_working.acquire(blocking=False):
                try:
                    ledger.give_up_waiting(int(time.time() * 1000))
                finally:
                    is_working.release()
            time.sleep(_PAUSE)

    threading.Thread(target=give_up_every_second, name="antecede ticks", daemon=True).start()


def _is_active(query: StreamingQuery) -> bool:
    """Whether the query runs; nothing runs in a session that is gone."""
    try:
        return bool(query.isActive)
    except (Py4JError, PySparkException, OSError):
        return False
