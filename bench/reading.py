"""Section `reading`: events of one file per second and core, against Arrow's own readers on the same file.

Arrow's readers give the columns of the file as they stand; ours give events: processes in order, ids, clocks
without zeros, messages matched. ShiViz text and spans have no reader in Arrow: beside them stands what the
decoder alone needs for the same bytes. Their bars are three times the share that the readers had before they
read in blocks.
"""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
from rich.table import Table

from antecede.formats import read
from bench.logs import write_csv, write_jsonl, write_ndjson
from bench.measure import count, least, verdict
from bench.stamped import shiviz

BAR = 1 / 3
"""Our speed as a share of Arrow's, at least."""


def tables(quick: bool) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as name:
        folder = Path(name)
        yield _against_arrow(folder, 4_000 if quick else 400_000)
        yield _against_decoders(folder, 2_000 if quick else 100_000)


def _against_arrow(folder: Path, size: int) -> Table:
    table = _new_table(f"Reading {count(size)} events, against Arrow's reader", "Arrow")
    cases: list[tuple[str, str, Callable[[Any], object]]] = [
        ("our JSON lines", write_jsonl(size, folder / "events.jsonl"), pa_json.read_json),
        ("sends and receives with clocks", write_ndjson(size, folder / "sends.ndjson"), pa_json.read_json),
        ("our CSV", write_csv(size, folder / "events.csv"), pa_csv.read_csv),
    ]
    for name, path, read_table in cases:
        data = Path(path).read_bytes()
        theirs, _ = least(lambda data=data, call=read_table: call(pa.BufferReader(data)))  # type: ignore[misc]
        _add(table, name, data, theirs, BAR)
    return table


def _against_decoders(folder: Path, size: int) -> Table:
    table = _new_table(f"Reading {count(size)} events, against decoding the same bytes", "decoder")
    text = Path(shiviz(size, folder / "nodes.log")).read_bytes()
    theirs, _ = least(lambda: [json.loads(line.partition(b" ")[2]) for line in text.splitlines()[::2]])
    _add(table, "ShiViz text", text, theirs, 2.5)
    spans = _make_spans(size // 2)
    theirs, _ = least(lambda: msgspec.json.decode(spans))
    _add(table, "Zipkin spans", spans, theirs, 0.16)
    return table


def _make_spans(size: int) -> bytes:
    """Calls between services, each under the one before it."""
    random = np.random.default_rng(5)
    starts = np.cumsum(random.integers(1, 50, size)).tolist()
    spans = [
        {
            "traceId": f"{number // 8:016x}",
            "id": f"{number:016x}",
            **({"parentId": f"{number - 1:016x}"} if number % 8 else {}),
            "kind": ("CLIENT", "SERVER")[number % 2],
            "name": "get /orders",
            "timestamp": 1_600_000_000_000_000 + start,
            "duration": 500,
            "localEndpoint": {"serviceName": f"service-{number % 12}", "ipv4": "10.0.0.1"},
            "tags": {"http.path": "/orders", "http.status": "200"},
        }
        for number, start in enumerate(starts)
    ]
    return msgspec.json.encode(spans)


def _new_table(title: str, against: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "Events per second of processor time."
    table.add_column("", no_wrap=True)
    for name in ("ours", against, "share", "bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, data: bytes, theirs: float, bar: float) -> None:
    ours, parsed = least(lambda: read(data, "log"))
    events = len(parsed.events)
    shown = [f"{count(events / seconds)}/s" for seconds in (ours, theirs)]
    share = theirs / ours
    table.add_row(name, *shown, f"{share:.2f}", f"{bar:.2f}", verdict(share >= bar))
