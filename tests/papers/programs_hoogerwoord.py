"""Hoogerwoord (Hoogerwoord): the five programs of the derivation, each a refinement of the one before.

A and B keep histories H, B and C keep closures G, D only what concerns the monitor mu, E only its sizes. A
message is a number; its sender and receiver are known to all programs, its predecessors only to the
program that computed them. `guard(j)` is the guard of "receive j in mu".
"""

Set = frozenset[int]
EMPTY: Set = frozenset()


class Program:
    """What all five share: who sent which message to whom."""

    def __init__(self, n: int, mu: int) -> None:
        self.n, self.mu = n, mu
        self.sender: dict[int, int] = {}
        self.receiver: dict[int, int] = {}

    def send(self, j: int, p: int, q: int) -> None:
        """Send j from p to q."""
        self.sender[j], self.receiver[j] = p, q
        self._send(j, p, q)

    def receive(self, j: int) -> None:
        """Receive j where it was sent to."""
        q = self.receiver[j]
        self._receive_in_mu(j, self.sender[j]) if q == self.mu else self._receive(j, q)

    def to_mu(self, messages: Set) -> Set:
        """The projection onto R_mu: those of the messages that are sent to the monitor."""
        return frozenset(j for j in messages if self.receiver[j] == self.mu)

    def guard(self, j: int) -> bool:
        """Whether j may be received in mu now."""
        raise NotImplementedError

    def _send(self, j: int, p: int, q: int) -> None:
        raise NotImplementedError

    def _receive(self, j: int, p: int) -> None:
        raise NotImplementedError

    def _receive_in_mu(self, j: int, p: int) -> None:
        raise NotImplementedError


class ProgramA(Program):
    """B_j: the basic predecessors. Their closure C_j is a definition, not yet a variable."""

    def __init__(self, n: int, mu: int) -> None:
        super().__init__(n, mu)
        self.H: list[Set] = [EMPTY] * n
        self.B: dict[int, Set] = {}
        self.K: Set = EMPTY

    def C(self, j: int) -> Set:  # noqa: N802
        """C_j = B_j u U{C_h : h in B_j}."""
        closure: set[int] = set()
        unexplored = [j]
        while unexplored:
            news = self.B[unexplored.pop()] - closure
            closure |= news
            unexplored += news
        return frozenset(closure)

    def guard(self, j: int) -> bool:
        return self.to_mu(self.C(j)) <= self.K

    def _send(self, j: int, p: int, q: int) -> None:
        self.B[j] = self.H[p]
        self.H[p] |= {j}

    def _receive(self, j: int, p: int) -> None:
        self.H[p] |= {j}

    def _receive_in_mu(self, j: int, p: int) -> None:
        self.H[self.mu] |= {j}
        self.K |= {j}


class ProgramB(Program):
    """G_p is the closure of H_p, so a message can carry C_j."""

    def __init__(self, n: int, mu: int) -> None:
        super().__init__(n, mu)
        self.H: list[Set] = [EMPTY] * n
        self.G: list[Set] = [EMPTY] * n
        self.C: dict[int, Set] = {}
        self.K: Set = EMPTY

    def guard(self, j: int) -> bool:
        return self.to_mu(self.C[j]) <= self.K

    def _send(self, j: int, p: int, q: int) -> None:
        self.C[j] = self.G[p]
        self.H[p] |= {j}
        self.G[p] |= {j}

    def _receive(self, j: int, p: int) -> None:
        self.H[p] |= {j}
        self.G[p] |= {j} | self.C[j]

    def _receive_in_mu(self, j: int, p: int) -> None:
        self._receive(j, self.mu)
        self.K |= {j}


class ProgramC(Program):
    """B without H, which has played its role."""

    def __init__(self, n: int, mu: int) -> None:
        super().__init__(n, mu)
        self.G: list[Set] = [EMPTY] * n
        self.C: dict[int, Set] = {}
        self.K: Set = EMPTY

    def guard(self, j: int) -> bool:
        return self.to_mu(self.C[j]) <= self.K

    def _send(self, j: int, p: int, q: int) -> None:
        self.C[j] = self.G[p]
        self.G[p] |= {j}

    def _receive(self, j: int, p: int) -> None:
        self.G[p] |= {j} | self.C[j]

    def _receive_in_mu(self, j: int, p: int) -> None:
        self._receive(j, self.mu)
        self.K |= {j}


class ProgramD(Program):
    """Projections onto R_mu: E_j for C_j, F_p for G_p."""

    def __init__(self, n: int, mu: int) -> None:
        super().__init__(n, mu)
        self.F: list[Set] = [EMPTY] * n
        self.E: dict[int, Set] = {}
        self.K: Set = EMPTY

    def guard(self, j: int) -> bool:
        return self.E[j] <= self.K

    def _send(self, j: int, p: int, q: int) -> None:
        self.E[j] = self.F[p]
        if q == self.mu:
            self.F[p] |= {j}

    def _receive(self, j: int, p: int) -> None:
        self.F[p] |= self.E[j]

    def _receive_in_mu(self, j: int, p: int) -> None:
        self.F[self.mu] |= {j} | self.E[j]
        self.K |= {j}


class ProgramE(Program):
    """Sizes for sets: e_j for E_j, f_p for F_p, k for K, one entry per sender.

    `repaired`: for messages of mu to itself, which the printed program counts at send and again at receipt.
    """

    def __init__(self, n: int, mu: int, repaired: bool = False) -> None:
        super().__init__(n, mu)
        self.repaired = repaired
        self.f = [[0] * n for _ in range(n)]
        self.e: dict[int, list[int]] = {}
        self.k = [0] * n

    def guard(self, j: int) -> bool:
        return all(mine <= theirs for mine, theirs in zip(self.e[j], self.k, strict=True))

    def _send(self, j: int, p: int, q: int) -> None:
        self.e[j] = self.f[p][:]
        if q == self.mu:
            self.f[p][p] += 1

    def _receive(self, j: int, p: int) -> None:
        self.f[p] = [max(pair) for pair in zip(self.f[p], self.e[j], strict=True)]

    def _receive_in_mu(self, j: int, p: int) -> None:
        self._receive(j, self.mu)
        f = self.f[self.mu]
        f[p] = max(f[p], self.e[j][p] + 1) if self.repaired else f[p] + 1
        self.k[p] += 1
