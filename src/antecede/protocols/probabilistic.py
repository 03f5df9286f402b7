"""probabilistic: causal broadcast with R entries shared by all and K keys per process.

Mostefaoui and Weiss 2017. A broadcast adds 1 on its sender's K entries; a receiver waits until its own
entries have caught up, with 1 less on the sender's (Algorithms 1 and 2). Smaller than a vector clock, and
sometimes wrong: others' messages may cover the entries of a missing one. Three detectors put alarms on the
late message. Corrected: set ids are unranked properly (keys.py), and Algorithms 4 and 5 are both evaluated
against the entries before the increment, with `>=` (as printed, Algorithm 5 misses the paper's own Figure
2). Joining and leaving, for which the paper gives no rule, are in membership.py.
"""

from typing import Annotated, NamedTuple

import msgspec

from antecede.core import wire
from antecede.core.errors import CallerError, InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.core.packet import Delivery, Packet
from antecede.core.seen import Seen
from antecede.protocols.detectors import Recent, find_detectors_suspecting_lateness
from antecede.protocols.keys import count_key_sets, derive_key_set_id, unrank_key_set
from antecede.protocols.stamps import check_vector_length, refuse_packet_kind

NOBODY = -1
"""In place of the sender's id: entries are not by process, and a sender that has left has no id."""


class ProbabilisticStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`number` counts the sender's broadcasts from 1."""

    set_id: wire.Count
    number: wire.Number
    vector: list[wire.Count]


decode_stamp = wire.make_decoder(ProbabilisticStamp, "stamp of 'probabilistic'")


class KeyedStamp(NamedTuple):
    """A stamp whose set of keys is looked up, which takes R and K: `keys` are the entries it counts on."""

    keys: tuple[int, ...]
    number: int
    vector: list[int]


class Sharing(VectorGated, kw_only=True):
    """Entries shared by several senders. V is the gate's `have`, and gains add to it.

    `known` are the broadcasts delivered here (or, after a join, at the sponsor) by sender; `recent` is
    the paper's list L, at least the last `memory` of them. A broadcast of this process counts on entries
    that others wait for, so `send` may deliver messages that were held here, after the own one.
    """

    shares_entries = True

    R: Annotated[int, msgspec.Meta(ge=1, le=65_536)] = 100
    K: Annotated[int, msgspec.Meta(ge=1, le=65_536)] = 4
    set_id: int | None = None
    memory: Annotated[int, msgspec.Meta(ge=0, le=wire.LARGEST)] = 256
    known: dict[str, Seen] = {}
    recent: list[Recent] = []
    sent: int = 0

    def _init_state(self) -> None:
        if self.K > self.R:
            raise CallerError(f"K={self.K} keys cannot be chosen among R={self.R} entries; use K <= R")
        if count_key_sets(self.K, self.R) > wire.LARGEST:
            raise CallerError(f"there are too many sets of K={self.K} keys for R={self.R}; use a smaller K")
        if self.set_id is None:
            self.set_id = self._choose_key_set_id()
        if not 0 <= self.set_id < count_key_sets(self.K, self.R):
            raise CallerError(f"set_id={self.set_id} must be from 0 to {count_key_sets(self.K, self.R) - 1}")
        self._zero_slot_counts(self.R)
        self.gate.add = True

    def _choose_key_set_id(self) -> int:
        return derive_key_set_id(self.process, self.K, self.R)

    @property
    def keys(self) -> tuple[int, ...]:
        """f(p_i): the entries that this process's broadcasts count on."""
        return unrank_key_set(self.set_id or 0, self.K, self.R)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:  # Algorithm 1
        for x in self.keys:
            self.gate.advance_slot(x, 1)
        self.sent += 1
        vector = list(self.gate.have.values())
        stamp = wire.encode((self.set_id, self.sent, vector))
        self._emit_copies(targets, stamp, payload)

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """Cannot be read from one stamp, which does not say how many keys a sender has."""
        raise InputError(f"{cls.facts.name!r}: entries are shared, and needs are not by process")

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The set of keys, the number of the message, and the entries."""
        return 2 + len(decode_stamp(stamp).vector)

    def _decode_and_check_stamp(self, packet: Packet) -> KeyedStamp:
        name = self.facts.name
        if packet.kind != "message":
            refuse_packet_kind(name, packet.kind)
        stamp = decode_stamp(packet.stamp)
        check_vector_length(stamp.vector, self.R)
        if stamp.set_id >= count_key_sets(self.K, self.R):
            raise InputError(f"stamp of {name!r}: there is no set of keys {stamp.set_id}")
        keys = unrank_key_set(stamp.set_id, self.K, self.R)
        if any(stamp.vector[x] == 0 for x in keys):
            raise InputError(f"stamp of {name!r}: the sender's own entries must count this message")
        return KeyedStamp(keys, stamp.number, stamp.vector)

    @staticmethod
    def find_needs_and_gains(stamp: KeyedStamp, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """Algorithm 2: the entries must have caught up with the stamp, less 1 on those that count it."""
        wanted = stamp.vector.copy()
        for x in stamp.keys:
            wanted[x] -= 1
        return wanted, [(x, 1) for x in stamp.keys]

    def will_never_deliver(self, packet: Packet) -> bool:
        """Whether `receive` will not deliver this message, ever: it came with the state of a sponsor."""
        known = self.known.get(packet.source)
        return known is not None and known.has(decode_stamp(packet.stamp).number)

    def _accept_packet(self, packet: Packet, stamp: KeyedStamp) -> Delivery | None:
        known = self.known.setdefault(packet.source, Seen())
        if known.has(stamp.number):
            return None  # came with the state of the sponsor
        needs, gains = self._find_local_needs_and_gains(NOBODY, stamp)
        if not self.manual and self.gate.let_through_if_ready(needs, gains):
            return self._deliver_packet(packet, stamp)
        self.held_stamps_by_arrival[self.gate.add_arrival(packet, needs, gains)] = stamp
        return None

    def _deliver_packet(self, packet: Packet, stamp: KeyedStamp) -> Delivery:
        keys = stamp.keys
        before = {x: self.gate.have[x] - 1 for x in keys}
        suspicions = find_detectors_suspecting_lateness(keys, stamp.vector, before, self.recent)
        self.known[packet.source].add(stamp.number)
        self.recent.append(Recent(keys, stamp.vector))
        if len(self.recent) > 2 * self.memory:
            self.recent = self.recent[self.memory + 1 :]
        return Delivery(packet.source, packet.payload, suspicions)

    def _get_slot_name(self, slot: int) -> str:
        return f"entry {slot}"


class Scalar(Sharing, kw_only=True):
    """R = K = 1: one counter for all. Everything is ordered, much of it needlessly and some wrongly."""

    facts = Facts(
        name="scalar",
        title="one shared counter",
        paper="Mostefaoui, Weiss 2017 with R = K = 1",
        order="probably causal",
        broadcast=True,
        exact=False,
        delay_optimal=False,
        counts="deliveries counted on that entry",
        stamp="3",
        options={"memory": "how many recent messages the detectors remember (default 256)"},
    )

    R: int = 1
    K: int = 1


class Plausible(Sharing, kw_only=True):
    """K = 1, entry i mod R for process i. With R = n this is `vector`, exactly."""

    facts = Facts(
        name="plausible",
        title="plausible clock: one key per process",
        paper="Mostefaoui, Weiss 2017 with K = 1",
        order="probably causal",
        broadcast=True,
        exact=False,
        delay_optimal=False,
        counts="deliveries counted on that entry",
        stamp="R + 2",
        options={
            "R": "number of entries (default 100)",
            "memory": "how many recent messages the detectors remember (default 256)",
        },
    )
    shared = ("R",)

    K: int = 1

    def _choose_key_set_id(self) -> int:
        return self.me % self.R
