"""Findings told in one sentence each, with the places in the log where a person can look.

`write_sentence` knows every kind of finding; what events and details it wants stands with each kind. Nothing
is known for certain about an event: without a name, a file or a line the sentence does without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Any

from antecede.auditing.clock_sentences import CLOCK_WRITERS
from antecede.auditing.wording import (
    HEARD,
    Event,
    describe_action,
    describe_event,
    describe_file_and_line,
    format_count,
    name_message,
    name_process,
    refer_to_event,
    shorten_name,
)

Teller = Callable[..., str]
NOT_IN_LOG = ", which is not in the log"
"""How a sentence on a missing cause ends, unless more is known of it."""

ABSURD = 1e15
"""Milliseconds that no log can be about: all their digits would fill the screen."""


def write_sentence(kind: str, events: list[Event], **detail: Any) -> str:
    """The finding in one sentence, causes first among its events."""
    sentence = _WRITERS[kind](*events, **detail)
    return (
        f"A{sentence[1:]}"
        if sentence.startswith(("a message", "an event", "an unknown process"))
        else sentence
    )


def _describe_first_and_last_step(events_of_process: list[Event]) -> str:
    """What a process did first and last on a chain."""
    first, last = events_of_process[0], events_of_process[-1]
    if len(events_of_process) == 1:
        return f"{name_process(first)} {describe_action(first, HEARD)}"
    if first.kind == last.kind == "send":
        then = f"{name_message(last)}{describe_file_and_line(last)}"
        return f"{name_process(first)} {describe_action(first)} before {then}"
    return f"{name_process(first)} {describe_action(first, HEARD)} before it {describe_action(last, HEARD)}"


def _describe_chain(events: list[Event]) -> str:
    """Why the first event of a chain came before the last: its first and last step, and what is between."""
    lines = [list(line) for _, line in groupby(events, key=lambda event: event.process)]
    if len(events) == 2 and len(lines) == 2:
        return f"{describe_event(events[0])} before {describe_event(events[1])}, which depends on it"
    if len(lines) > 1 and len(lines[0]) == 1 and lines[1][0].message == lines[0][0].message:
        lines = lines[1:]
    first, last = _describe_first_and_last_step(lines[0]), _describe_first_and_last_step(lines[-1])
    if len(lines) == 1:
        return first
    if len(lines) == 2:
        return f"{first}, and {last}"
    begin, end = name_message(lines[0][-1]), name_message(lines[-1][0])
    between = len(lines) - 3
    led = f"{begin} led to {end}" + (f" through {format_count(between, 'message')}" if between else "")
    return f"{first}, {led}, and {last}"


def _describe_late_delivery(*events: Event, **_: Any) -> str:
    """The chain from the send of the late message to that of the early one; then the two deliveries.

    Or the send of the late message and its delivery, where no early one is at hand.
    """
    *chain, early, late = events
    if not chain:
        return f"{describe_event(late)} only after something that depends on it; {describe_event(early)}"
    head = f"{name_process(late)} delivered {name_message(early)} before {name_message(late)}"
    return f"{head}, though {name_message(late)} came first: {_describe_chain(chain)}"


def _describe_fifo_violation(*events: Event, **_: Any) -> str:
    """The same, where one process sent both."""
    *chain, early, late = events
    if not chain:
        return (
            f"{describe_event(late)} only after something that its sender sent later; {describe_event(early)}"
        )
    head = f"{name_process(late)} delivered {name_message(early)} before {name_message(late)}"
    later = f"{name_message(chain[-1])}{describe_file_and_line(chain[-1])}"
    return f"{head}, though {describe_event(chain[0])} before {later}"


def _describe_false_causality(*events: Event, receiver: str | None = None, **_: Any) -> str:
    """The chain from the send of one message to that of another which does not depend on it."""
    first, last = name_message(events[0]), name_message(events[-1])
    at = "a process" if receiver is None else shorten_name(receiver)
    head = f"{last} would wait for {first} at {at} though it does not depend on it"
    return f"{head}; all that orders them: {_describe_chain(list(events))}"


def _describe_lost_copy(send: Event, *later: Event, receiver: str | None = None, **_: Any) -> str:
    """The send, and if there is one, a delivery there of something that depends on it."""
    at = "" if receiver is None else f" at {shorten_name(receiver)}"
    spite = f"; {describe_event(later[-1])}, which came after it" if later else ""
    return f"{describe_event(send)}, which was never delivered{at}{spite}"


def _describe_orphan_delivery(delivery: Event, **_: Any) -> str:
    return f"{describe_event(delivery)}, but the log has no send of it"


def _describe_duplicate_delivery(first: Event, again: Event, **_: Any) -> str:
    return f"{describe_event(again)} again, after it had it before{describe_file_and_line(first)}"


def _describe_delivery_before_send(*events: Event, **_: Any) -> str:
    """The delivery and the send, in any order."""
    delivery, send = sorted(events, key=lambda event: event.kind == "send")
    return f"{describe_event(delivery)} before {name_process(send)} sent it{describe_file_and_line(send)}"


def _describe_resent_message(first: Event, again: Event, **_: Any) -> str:
    return (
        f"{describe_event(again)}, which {name_process(first)} had sent before{describe_file_and_line(first)}"
    )


def _describe_misdelivery(send: Event, delivery: Event, **_: Any) -> str:
    where = describe_file_and_line(send)
    return f"{describe_event(delivery)}, which {name_process(send)} had not sent to it{where}"


def _describe_wrong_sender(send: Event, delivery: Event, sender: str, **_: Any) -> str:
    truth = f"{name_process(send)} sent it{describe_file_and_line(send)}"
    return f"{describe_event(delivery)} as a message of {shorten_name(sender)}, but {truth}"


def _describe_cycle(*events: Event, size: int | None = None, **_: Any) -> str:
    """Members of the cycle in the order in which one leads to the next; how many there are in all."""
    count = len(events) if size is None else max(size, len(events))
    named = [refer_to_event(event) for event in events[:4]]
    more = count - len(named)
    tail = [f"{more:,} more"] if more else []
    listed = ", ".join([*named, *tail][:-1]) + " and " + [*named, *tail][-1]
    return f"{count:,} events lead back to each other, so that none of them can be first: {listed}"


def _describe_self_parent(event: Event, **_: Any) -> str:
    return f"{refer_to_event(event)} names itself as its own cause"


def _describe_reused_id(first: Event, again: Event, **_: Any) -> str:
    return f"{refer_to_event(again)} has the same id as {refer_to_event(first)}"


def _describe_missing_cause(event: Event, name: str, **_: Any) -> str:
    return f"{refer_to_event(event)} names {shorten_name(name)} as its cause{NOT_IN_LOG}"


def _describe_time_contradiction(cause: Event, effect: Event, **_: Any) -> str:
    head = f"By their times {refer_to_event(effect)} came "
    if cause.time is None or effect.time is None:
        return f"{head}before its cause, {refer_to_event(cause)}"
    apart = _format_time_difference(cause.time, effect.time)
    return f"{head}{apart} ms before its cause, {refer_to_event(cause)}"


def _describe_send_time_offset(
    ahead: Event, send: Event, delivery: Event, value: int, size: int, middle: float | None = None, **_: Any
) -> str:
    """The send that is later, the send, and its delivery; how many are behind, of how many, by how much."""
    all_of_them = f"{value:,} of {format_count(size, 'message')} of {name_process(send)}"
    head = f"{name_process(delivery)} took {all_of_them} behind others that were sent later by their times"
    spread = f", half of them by {middle:,.6g} ms or more" if middle is not None and value > 1 else ""
    apart = ""
    if ahead.time is not None and send.time is not None:
        apart = f" {_format_time_difference(ahead.time, send.time)} ms"
    worst = (
        f"{name_message(send)}{describe_file_and_line(delivery)} was sent{apart} before {name_message(ahead)}"
    )
    return f"{head}{spread}; at worst {worst} of {name_process(ahead)}{describe_file_and_line(ahead)}"


def _format_time_difference(later_ms: float, earlier_ms: float) -> str:
    """The time between, as exact as the two are."""
    exact = math.floor(-math.log10(math.ulp(max(abs(later_ms), abs(earlier_ms), 1.0))))
    apart = round(later_ms - earlier_ms, exact)
    if apart >= ABSURD:
        return f"{apart:.3g}"
    return f"{apart:,.0f}" if apart >= 1e6 else f"{apart:,.6g}"


_WRITERS: dict[str, Teller] = {
    "late": _describe_late_delivery,
    "fifo": _describe_fifo_violation,
    "lost": _describe_lost_copy,
    "orphan": _describe_orphan_delivery,
    "duplicate": _describe_duplicate_delivery,
    "unsent": _describe_delivery_before_send,
    "resent": _describe_resent_message,
    "misdelivered": _describe_misdelivery,
    "wrong-sender": _describe_wrong_sender,
    **CLOCK_WRITERS,
    "cycle": _describe_cycle,
    "self-parent": _describe_self_parent,
    "missing": _describe_missing_cause,
    "same-id": _describe_reused_id,
    "timestamp": _describe_time_contradiction,
    "offset-time": _describe_send_time_offset,
    "false-causality": _describe_false_causality,
}
KINDS = tuple(_WRITERS)
"""All kinds of findings."""
