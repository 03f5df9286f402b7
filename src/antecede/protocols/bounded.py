"""bounded: matrix clocks kept small by extra messages, threshold k (Sanchez and Alvarez, section 3).

M[x][y] = c > 0 is the constraint "at y, DELIV[x] >= c". Three rules keep M sparse: the own column is
zero; after a message to y column y holds that message only; and when M has too many entries an *extra*
message with the fullest column goes to its process, which then replaces that column.

Settled where the paper is silent or says two things: the threshold fires at `>= k` (its worked case) or
at `> k` (its definition), by option; it is tested after every send and every delivery of a user message;
extras are counted in M and in DELIV like any other message; k must let the loop end (k >= n for `>=`,
k >= n-1 for `>`), which the paper's k > n always does. k is each process's own choice.

The own row is never cleared: it counts what was sent. With `own_row=False` its entries do not count, as there
is nothing that extras could do about them; then any k > 0 lets the loop end, and a stamp has up to n-1
entries more.
"""

from itertools import chain
from typing import Annotated, Literal

import msgspec
import numpy as np

from antecede.core import wire
from antecede.core.errors import CallerError, InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.core.packet import Delivery, Packet
from antecede.protocols.counts import Counts, list_nonzero_counts, make_empty_counts, make_zero_counts
from antecede.protocols.stamps import (
    check_process_ids,
    refuse_claimed_counts_above_actual,
    refuse_packet_kind,
)

_decode_stamp = wire.make_decoder(list[wire.Count], "stamp of 'bounded'")


class Bounded(VectorGated, kw_only=True):
    """M as in the paper; DELIV is the gate's `have` and counts users' messages and extras alike."""

    facts = Facts(
        name="bounded",
        title="matrix clocks bounded by extra messages",
        paper="Sanchez, Alvarez",
        order="causal",
        unicast=True,
        exact=True,
        delay_optimal=False,
        stamp="3 * min(k, (n - 1)^2) at most, and extra messages of at most 2 * (n - 1)",
        options={
            "k": "most non-zero entries before extras are sent; at least n (n - 1 for rule '>')",
            "rule": "'>=' (default): fire at k entries; '>': fire above k",
            "own_row": "whether the entries of the process's own row count (default true)",
        },
    )
    names_all_causes = False

    k: Annotated[int, msgspec.Meta(le=wire.LARGEST)]
    rule: Literal[">=", ">"] = ">="
    own_row: bool = True
    m: Counts = msgspec.field(default_factory=make_empty_counts)

    def _init_state(self) -> None:
        least = self._find_least_allowed_k()
        if self.k < least:
            raise CallerError(
                f"k={self.k} is too small: with {self.n} processes and rule {self.rule!r} the extra messages "
                f"would never end; use k >= {least}"
            )
        self.m = make_zero_counts(self.n, self.n)
        self._zero_slot_counts(self.n)

    def _find_least_allowed_k(self) -> int:
        """The smallest k with which the extras end."""
        never_cleared = self.n - 1 if self.own_row else 0
        return never_cleared + 1 if self.rule == ">=" else never_cleared

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            rows, columns = self.m.nonzero()
            counts = self.m[rows, columns]
            triples = np.stack((rows, columns, counts), axis=1).ravel()
            stamp = wire.encode(triples.tolist())
            self._emit_packet(target, stamp, payload)
            self._reset_column_after_send(target)
        self._emit_extras_to_shrink()

    def _reset_column_after_send(self, target: int) -> None:
        own = self.m[self.me, target]
        self.m[:, target] = 0
        self.m[self.me, target] = own + 1

    def _emit_extras_to_shrink(self) -> None:
        limit = self.k if self.rule == ">=" else self.k + 1
        while (entries := self._count_nonzero_entries_by_column()).sum() >= limit:
            fullest = int(entries.argmax())
            column = list_nonzero_counts(self.m[:, fullest])
            stamp = wire.encode([*chain.from_iterable(column)])
            self._emit_packet(fullest, stamp, kind="extra")
            self._reset_column_after_send(fullest)

    def _count_nonzero_entries_by_column(self) -> Counts:
        """How many entries of each column count against k."""
        is_constraint = self.m != 0
        if not self.own_row:
            is_constraint[self.me] = False
        entries: Counts = np.count_nonzero(is_constraint, axis=0)
        return entries

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Counts:
        """M of the sender before this message; of an extra, the column of `receiver` only."""
        if kind == "message":
            return _read_matrix_stamp(data, group_size)
        if kind == "extra":
            return _read_column_as_matrix(data, receiver, group_size)
        refuse_packet_kind("bounded", kind)

    @staticmethod
    def find_needs_and_gains(stamp: Counts, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """What M of the sender asks for at `receiver` comes first."""
        column = stamp[:, receiver].tolist()
        return column, [(source, column[source] + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """Three numbers for each entry of M, or two for each entry of a column."""
        return len(_decode_stamp(stamp))

    def _refuse_claim_of_unsent_messages(self, stamp: Counts) -> None:
        refuse_claimed_counts_above_actual(stamp[self.me], self.m[self.me])

    def _accept_packet(self, packet: Packet, stamp: Counts) -> Delivery | None:
        if packet.kind == "message":
            return super()._accept_packet(packet, stamp)
        needs, gains = self._find_local_needs_and_gains(self.id_by_process[packet.source], stamp)
        arrival = self.gate.add_arrival(packet, needs, gains)
        self.held_stamps_by_arrival[arrival] = stamp
        self._take_ready_extras()
        return None

    def _take_ready_extras(self) -> None:
        while (extra := self.gate.find_ready_arrival(_is_extra)) is not None:
            self._pop_ready_packet_and_stamp(extra)

    def _learn_from_delivery(self, source: int, stamp: Counts) -> None:
        np.maximum(self.m, stamp, out=self.m)
        self.m[:, self.me] = 0
        self._emit_extras_to_shrink()
        self._take_ready_extras()


def _is_extra(packet: Packet) -> bool:
    return packet.kind == "extra"


def _read_matrix_stamp(data: bytes, group_size: int) -> Counts:
    flat = _decode_stamp(data)
    if len(flat) % 3:
        raise InputError("stamp of 'bounded': not a list of (from, to, count)")
    rows, columns = flat[::3], flat[1::3]
    check_process_ids(rows, group_size)
    check_process_ids(columns, group_size)
    matrix = make_zero_counts(group_size, group_size)
    matrix[rows, columns] = flat[2::3]
    return matrix


def _read_column_as_matrix(data: bytes, receiver: int, group_size: int) -> Counts:
    flat = _decode_stamp(data)
    if len(flat) % 2:
        raise InputError("stamp of 'bounded': an extra carries a list of (from, count)")
    rows = flat[::2]
    check_process_ids(rows, group_size)
    matrix = make_zero_counts(group_size, group_size)
    matrix[rows, receiver] = flat[1::2]
    return matrix
