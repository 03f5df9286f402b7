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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
AGAIN = "stopped at once: antecede doctor names what is left in temporary folders\n"


class _StopSignalHandler:
    """The signal that came first, if any did."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self.is_silent = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os.write(2, AGAIN.encode())
            os._exit(128 + number)
        self.signal = signal.Signals(number)
        silence_tracebacks()
        if self.signal is signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@contextmanager
def handle_stop_signals() -> Iterator[None]:
    """Run a command: where it is stopped by a signal, say so and exit with 128 and the signal's number."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    stop = _StopSignalHandler()
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
        if not stop.is_silent:
            name = SIGNALS[stop.signal]
            sys.stderr.write(f"stopped by {name}: nothing half-written is left; run the same command again\n")
        sys.exit(128 + stop.signal)


def suppress_stop_message() -> None:
    """For a command that only shows something until it is stopped: then there is nothing to say."""
    stop = signal.getsignal(signal.SIGINT)
    if isinstance(stop, _StopSignalHandler):
        stop.is_silent = True


def silence_tracebacks() -> Callable[[], None]:
    """What threads and libraries say of calls that break off would be tracebacks on the user's screen.

    Returns a function that lets them speak again.
    """
    in_thread, unraisable = threading.excepthook, sys.unraisablehook
    restore_libraries = silence_spark_libraries()

    def restore_tracebacks() -> None:
        restore_libraries()
        threading.excepthook, sys.unraisablehook = in_thread, unraisable

    threading.excepthook = sys.unraisablehook = _ignore_error_report
    return restore_tracebacks


def silence_spark_libraries() -> Callable[[], None]:
    """What PySpark's servers and Py4J's log say of a Spark that ends would be tracebacks, too; a command says
    it in a sentence.

    Returns a function that lets the log speak again; the servers go on complaining for a while.
    """
    import logging
    import socketserver

    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    socketserver.BaseServer.handle_error = _ignore_error_report  # type: ignore[method-assign, assignment]
    return lambda: logging.disable(level)


def _ignore_error_report(*report: Any) -> None:
    pass
