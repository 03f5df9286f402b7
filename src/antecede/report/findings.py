"""The findings as HTML: grouped by kind, the worst first, each with its sentence and a link to the picture of
its witness. Long groups are folded, and what a page cannot hold is counted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from antecede.report.gravity import find_severity_group
from antecede.report.text import format_number_or_text, format_visible_html
from antecede.report.window import describe_file_and_line

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
    "clock-unknown": "A clock counts events of a process of which this log has none, or none with a place.",
    "clock-beyond": "A clock counts more events of a process than this log has.",
    "clock-not-transitive": "An event knows of another, but not of all that the other knew of.",
    "clock-cyclic": "By their clocks, each of two events came before the other.",
    "concurrent": "By its clocks a process did two things at once; often two share one name.",
    "cycle": "Events that lead back to each other, so that no order can be right.",
    "self-parent": "The event names itself as its cause.",
    "missing": "The event names a cause that is not in this log.",
    "same-id": "Several events have one id; whoever names it means the first of them.",
    "timestamp": "By their times the effect came before its cause; clocks of processes differ.",
    "offset-time": "A process took messages of a sender behind others that were sent later, by their times.",
    "false-causality": "Causal order makes a message wait for another on which it does not depend.",
}
"""What each kind says. They come in the order in which findings are told: the worst first."""
_RANKS = {kind: rank for rank, kind in enumerate(MEANINGS)}


def rank_kind_by_severity(kind: str) -> tuple[int, str]:
    """A key that sorts the worst kind first, and those that nobody knows last."""
    return _RANKS.get(kind, len(_RANKS)), kind


def group_findings_by_kind(findings: pa.Table) -> list[tuple[str, pa.Table]]:
    """The findings of each kind, the worst kind first."""
    kinds = pc.fill_null(findings["kind"], "unknown")
    ranked = sorted(pc.unique(kinds).to_pylist(), key=rank_kind_by_severity)
    return [(kind, findings.filter(pc.equal(kinds, kind))) for kind in ranked]


def render_findings(findings: pa.Table, counts: Mapping[str, int]) -> str:
    """All findings by kind, below a list of the kinds.

    Their column `rows` has the witness of each as rows of the page's events, as far as they are there.
    `counts` says how many findings there are of each kind, if these are not all.
    """
    if not len(findings):
        return '<p class="none">No findings.</p>'
    names_executions = len(pc.unique(findings["execution"])) > 1
    kinds, sections = [], []
    numbered = 0
    for number, (kind, table) in enumerate(group_findings_by_kind(findings)):
        count = counts.get(kind, len(table))
        label = f"{format_visible_html(kind)} <b>{format_number_or_text(count)}</b>"
        group = find_severity_group(kind)
        kinds.append(f'<li><a class="{group}" href="#kind-{number}">{label}</a></li>')
        rows = table.slice(0, LISTED_FINDINGS).to_pylist()
        items = [_render_finding(row, at, names_executions) for at, row in enumerate(rows, start=numbered)]
        numbered += len(items)
        body = _render_findings_of_kind(kind, items, count)
        sections.append(f'<section class="kind {group}" id="kind-{number}"><h3>{label}</h3>{body}</section>')
    return f'<ul class="kinds">{"".join(kinds)}</ul>{"".join(sections)}'


def _render_findings_of_kind(kind: str, items: Sequence[str], count: int) -> str:
    """What a kind means, and its findings; long lists are folded."""
    body = f"<p>{MEANINGS[kind]}</p>" if kind in MEANINGS else ""
    body += f'<ol class="findings">{"".join(items[:SHOWN_FINDINGS])}</ol>'
    if len(items) > SHOWN_FINDINGS:
        rest = "".join(items[SHOWN_FINDINGS:])
        fold = f'<ol class="findings" start="{SHOWN_FINDINGS + 1}">{rest}</ol>'
        body += f"<details><summary>show all {format_number_or_text(len(items))}</summary>{fold}</details>"
    if left_out := count - len(items):
        note = "more are not on this page; antecede audit --out DIR lists more of them."
        body += f'<p class="left">{format_number_or_text(left_out)} {note}</p>'
    return body


def _render_finding(row: dict[str, Any], number: int, names_executions: bool) -> str:
    """A finding; its number is what its picture is called after."""
    sentence = row["sentence"]
    if not sentence:
        sentence = " ".join(filter(None, (row["process"], row["kind"], row["message"])))
    facts = [describe_file_and_line(row)]
    if names_executions and row["execution"]:
        facts.append(f"execution {row['execution']}")
    spans = "".join(f"<span>{format_visible_html(fact)}</span>" for fact in facts if fact)
    data = f' data-rows="{" ".join(map(str, row["rows"]))}"' if row["rows"] else ""
    return (
        f'<li id="finding-{number}" tabindex="-1"{data}><p>{format_visible_html(sentence)}</p>'
        f'<p class="facts">{spans}{_render_picture_link(row, number)}</p></li>'
    )


def _render_picture_link(row: dict[str, Any], number: int) -> str:
    """A link to the picture; or the names of the events that this page does not hold."""
    if row["rows"]:
        return f'<a class="show" href="#picture-{number}">picture</a>'
    if not row["events"]:
        return ""
    names = " → ".join(format_visible_html(event) for event in row["events"])
    return f'<span class="witness">witness: {names} (not in this page)</span>'
