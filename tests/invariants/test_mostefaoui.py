"""Mostefaoui17: what entries count, Corollary 1, Lemma 1, stamps along causality, true alarms."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Delivery, Effects, Packet
from antecede.protocols.detectors import ALGORITHM_4, ALGORITHM_5, SHARPER
from antecede.protocols.keys import count_key_sets, unrank_key_set
from antecede.protocols.probabilistic import Sharing
from antecede.simulate.oracle import list_set_bits
from tests.cases import SCRIPTS, Script
from tests.harness import maker, run_script
from tests.invariants.checked import Checked, vector

NESTED = {(), (ALGORITHM_4,), (ALGORITHM_4, ALGORITHM_5), (ALGORITHM_4, ALGORITHM_5, SHARPER)}


class ProbabilisticWorld(Checked):
    """Broadcasts with given sets of keys, which need not be distinct."""

    def __init__(self, r: int, k: int, ids: list[int], **options: Any) -> None:
        super().__init__("probabilistic", len(ids), R=r, K=k, **options)
        self.r = r
        self.keys = {
            name: unrank_key_set(i % count_key_sets(k, r), k, r)
            for name, i in zip(self.names, ids, strict=True)
        }
        for name, i in zip(self.names, ids, strict=True):
            make = maker("probabilistic", R=r, K=k, set_id=i % count_key_sets(k, r), **options)
            self.endpoints[name] = make(name, self.names)
        self.stamps: list[list[int]] = []
        self.late: dict[tuple[str, int], tuple[str, ...]] = {}
        """Late deliveries, and the alarms on them."""

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Sharing)
        owners = [self.keys[str(self.oracle.sender[m])] for m in self.order(process)]
        assert vector(endpoint, self.r) == [sum(x in keys for keys in owners) for x in range(self.r)]
        assert self.needless == []  # Corollary 1
        if len(self.stamps) < len(self.targets):
            self.check_growth(process, effects.packets)

    def check_growth(self, process: str, packets: list[Packet]) -> None:
        """A stamp is at least every stamp of its past, and more on the sender's keys."""
        now = msgspec.msgpack.decode(packets[0].stamp)[2]
        for message in list_set_bits(self.oracle.message_past[len(self.stamps)]):
            old = self.stamps[message]
            assert all(now[x] >= old[x] + (x in self.keys[process]) for x in range(self.r))
        self.stamps.append(now)

    def _note_delivery(self, process: str, delivery: Delivery) -> None:
        message = int(delivery.payload)
        assert delivery.alarms in NESTED
        if self.oracle.is_late(process, message) and delivery.sender != process:
            self.late[process, message] = delivery.alarms
        super()._note_delivery(process, delivery)

    def check_late(self, *alarms: str) -> None:
        """Late is exactly what something delivered before it depends on; none comes without its alarms."""
        overtaken = {(process, cause) for process, _, missing in self.violations for cause in missing}
        assert set(self.late) == overtaken
        assert all(set(alarms) <= set(raised) for raised in self.late.values())


@pytest.mark.parametrize(("r", "k"), [(1, 1), (2, 1), (3, 2), (4, 2), (6, 3)])
@given(ids=st.lists(st.integers(0, 99), min_size=2, max_size=5), script=SCRIPTS)
def test_mostefaoui_entries_stamps_corollary_1_lemma_1_and_alarms(
    r: int, k: int, ids: list[int], script: Script
) -> None:
    world = ProbabilisticWorld(r, k, ids)
    run_script(world, script, "broadcast")
    assert world.stuck() == []  # Lemma 1
    world.check_late(ALGORITHM_4, ALGORITHM_5, SHARPER)


@given(ids=st.lists(st.integers(0, 99), min_size=2, max_size=5), script=SCRIPTS)
def test_mostefaoui_algorithm_4_needs_no_list_and_misses_nothing(ids: list[int], script: Script) -> None:
    world = ProbabilisticWorld(2, 1, ids, memory=0)
    run_script(world, script, "broadcast")
    world.check_late(ALGORITHM_4)
    assert all(raised == (ALGORITHM_4,) for raised in world.late.values())


@pytest.mark.parametrize(("r", "k"), [(1, 1), (4, 2)])
def test_mostefaoui_alarms_of_a_long_run_with_many_errors(r: int, k: int) -> None:
    random = Random(r)
    world = ProbabilisticWorld(r, k, [random.randrange(99) for _ in range(7)])
    script = [(random.randrange(10) > 0, random.randrange(999), random.randrange(999)) for _ in range(700)]
    run_script(world, [(int(action), a, b) for action, a, b in script], "broadcast")
    assert len(world.late) > 10
    world.check_late(ALGORITHM_4, ALGORITHM_5, SHARPER)
