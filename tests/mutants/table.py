"""A mutant as a row of the table, and how its verdict is reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from antecede import AntecedeError, Endpoint
from antecede.protocols.registry import build_endpoint
from tests.harness import Make
from tests.mutants.drives import Drive, unicast
from tests.mutants.trials import Trial

MEANING = {
    "clean": "no check of the suite sees a difference",
    "slower": "harmless: keeps order, but more messages wait",
    "smaller": "harmless: keeps order, with smaller stamps",
    "larger": "harmless: keeps order, with larger stamps",
    "noisy": "a detector alarms where nothing can be wrong",
    "needless": "a message waits although all its causes are delivered",
    "missed": "a late message is delivered without an alarm",
    "stuck": "a message is never delivered although everything arrived",
    "unsafe": "an effect is delivered before its cause",
    "error": "an error, named by `says`: a message delivered twice, a loop that does not end, a refusal",
}
SEVERITY = [*MEANING]


@dataclass(frozen=True)
class Mutant:
    """One wrong rule. `kind` is the protocol's class with one thing changed.

    An option that is callable is called with (process, group); `sound` are options that the protocol as
    shipped has instead, where the wrong rule is an option of it.
    """

    name: str
    wrong: str
    source: str
    verdict: str
    kind: type[Endpoint]
    drive: Drive = unicast
    options: Mapping[str, Any] = field(default_factory=dict)
    sound: Mapping[str, Any] = field(default_factory=dict)
    trial: type[Trial] = Trial
    sizes: tuple[int, ...] = (3, 4)
    runs: int = 50
    fifo: bool = False
    watch: tuple[str, ...] | None = None
    says: str = ""

    @property
    def shipped(self) -> type[Endpoint]:
        """The class that was mutated."""
        return next(kind for kind in self.kind.__mro__ if kind.__module__.startswith("antecede.protocols."))


@dataclass
class Outcome:
    """The worst that all runs found, what errors said, and what the runs cost."""

    verdict: str = "clean"
    says: str = ""
    stamps: int = 0
    messages: int = 0
    holds: int = 0

    @property
    def cost(self) -> float:
        """Bytes of stamp per message."""
        return self.stamps / max(self.messages, 1)


def maker(kind: type[Endpoint], options: Mapping[str, Any]) -> Make:
    """How a process gets its endpoint of this class."""

    def make(process: str, group: list[str]) -> Endpoint:
        given = {key: value(process, group) if callable(value) else value for key, value in options.items()}
        return build_endpoint(kind, **{"process": process, "group": group, **given})

    return make


def play(mutant: Mutant, kind: type[Endpoint], options: Mapping[str, Any]) -> Outcome:
    """Run all executions of a row with this class."""
    outcome = Outcome()
    for seed in range(mutant.runs):
        random = Random(seed)
        n = random.choice(mutant.sizes)
        try:
            world = mutant.trial(maker(kind, options), n, mutant.fifo, mutant.watch)
            mutant.drive(world, random)
        except (AntecedeError, ValueError, AssertionError) as error:
            outcome.verdict, outcome.says = "error", str(error)
            continue
        outcome.verdict = max([outcome.verdict, *world.findings()], key=SEVERITY.index)
        stamps = [packet.control_bytes for packet in world.packets if packet.kind == "message"]
        outcome.stamps, outcome.messages = outcome.stamps + sum(stamps), outcome.messages + len(stamps)
        outcome.holds += world.holds
    return outcome


def outcomes(mutant: Mutant) -> tuple[Outcome, Outcome]:
    """The executions of a row, with the protocol as shipped and with the mutant."""
    sound = play(mutant, mutant.shipped, {**mutant.options, **mutant.sound})
    return sound, play(mutant, mutant.kind, mutant.options)


def verdict(sound: Outcome, mutated: Outcome) -> str:
    """One word: what was found; or, with nothing found, how the cost differs."""
    if mutated.verdict != "clean":
        return mutated.verdict
    if mutated.cost != sound.cost:
        return "larger" if mutated.cost > sound.cost else "smaller"
    return "slower" if mutated.holds > sound.holds else "clean"
