"""Wrong rules for `probabilistic` (Mostefaoui17): its algorithms as printed, its detectors, and joining."""

from math import comb

import msgspec

from antecede.core.packet import Delivery, Packet
from antecede.core.seen import Seen
from antecede.protocols.detectors import ALGORITHM_4, ALGORITHM_5
from antecede.protocols.membership import Probabilistic
from antecede.protocols.probabilistic import KeyedStamp, Plausible, Scalar
from tests.mutants.bounded import EndlessError
from tests.mutants.drives import broadcast
from tests.mutants.stories import joining, one_concurrent, two_causes
from tests.mutants.table import Mutant
from tests.mutants.trials import AlarmTrial, ExactAlarmTrial, JoinTrial


def printed_entries(set_id: int, k: int, r: int, repaired: bool = False) -> list[int]:
    """Algorithm 3 line by line; `repaired` puts r for R in both places where it reads C(R, k)."""
    total, left, size = r, r - 1, k - 1
    a = [0] * k
    t = sav = comb(left if repaired else total, size)
    for i in range(k):
        while set_id >= t:
            a[i], left, sav = a[i] + 1, left - 1, t
            if a[i] > total:
                raise EndlessError("Algorithm 3 counts past the last entry")
            t = comb(max(left, 0) if repaired else total, max(size, 0))
        t = sav
        if i < k - 1:
            a[i + 1] = a[i]
        size -= 1
    return a


class PrintedKeys(Probabilistic, kw_only=True):
    """Keys by Algorithm 3 as printed."""

    def _init_state(self) -> None:
        super()._init_state()
        drawn = printed_entries(self.set_id or 0, self.K, self.R)
        if len(set(drawn)) < self.K:
            raise EndlessError(f"Algorithm 3 draws {drawn}, which are not {self.K} entries")


class SelfCopy(Plausible, kw_only=True):
    """The sender's own copy goes through Algorithm 2 as well."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        super()._send_message(payload, targets)
        for x in self.keys:
            self.gate.advance_slot(x, 1)


class Maximum(Scalar, kw_only=True):
    """A delivery takes the maximum with the stamp instead of adding 1."""

    def _init_state(self) -> None:
        super()._init_state()
        self.gate.add = False

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        self.gate.add = True
        super()._send_message(payload, targets)
        self.gate.add = False

    def _accept_packet(self, packet: Packet, stamp: KeyedStamp) -> None:
        self.known.setdefault(packet.source, Seen())
        count = stamp.vector[0]
        self.gate.add_arrival(packet, [(0, count - 1)], [(0, count)])


class SameKeys(Probabilistic, kw_only=True):
    """All processes have the same set of keys."""

    def _init_state(self) -> None:
        self.set_id = 0
        super()._init_state()


class StrictDetector(Probabilistic, kw_only=True):
    """Algorithm 5 as printed, `>`, before the increment."""

    def _deliver_packet(self, packet: Packet, stamp: KeyedStamp) -> Delivery:
        delivery = super()._deliver_packet(packet, stamp)
        keys = stamp.keys
        if all(self.gate.have[x] - 1 > stamp.vector[x] for x in keys):
            return delivery
        kept = tuple(alarm for alarm in delivery.alarms if alarm != ALGORITHM_5)
        return msgspec.structs.replace(delivery, alarms=kept)


class LateDetector(Plausible, kw_only=True):
    """Algorithm 4 after the increment."""

    def _deliver_packet(self, packet: Packet, stamp: KeyedStamp) -> Delivery:
        delivery = super()._deliver_packet(packet, stamp)
        keys = stamp.keys
        sure = any(self.gate.have[x] == stamp.vector[x] - 1 for x in keys)
        return msgspec.structs.replace(delivery, alarms=() if sure else (ALGORITHM_4,))


class JoinsWithoutSet(Probabilistic, kw_only=True):
    """A newcomer copies the entries and not which messages they count."""

    def join(self, state: bytes) -> None:
        super().join(state)
        self.known = {}


class JoinsWithoutEntries(Probabilistic, kw_only=True):
    """A newcomer copies which messages are delivered and not the entries."""

    def join(self, state: bytes) -> None:
        super().join(state)
        self._zero_slot_counts(self.R)


class WelcomesEarly(Probabilistic, kw_only=True):
    """A sponsor does not wait for what was sent before the newcomer was admitted."""

    def welcome(self, name: str, sent: dict[str, int]) -> bytes:
        return super().welcome(name, dict.fromkeys(sent, 0))


def _members(process: str, group: list[str]) -> list[str]:
    return group if process == group[-1] else group[:-1]


DISTINCT = {"R": 4, "K": 2, "set_id": lambda process, group: group.index(process)}
ALL = {"R": lambda process, group: len(group)}
JOINING = {"R": 4, "K": 1, "set_id": lambda process, group: group.index(process), "group": _members}

ROWS = [
    Mutant(
        "mostefaoui-algorithm-3",
        "keys are drawn by Algorithm 3 as printed",
        "Mostefaoui17, Algorithm 3",
        "error",
        PrintedKeys,
        one_concurrent,
        options=DISTINCT,
        sizes=(4,),
        says="Algorithm 3",
    ),
    Mutant(
        "mostefaoui-self-copy",
        "the own copy goes through Algorithm 2",
        "Mostefaoui17, Algorithm 2, not said",
        "stuck",
        SelfCopy,
        broadcast,
        options=ALL,
    ),
    Mutant(
        "mostefaoui-maximum",
        "a delivery takes the maximum instead of adding",
        "Mostefaoui17, Algorithm 2",
        "unsafe",
        Maximum,
        two_causes,
        sizes=(3,),
    ),
    Mutant(
        "mostefaoui-same-keys",
        "key sets are not distinct, so one concurrent message is enough",
        "Mostefaoui17, section 4.1.3",
        "unsafe",
        SameKeys,
        one_concurrent,
        options=DISTINCT,
        sizes=(4,),
    ),
    Mutant(
        "mostefaoui-strict-detector",
        "Algorithm 5 with > before the increment",
        "Mostefaoui17, Algorithm 5",
        "missed",
        StrictDetector,
        broadcast,
        options={"R": 4, "K": 2},
        trial=AlarmTrial,
        sizes=(6,),
    ),
    Mutant(
        "mostefaoui-late-detector",
        "Algorithm 4 after the increment",
        "Mostefaoui17, Algorithm 4",
        "noisy",
        LateDetector,
        broadcast,
        options=ALL,
        trial=ExactAlarmTrial,
    ),
    Mutant(
        "mostefaoui-short-memory",
        "the list L is shorter than what is in flight",
        "Mostefaoui17, section 4.2.1",
        "missed",
        Probabilistic,
        broadcast,
        options={"R": 4, "K": 2, "memory": 1},
        sound={"memory": 256},
        trial=AlarmTrial,
        sizes=(5,),
    ),
    Mutant(
        "mostefaoui-join-without-set",
        "a newcomer does not get the set of delivered messages",
        "Mostefaoui17, churn",
        "error",
        JoinsWithoutSet,
        joining,
        options=JOINING,
        trial=JoinTrial,
        sizes=(4,),
        says="delivered there before",
    ),
    Mutant(
        "mostefaoui-join-without-entries",
        "a newcomer does not get the entries",
        "Mostefaoui17, churn",
        "unsafe",
        JoinsWithoutEntries,
        joining,
        options=JOINING,
        trial=JoinTrial,
        sizes=(4,),
    ),
    Mutant(
        "mostefaoui-welcome-early",
        "the sponsor has not delivered what the newcomer will not get",
        "Mostefaoui17, churn",
        "stuck",
        WelcomesEarly,
        joining,
        options=JOINING,
        trial=JoinTrial,
        sizes=(4,),
    ),
]
