"""How a command is stopped: Ctrl-C and SIGTERM end it in order, with a sentence and no traceback.

The signal becomes an exception in the main thread, so that every block on the way out takes back what it
began: temporary folders, what is half-written, the Spark that was started. A second signal does not wait for
that.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
AGAIN = "stopped at once: antecede doctor names what is left in temporary folders\n"


class _Stop:
    """The signal that came first, if any did."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os.write(2, AGAIN.encode())
            os._exit(128 + number)
        self.signal = signal.Signals(number)
        _silence_complaints()
        if self.signal is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@contextmanager
def stop_in_order() -> Iterator[None]:
    """Run a command: where it is stopped by a signal, say so and exit with 128 and the signal's number."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    stop = _Stop()
    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    except BaseException:
        if stop.signal is None:
            raise
        # Whatever is raised behind a signal is about being stopped.
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.signal is not None:
        name = SIGNALS[stop.signal]
        sys.stderr.write(f"stopped by {name}: nothing half-written is left; run the same command again\n")
        sys.exit(128 + stop.signal)


def _silence_complaints() -> None:
    """What threads and libraries say of calls that break off would be tracebacks on the user's screen."""
    import logging

    def say_nothing(complaint: Any) -> None:
        pass

    logging.disable(logging.CRITICAL)
    threading.excepthook = say_nothing
    sys.unraisablehook = say_nothing
