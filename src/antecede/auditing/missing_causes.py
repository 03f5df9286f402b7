"""Why a cause that an event names is not in its execution, as far as all of the log tells.

`cut-id`: it is in a trace whose id ends with that of its own: a library has kept 64 of 128 bits.
`other-execution`: it is in another execution, or in another trace.
`sampled`: the event says that traces were sampled, so the cause may have been left out.
`later`: spans are written when they end, and the trace was still active when the log ended.
`not-found`: none of these.

A span whose parent is in another execution stays where it is: its order there is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from antecede.auditing.sentences import NOT_IN_LOG
from antecede.auditing.summary import RANKED_FINDINGS
from antecede.auditing.wording import Event, describe_file_and_line, shorten_name
from antecede.tables import OF_TRACE

TRACE_STATES = ("traceState", "TraceState", "trace_state")
SAMPLING_FIELDS = (*TRACE_STATES, "sampler.type", "sampler.param", "sampling.probability", "SampleRate")
"""Fields of a span that may tell of sampling."""
SHORT_ID = 16
"""Hexadecimal digits of a trace id of 64 bits."""
MOST_PLACES = 10
"""Events of one name that are looked at."""


class SeenEvent(NamedTuple):
    """An event that has the name of a cause that is missing."""

    execution: str
    event: str
    file: str | None
    line: int | None


class TraceEnd(NamedTuple):
    """What times tell of an execution: when it was last active, when the log ended, how long traces take."""

    until: float | None
    log_until: float | None
    longest: float | None  # of the complete traces

    @property
    def remaining_log_ms_if_still_running(self) -> float | None:
        """How long the log goes on behind it, if it may still be active then; else None."""
        if self.until is None or self.log_until is None or self.longest is None:
            return None
        rest = self.log_until - self.until
        return rest if rest < self.longest else None


def strip_trace_from_id(event_id: str) -> str:
    """What an event is called in a trace that is joined to no other."""
    return event_id.partition(OF_TRACE)[0]


def explain_missing_cause(
    finding: Mapping[str, Any],
    namesakes: Sequence[SeenEvent],
    sampling_fields: Mapping[str, str],
    trace_end: TraceEnd,
) -> dict[str, Any]:
    """The finding with its reason, and a sentence that tells it.

    `namesakes` have the name of the cause, `sampling_fields` are those of SAMPLING_FIELDS that the event has.
    """
    reason, sentence = _find_reason_and_sentence_of_absence(finding, namesakes, sampling_fields, trace_end)
    return {**finding, "reason": reason, "sentence": sentence}


def _find_reason_and_sentence_of_absence(
    finding: Mapping[str, Any],
    namesakes: Sequence[SeenEvent],
    sampling_fields: Mapping[str, str],
    trace_end: TraceEnd,
) -> tuple[str, str]:
    """Why a cause is missing, and the finding's sentence with that reason."""
    head = finding["sentence"].removesuffix(NOT_IN_LOG)
    trace = _find_trace_id(finding["execution"], finding["events"][-1])
    for reason in ("cut-id", "other-execution"):
        for other in namesakes:
            found = _find_trace_id(other.execution, other.event)
            if found != trace and (reason == "other-execution" or _is_truncated_trace_id(trace, found)):
                return reason, f"{head}, {_describe_cause_elsewhere(reason, trace, found, other)}"
    if mark := describe_sampling(sampling_fields):
        return "sampled", f"{head}{NOT_IN_LOG}: traces were sampled ({mark}), and it may have been left out"
    remaining_ms = trace_end.remaining_log_ms_if_still_running
    if remaining_ms is not None:
        active = f"its trace was active {remaining_ms:,.6g} ms before the log ends"
        longest = f"a complete one takes up to {trace_end.longest:,.6g} ms"
        return "later", f"{head}{NOT_IN_LOG} and may still come: {active}, and {longest}"
    return "not-found", f"{head}{NOT_IN_LOG}"


def _find_trace_id(execution: str, event_id: str) -> str:
    """The trace of an event: its execution, unless that has several."""
    return event_id.partition(OF_TRACE)[2] or execution


def _is_truncated_trace_id(one: str, other: str) -> bool:
    """Whether two ids of traces differ only in that one of them has lost its first half."""
    short, long = sorted((one.lstrip("0"), other.lstrip("0")), key=len)
    return 0 < len(short) <= SHORT_ID < len(long) and long.endswith(short)


def _describe_cause_elsewhere(reason: str, own_trace: str, other_trace: str, seen: SeenEvent) -> str:
    place = describe_file_and_line(Event(file=seen.file, line=seen.line))
    name = shorten_name(other_trace)
    if seen.event.startswith("start of span"):
        name = f"trace {name}"
    if reason == "cut-id":
        cut, whole = sorted((own_trace, other_trace), key=lambda trace: len(trace.lstrip("0")))
        return f"which is in {name}{place}: {shorten_name(cut)} is what is left of {shorten_name(whole)}"
    return f"which is not there but in {name}{place}"


def describe_sampling(sampling_fields: Mapping[str, str]) -> str | None:
    """What a span says of sampling; None if all traces are kept, by what it says."""
    for key in TRACE_STATES:
        for member in sampling_fields.get(key, "").split(","):
            name, _, value = member.strip().partition("=")
            kept = ("th:0", "p:0", "p:63")
            if name == "ot" and any(
                part.startswith(("th:", "p:")) and part not in kept for part in value.split(";")
            ):
                return f"{key} {shorten_name(member.strip())}"
    kind, parameter = sampling_fields.get("sampler.type"), sampling_fields.get("sampler.param", "")
    if kind is not None and kind != "const" and _parse_number(parameter) != 1:
        return f"sampler.type {shorten_name(kind)} {shorten_name(parameter)}".rstrip()
    for key in ("sampling.probability", "SampleRate"):
        number = _parse_number(sampling_fields.get(key, ""))
        if number is not None and number != 1:
            return f"{key} {number:g}"
    return None


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def explain_missing_causes_in_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Called by Spark with findings and what was looked up for them; gives RANKED_FINDINGS."""
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            namesakes = [SeenEvent(**seen) for seen in row["namesakes"] or []]
            end = TraceEnd(row["last_active"], row["log_until"], row["longest"])
            finding = {name: row[name] for name in RANKED_FINDINGS.names}
            rows.append(explain_missing_cause(finding, namesakes, dict(row["sampling"] or ()), end))
        yield pa.RecordBatch.from_pylist(rows, RANKED_FINDINGS)
