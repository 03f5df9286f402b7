"""The thread of a journal: one call after the other, and back to the event loop by the shortest way.

A commit is short, so what a call to a thread costs matters: a `ThreadPoolExecutor` makes a future with locks
for each call and copies its result into one of the event loop. Here there is at most the latter, and none
where a function is to be called with the result.

Even so, two changes of threads take as long as a quick disk takes to sync. So a call that is known to be
short, as a commit without the application's statements is, is made in the event loop itself while the last
ones were quick; one slow disk access stops the event loop once, and the next calls go to the thread.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import perf_counter
from typing import Any

Done = Callable[[Any, BaseException | None], None]
"""What is called with a result or an error."""
Call = tuple[Done, Callable[..., Any], tuple[Any, ...]]
QUICK = 0.001
"""Seconds that an event loop can stop for, a short call at a time."""
QUICK_CALLS = 16
"""Short calls in a row that must have been quick before the next is made in the event loop."""


class JournalThread(Executor):
    """For `run_in_executor` of the running event loop, which hands a future of its own on as it is.

    The thread ends with the program, whatever it is doing: a journal survives that, as it survives a crash.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._calls_under_way = 0
        self._times_of_short_calls: deque[float] = deque([QUICK] * QUICK_CALLS, QUICK_CALLS)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Have a function called; returns a future of the event loop."""
        future = self._loop.create_future()
        self.queue_call(partial(_resolve_future, future), fn, *args)
        return future

    def queue_call(self, done: Done, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called in the thread, and then `done` in the event loop."""
        if self._ended:
            raise RuntimeError("the thread of this journal has ended")
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run_queued_calls, name="antecede-journal", daemon=True
            )
            self._thread.start()
        self._calls_under_way += 1
        self._calls.put((done, function, arguments))

    def make_or_queue_short_call(self, done: Done, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called that does not take long, and then `done` in the event loop.

        Both are called before this returns if nothing is under way in the thread and the last were quick.
        """
        if self._ended or self._calls_under_way or not self._were_last_short_calls_quick():
            self.queue_call(done, self._call_and_note_duration, function, arguments)
            return
        result, error = None, None
        try:
            result = self._call_and_note_duration(function, arguments)
        except Exception as raised:
            error = raised
        done(result, error)

    def _were_last_short_calls_quick(self) -> bool:
        return max(self._times_of_short_calls) < QUICK

    def _call_and_note_duration(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        begin = perf_counter()
        result = function(*arguments)
        self._times_of_short_calls.append(perf_counter() - begin)
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End behind the calls that were made."""
        self._ended = True
        self._calls.put(None)
        if wait and self._thread is not None:
            self._thread.join()

    def _run_queued_calls(self) -> None:
        while (call := self._calls.get()) is not None:
            done, function, arguments = call
            error: BaseException | None = None
            result = None
            try:
                result = function(*arguments)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the event loop may be closed by now
                self._loop.call_soon_threadsafe(self._finish_call, done, result, error)

    def _finish_call(self, done: Done, result: Any, error: BaseException | None) -> None:
        self._calls_under_way -= 1
        done(result, error)


def _resolve_future(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # who called was cancelled
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
