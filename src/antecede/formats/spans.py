"""Spans of any tracing format as events: a span starts and ends, and that is two events.

What must have come first, and nothing else, becomes a parent: the start before the end of a span; the
parent's start before the child's start; for a server under a client also the server's end before the
client's end; the start of every linked span before the span's start. A linked span of another trace is called
by its trace as well, and `linked_traces` makes one execution of both. A span without a duration has no end. A
service does many things at once, so its events have no index, and clocks are not repaired: times stay as they
were written.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats.rows import Fields, FileRows, build_map_column
from antecede.tables import EVENTS, OF_TRACE, SPAN_STARTS

TEXT = pa.string()
NAMES = EVENTS.field("parents").type
FIELDS = EVENTS.field("fields").type
STARTS: dict[str | None, str] = {
    "client": "send",
    "producer": "send",
    "server": "receive",
    "consumer": "receive",
    "internal": "local",
}
ENDS: dict[str | None, str] = {
    "client": "receive",
    "server": "send",
    "producer": "local",
    "consumer": "local",
    "internal": "local",
}


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

    start_event: str = ""
    end_event: str = ""
    """What its events are called, once `copy` and `shared` are known."""

    def set_event_ids(self) -> None:
        """Give both events their names: servers that share their id with the client stand beside it."""
        name = self.id
        if self.shared:
            name += " at the server"
        if self.copy > 1:
            name += f", {self.copy}"
        self.start_event = SPAN_STARTS + name
        self.end_event = "end of span " + name


def _make_start_event_id(span_id: str) -> str:
    """What the start of a span is called, by its id alone: it may stand in another file."""
    return f"{SPAN_STARTS}{span_id}"


Halves = dict[tuple[str, str], list[Span]]


def set_event_columns(rows: FileRows, spans: Sequence[Span]) -> None:
    """The events of all spans of a file: the start of each one, and behind it its end."""
    if not spans:
        return
    halves: Halves = {}
    for span in spans:
        halves.setdefault((span.trace, span.id), []).append(span)
    for group in halves.values():
        _set_shared_flags_and_event_ids(group)
    parents = [_find_parent(span, halves) for span in spans]
    replies = _group_server_ends_by_client_end(spans, parents)
    size = len(spans)
    has_end = np.fromiter((span.ended for span in spans), np.bool_, size)
    # Starts are numbered as spans are, and ends go on behind them.
    span_of_event = np.repeat(np.arange(size), 1 + has_end)
    is_end = np.append(False, span_of_event[1:] == span_of_event[:-1])
    event = pa.array(span_of_event + size * is_end)
    span_of_event = pa.array(span_of_event)

    def repeat_for_events(span_values: Iterable[Any], kind: pa.DataType = TEXT) -> pa.Array:
        """A value for each span, for both of its events."""
        return pa.array(span_values, kind).take(span_of_event)

    def interleave(starts: Iterable[Any], ends: Iterable[Any], kind: pa.DataType = TEXT) -> pa.Array:
        return pa.array([*starts, *ends], kind).take(event)

    rows.line = repeat_for_events([span.line for span in spans], pa.int64())
    rows.execution = repeat_for_events([span.trace for span in spans])
    rows.process = repeat_for_events([span.service for span in spans])
    rows.text = repeat_for_events([span.name for span in spans])
    rows.event = interleave([span.start_event for span in spans], [span.end_event for span in spans])
    rows.kind = interleave([STARTS.get(span.kind) for span in spans], [ENDS.get(span.kind) for span in spans])
    rows.time = interleave([span.start for span in spans], [span.end for span in spans], pa.float64())
    rows.parents = interleave(
        [_list_parents_of_start_event(span, parents[at], halves) for at, span in enumerate(spans)],
        [_list_parents_of_end_event(span, replies) for span in spans],
        NAMES,
    )
    fields = build_map_column([_add_kind_to_fields(span) for span in spans], FIELDS)
    rows.fields = fields.take(pc.if_else(pa.array(is_end), None, span_of_event))
    rows.origin = pa.repeat(pa.scalar(rows.file), len(event))


def _group_server_ends_by_client_end(
    spans: Sequence[Span], parents: Sequence[Span | None]
) -> dict[tuple[str, str], list[str]]:
    """The ends of servers that came before the end of a client, by its trace and its end."""
    replies: dict[tuple[str, str], list[str]] = {}
    for span, parent in zip(spans, parents, strict=True):
        if parent and parent.kind == "client" and span.kind == "server" and span.ended:
            replies.setdefault((span.trace, parent.end_event), []).append(span.end_event)
    return replies


def _set_shared_flags_and_event_ids(spans_of_id: list[Span]) -> None:
    """A server with the id of a client is the other half of it, also where the log does not say so."""
    if len(spans_of_id) == 1:
        (span,) = spans_of_id
        span.shared = span.shared and span.kind == "server"
        span.set_event_ids()
        return
    client = any(span.kind == "client" for span in spans_of_id)
    seen: dict[bool, dict[tuple[object, ...], int]] = {True: {}, False: {}}
    for span in spans_of_id:
        span.shared = span.kind == "server" and (client or span.shared)
        same = seen[span.shared]
        span.copy = same.setdefault((span.service, span.name, span.start, span.end), len(same) + 1)
        span.set_event_ids()


def _find_parent(span: Span, halves: Halves) -> Span | None:
    """The span that began before this one: the client half, or what the parent id names."""
    if span.shared:
        return next((one for one in halves[span.trace, span.id] if one.kind == "client"), None)
    named = halves.get((span.trace, span.parent or ""), [])
    if len(named) < 2:
        return named[0] if named else None
    servers = [one for one in named if one.shared]
    same = [one for one in named if one.service == span.service]
    return next(iter(same if len(same) == 1 else servers or named), None)


def _list_parents_of_start_event(span: Span, parent: Span | None, halves: Halves) -> list[str]:
    parents = [parent.start_event] if parent else _list_absent_parent_ids(span)
    for trace, linked in span.links:
        if trace == span.trace:
            target = next(iter(halves.get((trace, linked), [])), None)
            parents.append(target.start_event if target else _make_start_event_id(linked))
        else:
            parents.append(f"{_make_start_event_id(linked)}{OF_TRACE}{trace}")
    return list(dict.fromkeys(parents)) if len(parents) > 1 else parents


def _list_absent_parent_ids(span: Span) -> list[str]:
    """Parents that this file does not have: the client half, and what the parent id names."""
    ids = [span.id] if span.shared else []
    return [_make_start_event_id(one) for one in [*ids, span.parent] if one]


def _list_parents_of_end_event(span: Span, replies: dict[tuple[str, str], list[str]]) -> list[str]:
    if span.kind != "client":
        return [span.start_event]
    before = replies.get((span.trace, span.end_event), [])
    return [span.start_event, *dict.fromkeys(before)]


def _add_kind_to_fields(span: Span) -> Fields | None:
    """The fields of a span with what has no column: the kind."""
    fields = span.fields
    if span.kind:
        fields.setdefault("span.kind", span.kind)
    return fields or None
