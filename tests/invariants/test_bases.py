"""Hoogerwoord and the algorithms that the papers build on: what counters and logs mean, at every step."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import antecede
from antecede import Effects
from antecede.protocols.acknowledged import Acknowledged
from antecede.protocols.history import History
from antecede.protocols.matrix import Matrix
from antecede.protocols.monitor import Monitor
from antecede.protocols.optimal import Optimal
from antecede.protocols.pairs import Pairs89
from antecede.protocols.predecessors import Predecessors
from antecede.protocols.server import Server
from antecede.protocols.vector import Vector
from antecede.simulate.oracle import list_set_bits
from tests.cases import SCRIPTS, Script
from tests.harness import run_script
from tests.invariants.checked import KINDS, Checked, vector


class MonitorWorld(Checked):
    """Hoogerwoord: f_p[q] counts the messages of q to mu in p's past, and f_mu = k. KK89 counts the same."""

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Monitor | Server)
        counted = endpoint.past
        assert counted == self.sends_in_past(process)[:, 0].tolist()
        assert process != "p0" or counted == vector(endpoint)


@pytest.mark.parametrize("protocol", ["monitor", "server"])
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_hoogerwoord_and_kk89_count_the_messages_to_the_monitor_in_the_past(
    protocol: str, n: int, script: Script
) -> None:
    options: dict[str, Any] = {protocol: "p0"}
    world = MonitorWorld(protocol, n, **options)
    run_script(world, script, "unicast")
    assert world.stuck() == []


class MatrixWorld(Checked):
    """RST: SENT_k[x][y] counts the sends of x to y in k's past, and SENT_k[x][k] = DELIV_k[x]."""

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Matrix)
        assert endpoint.sent.tolist() == self.sends_in_past(process).tolist()
        assert endpoint.sent[:, endpoint.me].tolist() == vector(endpoint)


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_rst_sent_counts_the_sends_in_the_past(kind: str, n: int, script: Script) -> None:
    world = MatrixWorld("matrix", n)
    run_script(world, script, kind)
    assert world.stuck() == []


class OptimalWorld(Checked):
    """KS: SR grows; LOG holds "m to d" for exactly the m of the past that nobody is known to answer for.

    That is: no delivery of m at d is in the past, and no later message to d that depends on m was sent.
    """

    def __init__(self, n: int, protocol: str = "optimal") -> None:
        super().__init__(protocol, n)
        self.sr = {name: [0] * n for name in self.names}

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Optimal)
        self.check_sr(process, vector(endpoint))
        waiting, newest = set(), dict[int, int]()
        for message in list_set_bits(self.oracle.past[process]):
            sender = self.names.index(str(self.oracle.sender[message]))
            time = self.count(message)
            waiting |= {(sender, time, d) for d in self.duties(process, message)}
            newest[sender] = max(time, newest.get(sender, 0))
        n = endpoint.n
        assert {(pair // n, t, pair % n) for pair, t in endpoint.waiting.items()} == waiting
        assert {s: t for s, t in enumerate(endpoint.newest) if t} == newest

    def check_sr(self, process: str, now: list[int]) -> None:
        before = self.sr[process]
        assert all(old <= new for old, new in zip(before, now, strict=True))
        delivered = [m for at, m in self.deliveries if at == process]
        for x, name in enumerate(self.names):
            counts = [self.count(m) for m in delivered if self.oracle.sender[m] == name != process]
            assert counts == sorted(counts)
            assert now[x] == max(counts, default=0)
        self.sr[process] = now

    def duties(self, process: str, message: int) -> set[int]:
        """The destinations of a message for which somebody must still remember it."""
        later = [
            m for m in list_set_bits(self.oracle.past[process]) if self.oracle.message_past[m] >> message & 1
        ]
        covered = {target for m in later for target in self.targets[m]}
        return {
            self.names.index(target)
            for target in self.targets[message]
            if target not in covered and (message, target) not in self.knows[process]
        }


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_ks_log_is_exactly_what_somebody_must_remember(kind: str, n: int, script: Script) -> None:
    world = OptimalWorld(n)
    run_script(world, script, kind)
    assert world.stuck() == []


class AcknowledgedWorld(OptimalWorld):
    """The same LOG, where an acknowledgement makes a delivery known to the sender, as a message would."""

    def __init__(self, n: int) -> None:
        super().__init__(n, "acknowledged")

    def arrive(self, choice: int) -> Effects:
        packet = antecede.decode(self.network[self.choices()[choice]])
        if packet.kind == "ack":
            clock = msgspec.msgpack.decode(packet.stamp)
            own = [m for m, sender in enumerate(self.oracle.sender) if sender == packet.target]
            self.knows[packet.target].add((own[clock - 1], packet.source))
        return super().arrive(choice)


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_ks_log_with_acknowledgements_is_what_nobody_knows_to_be_delivered(
    kind: str, n: int, script: Script
) -> None:
    world = AcknowledgedWorld(n)
    run_script(world, script, kind)
    assert world.stuck() == [] and world.needless == []
    for name in world.names:  # everything is acknowledged in the end
        endpoint = world.endpoints[name]
        assert isinstance(endpoint, Acknowledged)
        assert endpoint.awaited == set()
        assert not any(pair // n == endpoint.me for pair in endpoint.waiting)


class PredecessorsWorld(Checked):
    """PRS: CB[q] names messages of the past to q, among them the immediate predecessors of the next one.

    Those are the ones that no other of them depends on and that are not known to be delivered.
    """

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Predecessors)
        past = list_set_bits(self.oracle.past[process])
        for q, name in enumerate(self.names):
            if name == process:
                continue
            to_q = {m for m in past if name in self.targets[m]}
            key = {m: (self.names.index(str(self.oracle.sender[m])), self.count(m)) for m in to_q}
            settled = {m for m in to_q for later in to_q if self.oracle.message_past[later] >> m & 1}
            settled |= {m for m in to_q if (m, name) in self.knows[process]}
            named = set(endpoint.barriers.get(q, {}).items())
            assert {key[m] for m in to_q - settled} <= named <= set(key.values())


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_prs_barriers_name_the_immediate_predecessors(kind: str, n: int, script: Script) -> None:
    world = PredecessorsWorld("predecessors", n)
    run_script(world, script, kind)
    assert world.stuck() == []


class PairsWorld(Checked):
    """SES: T counts the sends in the past; V[q] is the time of some messages to q in the past.

    Those that are known to be delivered need not be among them, all others must.
    """

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Pairs89)
        assert vector(endpoint) == self.sends_in_past(process).sum(axis=1).tolist()
        for q, name in enumerate(self.names):
            to_q = [m for m in list_set_bits(self.oracle.past[process]) if name in self.targets[m]]
            least = self.latest([m for m in to_q if (m, name) not in self.knows[process]])
            last = endpoint.last.get(q, [0] * endpoint.n)
            assert name == process or ((least <= last).all() and (last <= self.latest(to_q)).all())

    def latest(self, messages: list[int]) -> np.ndarray[Any, Any]:
        """The largest of the times of some messages, entry by entry."""
        largest: np.ndarray[Any, Any] = np.array([[0] * len(self.names), *map(self.time, messages)]).max(
            axis=0
        )
        return largest

    def time(self, message: int) -> list[int]:
        """How many messages each process sent up to and including this one, as far as it depends on them."""
        past = [*list_set_bits(self.oracle.message_past[message]), message]
        return [sum(self.oracle.sender[m] == name for m in past) for name in self.names]


@given(n=st.integers(2, 4), script=SCRIPTS)
def test_ses_pairs_are_the_times_of_the_last_messages(n: int, script: Script) -> None:
    world = PairsWorld("pairs", n)
    run_script(world, script, "unicast")
    assert world.stuck() == []


class VectorWorld(Checked):
    """BSS: V[x] counts the messages of x delivered here, which are all that were sent in the past."""

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Vector)
        delivered = [self.oracle.sender[m] for m in self.order(process)]
        assert vector(endpoint) == [delivered.count(name) for name in self.names]
        assert self.oracle.past[process] == self.oracle.delivered[process]


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_bss_v_counts_the_deliveries(n: int, script: Script) -> None:
    world = VectorWorld("vector", n)
    run_script(world, script, "broadcast")
    assert world.stuck() == []


class HistoryWorld(Checked):
    """ISIS: the log holds a message of the past for exactly the destinations not known to have it."""

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, History)
        log = {(past.sender, past.count): past.may_lack for past in endpoint.log}
        for message in list_set_bits(self.oracle.past[process]):
            key = (self.names.index(str(self.oracle.sender[message])), self.count(message))
            unknown = {t for t in self.targets[message] if (message, t) not in self.knows[process]}
            assert log.pop(key, set()) == {self.names.index(target) for target in unknown}
        assert log == {} and not endpoint.inbox  # nothing ever waits


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_isis_log_is_what_somebody_may_lack(kind: str, n: int, script: Script) -> None:
    world = HistoryWorld("history", n)
    run_script(world, script, kind)
    assert world.stuck() == []
