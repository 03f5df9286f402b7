"""Packets of this package's own protocols, as `antecede simulate --out` writes them, for the gate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.endpoint import Endpoint
from antecede.core.errors import InputError
from antecede.core.gate import Pairs
from antecede.kernels.ragged import Counts, Ints, Rows
from antecede.ordering.columns import Faults, integers
from antecede.ordering.slots import Places, number, singles
from antecede.ordering.stamps import Reading, Stamps, shared, sums
from antecede.protocols.keys import entries, sets
from antecede.protocols.probabilistic import ProbabilisticStamp, decode_stamp
from antecede.protocols.registry import get_protocol


def packets(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """Every stamp is read by its protocol; packets that no gate counts need and gain nothing."""
    numbers = integers(table["number"], 0)
    faults.add(numbers < 1, "the number of the packet is null or below 1")
    faults.add(np.asarray(table["needs"].is_null()), "the stamp is null")
    protocol = get_protocol(reading.protocol)
    if protocol.shares_entries:
        return shared(_opened(table, group, faults), reading, group, groups, faults)
    labels = pa.array(reading.members or (), pa.string())
    source, me = (integers(pc.index_in(table[name], value_set=labels), -1) for name in ("sender", "receiver"))
    faults.add((source < 0) | (me < 0), "the sender or the receiver is not a member")
    all_needs, all_gains = _read_needs(table, protocol, source, me, len(labels), faults)
    needs, gains = Rows.of(all_needs), Rows.of(all_gains)
    if protocol.facts.monitor:
        needs = _at_one_place(needs, gains, numbers, group, groups)
    parts = [Places(rows.starts, rows.slots.astype(np.int64)) for rows in (needs, gains)]
    slots, (own, wanted, gained) = number(
        group, groups, len(labels), [singles(np.maximum(source, 0)), *parts], labels
    )
    first = np.append(gains.counts, 0)[gains.starts[:-1]]
    counts = np.where(np.diff(gains.starts) > 0, first, numbers)
    wants, gives = Rows(needs.starts, wanted, needs.counts), Rows(gains.starts, gained, gains.counts)
    if protocol.brings_past:
        wants = wants._replace(counts=present(wanted, needs.counts, own, counts))
    age = sums(gives) if protocol.gains_time else None
    return Stamps(wants, gives, slots, own.astype(np.int64), counts, numbers, age=age)


def _read_needs(
    table: pa.Table, protocol: type[Endpoint], source: Ints, me: Ints, n: int, faults: Faults
) -> tuple[list[Pairs], list[Pairs]]:
    """What each packet needs and gains; nothing if it cannot be read.

    What a receiver itself has sent is not in a table of its arrivals, so nothing waits for that.
    """
    all_needs: list[Pairs] = []
    all_gains: list[Pairs] = []
    rows, reasons = [], []
    columns = (table["kind"].to_pylist(), table["needs"].to_pylist(), source.tolist(), me.tolist())
    for row, (kind, stamp, i, j) in enumerate(zip(*columns, strict=True)):
        needs: Pairs = []
        gains: Pairs = []
        if not faults.bad[row]:
            try:
                needs, gains = protocol.read_needs(kind, stamp, i, j, n)
            except InputError as error:
                rows.append(row)
                reasons.append(str(error))
        all_needs.append([(slot, count) for slot, count in needs if slot != j and count])
        all_gains.append(gains)
    faults.add(np.array(rows, dtype=np.int64), pa.array(reasons, pa.string()))
    return all_needs, all_gains


def _at_one_place(needs: Rows, gains: Rows, numbers: Ints, group: Ints, groups: int) -> Rows:
    """The needs where the protocol keeps order: what arrives there has the number that its stamp counts."""
    other = np.ones(len(group), dtype=bool)
    some = np.diff(gains.starts) > 0
    other[some] = gains.counts[gains.starts[:-1][some]] != numbers[some]
    elsewhere = np.bincount(group[other], minlength=groups) > 0
    kept = np.repeat(~elsewhere[group], np.diff(needs.starts))
    return Rows(needs.starts, needs.slots, np.where(kept, needs.counts, 0))


def present(slots: Counts, counts: Counts, own: Ints | Counts, numbers: Ints) -> Ints:
    """The last message of each slot up to the count that is in the table, 0 if none is."""
    values, codes = np.unique(np.concatenate((counts, numbers)), return_inverse=True)
    known = np.unique(own.astype(np.int64) * len(values) + codes[len(counts) :])
    asked = slots.astype(np.int64) * len(values) + codes[: len(counts)]
    last = np.append(known, -1)[np.searchsorted(known, asked, side="right") - 1]
    found: Ints = np.where(last // len(values) == slots, values[last % len(values)], 0)
    return found


def _opened(table: pa.Table, group: Ints, faults: Faults) -> pa.Table:
    """The entries and keys of packets whose senders share entries.

    How many keys a sender has is no part of a stamp: a broadcast adds 1 on each, so it divides all sums.
    """
    empty = ProbabilisticStamp(0, 1, [])
    found, rows, reasons = [], [], []
    for row, stamp in enumerate(table["needs"].to_pylist()):
        try:
            found.append(empty if faults.bad[row] else decode_stamp(stamp))
        except InputError as error:
            found.append(empty)
            rows.append(row)
            reasons.append(str(error))
    faults.add(np.array(rows, dtype=np.int64), pa.array(reasons, pa.string()))
    sums = np.array([sum(one.vector) for one in found], dtype=np.int64)
    width = np.zeros(int(group.max(initial=0)) + 1, dtype=np.int64)
    np.gcd.at(width, group, sums)
    keys = [_keys(one, k) for one, k in zip(found, width[group].tolist(), strict=True)]
    vectors = [one.vector for one in found]
    columns = {
        "needs": pa.array(vectors, pa.list_(pa.int64())),
        "keys": pa.array(keys, pa.list_(pa.int64())),
    }
    return pa.table({**columns, "sender": table["sender"], "number": table["number"]})


def _keys(stamp: ProbabilisticStamp, k: int) -> tuple[int, ...]:
    r = len(stamp.vector)
    return entries(stamp.set_id, k, r) if 0 < k <= r and stamp.set_id < sets(k, r) else ()
