"""Wrong rules for `bounded` (Sanchez): what the paper leaves open, settled the other way."""

import numpy as np

from antecede import AntecedeError
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery, Packet
from antecede.protocols.bounded import Bounded
from antecede.protocols.counts import Counts, make_zero_counts
from tests.mutants.drives import self_sends, slow_unicast
from tests.mutants.selfsends import SelfSends
from tests.mutants.table import Mutant


class EndlessError(AntecedeError):
    """A loop that would not end was stopped."""


class LosesExtras(Bounded, kw_only=True):
    """An extra is taken in and not counted in DELIV."""

    def _accept_packet(self, packet: Packet, stamp: Counts) -> Delivery | None:
        if packet.kind == "message":
            return super()._accept_packet(packet, stamp)
        self.gate.add_arrival(
            packet, self._find_local_needs_and_gains(self.id_by_process[packet.source], stamp)[0], []
        )
        self._take_ready_extras()
        return None


class SendsUncountedExtras(Bounded, kw_only=True):
    """An extra is sent and not counted in M."""

    def _emit_extras_to_shrink(self) -> None:
        counted = self.m[self.me].copy()
        super()._emit_extras_to_shrink()
        self.m[self.me] = counted


class Trusting(Bounded, kw_only=True):
    """Does not compare what a stamp tells of this process with what it has sent, which would refuse these."""

    def _refuse_claim_of_unsent_messages(self, stamp: Counts) -> None:
        pass


class ClearsOwnRow(Trusting, kw_only=True):
    """An extra clears its column altogether, the own counter too."""

    def _emit_extras_to_shrink(self) -> None:
        before = self.m[self.me].copy()
        super()._emit_extras_to_shrink()
        self.m[self.me, self.m[self.me] != before] = 0


class TooSmall(Bounded, kw_only=True):
    """Any k is taken. Every extra replaces a column of one entry by a column of one entry."""

    def _init_state(self) -> None:
        self.m = make_zero_counts(self.n, self.n)
        self._zero_slot_counts(self.n)

    def _reset_column_after_send(self, target: int) -> None:
        super()._reset_column_after_send(target)
        if len(self.outbox) > self.n:
            raise EndlessError("extras without end")


class BoundedSelfSends(SelfSends, Trusting, kw_only=True):
    """The own column is always zero, so the count of messages to oneself is lost."""


class HandsExtrasUp(Bounded, kw_only=True):
    """An extra is delivered to the application."""

    def _take_ready_extras(self) -> None:
        pass


class RushesExtras(Bounded, kw_only=True):
    """An extra is counted as soon as its own channel allows; the column that it carries is not waited for."""

    def _find_local_needs_and_gains(self, source: int, stamp: Counts) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        is_extra = np.count_nonzero(stamp) == np.count_nonzero(stamp[:, self.me]) > 0
        return ([need for need in needs if need[0] == source] if is_extra else needs), gains


class ShrinksAtSendsOnly(Bounded, kw_only=True):
    """The threshold is not tested after deliveries."""

    def _learn_from_delivery(self, source: int, stamp: Counts) -> None:
        np.maximum(self.m, stamp, out=self.m)
        self.m[:, self.me] = 0
        self._take_ready_extras()


LEAST = {"k": lambda process, group: len(group)}
AMPLE = {"k": lambda process, group: len(group) ** 2}

ROWS = [
    Mutant(
        "sanchez-extras-lost",
        "extras are not counted in DELIV",
        "Sanchez, not said",
        "stuck",
        LosesExtras,
        options=LEAST,
    ),
    Mutant(
        "sanchez-extras-uncounted",
        "extras are not counted in M",
        "Sanchez, not said",
        "unsafe",
        SendsUncountedExtras,
        options=LEAST,
    ),
    Mutant(
        "sanchez-own-row",
        "an extra clears the own counter with its column",
        "Sanchez, not said",
        "unsafe",
        ClearsOwnRow,
        options=LEAST,
    ),
    Mutant(
        "sanchez-k-too-small",
        "k = n - 1 with the rule >=",
        "Sanchez, bounds of k",
        "error",
        TooSmall,
        options={"k": lambda process, group: len(group) - 1},
        sound=LEAST,
        says="without end",
    ),
    Mutant(
        "sanchez-k-too-small->",
        "k = n - 2 with the rule >",
        "Sanchez, bounds of k",
        "error",
        TooSmall,
        options={"k": lambda process, group: len(group) - 2, "rule": ">"},
        sound=LEAST,
        says="without end",
    ),
    Mutant(
        "sanchez-self-send",
        "messages to oneself go through the protocol",
        "Sanchez, excluded",
        "unsafe",
        BoundedSelfSends,
        self_sends,
        options=AMPLE,
    ),
    Mutant(
        "sanchez-extras-delivered",
        "extras are handed to the application",
        "Sanchez",
        "error",
        HandsExtrasUp,
        options=LEAST,
        says="invalid literal",
    ),
    Mutant(
        "sanchez-extras-rush",
        "an extra does not wait for the column it carries",
        "Sanchez",
        "unsafe",
        RushesExtras,
        slow_unicast,
        options=LEAST,
    ),
    Mutant(
        "sanchez-shrinks-late",
        "the threshold is tested after sends only",
        "Sanchez, not said",
        "larger",
        ShrinksAtSendsOnly,
        options=LEAST,
    ),
]
