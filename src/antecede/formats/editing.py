"""Editing traces: transactions whose parents are indices of others, plain or in runs.

A plain transaction is an event named by its index. In the run-length form a record covers the indices
`span` = [begin, end), each the parent of the next; it is cut where a parent points into it, and a part is
named by its last index, so no run is ever unrolled. An agent is a process and acts in the order of the file;
in the run-length form in the order of seqStart. One file is one execution, called by the file's name.
"""

from bisect import bisect_left
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec
import numpy as np

from antecede.formats import graphs, jsons, order, values
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

USED = ("parents", "agent", "time", "span", "seqStart", "patches", "ops")


class _Trace(msgspec.Struct):
    txns: list[msgspec.Raw]


class _Txn(NamedTuple):
    line: int
    value: dict[str, Any]
    begin: int
    end: int
    parents: list[int]
    agent: str
    seq: int


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    try:
        trace = msgspec.json.decode(source.data, type=_Trace)
    except jsons.ERRORS as error:
        rows.add_to_quarantine(1, f"no object with txns: {error}", source.data)
        return rows
    txns = []
    for number, (line, raw) in enumerate(jsons.find_lines_of_parts(source.data, map(bytes, trace.txns))):
        try:
            txns.append(_read_txn(line, jsons.decode_value(raw), number))
        except Refused as reason:
            rows.add_to_quarantine(line, str(reason), raw)
    _add_events_cut_at_parents(rows, txns, _make_trace_name(source.name))
    return rows


def _make_trace_name(file: str) -> str:
    return PurePosixPath(file).name.removesuffix(".gz").removesuffix(".json")


def _read_txn(line: int, value: Any, number: int) -> _Txn:
    if not isinstance(value, dict) or not isinstance(value.get("parents"), list):
        raise Refused("a transaction is an object with a list of parents")
    parents = [values.read_count(parent, "parent") for parent in value["parents"]]
    begin, end = number, number + 1
    if "span" in value:
        span = value["span"]
        if not isinstance(span, list) or len(span) != 2:
            raise Refused("span is no pair of indices")
        begin, end = values.read_count(span[0], "span"), values.read_count(span[1], "span")
        if begin >= end:
            raise Refused(f"span [{begin}, {end}) is empty")
    seq = values.read_count(value.get("seqStart", begin), "seqStart")
    return _Txn(line, value, begin, end, parents, graphs.require_name(value, "agent"), seq)


def _add_events_cut_at_parents(rows: FileRows, txns: list[_Txn], execution: str) -> None:
    cuts = sorted({parent + 1 for txn in txns for parent in txn.parents})
    seqs = []
    for txn in txns:
        fields = graphs.find_other_fields(txn.value, *USED)
        begin, parents = txn.begin, txn.parents
        inner = cuts[bisect_left(cuts, txn.begin + 1) : bisect_left(cuts, txn.end)]
        for end in [*inner, txn.end]:
            rows.add_event(
                txn.line,
                execution=execution,
                process=txn.agent,
                event=str(end - 1),
                parents=[str(parent) for parent in parents],
                time=values.read_time_ms(txn.value.get("time")),
                fields=fields if end - begin == 1 else {**(fields or {}), "span": f"{begin}..{end - 1}"},
            )
            seqs.append(txn.seq + begin - txn.begin)
            begin, parents = end, [end - 1]
    rows.index = list(
        order.rank_rows_in_groups(order.encode_values(rows.process), np.array(seqs, np.int64)).tolist()
    )
