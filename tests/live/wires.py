"""Real processes in network namespaces, whose links are set down, parted, open in one direction, and flap.

Some are killed meanwhile. At the end all links are up, and all that was sent must be everywhere.
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.live.namespaces import Namespaces
from tests.live.processes import NAMES, ProcessCampaign

PORT = 7001
SHORT, LONG = 0.4, 2.0
"""How long links are down, in seconds: less and more than nodes wait until they give a connection up."""


class WireCampaign(ProcessCampaign):
    """One group, each process of which has a namespace."""

    unit = "network faults"

    def __init__(self, folder: Path, seed: int, protocol: str, kind: str, options: dict[str, Any]) -> None:
        self.network = Namespaces(NAMES)
        super().__init__(folder, seed, protocol, kind, options)

    def choose_addresses(self) -> dict[str, str]:
        return {name: f"tcp://{place}:{PORT}" for name, place in self.network.places.items()}

    def wrap_command(self, name: str, command: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self.network.locate(name), *command]

    def disturb(self) -> None:
        faults: list[tuple[str, Callable[[], None]]] = [
            ("partition", self._part),
            ("isolation", self._isolate),
            ("interface off", self._switch_off),
            ("one-way loss", self._mislead),
            ("flapping", self._flap),
        ]
        time.sleep(self.random.uniform(0.0, 0.3))
        what, make_fault = faults[self.counts[self.unit] % len(faults)]
        self.counts[what] += 1
        self.counts[self.unit] += 1
        make_fault()

    def clean_up(self) -> None:
        for name in NAMES:
            self.counts["segments sent again"] += self.network.count_resent(name)
        self.network.remove()

    # -- the faults --------------------------------------------------------------------------------------

    def _part(self) -> None:
        side = self.random.sample(NAMES, self.random.choice([1, 2]))
        self.network.part(side)
        self._wait()
        self.network.join(side)

    def _isolate(self) -> None:
        name = self.random.choice(NAMES)
        self.network.set_port(name, "down")
        self._wait()
        self.network.set_port(name, "up")

    def _switch_off(self) -> None:
        name = self.random.choice(NAMES)
        self.network.set_interface(name, "down")
        self._wait()
        self.network.set_interface(name, "up")

    def _mislead(self) -> None:
        name, other = self.random.sample(NAMES, 2)
        self.network.mislead(name, other)
        self._wait()
        self.network.lead(name, other)

    def _flap(self) -> None:
        name = self.random.choice(NAMES)
        for _ in range(self.random.randrange(3, 8)):
            self.network.set_port(name, "down")
            time.sleep(self.random.uniform(0.02, 0.2))
            self.network.set_port(name, "up")
            self.counts["down and up"] += 1
            time.sleep(self.random.uniform(0.02, 0.2))

    def _wait(self) -> None:
        """Let a fault last; now and then somebody is killed while it does."""
        time.sleep(self.random.choice([SHORT, LONG]))
        if self.random.random() < 0.2:
            name = self.random.choice(NAMES)
            self.workers[name].send_signal(signal.SIGKILL)
            self.workers[name].wait()
            self.counts["killed"] += 1
            self.start(name)
