"""Packets of this package's own protocols, as `antecede simulate --out` writes them, for the gate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.endpoint import Endpoint
from antecede.core.errors import InputError
from antecede.core.gate import Pairs
from antecede.kernels.ragged import Ints, Rows
from antecede.ordering.columns import Faults, read_integers
from antecede.ordering.slots import Places, assign_slot_numbers, make_one_place_per_row
from antecede.ordering.stamps import (
    Reading,
    Stamps,
    find_last_present_messages,
    read_shared_entry_stamps,
    sum_counts_by_row,
)
from antecede.protocols.keys import count_key_sets, unrank_key_set
from antecede.protocols.probabilistic import ProbabilisticStamp, decode_stamp
from antecede.protocols.registry import get_protocol_class


def read_packet_stamps(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """Every stamp is read by its protocol; packets that no gate counts need and gain nothing."""
    numbers = read_integers(table["number"], 0)
    faults.add(numbers < 1, "the number of the packet is null or below 1")
    faults.add(np.asarray(table["needs"].is_null()), "the stamp is null")
    protocol = get_protocol_class(reading.protocol)
    if protocol.shares_entries:
        return read_shared_entry_stamps(
            _decode_shared_stamps(table, group, faults), reading, group, group_count, faults
        )
    labels = pa.array(reading.members or (), pa.string())
    source = read_integers(pc.index_in(table["sender"], value_set=labels), -1)
    me = read_integers(pc.index_in(table["receiver"], value_set=labels), -1)
    faults.add((source < 0) | (me < 0), "the sender or the receiver is not a member")
    is_timed = "arrival" in table.column_names or "time" in table.column_names
    reads_past = protocol.tells_past and not is_timed
    packets = _read_needs_gains_and_pasts(table, protocol, source, me, len(labels), faults, reads_past)
    needs, gains, past = (Rows.of(pairs) for pairs in packets)
    if protocol.facts.monitor:
        needs = _zero_needs_where_no_order_is_kept(needs, gains, numbers, group, group_count)

    need_places = Places(needs.starts, needs.slots.astype(np.int64))
    gain_places = Places(gains.starts, gains.slots.astype(np.int64))
    past_places = Places(past.starts, past.slots.astype(np.int64))
    places = [make_one_place_per_row(np.maximum(source, 0)), need_places, gain_places, past_places]
    slots, (own_places, *pair_places) = assign_slot_numbers(group, group_count, len(labels), places, labels)
    own = own_places.slots
    needs, gains, past = (
        numbered.list_slot_count_pairs(rows.counts)
        for numbered, rows in zip(pair_places, (needs, gains, past), strict=True)
    )
    # What a packet counts as is its first gain; one that gains nothing, such as an acknowledgement, is no
    # message that others count, and must not be taken for one.
    first_gain = np.append(gains.counts, 0)[gains.starts[:-1]]
    counts = np.where(np.diff(gains.starts) > 0, first_gain, 0)
    if protocol.brings_past:
        needs = needs._replace(counts=find_last_present_messages(needs.slots, needs.counts, own, counts))
    causal_rank = sum_counts_by_row(gains) if protocol.gains_time else None
    return Stamps(
        needs,
        gains,
        slots,
        own.astype(np.int64),
        counts,
        numbers,
        causal_rank=causal_rank,
        past=past if reads_past else None,
    )


def _read_needs_gains_and_pasts(
    table: pa.Table,
    protocol: type[Endpoint],
    sender: Ints,
    receiver: Ints,
    process_count: int,
    faults: Faults,
    reads_past: bool,
) -> tuple[list[Pairs], list[Pairs], list[Pairs]]:
    """What each packet needs and gains and, if it is to be read, its past; nothing if it cannot be read.

    What a receiver itself has sent is not in a table of its arrivals, so nothing waits for that.
    """
    all_needs: list[Pairs] = []
    all_gains: list[Pairs] = []
    all_pasts: list[Pairs] = []
    rows, reasons = [], []
    kinds, stamps = table["kind"].to_pylist(), table["needs"].to_pylist()
    packets = zip(kinds, stamps, sender.tolist(), receiver.tolist(), strict=True)
    for row, (kind, stamp, i, j) in enumerate(packets):
        needs: Pairs = []
        gains: Pairs = []
        past: Pairs = []
        if not faults.bad[row]:
            try:
                needs, gains = protocol.read_needs_and_gains(kind, stamp, i, j, process_count)
                if reads_past:
                    past = protocol.read_past_counts(kind, stamp, i, j, process_count)
            except InputError as error:
                rows.append(row)
                reasons.append(str(error))
        all_needs.append([(slot, count) for slot, count in needs if slot != j and count])
        all_gains.append(gains)
        all_pasts.append(past)
    faults.add(np.array(rows, dtype=np.int64), pa.array(reasons, pa.string()))
    return all_needs, all_gains, all_pasts


def _zero_needs_where_no_order_is_kept(
    needs: Rows, gains: Rows, numbers: Ints, group: Ints, group_count: int
) -> Rows:
    """The needs where the protocol keeps order, and 0 elsewhere.

    Everything that arrives at that process has the number that its stamp counts; elsewhere it has not.
    """
    is_odd = np.ones(len(group), dtype=bool)
    has_gains = np.diff(gains.starts) > 0
    first_gain = gains.counts[gains.starts[:-1][has_gains]]
    is_odd[has_gains] = first_gain != numbers[has_gains]
    is_elsewhere = np.bincount(group[is_odd], minlength=group_count) > 0
    is_kept = np.repeat(~is_elsewhere[group], np.diff(needs.starts))
    return needs._replace(counts=np.where(is_kept, needs.counts, 0))


def _decode_shared_stamps(table: pa.Table, group: Ints, faults: Faults) -> pa.Table:
    """The entries and keys of packets whose senders share entries.

    How many keys a sender has is no part of a stamp: a broadcast adds 1 on each, so it divides all sums.
    """
    empty = ProbabilisticStamp(0, 1, [])
    stamps, rows, reasons = [], [], []
    for row, data in enumerate(table["needs"].to_pylist()):
        try:
            stamps.append(empty if faults.bad[row] else decode_stamp(data))
        except InputError as error:
            stamps.append(empty)
            rows.append(row)
            reasons.append(str(error))
    faults.add(np.array(rows, dtype=np.int64), pa.array(reasons, pa.string()))
    totals = np.array([sum(stamp.vector) for stamp in stamps], dtype=np.int64)
    key_count = np.zeros(int(group.max(initial=0)) + 1, dtype=np.int64)
    np.gcd.at(key_count, group, totals)
    counts_of_keys = key_count[group].tolist()
    keys = [_find_sender_keys(stamp, k) for stamp, k in zip(stamps, counts_of_keys, strict=True)]
    counts = pa.list_(pa.int64())
    columns = {
        "needs": pa.array([stamp.vector for stamp in stamps], counts),
        "keys": pa.array(keys, counts),
        "sender": table["sender"],
        "number": table["number"],
    }
    return pa.table(columns)


def _find_sender_keys(stamp: ProbabilisticStamp, key_count: int) -> tuple[int, ...]:
    """The k entries that the sender counts on; none if the stamp does not fit."""
    r = len(stamp.vector)
    if not 0 < key_count <= r or stamp.set_id >= count_key_sets(key_count, r):
        return ()
    return unrank_key_set(stamp.set_id, key_count, r)
