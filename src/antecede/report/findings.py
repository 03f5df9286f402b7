"""The findings as HTML: grouped by kind, the commonest first, each with its sentence and with links to the
events of its witness in the pictures. Long groups are folded, and what a page cannot hold is counted.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from antecede.report.text import escaped, number
from antecede.report.window import Row, spoken, where

SHOWN = 8
"""Findings of a kind that are shown before a fold."""
MOST = 500
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
Place = dict[tuple[str, str], tuple[int, Row]]
"""Where each event of a window stands, by execution and name, and its row."""


def groups(findings: pa.Table) -> list[tuple[str, pa.Table]]:
    """The findings of each kind, the commonest first."""
    kinds = pc.fill_null(findings["kind"], "unknown")
    counts = sorted(kinds.value_counts().to_pylist(), key=lambda c: (-c["counts"], c["values"]))
    return [(c["values"], findings.filter(pc.equal(kinds, c["values"]))) for c in counts]


def section(findings: pa.Table, places: list[Place], counts: Mapping[str, int]) -> str:
    """All groups, below a list of the kinds and a box that filters; `counts` say if there are more."""
    if not len(findings):
        return '<p class="none">No findings.</p>'
    found = sorted(groups(findings), key=lambda group: -counts.get(group[0], len(group[1])))
    several = len(pc.unique(findings["execution"])) > 1
    kinds = "".join(
        f'<li><a href="#kind-{at}">{escaped(kind)} <b>{number(counts.get(kind, len(table)))}</b></a></li>'
        for at, (kind, table) in enumerate(found)
    )
    parts = [
        _group(at, kind, table, places, several, counts.get(kind, len(table)))
        for at, (kind, table) in enumerate(found)
    ]
    return (
        f'<ul class="kinds">{kinds}</ul>'
        '<p class="filter"><label>Filter <input id="filter" type="search" autocomplete="off" '
        'placeholder="words of a sentence, process, message, file"/></label> '
        '<output id="matches" for="filter"></output></p>' + "".join(parts)
    )


def _group(at: int, kind: str, table: pa.Table, places: list[Place], several: bool, count: int) -> str:
    rows = table.slice(0, MOST).to_pylist()
    items = [_finding(row, places, several) for row in rows]
    meaning = f"<p>{MEANINGS[kind]}</p>" if kind in MEANINGS else ""
    body = f'<ol class="findings">{"".join(items[:SHOWN])}</ol>'
    if len(items) > SHOWN:
        more = f'<ol class="findings" start="{SHOWN + 1}">{"".join(items[SHOWN:])}</ol>'
        body += f"<details><summary>show all {number(len(items))}</summary>{more}</details>"
    if left := count - len(rows):
        more = "more are not on this page; antecede audit --out DIR lists more of them."
        body += f'<p class="left">{number(left)} {more}</p>'
    head = f"<h3>{escaped(kind)} <b>{number(count)}</b></h3>"
    return f'<section class="kind" id="kind-{at}">{head}{meaning}{body}</section>'


def _finding(row: dict[str, Any], places: list[Place], several: bool) -> str:
    sentence = row["sentence"] or " ".join(filter(None, (row["process"], row["kind"], row["message"])))
    facts = [where(row), f"execution {row['execution']}" if several and row["execution"] else ""]
    told = "".join(f"<span>{escaped(fact)}</span>" for fact in facts if fact)
    return f'<li><p>{escaped(sentence)}</p><p class="facts">{told}{_witness(row, places)}</p></li>'


def _witness(row: dict[str, Any], places: list[Place]) -> str:
    """A link to each event of the witness and one to all of them, in the window that shows most of them."""
    events = [(row["execution"] or "", event) for event in row["events"] or ()]
    if not events:
        return ""
    counts = [sum(event in place for event in events) for place in places]
    best = max(range(len(places)), key=lambda at: counts[at], default=-1)
    if best < 0 or not counts[best]:
        names = " → ".join(escaped(event) for _, event in events)
        return f'<span class="witness">witness: {names} (not drawn)</span>'
    place = places[best]
    steps = [_step(event, best, place) for event in events]
    rows = "-".join(str(place[event][0]) for event in events if event in place)
    link = f"<span>picture {best + 1}:</span>"
    if counts[best] > 1:
        link = f'<a class="all" href="#w{best}-{rows}">show in picture {best + 1}</a>'
    return f'{link}<span class="witness">{" → ".join(steps)}</span>'


def _step(event: tuple[str, str], window: int, place: Place) -> str:
    if event not in place:
        return escaped(event[1])
    at, row = place[event]
    return f'<a href="#w{window}-{at}" title="{escaped(where(row))}">{escaped(spoken(row))}</a>'
