"""Wrong rules for `semantic` (Gambhire00): Figure 3 as printed, and its repairs by halves."""

import msgspec

from antecede.core.gate import Gate, Pairs
from antecede.core.packet import Packet
from antecede.protocols.counts import list_nonzero_counts
from antecede.protocols.semantic import Read, Semantic
from tests.mutants.drives import (
    dependences,
    dependences_slow,
    dependences_slow_link,
    dependences_to_several,
    few_dependences,
)
from tests.mutants.gates import LastInFirstOut
from tests.mutants.table import Mutant
from tests.mutants.trials import SemanticTrial


class AnyRelease(Semantic, kw_only=True):
    """Of several that may go, the one that arrived last goes first."""

    gate: Gate[Packet] = msgspec.field(default_factory=LastInFirstOut)


class OneCopy(Semantic, kw_only=True):
    """R3 by the letter: of a message to several only the own copy is counted."""

    def _decode_and_check_stamp(self, packet: Packet) -> Read:
        _, sp, sc, mcv, ecv = super()._decode_and_check_stamp(packet)
        return [self.me], sp, sc, mcv, ecv


class NoSequence(Semantic, kw_only=True):
    """The repaired MCV without the test on the own channel."""

    def _init_state(self) -> None:
        super()._init_state()
        self.gate.add = True

    def _find_local_needs_and_gains(self, source: int, stamp: Read) -> tuple[Pairs, Pairs]:
        return list_nonzero_counts(stamp[1][:, self.me]), [(source, 1)]


class NoSequenceAnyRelease(NoSequence, kw_only=True):
    """The same, and any order of release."""

    gate: Gate[Packet] = msgspec.field(default_factory=LastInFirstOut)


class PrintedWithSequence(Semantic, kw_only=True):
    """The printed MCV with the test on the own channel (for messages to one process)."""

    gate: Gate[Packet] = msgspec.field(default_factory=LastInFirstOut)

    def _init_state(self) -> None:
        super()._init_state()
        self.gate.add = False

    def _find_local_needs_and_gains(self, source: int, stamp: Read) -> tuple[Pairs, Pairs]:
        column = stamp[1][:, self.me].copy()
        column[source] += stamp[2][source, self.me]
        return list_nonzero_counts(column), [(source, int(column[source]) + 1)]


class NeverFires(Semantic, kw_only=True):
    """No send moves SENT_CONC into SENT_PREV."""

    def _send_message(self, payload: bytes, targets: list[int], depends_on: int = 0) -> None:
        super()._send_message(payload, targets, 0)


class AlwaysFires(Semantic, kw_only=True):
    """Every send does: matrix clocks again."""

    def _send_message(self, payload: bytes, targets: list[int], depends_on: int = 0) -> None:
        self.mcv[self.me] = -1
        super()._send_message(payload, targets, 0)


class KeepsOwnMcv(Semantic, kw_only=True):
    """Figure 3 as it stands: packets bring no MCV."""

    def _learn_from_delivery(self, source: int, stamp: Read) -> None:
        mcv = self.mcv
        super()._learn_from_delivery(source, stamp)
        self.mcv = mcv


PRINTED = {"variant": "printed"}
CORRECTED = {"variant": "corrected"}

ROWS = [
    Mutant(
        "gambhire-printed-any",
        "Figure 3 over channels that are not FIFO",
        "Gambhire00, Figure 3",
        "unsafe",
        Semantic,
        dependences,
        options=PRINTED,
        sound=CORRECTED,
        trial=SemanticTrial,
        sizes=(2, 3),
    ),
    Mutant(
        "gambhire-printed-release",
        "Figure 3 over FIFO channels, what waits is released in any order",
        "Gambhire00, step R1",
        "unsafe",
        AnyRelease,
        dependences_slow_link,
        options=PRINTED,
        fifo=True,
        trial=SemanticTrial,
        sizes=(3,),
    ),
    Mutant(
        "gambhire-one-copy",
        "R3 counts one copy of a message to several",
        "Gambhire00, Figure 3",
        "unsafe",
        OneCopy,
        dependences_to_several,
        trial=SemanticTrial,
    ),
    Mutant(
        "gambhire-printed-several",
        "Figure 3 with messages to several, channels FIFO",
        "Gambhire00, section 2",
        "unsafe",
        Semantic,
        dependences_to_several,
        options=PRINTED,
        sound=CORRECTED,
        fifo=True,
        trial=SemanticTrial,
    ),
    Mutant(
        "gambhire-no-sequence",
        "MCV repaired, own channel not tested, messages to several",
        "Gambhire00, several destinations",
        "unsafe",
        NoSequence,
        dependences_to_several,
        trial=SemanticTrial,
        sizes=(4,),
        runs=80,
    ),
    Mutant(
        "gambhire-never-fires",
        "no send is taken to depend on anything",
        "Gambhire00, step E1",
        "unsafe",
        NeverFires,
        dependences_slow,
        trial=SemanticTrial,
        sizes=(4,),
        runs=60,
    ),
    Mutant(
        "gambhire-always-fires",
        "every send is taken to depend on everything",
        "Gambhire00, step E1",
        "slower",
        AlwaysFires,
        few_dependences,
        trial=SemanticTrial,
        sizes=(4,),
    ),
    Mutant(
        "gambhire-no-mcv",
        "packets do not carry MCV",
        "Gambhire00, Figure 3 against Property 1",
        "slower",
        KeepsOwnMcv,
        dependences_slow,
        trial=SemanticTrial,
        sizes=(4,),
        runs=60,
    ),
]
