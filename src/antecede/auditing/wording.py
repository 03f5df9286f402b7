"""The words that sentences are made of: who did what, and where it stands.

Nothing is known for certain about an event: without a name, a file or a line the words do without.
"""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 40
"""Characters of a name that are shown."""
VERBS = {"send": "sent", "deliver": "delivered", "receive": "received"}
HEARD = VERBS | {"deliver": "received"}


REASONS = {
    "cut-id": "in a trace whose id was cut",
    "other-execution": "in another execution",
    "sampled": "perhaps left out by sampling",
    "later": "may still come",
    "not-found": "not found",
}
"""Why causes are missing, and what is said of those."""


class Event(NamedTuple):
    """What a sentence may say of an event; time is in milliseconds."""

    process: str | None = None
    kind: str | None = None
    message: str | None = None
    event: str | None = None
    file: str | None = None
    line: int | None = None
    time: float | None = None


def shorten_name(name: object) -> str:
    """A name on one line, of which every character can be seen; of a long one its two ends."""
    text = str(name)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 14]}…{text[-13:]}"


def describe_file_and_line(event: Event) -> str:
    """The file and the line, in brackets behind a blank; nothing if neither is known."""
    line = None if event.line is None else f"line {event.line}"
    if event.file is None:
        return "" if line is None else f" ({line})"
    file = "".join(c if c.isprintable() else "\ufffd" for c in event.file)
    if len(file) > LONGEST:
        tail = file[-LONGEST:]
        file = "…" + (tail[tail.index("/") :] if "/" in tail[:-1] else tail)
    return f" ({file})" if event.line is None else f" ({file}:{event.line})"


def name_process(event: Event) -> str:
    return "an unknown process" if event.process is None else shorten_name(event.process)


def name_message(event: Event) -> str:
    return "a message" if event.message is None else shorten_name(event.message)


def name_event(event: Event) -> str:
    return "an event" if event.event is None else shorten_name(event.event)


def describe_action(event: Event, verbs: dict[str, str] = VERBS) -> str:
    """What its process did, and where this stands."""
    if event.kind in verbs and (event.message is not None or event.event is None):
        return f"{verbs[event.kind]} {name_message(event)}{describe_file_and_line(event)}"
    return f"did {name_event(event)}{describe_file_and_line(event)}"


def describe_event(event: Event) -> str:
    """An event by itself: who, what and where."""
    if event.process is None and event.kind not in VERBS:
        return f"{name_event(event)}{describe_file_and_line(event)}"
    return f"{name_process(event)} {describe_action(event)}"


def refer_to_event(event: Event) -> str:
    """An event as a thing: p1's e7 (a.log:3)."""
    if event.message is not None and event.kind in VERBS:
        what = {"send": "send", "deliver": "delivery", "receive": "receipt"}[event.kind]
        return f"{name_process(event)}'s {what} of {name_message(event)}{describe_file_and_line(event)}"
    owner = "" if event.process is None else f"{name_process(event)}'s "
    what = "event" if event.event is None and owner else name_event(event)
    return f"{owner}{what}{describe_file_and_line(event)}"


def format_count(count: int, thing: str) -> str:
    return f"1 {thing}" if count == 1 else f"{count:,} {thing}s"
