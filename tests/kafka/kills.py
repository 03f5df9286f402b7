"""The campaign of kills over a broker, which is killed now and then, too."""

import signal
import time
from pathlib import Path
from typing import Any

from scripts.kafka_broker import Broker
from tests.live.kills import KillCampaign
from tests.live.processes import NAMES

KILLS_OF_BROKER = 0.1


class BrokerKillCampaign(KillCampaign):
    """One group of processes in one folder, over a broker of its own."""

    def __init__(
        self, folder: Path, seed: int, protocol: str, kind: str, options: dict[str, Any], broker: Broker
    ) -> None:
        addresses = {name: f"kafka://{broker.address}/{protocol}-{seed}-{name}" for name in NAMES}
        super().__init__(folder, seed, protocol, kind, options, addresses)
        self.broker = broker

    def disturb(self) -> None:
        if self.random.random() >= KILLS_OF_BROKER:
            super().disturb()
            return
        self.broker.stop(signal.SIGKILL)
        self.counts["broker killed"] += 1
        time.sleep(self.random.choice([0.0, 1.5]))  # the second is longer than nodes wait for an answer
        self.broker.start()
