"""The page of an audit: verdict, totals, overview, charts, findings and pictures in one HTML file that loads
nothing from anywhere.

What stands in a log is escaped, or it is in blocks that nothing runs; besides, the page's own policy lets no
script run but its own, known by its hash.
"""

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.report.blocks import (
    BlockGroup,
    PackedBlocks,
    RawBlock,
    pack_groups_that_fit,
    pack_maps,
    pack_numbers,
    pack_optional_numbers,
    pack_texts,
)
from antecede.report.document import read_asset, render_document
from antecede.report.findings import group_findings_by_kind, rank_kind_by_severity, render_findings
from antecede.report.gravity import GROUPS, find_severity_group
from antecede.report.marks import PlacedMarks, Rows, find_event_rows, locate_marked_findings
from antecede.report.tallies import render_finding_charts
from antecede.report.text import (
    format_number_or_text,
    format_visible_html,
    format_visible_line,
    make_natural_sort_key,
    pluralize,
)
from antecede.tables import LogView

LARGEST_PAGE = 30_000_000
"""Bytes of a page."""
FRAME = 4_000
"""Bytes of all that is around its parts, and of the sentence that says what it leaves out."""
SCRIPTS = ("store.js", "picture.js", "overview.js", "page.js")
ACTS = ("send", "receive", "deliver", "arrival", "ghost")
"""Kinds of events, by their numbers in static/store.js, from 1; 0 is any other."""


def render_page(
    verdict: str,
    totals: dict[str, str | int],
    findings: pa.Table,
    view: LogView,
    title: str,
    counts: Mapping[str, int] | None = None,
) -> str:
    """The text of the page, to be saved as UTF-8. `counts` says how many findings of each kind there are, if
    these are not all."""
    if counts is None:
        counts = {kind: len(table) for kind, table in group_findings_by_kind(findings)}
    marks = locate_marked_findings(view)
    script = "".join(read_asset(name) for name in SCRIPTS)
    has_events = len(view.events) > 0
    listed = render_findings(findings.append_column("rows", _locate_witnesses(view, findings)), counts)
    head = [
        f"<header><h1>{format_visible_html(title)}</h1>"
        f"{_render_verdict(verdict, findings)}{_render_totals(totals)}</header>\n<main>",
        read_asset("search.html"),
    ]
    tail = [
        _render_overview(view) if has_events else "",
        render_finding_charts(marks, counts),
        '<div class="workbench">',
        read_asset("picture.html") if has_events else '<p class="none">No events were drawn.</p>',
        f'<section class="list"><h2>Findings <b>{format_number_or_text(sum(counts.values()))}</b></h2>',
        listed,
        "</section></div>\n</main>",
    ]
    header = _render_log_facts_for_script(view, marks)
    used = sum(len(part.encode()) for part in (*head, *tail, header, script, read_asset("page.css")))
    packed = _pack_view(view, marks, LARGEST_PAGE - used - FRAME)
    note = _render_left_out_note(view, packed)
    body = [*head, note, *tail, header, *packed.elements]
    return render_document(title, body, script)


def _locate_witnesses(view: LogView, findings: pa.Table) -> pa.Array:
    """The rows of the view that are the witness of each finding, as far as it has them."""
    lists = findings["events"].combine_chunks()
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    of_finding = pa.array(np.repeat(np.arange(len(lengths)), lengths))
    executions = findings["execution"].combine_chunks().take(of_finding)
    rows = find_event_rows(view.events, executions, pc.list_flatten(lists))
    parts = np.split(rows, np.cumsum(lengths)[:-1]) if len(lengths) else []
    return pa.array([part[part >= 0].tolist() for part in parts], pa.list_(pa.int64()))


def _render_verdict(verdict: str, findings: pa.Table) -> str:
    if len(findings):
        look = "bad"
    else:
        look = "good" if verdict.casefold().startswith("clean") else "open"
    return f'<p class="verdict {look}">{format_visible_html(verdict)}</p>'


def _render_totals(totals: dict[str, str | int]) -> str:
    if not totals:
        return ""
    facts = []
    for name, value in totals.items():
        amount = format_visible_html(format_number_or_text(value))
        facts.append(f"<div><dt>{format_visible_html(name)}</dt><dd>{amount}</dd></div>")
    return f'<dl class="totals">{"".join(facts)}</dl>'


def _render_overview(view: LogView) -> str:
    ghosts = pc.sum(pc.equal(view.events["kind"], "ghost")).as_py() or 0
    return (
        '<section class="overview needs-script" aria-labelledby="overview-title">'
        f'<h2 id="overview-title">Overview <b>{pluralize(len(view.events) - ghosts, "event")}</b></h2>'
        f"{read_asset('overview.html')}</section>"
    )


def _render_left_out_note(view: LogView, packed: PackedBlocks) -> str:
    """What the page has not, in a sentence or two."""
    sentences = [view.left_out] if view.left_out else []
    if packed.left_out:
        named = ", ".join(packed.left_out)
        sentences.append(f"Left out, since the page would be larger than 30 MB: {named} of events.")
    return (
        f'<p class="left" id="left-out">{format_visible_html(" ".join(sentences))}</p>' if sentences else ""
    )


def _render_log_facts_for_script(view: LogView, marks: PlacedMarks) -> str:
    """What static/store.js is told before it reads blocks. Nothing in it can end its element."""
    groups = list(GROUPS)
    kinds = sorted(set(marks.kind), key=rank_kind_by_severity)
    facts = {
        "events": len(view.events),
        "processes": [format_visible_line(name) for name in _list_processes(view)],
        "executions": [format_visible_line(name) for name in _list_executions(view)],
        "groups": groups,
        "kinds": [
            {"name": format_visible_line(kind), "group": groups.index(find_severity_group(kind))}
            for kind in kinds
        ],
    }
    text = json.dumps(facts).replace("<", "\\u003c")
    return f'<script type="application/json" id="log">{text}</script>'


def _pack_view(view: LogView, marks: PlacedMarks, room_bytes: int) -> PackedBlocks:
    """The blocks of all columns for which there is room, those first that are needed most."""
    columns = {name: view.events[name].combine_chunks() for name in view.events.column_names}
    time, line = (pack_optional_numbers(name, columns[name]) for name in ("time", "line"))
    groups = [
        BlockGroup("the overview", _pack_codes_of_events_and_marks(view, marks)),
        BlockGroup("causes", _pack_links(view)),
        BlockGroup("messages", pack_texts("message", columns["message"])),
        BlockGroup("ids", pack_texts("event", columns["event"], are_distinct=True)),
        BlockGroup("times", [time]),
        BlockGroup("files and lines", [*pack_texts("file", columns["file"]), line]),
        BlockGroup("texts", pack_texts("text", columns["text"])),
        BlockGroup("clocks", pack_maps("clock", columns["clock"])),
        BlockGroup("fields", pack_maps("fields", columns["fields"])),
    ]
    return pack_groups_that_fit(groups, room_bytes)


def _pack_codes_of_events_and_marks(view: LogView, marks: PlacedMarks) -> list[RawBlock]:
    """What the overview draws."""
    processes = pa.array(_list_processes(view), pa.string())
    executions = pa.array(_list_executions(view), pa.string())
    process = _encode_names_as_numbers(view, "process", processes, len(processes))
    kind = _encode_names_as_numbers(view, "kind", pa.array(ACTS), -1) + 1
    kinds = sorted(set(marks.kind), key=rank_kind_by_severity)
    return [
        pack_numbers("process", process),
        pack_numbers("act", kind),
        pack_numbers("execution", _encode_names_as_numbers(view, "execution", executions, 0)),
        pack_numbers("mark-rows", marks.row + 1),
        pack_numbers("mark-kinds", np.array([kinds.index(name) for name in marks.kind], dtype=np.int64)),
    ]


def _pack_links(view: LogView) -> list[RawBlock]:
    """Of each event the number of its causes; of each of these how far back it is, and what it is."""
    source, target, kind = (view.links[name].to_numpy() for name in ("source", "target", "kind"))
    distance = target - source
    # Causes that come later, of events on cycles, have odd numbers.
    distance = np.where(distance >= 0, 2 * distance, -2 * distance - 1)
    return [
        pack_numbers("link-counts", np.bincount(target, minlength=len(view.events))),
        pack_numbers("link-distances", distance),
        pack_numbers("link-kinds", kind),
    ]


def _list_processes(view: LogView) -> list[str]:
    """The names of all processes, p2 before p10."""
    names = pc.unique(view.events["process"]).drop_null()
    names = names.dictionary.take(names.indices) if isinstance(names, pa.DictionaryArray) else names
    return sorted(names.to_pylist(), key=make_natural_sort_key)


def _list_executions(view: LogView) -> list[str]:
    return [name or "" for name in pc.unique(view.events["execution"]).to_pylist()]


def _encode_names_as_numbers(view: LogView, column: str, names: pa.Array, missing: int) -> Rows:
    """The number of each row's name among these."""
    encoded = view.events[column].combine_chunks()
    if not isinstance(encoded, pa.DictionaryArray):
        encoded = encoded.dictionary_encode()
    number = pc.index_in(encoded.dictionary.cast(names.type), value_set=names)
    by_code = np.append(number.fill_null(missing).to_numpy(zero_copy_only=False), missing).astype(np.int64)
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(by_code[codes])
