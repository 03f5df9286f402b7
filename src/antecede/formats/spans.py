"""Spans of any tracing format as events: a span starts and ends, and that is two events.

What must have come first, and nothing else, becomes a parent: the start before the end of a span; the
parent's start before the child's start; for a server under a client also the server's end before the
client's end; the start of every linked span of the same trace before the span's start (links to other traces
are kept in the field `links`). A span without a duration has no end. A service does many things at once, so
its events have no index, and clocks are not repaired: times stay as they were written.
"""

from collections.abc import Sequence

import msgspec

from antecede.formats.rows import Fields, Rows

STARTS = {
    "client": "send",
    "producer": "send",
    "server": "receive",
    "consumer": "receive",
    "internal": "local",
}
ENDS = {"client": "receive", "server": "send", "producer": "local", "consumer": "local", "internal": "local"}


class Span(msgspec.Struct):
    """One span, whatever format it came from. Times are milliseconds."""

    line: int
    trace: str
    id: str
    service: str | None = None
    kind: str | None = None
    """client, server, producer, consumer, internal, or None if the log does not say."""
    parent: str | None = None
    shared: bool = False
    copy: int = 1
    """Counts the different spans of one id (one message, several consumers); a span seen twice has one."""
    name: str | None = None
    start: float | None = None
    end: float | None = None
    ended: bool = False
    links: list[tuple[str, str]] = msgspec.field(default_factory=list)
    fields: Fields = msgspec.field(default_factory=dict)

    def event(self, edge: str) -> str:
        """The name of an event: servers that share their id with the client stand beside it."""
        side = " at the server" if self.shared else ""
        return named(self.id, edge) + side + (f", {self.copy}" if self.copy > 1 else "")


def named(id: str, edge: str) -> str:
    """What the start or the end of a span is called, by its id alone: it may stand in another file."""
    return f"{edge} of span {id}"


Halves = dict[tuple[str, str], list[Span]]


def fill(rows: Rows, spans: Sequence[Span]) -> None:
    """The events of all spans of a file."""
    halves: Halves = {}
    for span in spans:
        halves.setdefault((span.trace, span.id), []).append(span)
    for group in halves.values():
        _mark_shared(group)
    replies: dict[tuple[str, str], list[str]] = {}
    parents = [_parent(span, halves) for span in spans]
    for span, parent in zip(spans, parents, strict=True):
        if parent and parent.kind == "client" and span.kind == "server" and span.ended:
            replies.setdefault((span.trace, parent.event("end")), []).append(span.event("end"))
    for span, parent in zip(spans, parents, strict=True):
        _start(rows, span, parent, halves)
        if span.ended:
            _end(rows, span, replies.get((span.trace, span.event("end")), []))


def _mark_shared(group: list[Span]) -> None:
    """A server with the id of a client is the other half of it, also where the log does not say so."""
    client = any(span.kind == "client" for span in group)
    seen: dict[bool, dict[tuple[object, ...], int]] = {True: {}, False: {}}
    for span in group:
        span.shared = span.kind == "server" and (client or span.shared)
        same = seen[span.shared]
        span.copy = same.setdefault((span.service, span.name, span.start, span.end), len(same) + 1)


def _parent(span: Span, halves: Halves) -> Span | None:
    """The span that began before this one: the client half, or what the parent id names."""
    if span.shared:
        return next((one for one in halves[span.trace, span.id] if one.kind == "client"), None)
    found = halves.get((span.trace, span.parent or ""), [])
    servers = [one for one in found if one.shared]
    same = [one for one in found if one.service == span.service]
    return next(iter(same if len(same) == 1 else servers or found), None)


def _start(rows: Rows, span: Span, parent: Span | None, halves: Halves) -> None:
    parents = [parent.event("start")] if parent else _absent(span)
    fields = dict(span.fields)
    foreign = []
    for trace, linked in span.links:
        if trace == span.trace:
            target = next(iter(halves.get((trace, linked), [])), None)
            parents.append(target.event("start") if target else named(linked, "start"))
        else:
            foreign.append(f"{trace}:{linked}")
    if foreign:
        fields["links"] = " ".join(foreign)
    if span.kind:
        fields.setdefault("span.kind", span.kind)
    rows.add(
        span.line,
        execution=span.trace,
        process=span.service,
        event=span.event("start"),
        kind=STARTS.get(span.kind or ""),
        parents=list(dict.fromkeys(parents)),
        time=span.start,
        text=span.name,
        fields=fields or None,
    )


def _absent(span: Span) -> list[str]:
    """Parents that this file does not have: the client half, and what the parent id names."""
    ids = [span.id] if span.shared else []
    return [named(one, "start") for one in [*ids, span.parent] if one]


def _end(rows: Rows, span: Span, replies: list[str]) -> None:
    rows.add(
        span.line,
        execution=span.trace,
        process=span.service,
        event=span.event("end"),
        kind=ENDS.get(span.kind or ""),
        parents=list(dict.fromkeys([span.event("start"), *replies])),
        time=span.end,
        text=span.name,
    )
