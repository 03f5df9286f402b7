"""The words that sentences are made of: who did what, and where it stands.

Nothing is known for certain about an event: without a name, a file or a line the words do without.
"""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 40
"""Characters of a name that are shown."""
VERBS = {"send": "sent", "deliver": "delivered", "receive": "received"}
HEARD = VERBS | {"deliver": "received"}


class Event(NamedTuple):
    """What a sentence may say of an event; time is in milliseconds."""

    process: str | None = None
    kind: str | None = None
    message: str | None = None
    event: str | None = None
    file: str | None = None
    line: int | None = None
    time: float | None = None


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


def who(event: Event) -> str:
    return "an unknown process" if event.process is None else short(event.process)


def message(event: Event) -> str:
    return "a message" if event.message is None else short(event.message)


def name(event: Event) -> str:
    return "an event" if event.event is None else short(event.event)


def did(event: Event, verbs: dict[str, str] = VERBS) -> str:
    """What its process did, and where this stands."""
    if event.kind in verbs and (event.message is not None or event.event is None):
        return f"{verbs[event.kind]} {message(event)}{place(event)}"
    return f"did {name(event)}{place(event)}"


def whole(event: Event) -> str:
    """An event by itself: who, what and where."""
    if event.process is None and event.kind not in VERBS:
        return f"{name(event)}{place(event)}"
    return f"{who(event)} {did(event)}"


def its(event: Event) -> str:
    """An event as a thing: p1's e7 (a.log:3)."""
    if event.message is not None and event.kind in VERBS:
        what = {"send": "send", "deliver": "delivery", "receive": "receipt"}[event.kind]
        return f"{who(event)}'s {what} of {message(event)}{place(event)}"
    owner = "" if event.process is None else f"{who(event)}'s "
    what = "event" if event.event is None and owner else name(event)
    return f"{owner}{what}{place(event)}"


def many(count: int, thing: str) -> str:
    return f"1 {thing}" if count == 1 else f"{count:,} {thing}s"
