"""The page: verdict, totals, findings and pictures in one HTML file that loads nothing from anywhere.

Everything that stands in a log is escaped; besides, the page's own policy lets no script run but the one
below, known by its hash.
"""

from collections.abc import Mapping

import pyarrow as pa

from antecede.report.document import read_asset, render_document
from antecede.report.findings import EventPlaces, render_findings
from antecede.report.picture import render_svg
from antecede.report.text import escape_html, format_total, pluralize
from antecede.report.window import list_rows
from antecede.tables import Window

KEY = """<p class="key">Time goes down, a row for each event.
<span><b>○</b> send</span> <span><b>●</b> deliver or receive</span> <span><b>∘</b> arrives and waits</span>
<span><b>▪</b> other event</span> <span><b class="late">red</b> late</span>
<span><b class="ghost">grey</b> ghost: named by others, not in the log</span></p>
<p class="key script">Hover over an event for its clock. Click it to light up its <b class="past">past</b>
and its <b class="future">future</b>; click on empty space to reset. Keys: arrows, Enter, Escape.</p>"""


def render_page(
    verdict: str,
    totals: dict[str, str | int],
    findings: pa.Table,
    windows: list[Window],
    title: str,
    counts: Mapping[str, int] | None = None,
) -> str:
    """The text of the page, to be saved as UTF-8. `counts` says how many findings of each kind there are, if
    these are not all."""
    number = len(findings) if counts is None else sum(counts.values())
    places = [_locate_events(window) for window in windows]
    has_pictures = any(len(window.events) for window in windows)
    body = [
        f"<header><h1>{escape_html(title)}</h1>"
        f"{_render_verdict(verdict, findings)}{_render_totals(totals)}</header>\n<main>",
        f'<section class="list"><h2>Findings <b>{format_total(number)}</b></h2>',
        render_findings(findings, places, counts or {}),
        f"</section>\n<section><h2>Pictures <b>{len(windows)}</b></h2>",
        KEY if has_pictures else "<p>No events were drawn.</p>",
        *(_render_figure(window, at) for at, window in enumerate(windows)),
        "</section>\n</main>",
    ]
    return render_document(title, body, read_asset("page.js"))


def _locate_events(window: Window) -> EventPlaces:
    """Where the events of a window stand; of several with one name, the first."""
    places: EventPlaces = {}
    for at, row in enumerate(list_rows(window.events)):
        if row["event"] is not None:
            places.setdefault((row["execution"] or "", row["event"]), (at, row))
    return places


def _render_verdict(verdict: str, findings: pa.Table) -> str:
    if len(findings):
        look = "bad"
    else:
        look = "good" if verdict.casefold().startswith("clean") else "open"
    return f'<p class="verdict {look}">{escape_html(verdict)}</p>'


def _render_totals(totals: dict[str, str | int]) -> str:
    if not totals:
        return ""
    facts = []
    for name, value in totals.items():
        amount = escape_html(format_total(value))
        facts.append(f"<div><dt>{escape_html(name)}</dt><dd>{amount}</dd></div>")
    return f'<dl class="totals">{"".join(facts)}</dl>'


def _render_figure(window: Window, at: int) -> str:
    """A picture in a box that scrolls, below what it shows and what it leaves out."""
    size = len(window.events)
    left_out = escape_html(window.left_out) or "Nothing is left out."
    if window.left_out:
        left_out += " What goes through events that are not drawn is not lit."
    picture = render_svg(window, f"w{at}") if size else '<p class="none">No events.</p>'
    return (
        f'<figure id="w{at}"><figcaption><h3>{at + 1}. {escape_html(window.title)} '
        f"<b>{pluralize(size, 'event')}</b></h3>"
        f'<p class="left">{left_out}</p><p class="status" role="status"></p></figcaption>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="picture {at + 1}">{picture}</div>'
        "</figure>"
    )
