"""The findings as HTML: grouped by kind, the commonest first, each with its sentence and with links to the
events of its witness in the pictures. Long groups are folded, and what a page cannot hold is counted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from antecede.report.text import escape_html, format_total
from antecede.report.window import Row, describe_event, describe_place

SHOWN_FINDINGS = 8
"""Findings of a kind that are shown before a fold."""
LISTED_FINDINGS = 500
"""Findings of a kind that are on the page at all."""

MEANINGS = {
    "late": "Something that depends on the message was delivered at the same process before it.",
    "fifo": "Two messages of one sender were delivered in another order than they were sent.",
    "lost": "Sent, and not delivered in this log.",
    "orphan": "Delivered, though this log has no send of it.",
    "duplicate": "Delivered more than once at the same process.",
    "unsent": "Delivered before it was sent, by the order of the processes and what they knew.",
    "resent": "Sent more than once under the same name.",
    "misdelivered": "Delivered at a process to which it was not sent.",
    "wrong-sender": "Delivered as a message of another process than the one that sent it.",
    "clock-backwards": "A process knew less than before: an entry of its clock fell.",
    "clock-hole": "A process counted on, but the log lacks the events between.",
    "clock-repeat": "Two events of a process have the same count.",
    "clock-restart": "A process began to count from 1 again.",
    "clock-uncounted": "The clock of an event does not count the process that it belongs to.",
    "clock-unknown": "A clock counts events of a process that has none in this log.",
    "clock-beyond": "A clock counts more events of a process than this log has.",
    "clock-not-transitive": "An event knows of another, but not of all that the other knew of.",
    "clock-cyclic": "By their clocks, each of two events came before the other.",
    "concurrent": "By its clocks a process did two things at once; often two share one name.",
    "cycle": "Events that lead back to each other, so that no order can be right.",
    "self-parent": "The event names itself as its cause.",
    "missing": "The event names a cause that is not in this log.",
    "same-id": "Several events have one id; whoever names it means the first of them.",
    "timestamp": "By their times the effect came before its cause; clocks of processes differ.",
    "false-causality": "Causal order makes a message wait for another on which it does not depend.",
}
EventPlaces = dict[tuple[str, str], tuple[int, Row]]
"""Where each event of a window stands, by execution and name, and its row."""


def group_by_kind(findings: pa.Table) -> list[tuple[str, pa.Table]]:
    """The findings of each kind, the commonest first."""
    kinds = pc.fill_null(findings["kind"], "unknown")
    counts = {count["values"]: count["counts"] for count in kinds.value_counts().to_pylist()}
    ranked = sorted(counts, key=lambda kind: (-counts[kind], kind))
    return [(kind, findings.filter(pc.equal(kinds, kind))) for kind in ranked]


def render_findings(findings: pa.Table, windows: list[EventPlaces], counts: Mapping[str, int]) -> str:
    """All findings by kind, below a list of the kinds and a box that filters.

    `counts` says how many there are of each kind, if these are not all.
    """
    if not len(findings):
        return '<p class="none">No findings.</p>'
    groups = [(kind, table, counts.get(kind, len(table))) for kind, table in group_by_kind(findings)]
    groups.sort(key=lambda group: -group[2])
    names_executions = len(pc.unique(findings["execution"])) > 1
    kinds, sections = [], []
    for number, (kind, table, count) in enumerate(groups):
        label = f"{escape_html(kind)} <b>{format_total(count)}</b>"
        kinds.append(f'<li><a href="#kind-{number}">{label}</a></li>')
        body = _render_kind(kind, table, windows, names_executions, count)
        sections.append(f'<section class="kind" id="kind-{number}"><h3>{label}</h3>{body}</section>')
    return (
        f'<ul class="kinds">{"".join(kinds)}</ul>'
        '<p class="filter"><label>Filter <input id="filter" type="search" autocomplete="off" '
        'placeholder="words of a sentence, process, message, file"/></label> '
        '<output id="matches" for="filter"></output></p>' + "".join(sections)
    )


def _render_kind(
    kind: str, table: pa.Table, windows: list[EventPlaces], names_executions: bool, count: int
) -> str:
    """What a kind means, and its findings; long lists are folded."""
    rows = table.slice(0, LISTED_FINDINGS).to_pylist()
    items = [_render_finding(row, windows, names_executions) for row in rows]
    body = f"<p>{MEANINGS[kind]}</p>" if kind in MEANINGS else ""
    body += f'<ol class="findings">{"".join(items[:SHOWN_FINDINGS])}</ol>'
    if len(items) > SHOWN_FINDINGS:
        rest = "".join(items[SHOWN_FINDINGS:])
        fold = f'<ol class="findings" start="{SHOWN_FINDINGS + 1}">{rest}</ol>'
        body += f"<details><summary>show all {format_total(len(items))}</summary>{fold}</details>"
    if left_out := count - len(rows):
        note = "more are not on this page; antecede audit --out DIR lists more of them."
        body += f'<p class="left">{format_total(left_out)} {note}</p>'
    return body


def _render_finding(row: dict[str, Any], windows: list[EventPlaces], names_executions: bool) -> str:
    sentence = row["sentence"]
    if not sentence:
        sentence = " ".join(filter(None, (row["process"], row["kind"], row["message"])))
    facts = [describe_place(row)]
    if names_executions and row["execution"]:
        facts.append(f"execution {row['execution']}")
    spans = "".join(f"<span>{escape_html(fact)}</span>" for fact in facts if fact)
    witness = _render_witness(row, windows)
    return f'<li><p>{escape_html(sentence)}</p><p class="facts">{spans}{witness}</p></li>'


def _render_witness(row: dict[str, Any], windows: list[EventPlaces]) -> str:
    """A link to each event of the witness and one to all of them, in the window that shows most of them."""
    events = [(row["execution"] or "", event) for event in row["events"] or ()]
    if not events:
        return ""
    drawn = [sum(event in places for event in events) for places in windows]
    best = max(range(len(windows)), key=lambda number: drawn[number], default=-1)
    if best < 0 or not drawn[best]:
        names = " → ".join(escape_html(event) for _, event in events)
        return f'<span class="witness">witness: {names} (not drawn)</span>'
    link = f"<span>picture {best + 1}:</span>"
    if drawn[best] > 1:
        rows = _join_rows(events, windows[best])
        link = f'<a class="all" href="#w{best}-{rows}">show in picture {best + 1}</a>'
    steps = [_render_step(event, best, windows[best]) for event in events]
    return f'{link}<span class="witness">{" → ".join(steps)}</span>'


def _join_rows(events: Sequence[tuple[str, str]], places: EventPlaces) -> str:
    """The rows of the events that are drawn, as page.js reads them: 3-5-9."""
    return "-".join(str(places[event][0]) for event in events if event in places)


def _render_step(event: tuple[str, str], window: int, places: EventPlaces) -> str:
    if event not in places:
        return escape_html(event[1])
    at, row = places[event]
    title, text = escape_html(describe_place(row)), escape_html(describe_event(row))
    return f'<a href="#w{window}-{at}" title="{title}">{text}</a>'
