"""The thread of a journal: one call after the other, and back to the event loop by the shortest way.

A commit is short, so what a call to a thread costs matters: a `ThreadPoolExecutor` makes a future with locks
for each call and copies its result into one of the event loop. Here there is at most the latter, and none
where a function is to be called with the result.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

Done = Callable[[Any, BaseException | None], None]
"""What is called with a result or an error."""
Call = tuple[Done, Callable[..., Any], tuple[Any, ...]]


class JournalThread(Executor):
    """For `run_in_executor` of the running event loop, which hands a future of its own on as it is.

    The thread ends with the program, whatever it is doing: a journal survives that, as it survives a crash.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

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
            self._thread = threading.Thread(target=self._run_calls, name="antecede-journal", daemon=True)
            self._thread.start()
        self._calls.put((done, function, arguments))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End behind the calls that were made."""
        self._ended = True
        self._calls.put(None)
        if wait and self._thread is not None:
            self._thread.join()

    def _run_calls(self) -> None:
        while (call := self._calls.get()) is not None:
            done, function, arguments = call
            error: BaseException | None = None
            result = None
            try:
                result = function(*arguments)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the event loop may be closed by now
                self._loop.call_soon_threadsafe(done, result, error)


def _resolve_future(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # who called was cancelled
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
