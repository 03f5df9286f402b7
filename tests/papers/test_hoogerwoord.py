"""Hoogerwoord: causal delivery at one monitor. Programs A to E in step with the shipped endpoint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Packet
from antecede.protocols.matrix import Matrix
from antecede.protocols.monitor import Monitor
from tests.cases import SCRIPTS, Script
from tests.papers.programs_hoogerwoord import Program, ProgramA, ProgramB, ProgramC, ProgramD, ProgramE
from tests.papers.stage import cast, have, hear_each, missing, send, stamp, words

MU = 0


class LockStep:
    """The five programs and the endpoints do the same steps; every step compares all that can be compared.

    The monitor is driven by hand: what has arrived stays in a pool until its guard is evaluated to true and
    it is picked, so every guard is evaluated after every step.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.a, self.b, self.c = ProgramA(n, MU), ProgramB(n, MU), ProgramC(n, MU)
        self.d, self.e = ProgramD(n, MU), ProgramE(n, MU)
        self.programs: list[Program] = [self.a, self.b, self.c, self.d, self.e]
        self.p = cast(Monitor, n, monitor=f"p{MU}", manual=True)
        self.network: list[Packet] = []
        self.pool: set[int] = set()

    def send(self, p: int, q: int) -> None:
        j = len(self.e.e)
        for program in self.programs:
            program.send(j, p, q)
        packet = send(self.p[p], str(j), q)
        assert stamp(packet) == self.e.e[j]
        self.network.append(packet)
        self.check()

    def arrive(self, at: int) -> None:
        packet = self.network.pop(at % len(self.network))
        q = int(packet.target[1:])
        self.p[q].receive(packet)
        if q == MU:
            self.pool.add(int(packet.payload))
        else:
            assert words(self.p[q].take()) == packet.payload.decode()
            self._receive_everywhere(int(packet.payload))
        self.check()

    def pick(self, choice: int) -> bool:
        """Receive one of the messages whose guard is true, whichever the choice says."""
        eligible = sorted(j for j in self.pool if self.e.guard(j))
        if not eligible:
            return False
        j = eligible[choice % len(eligible)]
        assert words(self.p[MU].take(f"p{self.e.sender[j]}")) == str(j)
        self.pool.remove(j)
        self._receive_everywhere(j)
        self.check()
        return True

    def _receive_everywhere(self, j: int) -> None:
        for program in self.programs:
            program.receive(j)

    def check(self) -> None:
        self.check_guards()
        self.check_p0_to_p3()
        self.check_sizes()
        self.check_closed()

    def check_guards(self) -> None:
        gate = self.p[MU].gate
        shipped = {int(gate.items[arrival].what.payload) for arrival in gate.ready}
        for program in self.programs:
            assert {j for j in self.pool if program.guard(j)} == shipped

    def check_p0_to_p3(self) -> None:
        a, b, c, d = self.a, self.b, self.c, self.d
        for j in d.E:
            assert a.C(j) == b.C[j] == c.C[j]
            assert d.E[j] == d.to_mu(c.C[j])  # P2
            if j in a.K:
                assert a.to_mu(a.C(j)) <= a.K  # P0
        for p in range(self.n):
            assert a.H[p] == b.H[p]
            assert b.G[p] == c.G[p] == b.H[p].union(*(b.C[h] for h in b.H[p]))  # P1
            assert d.F[p] == d.to_mu(c.G[p])  # P3
        assert a.K == b.K == c.K == d.K

    def check_sizes(self) -> None:
        d, e = self.d, self.e
        sizes = lambda messages: [sum(d.sender[j] == p for j in messages) for p in range(self.n)]  # noqa: E731
        assert all(e.e[j] == sizes(d.E[j]) for j in e.e)
        assert [endpoint.past for endpoint in self.p] == e.f == [sizes(F) for F in d.F]
        assert have(self.p[MU]) == e.k == sizes(d.K)
        assert e.f[MU] == e.k  # one of the two vectors is redundant, as mu sends nothing to itself

    def check_closed(self) -> None:
        """E_j restricted to sender p is a prefix of p's messages to mu."""
        d = self.d
        for p in range(self.n):
            to_mu = sorted(j for j in d.E if d.sender[j] == p and d.receiver[j] == MU)
            for predecessors in d.E.values():
                mine = sorted(j for j in predecessors if d.sender[j] == p)
                assert mine == to_mu[: len(mine)]

    def check_lemma_0(self) -> None:
        """Within one sender causal precedence is sequential precedence."""
        sender = self.c.sender
        for j, predecessors in self.c.C.items():
            own = {i for i in sender if sender[i] == sender[j]}
            assert predecessors & own == {i for i in own if i < j}


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_hoogerwoord_programs_a_to_e_and_the_endpoint_in_lock_step(n: int, script: Script) -> None:
    play = LockStep(n)
    for action, a, b in script:
        if action == 0:
            play.pick(a)
        elif action == 1 and play.network:
            play.arrive(a)
        else:
            play.send(a % n, (a + 1 + b % (n - 1)) % n)
    play.check_lemma_0()
    while play.network:
        play.arrive(len(play.pool))
    while play.pool:
        assert play.pick(len(play.pool))  # nothing is stuck


def test_hoogerwoord_triangle() -> None:
    p1, p2, mu = cast(Monitor, 3, monitor="p2")
    x = send(p1, "x", 2)
    assert stamp(x) == [0, 0, 0]
    assert p1.past == [1, 0, 0]
    y = send(p1, "y", 1)
    assert stamp(y) == [1, 0, 0]
    assert words(p2.receive(y)) == "y"
    assert p2.past == [1, 0, 0]
    z = send(p2, "z", 2)
    assert stamp(z) == [1, 0, 0]
    assert words(mu.receive(z)) == ""
    assert missing(mu) == [("z", "p0", 0, 1)]
    assert words(mu.receive(x)) == "x z"
    assert have(mu) == [1, 1, 0]


def test_hoogerwoord_others_receive_in_any_order() -> None:
    p1, p2, _ = cast(Monitor, 3, monitor="p2")
    first = send(p1, "first", 1)
    second = send(p1, "second", 1)
    assert hear_each(p2, second, first) == ["second", "first"]


def play_self_send(program: Program) -> bool:
    """mu sends s to itself, receives it, sends x to p1, which answers y: whether y may be received."""
    program.send(0, MU, MU)
    assert program.guard(0)
    program.receive(0)
    program.send(1, MU, 1)
    program.receive(1)
    program.send(2, 1, MU)
    return program.guard(2)


@pytest.mark.parametrize("kind", [ProgramA, ProgramB, ProgramC, ProgramD])
def test_hoogerwoord_self_send_does_not_block_the_set_programs(kind: type[Program]) -> None:
    assert play_self_send(kind(2, MU))


def test_hoogerwoord_self_send_blocks_the_printed_program_e_and_not_the_repaired_one() -> None:
    printed = ProgramE(2, MU)
    assert not play_self_send(printed)
    assert (printed.f[MU], printed.k, printed.e[2]) == ([2, 0], [1, 0], [2, 0])
    assert play_self_send(ProgramE(2, MU, repaired=True))


def test_hoogerwoord_self_send_through_the_endpoint_is_delivered_at_once_and_blocks_nothing() -> None:
    mu, p1 = cast(Monitor, 2, monitor="p0")
    assert words(mu.send(b"s", to=["p0"])) == "s"
    assert mu.past == [0, 0]
    p1.receive(send(mu, "x", 1))
    assert words(mu.receive(send(p1, "y", 0))) == "y"


@given(n=st.integers(2, 4), script=SCRIPTS)
def test_hoogerwoord_self_sends_repaired_program_e_agrees_with_d(n: int, script: Script) -> None:
    d = ProgramD(n, MU)
    e = ProgramE(n, MU, repaired=True)
    on_the_way: list[int] = []
    for action, a, b in script:
        ready = [j for j in on_the_way if d.receiver[j] != MU or d.guard(j)]
        if action % 2 and ready:
            j = ready[a % len(ready)]
            on_the_way.remove(j)
            d.receive(j)
            e.receive(j)
        else:
            on_the_way.append(len(d.E))
            d.send(on_the_way[-1], a % n, b % n)
            e.send(on_the_way[-1], a % n, b % n)
        assert all(d.guard(j) == e.guard(j) for j in d.E)


class Copies:
    """The matrix, and one group of monitor endpoints per process as the monitor, on the same deliveries."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.matrix = cast(Matrix, n)
        self.copies = [cast(Monitor, n, monitor=f"p{mu}") for mu in range(n)]
        self.packets: list[list[Packet]] = []
        self.network: list[Packet] = []

    def send(self, p: int, q: int) -> None:
        text = str(len(self.packets))
        self.network.append(send(self.matrix[p], text, q))
        self.packets.append([send(copy[p], text, q) for copy in self.copies])

    def arrive(self, at: int) -> None:
        packet = self.network.pop(at % len(self.network))
        q = int(packet.target[1:])
        for j in words(self.matrix[q].receive(packet)).split():
            for copy, same in zip(self.copies, self.packets[int(j)], strict=True):
                assert words(copy[q].receive(same)) == j

    def check(self) -> None:
        for mu, copy in enumerate(self.copies):
            assert have(copy[mu]) == have(self.matrix[mu])
            assert [p.past for p in copy] == [p.sent[:, mu].tolist() for p in self.matrix]


@given(n=st.integers(2, 4), script=SCRIPTS)
def test_hoogerwoord_one_copy_per_process_is_the_matrix(n: int, script: Script) -> None:
    play = Copies(n)
    for action, a, b in script:
        if action % 2 and play.network:
            play.arrive(a)
        else:
            play.send(a % n, (a + 1 + b % (n - 1)) % n)
        play.check()
