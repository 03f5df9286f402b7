"""Worlds in which mutants are tried. Each says in single words what a run found."""

from collections.abc import Sequence
from typing import Any

from antecede import Delivery, Effects
from antecede.protocols.detectors import ALGORITHM_4, ALGORITHM_5, SHARPER
from tests.harness import World
from tests.semantic_oracle import SemanticOracle

ALARMS = (ALGORITHM_4, ALGORITHM_5, SHARPER)


class Trial(World):
    """The world of the suite; `holds` adds up what waits after each arrival."""

    holds = 0

    def arrive(self, choice: int) -> Effects:
        effects = super().arrive(choice)
        self.holds += sum(map(len, self.waiting.values()))
        return effects

    def findings(self) -> set[str]:
        """What is wrong with this run: safety, liveness, and delay-optimality where it is claimed."""
        facts = self.endpoints[self.names[0]].facts
        needless = self.needless if facts.delay_optimal else []
        found = {"unsafe": self.violations, "stuck": self.stuck(), "needless": needless}
        return {word for word, evidence in found.items() if evidence}


class ManualTrial(Trial):
    """Endpoints made with manual=True: what is ready waits for the application, which is no delay."""

    def take(self, process: str, sender: str | None = None) -> bool:
        """Let the application receive; whether there was something."""
        effects = self.endpoints[process].take(sender)
        self._take_effects(process, effects)
        return bool(effects.deliveries)

    def findings(self) -> set[str]:
        return super().findings() - {"needless"}


class SemanticTrial(Trial):
    """Asks the oracle of semantic order (Gambhire00) instead: safe is what keeps the dependences declared."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.semantic = SemanticOracle(self.names)
        self.broken: list[tuple[str, int, list[int]]] = []

    def local(self, process: str, depends_on: int = 0) -> None:
        """An internal event."""
        self.endpoints[process].local()  # type: ignore[attr-defined]
        self.semantic.local(process, depends_on)

    def send(self, process: str, to: Sequence[str] | None = None, depends_on: int = 0, **how: Any) -> int:
        self.semantic.record_send(process, self.names if to is None else to, depends_on)
        return super().send(process, to, depends_on=depends_on, **how)

    def _note_delivery(self, process: str, delivery: Delivery) -> None:
        super()._note_delivery(process, delivery)
        message = int(delivery.payload)
        if delivery.event is None:  # the sender's own copy, which is no event
            self.semantic.delivered[process] |= 1 << message
            return
        depends_on = delivery.event - 1 if message % 2 else 0
        if missing := self.semantic.record_delivery_and_list_missing_causes(process, message, depends_on):
            self.broken.append((process, message, missing))

    def findings(self) -> set[str]:
        found = {"unsafe": self.broken, "stuck": self.stuck()}
        return {word for word, evidence in found.items() if evidence}


class AlarmTrial(Trial):
    """Looks at the detectors only. `exact`: the entries are a vector clock, so no alarm is right."""

    exact = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alarms: set[str] = set()

    def _note_delivery(self, process: str, delivery: Delivery) -> None:
        message = int(delivery.payload)
        late = self.oracle.is_late(process, message) and delivery.sender != process
        if late and any(alarm not in delivery.alarms for alarm in ALARMS):
            self.alarms.add("missed")
        if delivery.alarms and self.exact:
            self.alarms.add("noisy")
        super()._note_delivery(process, delivery)

    def findings(self) -> set[str]:
        return self.alarms | ({"stuck"} if self.stuck() else set())


class ExactAlarmTrial(AlarmTrial):
    """Detectors over a vector clock."""

    exact = True


class JoinTrial(Trial):
    """The last process joins while the others talk; a message goes to those its sender has admitted."""

    @property
    def newcomer(self) -> str:
        return self.names[-1]

    def send(self, process: str, to: Sequence[str] | None = None, **how: Any) -> int:
        message = self.oracle.record_send(process, self.endpoints[process].group)
        self._take_effects(process, self.endpoints[process].send(str(message).encode()))
        return message

    def note_join(self, sponsor: str) -> None:
        """From now on the newcomer counts as having delivered what its sponsor has."""
        self.oracle.delivered[self.newcomer] |= self.oracle.delivered[sponsor]
        self.oracle.past[self.newcomer] |= self.oracle.past[sponsor]
