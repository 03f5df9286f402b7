"""What is done beside a query: others see that it runs; what waits too long is given up while no rows come.

Spark begins no micro-batch then. So a thread looks at the marks, and lets a tick do it behind the last batch.
It reads and writes a few files of its own and needs no job: what is given up so is what has waited, not what
comes.
"""

import threading
import time
import warnings
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from antecede.core.errors import AntecedeError
from antecede.streams.ledger import Ledger
from antecede.streams.running import hold_running_lock

_PAUSE = 1
"""Seconds between two looks."""


def start_lock_and_tick_thread(
    query: StreamingQuery, checkpoint: Path, ledger: Ledger | None, batch_lock: threading.Lock
) -> None:
    """Start a thread that, until the query ends, tells others that it runs and gives up what waits too long.

    That is looked for every second, but not during a batch; without a ledger it is not looked for.
    """

    def hold_running_lock_and_give_up_rows() -> None:
        with hold_running_lock(checkpoint):
            while not _has_query_ended_after_pause(query):
                if ledger is not None and batch_lock.acquire(blocking=False):
                    try:
                        _give_up_expired_rows_or_warn(ledger)
                    finally:
                        batch_lock.release()

    threading.Thread(target=hold_running_lock_and_give_up_rows, name="antecede ticks", daemon=True).start()


def _give_up_expired_rows_or_warn(ledger: Ledger) -> None:
    """Give up what waits too long now; if that fails, the next look may do better: brokers come back."""
    try:
        ledger.give_up_expired_rows(int(time.time() * 1000))
    except (AntecedeError, PySparkException, Py4JError, OSError) as error:
        text = f"what has waited too long could not be given up: {error}; this is tried again every second"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _has_query_ended_after_pause(query: StreamingQuery) -> bool:
    """Wait a pause, or until the query ends: whether it has. Nothing runs in a session that is gone."""
    try:
        return bool(query.awaitTermination(_PAUSE))
    except (Py4JError, PySparkException, OSError):
        return True
