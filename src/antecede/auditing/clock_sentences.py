"""What is wrong with clocks, told in one sentence each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antecede.auditing.wording import (
    Event,
    describe_file_and_line,
    format_count,
    name_process,
    refer_to_event,
    shorten_name,
)


def _describe_backwards_entry(
    before: Event, event: Event, slot: str, value: int, was: int | None = None, **_: Any
) -> str:
    """The event before, the event; the process whose entry fell, to what and from what."""
    fell = f"to {value}" if was is None else f"from {was} to {value}"
    what = (
        "the count of its own events" if slot == event.process else f"what it knows of {shorten_name(slot)}"
    )
    head = f"The clock of {name_process(event)} went backwards: {what} fell {fell}"
    return f"{head} between {refer_to_event(before)} and {refer_to_event(event)}"


def _describe_skipped_count(*events: Event, value: int, own: int | None = None, **_: Any) -> str:
    """The event before, if there is one, and the event; the first number that is missing, and its own."""
    event = events[-1]
    since = (
        "the log begins"
        if len(events) == 1
        else f"after number {value - 1}{describe_file_and_line(events[0])} it goes on"
    )
    number = "a later one" if own is None else f"number {own}"
    process = name_process(event)
    if own is None or own == value + 1:
        head = f"Event number {value} of {process} is missing"
    else:
        head = f"Events number {value} to {own - 1} of {process} are missing"
    return f"{head}: {since} with {number}, {refer_to_event(event)}"


def _describe_repeated_count(before: Event, event: Event, value: int, **_: Any) -> str:
    return (
        f"{name_process(event)} counted {value} twice: {refer_to_event(before)} and {refer_to_event(event)}"
    )


def _describe_counter_restart(before: Event, event: Event, was: int | None = None, **_: Any) -> str:
    last = "" if was is None else f" number {was},"
    head = f"{name_process(event)} began to count from 1 again with {refer_to_event(event)}"
    return f"{head}, after{last} {refer_to_event(before)}"


def _describe_uncounted_event(event: Event, **_: Any) -> str:
    return f"The clock of {refer_to_event(event)} does not count {name_process(event)} itself"


def _describe_clock_claim(event: Event, slot: str, value: int) -> str:
    came = "1 event" if value == 1 else f"{value:,} events"
    return f"The clock of {refer_to_event(event)} says that {came} of {shorten_name(slot)} came before"


def _describe_unknown_process(event: Event, slot: str, value: int, acts: bool = False, **_: Any) -> str:
    claim, process = _describe_clock_claim(event, slot, value), shorten_name(slot)
    if acts:
        return f"{claim}, but no event of {process} in the log has an index or a clock that counts it"
    return f"{claim}, but the log has none of {process}"


def _describe_entry_beyond_last(
    event: Event, slot: str, value: int, last: int | None = None, **_: Any
) -> str:
    only = "fewer" if last is None else f"only to {last:,}"
    return f"{_describe_clock_claim(event, slot, value)}, but in the log {shorten_name(slot)} counts {only}"


def _describe_not_transitive_clock(
    cause: Event, event: Event, slot: str, value: int, has: int | None = None, **_: Any
) -> str:
    less = "fewer" if has is None else ("none" if has == 0 else f"only {has:,}")
    known = f"{refer_to_event(cause)}, which knew of {format_count(value, 'event')} of {shorten_name(slot)}"
    return f"{refer_to_event(event)} came after {known}, but its own clock has {less}"


def _describe_cyclic_clocks(cause: Event, event: Event, **_: Any) -> str:
    return f"By their clocks {refer_to_event(cause)} and {refer_to_event(event)} both came before the other"


def _describe_concurrent_repeat(first: Event, second: Event, **_: Any) -> str:
    pair = f"neither of {refer_to_event(first)} and {refer_to_event(second)} knows of the other"
    return f"By its clocks {name_process(first)} did two things at once: {pair}"


CLOCK_WRITERS: dict[str, Callable[..., str]] = {
    "clock-backwards": _describe_backwards_entry,
    "clock-hole": _describe_skipped_count,
    "clock-repeat": _describe_repeated_count,
    "clock-restart": _describe_counter_restart,
    "clock-uncounted": _describe_uncounted_event,
    "clock-unknown": _describe_unknown_process,
    "clock-beyond": _describe_entry_beyond_last,
    "clock-not-transitive": _describe_not_transitive_clock,
    "clock-cyclic": _describe_cyclic_clocks,
    "concurrent": _describe_concurrent_repeat,
}
