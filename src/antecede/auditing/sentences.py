"""Findings told in one sentence each, with the places in the log where a person can look.

`say` knows every kind of finding; what events and details it wants stands with each kind. Nothing is known
for certain about an event: without a name, a file or a line the sentence does without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Any

from antecede.auditing.clock_sentences import CLOCK_TELLERS
from antecede.auditing.wording import HEARD, Event, did, its, many, message, place, short, who, whole

Teller = Callable[..., str]


def say(kind: str, events: list[Event], **detail: Any) -> str:
    """The finding in one sentence, causes first among its events."""
    sentence = _TELLERS[kind](*events, **detail)
    return (
        f"A{sentence[1:]}"
        if sentence.startswith(("a message", "an event", "an unknown process"))
        else sentence
    )


def _segment(line: list[Event]) -> str:
    """What a process did first and last on a chain."""
    first, last = line[0], line[-1]
    if len(line) == 1:
        return f"{who(first)} {did(first, HEARD)}"
    if first.kind == last.kind == "send":
        return f"{who(first)} {did(first)} before {message(last)}{place(last)}"
    return f"{who(first)} {did(first, HEARD)} before it {did(last, HEARD)}"


def _chain(events: list[Event]) -> str:
    """Why the first event of a chain came before the last: its first and last step, and what is between."""
    lines = [list(line) for _, line in groupby(events, key=lambda event: event.process)]
    if len(events) == 2 and len(lines) == 2:
        return f"{whole(events[0])} before {whole(events[1])}, through many messages"
    if len(lines) > 1 and len(lines[0]) == 1 and lines[1][0].message == lines[0][0].message:
        lines = lines[1:]
    first, last = _segment(lines[0]), _segment(lines[-1])
    if len(lines) == 1:
        return first
    if len(lines) == 2:
        return f"{first}, and {last}"
    begin, end = message(lines[0][-1]), message(lines[-1][0])
    between = len(lines) - 3
    led = f"{begin} led to {end}" + (f" through {many(between, 'message')}" if between else "")
    return f"{first}, {led}, and {last}"


def _late(*events: Event, **_: Any) -> str:
    """The chain from the send of the late message to that of the early one; then the two deliveries.

    Or the send of the late message and its delivery, where no early one is at hand.
    """
    *chain, early, late = events
    if not chain:
        return f"{whole(late)} only after something that depends on it; {whole(early)}"
    head = f"{who(late)} delivered {message(early)} before {message(late)}"
    return f"{head}, though {message(late)} came first: {_chain(chain)}"


def _fifo(*events: Event, **_: Any) -> str:
    """The same, where one process sent both."""
    *chain, early, late = events
    if not chain:
        return f"{whole(late)} only after something that its sender sent later; {whole(early)}"
    head = f"{who(late)} delivered {message(early)} before {message(late)}"
    return f"{head}, though {whole(chain[0])} before {message(chain[-1])}{place(chain[-1])}"


def _false(*events: Event, receiver: str | None = None, **_: Any) -> str:
    """The chain from the send of one message to that of another which does not depend on it."""
    first, last = message(events[0]), message(events[-1])
    at = "a process" if receiver is None else short(receiver)
    head = f"{last} would wait for {first} at {at} though it does not depend on it"
    return f"{head}; all that orders them: {_chain(list(events))}"


def _lost(send: Event, *later: Event, receiver: str | None = None, **_: Any) -> str:
    """The send, and if there is one, a delivery there of something that depends on it."""
    at = "" if receiver is None else f" at {short(receiver)}"
    spite = f"; {whole(later[-1])}, which came after it" if later else ""
    return f"{whole(send)}, which was never delivered{at}{spite}"


def _orphan(delivery: Event, **_: Any) -> str:
    return f"{whole(delivery)}, but the log has no send of it"


def _duplicate(first: Event, again: Event, **_: Any) -> str:
    return f"{whole(again)} again, after it had it before{place(first)}"


def _unsent(*events: Event, **_: Any) -> str:
    """The delivery and the send, in any order."""
    delivery, send = sorted(events, key=lambda event: event.kind == "send")
    return f"{whole(delivery)} before {who(send)} sent it{place(send)}"


def _resent(first: Event, again: Event, **_: Any) -> str:
    return f"{whole(again)}, which {who(first)} had sent before{place(first)}"


def _misdelivered(send: Event, delivery: Event, **_: Any) -> str:
    return f"{whole(delivery)}, which {who(send)} had not sent to it{place(send)}"


def _wrong_sender(send: Event, delivery: Event, sender: str, **_: Any) -> str:
    return f"{whole(delivery)} as a message of {short(sender)}, but {who(send)} sent it{place(send)}"


def _cycle(*events: Event, size: int | None = None, **_: Any) -> str:
    """Members of the cycle in the order in which one leads to the next; how many there are in all."""
    count = len(events) if size is None else max(size, len(events))
    named = [its(event) for event in events[:4]]
    more = count - len(named)
    tail = [f"{more:,} more"] if more else []
    listed = ", ".join([*named, *tail][:-1]) + " and " + [*named, *tail][-1]
    return f"{count:,} events lead back to each other, so that none of them can be first: {listed}"


def _self_parent(event: Event, **_: Any) -> str:
    return f"{its(event)} names itself as its own cause"


def _same_id(first: Event, again: Event, **_: Any) -> str:
    return f"{its(again)} has the same id as {its(first)}"


def _missing(event: Event, name: str, **_: Any) -> str:
    return f"{its(event)} names {short(name)} as its cause, which is not in the log"


def _timestamp(cause: Event, effect: Event, **_: Any) -> str:
    head = f"By their times {its(effect)} came "
    if cause.time is None or effect.time is None:
        return f"{head}before its cause, {its(cause)}"
    return f"{head}{_apart(cause.time, effect.time)} ms before its cause, {its(cause)}"


def _apart(later: float, earlier: float) -> str:
    """The time between, as exact as the two are."""
    exact = math.floor(-math.log10(math.ulp(max(abs(later), abs(earlier), 1.0))))
    apart = round(later - earlier, exact)
    return f"{apart:,.0f}" if apart >= 1e6 else f"{apart:,.6g}"


_TELLERS: dict[str, Teller] = {
    "late": _late,
    "fifo": _fifo,
    "lost": _lost,
    "orphan": _orphan,
    "duplicate": _duplicate,
    "unsent": _unsent,
    "resent": _resent,
    "misdelivered": _misdelivered,
    "wrong-sender": _wrong_sender,
    **CLOCK_TELLERS,
    "cycle": _cycle,
    "self-parent": _self_parent,
    "missing": _missing,
    "same-id": _same_id,
    "timestamp": _timestamp,
    "false-causality": _false,
}
KINDS = tuple(_TELLERS)
"""All kinds of findings."""
