"""Sends and receives without message ids, matched by sender, receiver, payload and clocks.

A receive belongs to a send of the same execution, sender, receiver and payload: these four are its channel.
Within a channel a send is known by its number, the sender's own clock entry (its index where it has none).
Receives are taken in the order of their index. Each gets

    first    the send whose number is the entry for the sender in the receiver's clock, if there is one that
             was not received; else the oldest one that was not received, if the receiver can know of it
    repeat   else the last one that was received in this channel
    clock    else, if the sender has no events here, the send that the entry for it tells
    none     else a message of its own

and its message is called by sender and number ("0:5"). The field `match` keeps how it was found; that of a
send says sent. All strings are numbered first, so the walk over receives has to do with numbers only.

A receive that does not name its sender has no channel. Where an execution has such receives, what its
messages say may be their ids: see `_flag_events_whose_text_is_message_id`. Then `match` is text.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.formats.clocks import find_clock_entries
from antecede.formats.indexing import replace_column
from antecede.formats.maps import add_map_entry, drop_map_key

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

RECEIPTS = pa.array(["receive", "deliver"])
FIRST, REPEAT, CLOCK, NONE, SENT, TEXT = range(6)
WORDS = pa.array(["first", "repeat", "clock", "none", "sent", "text"])
_OF_RECEIPTS = ["execution", "process", "index", "sender", "text"]
UNKNOWN = -1
"""In the place of an entry of a clock that an event does not have."""


def flag_sends(events: pa.Table) -> Flags:
    """Which events are sends."""
    return _to_flags(pc.equal(events["kind"], "send"))


def flag_receipts_naming_sender(events: pa.Table) -> Flags:
    """Which events are receives that name their sender."""
    return _to_flags(pc.and_(pc.is_in(events["kind"], RECEIPTS), pc.is_valid(events["sender"])))


def _flag_all_receipts(events: pa.Table) -> Flags:
    """Which events are receives, also of senders that they do not name."""
    return _to_flags(pc.is_in(events["kind"], RECEIPTS))


def match_messages(events: pa.Table, own_entries: Ints, is_candidate: Flags) -> pa.Table:
    """The events, with messages for those sends and receives that are to be matched.

    `own_entries` are those of events for their own processes, or UNKNOWN.
    """
    is_called_by_text = _flag_events_whose_text_is_message_id(events, is_candidate)
    is_candidate = is_candidate & ~is_called_by_text
    index = events["index"].fill_null(0).to_numpy()
    in_order = np.argsort(index, kind="stable")
    in_order = in_order[is_candidate[in_order]]
    sent = in_order[flag_sends(events)[in_order]]
    received = in_order[flag_receipts_naming_sender(events)[in_order]]
    numbers = np.where(own_entries == UNKNOWN, index, own_entries)
    channels = _Channels(events, sent, received, own_entries, numbers)
    messages, hows = channels.find_receipt_messages_and_match_kinds()
    names_of_sent = _join_name_and_number(events["process"].take(pa.array(sent)), numbers[sent])
    called_by_text = np.flatnonzero(is_called_by_text)
    texts = _combine_chunks(events["text"].take(pa.array(called_by_text)))
    rows = np.concatenate([sent, received, called_by_text])
    hows = np.concatenate([np.full(len(sent), SENT), hows, np.full(len(called_by_text), TEXT)])
    return _store_matches(events, rows, pa.concat_arrays([names_of_sent, messages, texts]), hows)


def _flag_events_whose_text_is_message_id(events: pa.Table, is_candidate: Flags) -> Flags:
    """Which sends and receives have the id of their message for their text.

    It is so in an execution in which no receive names its sender; with clocks, which tell of causes without
    messages, unless two processes send the same. Where only some name it, or where there are no receives and
    no clocks, it is so if nothing is sent twice: then it cannot be wrong. Where all receives name their
    senders they have channels, and a text is but a text.
    """
    is_sent = flag_sends(events) & is_candidate
    is_receipt = _flag_all_receipts(events) & is_candidate
    is_named = flag_receipts_naming_sender(events) & is_candidate
    encoded = _combine_chunks(events["execution"]).dictionary_encode("encode")
    execution = encoded.indices.to_numpy().astype(np.int64)

    def flag_executions_with_any(rows: Flags | Ints) -> Flags:
        counts = np.bincount(execution[rows], minlength=len(encoded.dictionary))
        return np.asarray(counts > 0)

    has_named, has_unnamed = (
        flag_executions_with_any(is_named),
        flag_executions_with_any(is_receipt & ~is_named),
    )
    has_text, has_clock = (_to_flags(pc.is_valid(events[name])) for name in ("text", "clock"))
    is_clocked = flag_executions_with_any(is_sent & has_clock)
    is_without_ends = ~has_named & ~has_unnamed & ~is_clocked
    is_open = (has_unnamed | is_without_ends) & ~flag_executions_with_any(is_sent & ~has_text)
    if not is_open.any():
        return np.zeros(len(events), np.bool_)
    sent = np.flatnonzero(is_sent)
    said = events.select(["execution", "process", "text"]).take(pa.array(sent))
    nobody = [said[name].slice(0, 0) for name in said.column_names]
    what, _ = _number_equal_rows_alike([said["execution"], said["text"]], [nobody[0], nobody[2]])
    whose, _ = _number_equal_rows_alike(
        [pa.array(what), said["process"]], [pa.array([], pa.int64()), nobody[1]]
    )
    _, first = np.unique(whose, return_index=True)
    is_sent_twice = flag_executions_with_any(sent[np.bincount(what)[what] > 1])
    is_sent_by_two = flag_executions_with_any(sent[first][np.bincount(what[first])[what[first]] > 1])
    is_unclear = np.where(has_unnamed & ~has_named, is_clocked & is_sent_by_two, is_sent_twice)
    is_by_text: Flags = (is_open & ~is_unclear)[execution]
    return is_by_text & (is_sent | is_receipt) & has_text


def mark_events_to_be_matched(events: pa.Table) -> pa.Table:
    """The events, with a mark at those that `match_messages_across_files` is to match."""
    is_marked = flag_sends(events) | _flag_all_receipts(events)
    words = pa.repeat(pa.scalar("none"), len(events))
    fields = add_map_entry(events["fields"].combine_chunks(), is_marked, "match", words)
    return replace_column(events, "fields", fields)


def match_messages_across_files(events: pa.Table) -> pa.Table:
    """Match what readers of single files have matched, now that all files are there."""
    fields = events["fields"].combine_chunks()
    was_matched = _to_flags(pc.not_equal(pc.map_lookup(fields, "match", "first"), ""))
    events = replace_column(events, "fields", drop_map_key(fields, "match"))
    messages = pc.if_else(pa.array(was_matched), None, events["message"])
    events = replace_column(events, "message", messages)
    # Receives that do not name their senders were no candidates where others of their file do.
    is_left_out = (
        _flag_all_receipts(events) & ~flag_receipts_naming_sender(events) & _to_flags(pc.is_null(messages))
    )
    own_entries = _take_clock_entries(events, events["process"])
    return match_messages(events, own_entries, was_matched | is_left_out)


class _Channels:
    """The sends of each channel, and which of them were received."""

    def __init__(
        self, events: pa.Table, sent: Ints, received: Ints, own_entries: Ints, numbers: Ints
    ) -> None:
        # A send to several receivers is one for each of them.
        lists = events["receivers"].combine_chunks().take(pa.array(sent))
        rows = sent[pc.list_parent_indices(lists).to_numpy()]
        sends = events.select(["execution", "process", "text"]).take(pa.array(rows))
        receipts = events.select(_OF_RECEIPTS).take(pa.array(received))
        channel_of_send, self.channel = _number_equal_rows_alike(
            [sends["execution"], sends["process"], pc.list_flatten(lists), sends["text"]],
            [receipts["execution"], receipts["sender"], receipts["process"], receipts["text"]],
        )
        self.known = _take_clock_entries(events, events["sender"])[received]
        number, own = numbers[rows], np.maximum(own_entries[rows], 0)
        # A send and one that goes by the same number in its channel are one, as far as receiving it goes.
        self.send, self.exact_send = _number_equal_rows_alike(
            [pa.array(channel_of_send), pa.array(number)], [pa.array(self.channel), pa.array(self.known)]
        )
        numbered = len(self.send) + len(self.exact_send)
        self.number_of_send = np.zeros(numbered, np.int64)
        self.number_of_send[self.send] = number
        # The sends of a channel side by side, the oldest first; `starts` has where each channel begins.
        by_channel = np.argsort(channel_of_send, kind="stable")
        self.sends, self.owns = self.send[by_channel], own[by_channel]
        channels = max(channel_of_send.max(initial=-1), self.channel.max(initial=-1)) + 1
        self.starts = np.searchsorted(channel_of_send[by_channel], np.arange(channels + 1))
        self.events, self.receipts = events, receipts

    def find_receipt_messages_and_match_kinds(self) -> tuple[pa.Array, Ints]:
        """The message of each receipt, and how it was found."""
        hows, sends = self._find_match_kinds_and_sends()
        receipts = self.receipts
        is_found = hows <= REPEAT
        numbers = self.known.copy()
        numbers[is_found] = self.number_of_send[sends[is_found]]
        by_number = _join_name_and_number(receipts["sender"], numbers)
        index = pc.coalesce(receipts["index"].cast(pa.string()), "None")
        ends = pc.binary_join_element_wise(receipts["sender"], receipts["process"], ">")
        alone = pc.binary_join_element_wise(ends, index, "@").combine_chunks()
        # A sender with events of its own would have logged what it sent.
        could_be_unheard = ~is_found & (self.known > 0)
        if could_be_unheard.any():
            hows[could_be_unheard & ~_flag_receipts_whose_sender_has_events(self.events, receipts)] = CLOCK
        return pc.if_else(pa.array(hows == NONE), alone, by_number), hows

    def _find_match_kinds_and_sends(self) -> tuple[Ints, Ints]:
        """For each receipt FIRST or REPEAT and the send, or NONE."""
        is_sent = np.zeros(len(self.number_of_send), np.bool_)
        is_sent[self.send] = True
        is_exact = is_sent[self.exact_send] & (self.known > 0)
        exact_sends = np.where(is_exact, self.exact_send, -1)
        is_received = bytearray(len(is_sent))
        sends, owns = self.sends.tolist(), self.owns.tolist()
        oldest, ends = self.starts[:-1].tolist(), self.starts[1:].tolist()
        last = [-1] * len(oldest)
        hows: list[int] = []
        found: list[int] = []
        receipts = zip(self.channel.tolist(), exact_sends.tolist(), self.known.tolist(), strict=True)
        for channel, send, known in receipts:
            if send < 0 or is_received[send]:
                send, place, end = -1, oldest[channel], ends[channel]
                while place < end and is_received[sends[place]]:
                    place += 1
                oldest[channel] = place
                if place < end and (known == UNKNOWN or owns[place] <= known):
                    send = sends[place]
            if send >= 0:
                is_received[send] = True
                last[channel] = send
                hows.append(FIRST)
            else:
                send = last[channel]
                hows.append(REPEAT if send >= 0 else NONE)
            found.append(send)
        return np.array(hows, np.int64), np.array(found, np.int64)


def _number_equal_rows_alike(columns: list[pa.Array], other_columns: list[pa.Array]) -> tuple[Ints, Ints]:
    """Numbers for the rows of two tables: rows with equal values in all columns get the same one."""
    size = len(columns[0])
    numbers = np.zeros(size + len(other_columns[0]), np.int64)
    for first, second in zip(columns, other_columns, strict=True):
        column = pa.concat_arrays([_combine_chunks(first), _combine_chunks(second)])
        codes = column.dictionary_encode("encode").indices.to_numpy().astype(np.int64)
        # There are no more numbers and codes than rows, so the product fits into 64 bits.
        joined = pa.array(numbers * (codes.max(initial=0) + 1) + codes)
        numbers = joined.dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers[:size], numbers[size:]


def _combine_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _take_clock_entries(events: pa.Table, processes: pa.ChunkedArray) -> Ints:
    """The entry of each event's clock for a process; 0 if the clock has none, UNKNOWN without a clock."""
    clocks = events["clock"].combine_chunks()
    entries = pc.fill_null(find_clock_entries(clocks, _combine_chunks(processes)), 0).to_numpy()
    return np.where(_to_flags(pc.is_null(clocks)), UNKNOWN, entries)


def _flag_receipts_whose_sender_has_events(events: pa.Table, receipts: pa.Table) -> Flags:
    """Whether the sender of each receipt has events of its own in its execution."""
    there, senders = _number_equal_rows_alike(
        [events["execution"], events["process"]], [receipts["execution"], receipts["sender"]]
    )
    return np.isin(senders, there)


def _join_name_and_number(names: pa.ChunkedArray, numbers: Ints) -> pa.Array:
    return _combine_chunks(pc.binary_join_element_wise(names, pa.array(numbers).cast(pa.string()), ":"))


def _store_matches(events: pa.Table, rows: Ints, messages: pa.Array, match_kinds: Ints) -> pa.Table:
    """The events, with these messages and ways of finding them at these rows."""
    place = np.full(len(events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    is_matched = place >= 0
    places = pa.array(place, mask=~is_matched)
    events = replace_column(events, "message", pc.coalesce(messages.take(places), events["message"]))
    words = WORDS.take(pa.array(match_kinds)).take(places)
    fields = add_map_entry(events["fields"].combine_chunks(), is_matched, "match", words)
    return replace_column(events, "fields", fields)


def _to_flags(values: pa.Array | pa.ChunkedArray) -> Flags:
    return np.asarray(_combine_chunks(pc.fill_null(values, False)).to_numpy(zero_copy_only=False), np.bool_)
