"""ShiViz files that ShiViz accepts: GoVector's line order under a header of two lines.

ShiViz demands that the own entries of a host are 1, 2, 3, ... So the events of a selection are numbered
anew, an entry becomes the number of selected events it covers, and entries of hosts that are not selected
are dropped. Where that changes a number, the old one stands behind the clock, as the field `original`.
Names lose white space and quotes, texts their line ends, and what ShiViz would take for a delimiter is moved
one space to the right. Events without a clock are left out: arrivals are no events of happened-before.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.formats.shiviz_forms import GOVECTOR

COMFORTABLE = 2_000
"""ShiViz parses this many events in about a second, and four times as long for twice as many."""

RENUMBERED = r"(?<host>\S*) (?<clock>{.*}) (?<original>\d+)\n(?<event>.*)"
DELIMITER = "^=== (?<trace>.*) ===$"
COLUMNS = ["execution", "process", "index", "event", "kind", "message", "clock", "text"]
Host = tuple[str, str]


class _WrittenEvent(msgspec.Struct, frozen=True):
    execution: str
    process: str
    index: int
    own: int
    clock: dict[str, int]
    text: str


def format_shiviz(events: pa.Table) -> str:
    """The file of these events; they need clocks."""
    chosen = [_make_event(row) for row in events.select(COLUMNS).to_pylist() if row["clock"] is not None]
    if len(events) and not chosen:
        raise CallerError("events without clocks cannot be drawn by ShiViz; order or audit the log first")
    numbers, owns = _find_new_numbers_and_old_entries(chosen)
    renumbered = any(event.own != number for event, number in zip(chosen, numbers, strict=True))
    hosts = _make_names_distinct([event.process for event in chosen], _clean_host)
    records: dict[str, list[str]] = {}
    for event, number in zip(chosen, numbers, strict=True):
        clock = _format_renumbered_clock(event, number, owns, hosts)
        original = f" {event.own}" if renumbered else ""
        line = f"{hosts[event.process]} {clock}{original}\n{event.text}\n"
        records.setdefault(event.execution, []).append(line)
    return (RENUMBERED if renumbered else GOVECTOR) + "\n" + _join_executions_under_delimiters(records)


def _make_event(row: dict[str, Any]) -> _WrittenEvent:
    clock = dict(row["clock"])
    process = row["process"] or ""
    text = row["text"] or " ".join(filter(None, (row["kind"], row["message"]))) or row["event"] or ""
    own = clock.get(process, 0)
    index = row["index"] if row["index"] is not None else own
    return _WrittenEvent(row["execution"] or "", process, index, own, clock, _clean_line(text))


def _find_new_numbers_and_old_entries(events: list[_WrittenEvent]) -> tuple[list[int], dict[Host, list[int]]]:
    """Each event's number on its host from 1, and the old own entries of each host, sorted."""
    numbers = [0] * len(events)
    owns: dict[Host, list[int]] = {}
    for row in sorted(range(len(events)), key=lambda row: (events[row].index, events[row].own)):
        before = owns.setdefault((events[row].execution, events[row].process), [])
        before.append(events[row].own)
        numbers[row] = len(before)
    return numbers, {host: sorted(values) for host, values in owns.items()}


def _format_renumbered_clock(
    event: _WrittenEvent, number: int, own_entries: dict[Host, list[int]], hosts: dict[str, str]
) -> str:
    """The clock in new numbers."""
    clock = {hosts[event.process]: number}
    for process, count in event.clock.items():
        covered = bisect_right(own_entries.get((event.execution, process), []), count)
        if covered and process != event.process:
            clock[hosts[process]] = covered
    return msgspec.json.encode(clock, order="sorted").decode()


def _join_executions_under_delimiters(records: dict[str, list[str]]) -> str:
    """The second header line and the executions; the one without a name comes first, without delimiter."""
    if set(records) <= {""}:
        return "\n" + "".join(records.get("", []))
    labels = _make_names_distinct([name for name in records if name], _clean_line)
    parts = [DELIMITER + "\n", *map(_indent_text_like_delimiter, records.get("", []))]
    for name, lines in records.items():
        if name:
            parts += [f"=== {labels[name]} ===\n", *map(_indent_text_like_delimiter, lines)]
    return "".join(parts)


def _indent_text_like_delimiter(record: str) -> str:
    head, _, text = record.partition("\n")
    return f"{head}\n {text}" if text.startswith("=== ") else record


def _make_names_distinct(names: list[str], clean: Callable[[str], str]) -> dict[str, str]:
    """Names that may be written, no two of them the same."""
    result: dict[str, str] = {}
    taken = set()
    for name in dict.fromkeys(names):
        base = new = clean(name)
        number = 1
        while new in taken:
            number += 1
            new = f"{base}-{number}"
        taken.add(new)
        result[name] = new
    return result


def _clean_host(name: str) -> str:
    clean = re.sub(r"[\s\"'\x00-\x1f\ufeff]+", "_", name) or "_"
    return "_proto_" if clean == "__proto__" else clean


def _clean_line(text: str) -> str:
    return re.sub("[\r\n\u2028\u2029]+", " ", text)
