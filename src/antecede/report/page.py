"""The page: verdict, totals, findings and pictures in one HTML file that loads nothing from anywhere.

Everything that stands in a log is escaped; besides, the page's own policy lets no script run but the one
below, known by its hash.
"""

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources

import pyarrow as pa

from antecede.report import findings as listed
from antecede.report.picture import svg
from antecede.report.text import escaped, number
from antecede.report.window import rows_of
from antecede.tables import Window

KEY = """<p class="key">Time goes down, a row for each event.
<span><b>○</b> send</span> <span><b>●</b> deliver or receive</span> <span><b>∘</b> arrives and waits</span>
<span><b>▪</b> other event</span> <span><b class="late">red</b> late</span>
<span><b class="ghost">grey</b> ghost: named by others, not in the log</span></p>
<p class="key script">Hover over an event for its clock. Click it to light up its <b class="past">past</b>
and its <b class="future">future</b>; click on empty space to reset. Keys: arrows, Enter, Escape.</p>"""


def page(
    verdict: str,
    totals: dict[str, str | int],
    findings: pa.Table,
    windows: list[Window],
    title: str,
    counts: Mapping[str, int] | None = None,
) -> str:
    """The text of the page, to be saved as UTF-8. `counts` says how many findings of each kind there are, if
    these are not all."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    places = [_places(window) for window in windows]
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<meta name="color-scheme" content="light dark"/>',
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
        f"<header><h1>{escaped(title)}</h1>{_verdict(verdict, findings)}{_totals(totals)}</header>\n<main>",
        f'<section class="list"><h2>Findings <b>{number(_all(findings, counts))}</b></h2>',
        listed.section(findings, places, counts or {}),
        f"</section>\n<section><h2>Pictures <b>{len(windows)}</b></h2>",
        KEY if any(len(window.events) for window in windows) else "<p>No events were drawn.</p>",
        *(_figure(window, at) for at, window in enumerate(windows)),
        "</section>\n</main>",
        "<footer>Written by antecede. This file needs no network.</footer>",
        f'<div id="card" hidden="hidden"></div>\n<script>{script}</script>\n</body>\n</html>\n',
    ]
    return "\n".join(parts)


def _all(findings: pa.Table, counts: Mapping[str, int] | None) -> int:
    return len(findings) if counts is None else sum(counts.values())


def _asset(name: str) -> str:
    return resources.files("antecede.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _places(window: Window) -> listed.Place:
    rows = reversed(list(enumerate(rows_of(window.events))))
    return {(row["execution"] or "", row["event"]): (at, row) for at, row in rows if row["event"] is not None}


def _verdict(verdict: str, findings: pa.Table) -> str:
    if len(findings):
        look = "bad"
    else:
        look = "good" if verdict.casefold().startswith("clean") else "open"
    return f'<p class="verdict {look}">{escaped(verdict)}</p>'


def _totals(totals: dict[str, str | int]) -> str:
    facts = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{escaped(number(value))}</dd></div>"
        for name, value in totals.items()
    )
    return f'<dl class="totals">{facts}</dl>' if totals else ""


def _figure(window: Window, at: int) -> str:
    """A picture in a box that scrolls, below what it shows and what it leaves out."""
    events = len(window.events)
    left_out = escaped(window.left_out) or "Nothing is left out."
    note = " What goes through events that are not drawn is not lit." if window.left_out else ""
    picture = svg(window, f"w{at}") if events else '<p class="none">No events.</p>'
    return (
        f'<figure id="w{at}"><figcaption><h3>{at + 1}. {escaped(window.title)} '
        f"<b>{number(events)} event{'' if events == 1 else 's'}</b></h3>"
        f'<p class="left">{left_out}{note}</p><p class="status" role="status"></p></figcaption>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="picture {at + 1}">{picture}</div>'
        "</figure>"
    )
