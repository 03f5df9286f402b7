"""An event loop without a clock and without sockets: time jumps to whatever is due next.

The same seed gives the same schedule, so a failure can be seen again; and an hour costs no more than what
happens in it. Calls to threads (journals) run in the loop, at a drawn moment, and their callers hear of it
later still: a crash may come before the one, or between the two. Whether a disk is so quick that a node calls
its journal without a thread is drawn, too, and does not depend on the disk at hand.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Any, TypeVar
from unittest.mock import patch

from antecede.live.thread import Done, JournalThread

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
        self.quick_calls = random.choice([0.0, 0.5, 0.9])
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def call_later_and_report(self, done: Done, function: Callable[..., Any], arguments: Any) -> None:
        """Call a function at a drawn moment, and `done` later still."""
        self.call_later(self._draw_time(), self._call, done, function, arguments)

    def _call(self, done: Done, function: Callable[..., Any], arguments: Any) -> None:
        result, error = None, None
        try:
            result = function(*arguments)
        except Exception as raised:
            error = raised
        self.call_later(self._draw_time(), done, result, error)

    def _draw_time(self) -> float:
        return self.random.expovariate(1 / self.disk_time)


def _call_in_virtual_time(
    thread: JournalThread, done: Done, function: Callable[..., Any], *arguments: Any
) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    thread._calls_under_way += 1
    loop.call_later_and_report(partial(thread._finish_call, done), function, arguments)


def _draw_whether_calls_are_quick(_: JournalThread) -> bool:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.random.random() < loop.quick_calls


def run_virtually(main: Coroutine[Any, Any, T], seed: int) -> T:
    """Run a program to its end in virtual time."""
    runner = asyncio.Runner(loop_factory=lambda: VirtualLoop(Random(seed)))
    calls = patch.object(JournalThread, "queue_call", _call_in_virtual_time)
    speed = patch.object(JournalThread, "_were_last_short_calls_quick", _draw_whether_calls_are_quick)
    with runner, calls, speed:
        return runner.run(main)
