"""What is wrong with clocks, told in one sentence each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antecede.auditing.wording import Event, its, many, place, short, who


def _backwards(before: Event, event: Event, slot: str, value: int, was: int | None = None, **_: Any) -> str:
    """The event before, the event; the process whose entry fell, to what and from what."""
    fell = f"to {value}" if was is None else f"from {was} to {value}"
    what = "the count of its own events" if slot == event.process else f"what it knows of {short(slot)}"
    head = f"The clock of {who(event)} went backwards: {what} fell {fell}"
    return f"{head} between {its(before)} and {its(event)}"


def _hole(*events: Event, value: int, own: int | None = None, **_: Any) -> str:
    """The event before, if there is one, and the event; the first number that is missing, and its own."""
    event = events[-1]
    since = "the log begins" if len(events) == 1 else f"after number {value - 1}{place(events[0])} it goes on"
    number = "a later one" if own is None else f"number {own}"
    return f"Event number {value} of {who(event)} is missing: {since} with {number}, {its(event)}"


def _repeat(before: Event, event: Event, value: int, **_: Any) -> str:
    return f"{who(event)} counted {value} twice: {its(before)} and {its(event)}"


def _restart(before: Event, event: Event, was: int | None = None, **_: Any) -> str:
    last = "" if was is None else f" number {was},"
    return f"{who(event)} began to count from 1 again with {its(event)}, after{last} {its(before)}"


def _uncounted(event: Event, **_: Any) -> str:
    return f"The clock of {its(event)} does not count {who(event)} itself"


def _claim(event: Event, slot: str, value: int) -> str:
    came = "1 event" if value == 1 else f"{value:,} events"
    return f"The clock of {its(event)} says that {came} of {short(slot)} came before"


def _unknown(event: Event, slot: str, value: int, **_: Any) -> str:
    return f"{_claim(event, slot, value)}, but the log has none of {short(slot)}"


def _beyond(event: Event, slot: str, value: int, last: int | None = None, **_: Any) -> str:
    only = "fewer" if last is None else f"only to {last:,}"
    return f"{_claim(event, slot, value)}, but in the log {short(slot)} counts {only}"


def _not_transitive(
    cause: Event, event: Event, slot: str, value: int, has: int | None = None, **_: Any
) -> str:
    less = "fewer" if has is None else ("none" if has == 0 else f"only {has:,}")
    known = f"{its(cause)}, which knew of {many(value, 'event')} of {short(slot)}"
    return f"{its(event)} came after {known}, but its own clock has {less}"


def _cyclic(cause: Event, event: Event, **_: Any) -> str:
    return f"By their clocks {its(cause)} and {its(event)} both came before the other"


def _concurrent(first: Event, second: Event, **_: Any) -> str:
    pair = f"neither of {its(first)} and {its(second)} knows of the other"
    return f"By its clocks {who(first)} did two things at once: {pair}"


CLOCK_TELLERS: dict[str, Callable[..., str]] = {
    "clock-backwards": _backwards,
    "clock-hole": _hole,
    "clock-repeat": _repeat,
    "clock-restart": _restart,
    "clock-uncounted": _uncounted,
    "clock-unknown": _unknown,
    "clock-beyond": _beyond,
    "clock-not-transitive": _not_transitive,
    "clock-cyclic": _cyclic,
    "concurrent": _concurrent,
}
