"""Findings told in one sentence each, with the places in the log where a person can look.

`say` knows every kind of finding; what events and details it wants stands with each kind. Nothing is known
for certain about an event: without a name, a file or a line the sentence does without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

LONGEST = 40
"""Characters of a name that are shown."""
_VERBS = {"send": "sent", "deliver": "delivered", "receive": "received"}
_HEARD = _VERBS | {"deliver": "received"}


class Event(NamedTuple):
    """What a sentence may say of an event; time is in milliseconds."""

    process: str | None = None
    kind: str | None = None
    message: str | None = None
    event: str | None = None
    file: str | None = None
    line: int | None = None
    time: float | None = None


Teller = Callable[..., str]


def say(kind: str, events: list[Event], **detail: Any) -> str:
    """The finding in one sentence, causes first among its events."""
    sentence = _TELLERS[kind](*events, **detail)
    return (
        f"A{sentence[1:]}"
        if sentence.startswith(("a message", "an event", "an unknown process"))
        else sentence
    )


def short(name: object) -> str:
    """A name on one line, of which every character can be seen; of a long one its two ends."""
    text = str(name)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 14]}…{text[-13:]}"


def place(event: Event) -> str:
    """The file and the line, in brackets behind a blank; nothing if neither is known."""
    line = None if event.line is None else f"line {event.line}"
    if event.file is None:
        return "" if line is None else f" ({line})"
    file = "".join(c if c.isprintable() else "\ufffd" for c in event.file)
    if len(file) > LONGEST:
        tail = file[-LONGEST:]
        file = "…" + (tail[tail.index("/") :] if "/" in tail[:-1] else tail)
    return f" ({file})" if event.line is None else f" ({file}:{event.line})"


def _who(event: Event) -> str:
    return "an unknown process" if event.process is None else short(event.process)


def _message(event: Event) -> str:
    return "a message" if event.message is None else short(event.message)


def _name(event: Event) -> str:
    return "an event" if event.event is None else short(event.event)


def _did(event: Event, verbs: dict[str, str] = _VERBS) -> str:
    """What its process did, and where this stands."""
    if event.kind in verbs and (event.message is not None or event.event is None):
        return f"{verbs[event.kind]} {_message(event)}{place(event)}"
    return f"did {_name(event)}{place(event)}"


def _whole(event: Event) -> str:
    """An event by itself: who, what and where."""
    if event.process is None and event.kind not in _VERBS:
        return f"{_name(event)}{place(event)}"
    return f"{_who(event)} {_did(event)}"


def _its(event: Event) -> str:
    """An event as a thing: p1's e7 (a.log:3)."""
    if event.message is not None and event.kind in _VERBS:
        what = {"send": "send", "deliver": "delivery", "receive": "receipt"}[event.kind]
        return f"{_who(event)}'s {what} of {_message(event)}{place(event)}"
    owner = "" if event.process is None else f"{_who(event)}'s "
    name = "event" if event.event is None and owner else _name(event)
    return f"{owner}{name}{place(event)}"


def _many(count: int, thing: str) -> str:
    return f"1 {thing}" if count == 1 else f"{count:,} {thing}s"


def _segment(line: list[Event]) -> str:
    """What a process did first and last on a chain."""
    first, last = line[0], line[-1]
    if len(line) == 1:
        return f"{_who(first)} {_did(first, _HEARD)}"
    if first.kind == last.kind == "send":
        return f"{_who(first)} {_did(first)} before {_message(last)}{place(last)}"
    return f"{_who(first)} {_did(first, _HEARD)} before it {_did(last, _HEARD)}"


def _chain(events: list[Event]) -> str:
    """Why the first event of a chain came before the last: its first and last step, and what is between."""
    lines = [list(line) for _, line in groupby(events, key=lambda event: event.process)]
    if len(events) == 2 and len(lines) == 2:
        return f"{_whole(events[0])} before {_whole(events[1])}, through many messages"
    if len(lines) > 1 and len(lines[0]) == 1 and lines[1][0].message == lines[0][0].message:
        lines = lines[1:]
    first, last = _segment(lines[0]), _segment(lines[-1])
    if len(lines) == 1:
        return first
    if len(lines) == 2:
        return f"{first}, and {last}"
    begin, end = _message(lines[0][-1]), _message(lines[-1][0])
    between = len(lines) - 3
    led = f"{begin} led to {end}" + (f" through {_many(between, 'message')}" if between else "")
    return f"{first}, {led}, and {last}"


def _late(*events: Event, **_: Any) -> str:
    """The chain from the send of the late message to that of the early one; then the two deliveries.

    Or the send of the late message and its delivery, where no early one is at hand.
    """
    *chain, early, late = events
    if not chain:
        return f"{_whole(late)} only after something that depends on it; {_whole(early)}"
    head = f"{_who(late)} delivered {_message(early)} before {_message(late)}"
    return f"{head}, though {_message(late)} came first: {_chain(chain)}"


def _fifo(*events: Event, **_: Any) -> str:
    """The same, where one process sent both."""
    *chain, early, late = events
    if not chain:
        return f"{_whole(late)} only after something that its sender sent later; {_whole(early)}"
    head = f"{_who(late)} delivered {_message(early)} before {_message(late)}"
    return f"{head}, though {_whole(chain[0])} before {_message(chain[-1])}{place(chain[-1])}"


def _false(*events: Event, receiver: str | None = None, **_: Any) -> str:
    """The chain from the send of one message to that of another which does not depend on it."""
    first, last = _message(events[0]), _message(events[-1])
    at = "a process" if receiver is None else short(receiver)
    head = f"{last} would wait for {first} at {at} though it does not depend on it"
    return f"{head}; all that orders them: {_chain(list(events))}"


def _lost(send: Event, *later: Event, receiver: str | None = None, **_: Any) -> str:
    """The send, and if there is one, a delivery there of something that depends on it."""
    at = "" if receiver is None else f" at {short(receiver)}"
    spite = f"; {_whole(later[-1])}, which came after it" if later else ""
    return f"{_whole(send)}, which was never delivered{at}{spite}"


def _orphan(delivery: Event, **_: Any) -> str:
    return f"{_whole(delivery)}, but the log has no send of it"


def _duplicate(first: Event, again: Event, **_: Any) -> str:
    return f"{_whole(again)} again, after it had it before{place(first)}"


def _unsent(*events: Event, **_: Any) -> str:
    """The delivery and the send, in any order."""
    delivery, send = sorted(events, key=lambda event: event.kind == "send")
    return f"{_whole(delivery)} before {_who(send)} sent it{place(send)}"


def _resent(first: Event, again: Event, **_: Any) -> str:
    return f"{_whole(again)}, which {_who(first)} had sent before{place(first)}"


def _misdelivered(send: Event, delivery: Event, **_: Any) -> str:
    return f"{_whole(delivery)}, which {_who(send)} had not sent to it{place(send)}"


def _wrong_sender(send: Event, delivery: Event, sender: str, **_: Any) -> str:
    return f"{_whole(delivery)} as a message of {short(sender)}, but {_who(send)} sent it{place(send)}"


def _backwards(before: Event, event: Event, slot: str, value: int, was: int | None = None, **_: Any) -> str:
    """The event before, the event; the process whose entry fell, to what and from what."""
    fell = f"to {value}" if was is None else f"from {was} to {value}"
    what = "the count of its own events" if slot == event.process else f"what it knows of {short(slot)}"
    head = f"The clock of {_who(event)} went backwards: {what} fell {fell}"
    return f"{head} between {_its(before)} and {_its(event)}"


def _hole(*events: Event, value: int, own: int | None = None, **_: Any) -> str:
    """The event before, if there is one, and the event; the first number that is missing, and its own."""
    event = events[-1]
    since = "the log begins" if len(events) == 1 else f"after number {value - 1}{place(events[0])} it goes on"
    number = "a later one" if own is None else f"number {own}"
    return f"Event number {value} of {_who(event)} is missing: {since} with {number}, {_its(event)}"


def _repeat(before: Event, event: Event, value: int, **_: Any) -> str:
    return f"{_who(event)} counted {value} twice: {_its(before)} and {_its(event)}"


def _restart(before: Event, event: Event, was: int | None = None, **_: Any) -> str:
    last = "" if was is None else f" number {was},"
    return f"{_who(event)} began to count from 1 again with {_its(event)}, after{last} {_its(before)}"


def _uncounted(event: Event, **_: Any) -> str:
    return f"The clock of {_its(event)} does not count {_who(event)} itself"


def _claim(event: Event, slot: str, value: int) -> str:
    came = "1 event" if value == 1 else f"{value:,} events"
    return f"The clock of {_its(event)} says that {came} of {short(slot)} came before"


def _unknown(event: Event, slot: str, value: int, **_: Any) -> str:
    return f"{_claim(event, slot, value)}, but the log has none of {short(slot)}"


def _beyond(event: Event, slot: str, value: int, last: int | None = None, **_: Any) -> str:
    only = "fewer" if last is None else f"only {last:,}"
    return f"{_claim(event, slot, value)}, but {short(slot)} logged {only}"


def _not_transitive(
    cause: Event, event: Event, slot: str, value: int, has: int | None = None, **_: Any
) -> str:
    less = "fewer" if has is None else ("none" if has == 0 else f"only {has:,}")
    known = f"{_its(cause)}, which knew of {_many(value, 'event')} of {short(slot)}"
    return f"{_its(event)} came after {known}, but its own clock has {less}"


def _cyclic(cause: Event, event: Event, **_: Any) -> str:
    return f"By their clocks {_its(cause)} and {_its(event)} both came before the other"


def _concurrent(first: Event, second: Event, **_: Any) -> str:
    pair = f"neither of {_its(first)} and {_its(second)} knows of the other"
    return f"By its clocks {_who(first)} did two things at once: {pair}"


def _cycle(*events: Event, size: int | None = None, **_: Any) -> str:
    """Members of the cycle in the order in which one leads to the next; how many there are in all."""
    count = len(events) if size is None else max(size, len(events))
    named = [_its(event) for event in events[:4]]
    more = count - len(named)
    tail = [f"{more:,} more"] if more else []
    listed = ", ".join([*named, *tail][:-1]) + " and " + [*named, *tail][-1]
    return f"{count:,} events lead back to each other, so that none of them can be first: {listed}"


def _self_parent(event: Event, **_: Any) -> str:
    return f"{_its(event)} names itself as its own cause"


def _same_id(first: Event, again: Event, **_: Any) -> str:
    return f"{_its(again)} has the same id as {_its(first)}"


def _missing(event: Event, name: str, **_: Any) -> str:
    return f"{_its(event)} names {short(name)} as its cause, which is not in the log"


def _timestamp(cause: Event, effect: Event, **_: Any) -> str:
    head = f"By their times {_its(effect)} came "
    if cause.time is None or effect.time is None:
        return f"{head}before its cause, {_its(cause)}"
    return f"{head}{_apart(cause.time, effect.time)} ms before its cause, {_its(cause)}"


def _apart(later: float, earlier: float) -> str:
    """The time between, as exact as the two are."""
    exact = math.floor(-math.log10(math.ulp(max(abs(later), abs(earlier), 1.0))))
    return f"{round(later - earlier, exact):,.6g}"


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
    "cycle": _cycle,
    "self-parent": _self_parent,
    "missing": _missing,
    "same-id": _same_id,
    "timestamp": _timestamp,
    "false-causality": _false,
}
KINDS = tuple(_TELLERS)
"""All kinds of findings."""
