"""The thread of a journal: calls in order, each with its result or its error, and nobody else disturbed."""

import asyncio
import threading

import pytest

from antecede.live.thread import JournalThread


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
