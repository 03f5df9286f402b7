"""An event loop without a clock and without sockets: time jumps to whatever is due next.

The same seed gives the same schedule, so a failure can be seen again; and an hour costs no more than what
happens in it. Calls to threads (journals) run in the loop, at a drawn moment, and their callers hear of it
later still: a crash may come before the one, or between the two.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


class StandstillError(AssertionError):
    """Nothing will ever happen again, and the program has not ended."""


class _NoSelector(selectors.SelectSelector):
    """Waits for nothing; lets time pass instead."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise StandstillError("all tasks wait for each other")
        self.loop.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`random` draws how long calls to threads take."""

    def __init__(self, random: Random) -> None:
        selector = _NoSelector()
        selector.loop = self
        self.now = 0.0
        self.random = random
        self.disk_time = random.choice([0.002, 0.02, 0.05])
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        future: asyncio.Future[Any] = self.create_future()
        self.call_later(self.random.expovariate(1 / self.disk_time), self._call, future, func, args)
        return future

    def _call(self, future: asyncio.Future[Any], function: Callable[..., Any], arguments: Any) -> None:
        report: tuple[Callable[[Any], None], Any]
        try:
            report = future.set_result, function(*arguments)
        except Exception as error:
            report = future.set_exception, error
        self.call_later(self.random.expovariate(1 / self.disk_time), self._report, future, *report)

    def _report(self, future: asyncio.Future[Any], report: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            report(value)


def run_virtually(main: Coroutine[Any, Any, T], seed: int) -> T:
    """Run a program to its end in virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(Random(seed))) as runner:
        return runner.run(main)
