"""What the applications do: when a process sends, to whom, and what it answers.

A workload has n processes, each of which acts at a rate (messages per second of simulated time) until a
number of messages is sent in all. `gap` is the time until a process acts again, `targets` whom it writes
to, `answer` what a delivery makes it do.
"""

from typing import NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.simulate.delays import make_value_stream

SECOND = 1000.0
WITH_FANOUT = ("uniform", "hot-spot", "bursty", "dependent")
"""Workloads whose messages may go to several processes at once."""


class Answer(NamedTuple):
    """Something to send `after` some time, because of a delivery."""

    after: float
    targets: list[int]


class Workload:
    """uniform: everybody writes to everybody alike, at random times, to `fanout` processes at once."""

    declares = False
    """Whether messages say what they depend on: an answer on its delivery, others by `choose_dependence`."""
    settings: tuple[str, ...] = ()
    """Numbers that may follow the name, as in "dependent:0.5,10": parameters of the class."""

    def __init__(
        self,
        n: int,
        rate: float,
        rng: np.random.Generator,
        fanout: int = 1,
    ) -> None:
        if not 1 <= fanout < n:
            raise CallerError(f"fanout={fanout}: a message goes to 1 to {n - 1} of {n} processes")
        self.n, self.mean, self.fanout = n, SECOND / rate, fanout
        self.gaps = make_value_stream(rng, lambda rng, size: rng.exponential(self.mean, size))
        self.chances = make_value_stream(rng, lambda rng, size: rng.random(size))

    def draw_gap_ms(self, process: int) -> float | None:
        """Time until the process acts again; None if it never does by itself."""
        return self.gaps()

    def choose_targets(self, process: int) -> list[int] | None:
        """The destinations of its next message; None is everybody."""
        if self.fanout == 1:
            return [self.draw_other_process(process)]
        others = [x for x in range(self.n) if x != process]
        for i in range(self.fanout):
            j = i + int(self.chances() * (len(others) - i))
            others[i], others[j] = others[j], others[i]
        return others[: self.fanout]

    def choose_answer(self, process: int, sender: int) -> Answer | None:
        """What the process does on delivery of a message."""
        return None

    def choose_dependence(self, latest_own_event: int) -> int | None:
        """What a message that answers nothing is declared to depend on: the number of an own event of its
        process, whose latest has this number; 0 for nothing, None where messages do not say."""
        return 0 if self.declares else None

    def draw_other_process(self, process: int) -> int:
        """Somebody else, everybody with the same chance."""
        other = int(self.chances() * (self.n - 1))
        return other + (other >= process)


class Ring(Workload):
    """ring: everybody writes to the next one."""

    def choose_targets(self, process: int) -> list[int]:
        return [(process + 1) % self.n]


class ClientServer(Workload):
    """client-server: the first process answers whatever the others ask it."""

    def draw_gap_ms(self, process: int) -> float | None:
        return self.gaps() if process else None

    def choose_targets(self, process: int) -> list[int]:
        return [0]

    def choose_answer(self, process: int, sender: int) -> Answer | None:
        return None if process else Answer(self.gaps() / 10, [sender])


class HotSpot(Workload):
    """hot-spot: the k-th process gets 1/k of what the first one gets (Zipf)."""

    def __init__(
        self,
        n: int,
        rate: float,
        rng: np.random.Generator,
        fanout: int = 1,
    ) -> None:
        super().__init__(n, rate, rng, fanout)
        weights = 1 / np.arange(1, n + 1)
        self.top = float(weights.sum())
        steps = weights.cumsum()
        self.ranks = make_value_stream(
            rng, lambda rng, size: steps.searchsorted(rng.random(size) * self.top).astype(np.float64)
        )

    def choose_targets(self, process: int) -> list[int]:
        chosen: list[int] = []
        while len(chosen) < self.fanout:
            target = min(int(self.ranks()), self.n - 1)
            if target != process and target not in chosen:
                chosen.append(target)
        return chosen


class Bursty(Workload):
    """bursty: nothing for a while, then ten messages on average, one right after the other."""

    SIZE = 10

    def draw_gap_ms(self, process: int) -> float:
        if self.chances() < 1 / self.SIZE:
            return self.gaps() * 0.955 * self.SIZE
        return self.gaps() / 20


class Conversation(Workload):
    """conversation: half of what is delivered is answered, to the sender or to a third process.

    An answer declares that it depends on the delivery it answers, and an opening that it depends on nothing.
    """

    declares = True

    def choose_answer(self, process: int, sender: int) -> Answer | None:
        if self.chances() < 0.5:
            return None
        target = sender if self.chances() < 0.5 else self.draw_other_process(process)
        return Answer(self.gaps() / 10, [target])


class Dependent(Workload):
    """dependent: uniform, and a message depends, with a chance, on one of the latest events of its sender.

    "dependent:CHANCE,DEPTH": that one is drawn from the latest DEPTH sends and deliveries of the process,
    each with the same chance. Any other message depends on nothing.
    """

    declares = True
    settings = ("chance", "depth")

    def __init__(
        self,
        n: int,
        rate: float,
        rng: np.random.Generator,
        fanout: int = 1,
        *,
        chance: float = 0.5,
        depth: float = 10,
    ) -> None:
        super().__init__(n, rate, rng, fanout)
        if not 0 <= chance <= 1:
            raise CallerError(f"workload 'dependent': a chance of {chance:g} is not from 0 to 1")
        if depth < 1 or depth % 1:
            raise CallerError(
                f"workload 'dependent': a depth of {depth:g} is not a number of events from 1 on"
            )
        self.chance, self.depth = chance, int(depth)

    def choose_dependence(self, latest_own_event: int) -> int:
        is_dependent = self.chances() < self.chance
        back = int(self.chances() * self.depth)
        return max(latest_own_event - back, 0) if is_dependent else 0


class Broadcast(Workload):
    """broadcast: everybody writes to all, as a Poisson process (the model of Mostefaoui and Weiss 2017)."""

    def choose_targets(self, process: int) -> None:
        return None


class Monitored(Workload):
    """monitored: half of all messages go to the first process, which only listens, and half among the "
    "others."""

    def draw_gap_ms(self, process: int) -> float | None:
        return self.gaps() if process else None

    def choose_targets(self, process: int) -> list[int]:
        if self.n == 2 or self.chances() < 0.5:
            return [0]
        other = 1 + int(self.chances() * (self.n - 2))
        return [other + (other >= process)]


WORKLOADS: dict[str, type[Workload]] = {
    "uniform": Workload,
    "client-server": ClientServer,
    "ring": Ring,
    "hot-spot": HotSpot,
    "bursty": Bursty,
    "conversation": Conversation,
    "dependent": Dependent,
    "broadcast": Broadcast,
    "monitored": Monitored,
}


def make_workload(
    text: str,
    n: int,
    rate: float,
    rng: np.random.Generator,
    fanout: int,
) -> Workload:
    """A workload by name, or by name and settings."""
    name, settings = parse_workload(text)
    if fanout > 1 and name not in WITH_FANOUT:
        raise CallerError(
            f"workload {name!r} has its own destinations: fanout is for {', '.join(WITH_FANOUT)}"
        )
    return WORKLOADS[name](n, rate, rng, fanout, **settings)


def parse_workload(text: str) -> tuple[str, dict[str, float]]:
    """The name and the settings of a workload such as "ring" or "dependent:0.5,10"."""
    name, colon, rest = text.partition(":")
    if name not in WORKLOADS:
        raise CallerError(f"unknown workload {name!r}; choose one of {', '.join(WORKLOADS)}")
    if not colon:
        return name, {}
    wanted = WORKLOADS[name].settings
    try:
        numbers = [float(number) for number in rest.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(wanted):
        form = f"{name}:{','.join(wanted).upper()}" if wanted else name
        raise CallerError(f"workload {text!r}: write {form}")
    return name, dict(zip(wanted, numbers, strict=True))
