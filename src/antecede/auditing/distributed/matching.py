"""Tasks that match sends, arrivals and deliveries: each has all events of some messages.

Names come in, and numbers go out. The events of a process may be spread over any number of tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.distributed.catalog import ProcessCatalog
from antecede.auditing.distributed.layouts import CAUSES, MATCHED, STEP
from antecede.events.columns import (
    Bools,
    FlatLists,
    encode_names_by_appearance,
    flatten_lists,
    get_column,
    to_integers,
)
from antecede.events.messages import match_events_by_message
from antecede.events.processes import Actors
from antecede.kernels.linking import ARRIVE, MessageLinks
from antecede.kernels.links import OTHER
from antecede.kernels.ragged import Ints, Rows, compute_starts, join_keys

BATCH = 200_000
"""Rows that are handed to Spark at once."""
_NONE = np.empty(0, dtype=np.int64)


class MatchTask(NamedTuple):
    """Called by Spark with NUMBERED rows of whole messages; gives MATCHED rows."""

    catalog: ProcessCatalog

    def match_numbered_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = list(batches)
        if parts:
            table = pa.Table.from_batches(parts)
            del parts
            yield from match_message_rows(table, self.catalog).to_batches(BATCH)


def match_message_rows(numbered_rows: pa.Table, catalog: ProcessCatalog) -> pa.Table:
    """MATCHED rows of NUMBERED rows that have whole messages."""
    # Where nothing else tells which of two events comes first, the order of rows does.
    numbered_rows = numbered_rows.sort_by("row")
    row = to_integers(get_column(numbered_rows, "row"), -1)
    who = _encode_processes(numbered_rows, catalog)
    execution = catalog.execution[who.process]
    act = to_integers(get_column(numbered_rows, "act"), OTHER)
    clocks = flatten_lists(get_column(numbered_rows, "clock"))
    # An arrival without a clock is no step of its process, and stands on no line.
    is_alone = (act == ARRIVE) & ~_have_nonzero_clock(clocks)
    track = who.process.copy()
    track[is_alone] = len(catalog.names) + np.arange(np.count_nonzero(is_alone))
    links = match_events_by_message(
        numbered_rows, execution, act, who, track, to_integers(get_column(numbered_rows, "index"), 0)
    )
    columns = {name: get_column(numbered_rows, name) for name in (*STEP.names, *CAUSES.names)}
    columns["execution"] = pa.array(execution)
    columns |= _encode_message_links(links, row)
    columns["wrong_sender"] = _replace_unkept_by_null(get_column(numbered_rows, "sender"), links.wrong_sender)
    columns["lost_receivers"] = _list_names_of_lost_receivers(
        links, who, flatten_lists(get_column(numbered_rows, "receivers"))
    )
    columns |= _encode_clocks(clocks, execution, catalog)
    arrays = [columns[field.name].cast(field.type) for field in MATCHED]
    return pa.table(arrays, schema=MATCHED)


def _encode_processes(table: pa.Table, catalog: ProcessCatalog) -> Actors:
    """Who acts, sends and receives, without clocks.

    A process that is only named gets a code behind those of the catalog, which other tasks do not know.
    """
    process = to_integers(get_column(table, "process"), -1)
    execution = catalog.execution[process]
    receivers = flatten_lists(get_column(table, "receivers"))
    receiver_names = receivers.items[0] if receivers.items else pa.array([], pa.string())
    names, (sender_name, receiver_name) = encode_names_by_appearance(
        [get_column(table, "sender"), receiver_names]
    )
    scope = np.concatenate((execution, execution[receivers.row_of_item]))
    name = np.concatenate((sender_name, receiver_name))
    code = catalog.look_up_process_codes(scope, names, name)
    is_stranger = (code < 0) & (name >= 0)
    strangers = join_keys(scope[is_stranger], name[is_stranger], max(len(names), 1))
    code[is_stranger] = len(catalog.names) + np.unique(strangers, return_inverse=True)[1]
    sender, receiver = np.split(code, [len(process)])
    no_clocks = Rows(np.zeros(len(process) + 1, dtype=np.int64), _NONE, _NONE)
    return Actors(
        process=process,
        names=names,
        sender=sender,
        receivers=(receivers.starts, receiver),
        clocks=no_clocks,
        own=np.zeros(len(process), dtype=np.int64),
    )


def _have_nonzero_clock(clocks: FlatLists) -> Bools:
    """Which events have a clock that counts any event."""
    events = len(clocks.starts) - 1
    if not clocks.items:
        return np.zeros(events, dtype=np.bool_)
    is_entry = to_integers(clocks.items[1], 0) >= 1
    return np.bincount(clocks.row_of_item[is_entry], minlength=events) > 0


def _encode_clocks(clocks: FlatLists, execution: Ints, catalog: ProcessCatalog) -> dict[str, pa.Array]:
    """The columns of MATCHED rows that tell clocks."""
    events = len(clocks.starts) - 1
    if not clocks.items or not len(clocks.items[0]):
        nothing = pa.nulls(events)
        return {"clock_processes": nothing, "clock_strangers": nothing, "clock_counts": nothing}
    keys, counts = clocks.items
    names, (name,) = encode_names_by_appearance([keys])
    code = catalog.look_up_process_codes(execution[clocks.row_of_item], names, name)
    is_stranger = code < 0
    strangers_of_event = np.bincount(clocks.row_of_item[is_stranger], minlength=events)
    strangers = keys.filter(pa.array(is_stranger))
    return {
        "clock_processes": _build_list_array(clocks.starts, pa.array(code, mask=is_stranger)),
        "clock_strangers": _build_list_array(compute_starts(strangers_of_event), strangers),
        "clock_counts": _build_list_array(clocks.starts, counts),
    }


def _build_list_array(starts: Ints, items: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), items)


def _encode_message_links(links: MessageLinks, event_numbers: Ints) -> dict[str, pa.Array]:
    """The links with the numbers of events in place of rows of this task."""
    columns = {
        "has_message": pa.array(links.code >= 0),
        "is_misdelivered": pa.array(links.misdelivered),
    }
    for name in ("send", "cause", "arrival", "original"):
        linked = getattr(links, name)
        columns[name] = pa.array(event_numbers[linked], mask=linked < 0)
    return columns


def _replace_unkept_by_null(values: pa.Array, is_kept: Bools) -> pa.Array:
    """The values, and null where they are not kept."""
    return values.take(pa.array(np.arange(len(values)), mask=~is_kept))


def _list_names_of_lost_receivers(
    links: MessageLinks, who: Actors, receiver_names: FlatLists
) -> pa.ListArray:
    """For each send, the processes that lack its message; one without a name, if none was named."""
    starts = compute_starts(np.bincount(links.lost_send, minlength=len(who.process)))
    if not receiver_names.items or not len(receiver_names.items[0]):
        return _build_list_array(starts, pa.nulls(len(links.lost_send), pa.string()))
    item = _locate_lost_receivers_in_receiver_lists(links, who, receiver_names.row_of_item)
    names = receiver_names.items[0].take(pa.array(item, mask=links.lost_receiver < 0))
    return _build_list_array(starts, names)


def _locate_lost_receivers_in_receiver_lists(
    links: MessageLinks, who: Actors, send_of_list_item: Ints
) -> Ints:
    """Where in the lists of receivers, all behind each other, each one stands that lacks a message."""
    codes = who.receivers[1]
    width = int(codes.max()) + 2
    # One more than the code, so that a receiver without a name, which is -1, has a key of its own.
    keys = join_keys(send_of_list_item, codes + 1, width)
    wanted = join_keys(links.lost_send, links.lost_receiver + 1, width)
    by_key = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[by_key], wanted)
    return by_key[np.minimum(place, len(keys) - 1)]
