"""The thread of a journal: calls in order, each with its result or its error, and nobody else disturbed."""

import asyncio
import threading
from functools import partial

import pytest

from antecede.live import thread as thread_module
from antecede.live.thread import QUICK, QUICK_CALLS, JournalThread


def call(thread: JournalThread, function, *arguments):
    return asyncio.get_running_loop().run_in_executor(thread, function, *arguments)


def test_calls_run_in_order_in_one_other_thread() -> None:
    seen: list[tuple[int, int]] = []

    def note(number: int) -> int:
        seen.append((number, threading.get_ident()))
        return number

    async def main() -> list[int]:
        thread = JournalThread()
        results = await asyncio.gather(*(call(thread, note, number) for number in range(100)))
        thread.shutdown()
        return results

    assert asyncio.run(main()) == list(range(100))
    assert [number for number, _ in seen] == list(range(100))
    threads = {ident for _, ident in seen}
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise ValueError("no")

    async def main() -> int:
        thread = JournalThread()
        with pytest.raises(ValueError, match="no"):
            await call(thread, fail)
        result: int = await call(thread, int, "7")
        thread.shutdown()
        return result

    assert asyncio.run(main()) == 7


def test_a_caller_who_was_cancelled_disturbs_nobody() -> None:
    errors: list[object] = []

    async def main() -> str:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        thread = JournalThread()
        begin = threading.Event()
        waiting = asyncio.ensure_future(call(thread, begin.wait))
        behind = call(thread, str.upper, "behind")
        waiting.cancel()
        begin.set()
        result: str = await behind
        thread.shutdown()
        return result

    assert asyncio.run(main()) == "BEHIND"
    assert errors == []


def test_shutdown_waits_for_the_calls_before_it() -> None:
    done: list[int] = []

    async def main() -> None:
        thread = JournalThread()
        for number in range(50):
            call(thread, done.append, number)
        thread.shutdown()
        assert done == list(range(50))
        with pytest.raises(RuntimeError, match="has ended"):
            call(thread, done.append, 50)

    asyncio.run(main())


def test_an_event_loop_that_is_gone_does_not_end_the_thread_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    begin = threading.Event()

    async def main() -> JournalThread:
        thread = JournalThread()
        call(thread, begin.wait)
        return thread

    thread = asyncio.run(main())
    begin.set()
    thread.shutdown()
    assert errors == []


class ShortCalls:
    """Makes short calls one after the other, and notes which of them ran in the event loop's own thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thread = JournalThread()
        self.now = 0.0
        self.in_event_loop: list[bool] = []
        # By a clock of its own: on a busy machine nothing would be quick.
        monkeypatch.setattr(thread_module, "perf_counter", lambda: self.now)

    async def make(self, *, takes: float = 0.0) -> None:
        finished = asyncio.get_running_loop().create_future()
        self.thread.make_or_queue_short_call(partial(self._finish, finished), self._note, takes)
        await finished

    def _note(self, seconds: float) -> None:
        self.in_event_loop.append(threading.current_thread() is threading.main_thread())
        self.now += seconds

    def _finish(self, finished: asyncio.Future[None], _: object, error: BaseException | None) -> None:
        assert error is None
        finished.set_result(None)


def test_short_calls_are_made_in_the_event_loop_while_they_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[bool]:
        calls = ShortCalls(monkeypatch)
        for _ in range(QUICK_CALLS + 3):
            await calls.make()
        await calls.make(takes=2 * QUICK)
        for _ in range(QUICK_CALLS + 2):
            await calls.make()
        calls.thread.shutdown()
        return calls.in_event_loop

    as_expected = [False] * QUICK_CALLS + [True] * 4 + [False] * QUICK_CALLS + [True] * 2
    assert asyncio.run(main()) == as_expected


def test_a_short_call_does_not_overtake_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[str]:
        calls = ShortCalls(monkeypatch)
        for _ in range(QUICK_CALLS):
            await calls.make()
        begin = threading.Event()
        seen: list[str] = []

        def wait() -> None:
            begin.wait()
            seen.append("before")

        waiting = call(calls.thread, wait)
        calls.thread.make_or_queue_short_call(lambda *_: seen.append("done"), seen.append, "behind")
        begin.set()
        await waiting
        await calls.make()
        calls.thread.shutdown()
        return seen

    assert asyncio.run(main()) == ["before", "behind", "done"]


def test_the_error_of_a_short_call_is_told_wherever_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def main() -> list[BaseException | None]:
        calls = ShortCalls(monkeypatch)
        errors: list[BaseException | None] = []
        calls.thread.make_or_queue_short_call(lambda _, error: errors.append(error), fail)
        for _ in range(QUICK_CALLS):
            await calls.make()
        calls.thread.make_or_queue_short_call(lambda _, error: errors.append(error), fail)
        calls.thread.shutdown()
        return errors

    assert [str(error) for error in asyncio.run(main())] == ["no", "no"]
