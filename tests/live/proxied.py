"""Real processes that reach each other through a proxy, which delays, cuts, stalls, alters and repeats."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.live.cluster import find_free_port
from tests.live.processes import NAMES, ROOT, ProcessCampaign
from tests.live.proxy import list_fates


class ProxyCampaign(ProcessCampaign):
    """One group and its proxy. Every other seed has a key; the others only checksums, against accidents."""

    unit = "of each fault of connections"

    def __init__(self, folder: Path, seed: int, protocol: str, kind: str, options: dict[str, Any]) -> None:
        super().__init__(folder, seed, protocol, kind, options)
        command = [sys.executable, "-m", "tests.live.proxy", str(folder), str(seed)]
        with (folder / "proxy.log").open("wb") as log:
            self.proxy = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def choose_routes(self, addresses: dict[str, str]) -> dict[str, dict[str, str]]:
        return {
            name: {other: f"tcp://127.0.0.1:{find_free_port()}" for other in NAMES if other != name}
            for name in NAMES
        }

    def choose_key(self) -> str | None:
        return super().choose_key() if self.seed % 2 == 0 else None

    def disturb(self) -> None:
        """The proxy does, all the time; wait, and count."""
        time.sleep(0.1)
        if self.proxy.poll() is not None:
            raise AssertionError(f"the proxy has ended: {self._read('proxy.log')[-2000:]}")
        counted = json.loads(self._read("proxy.json") or "{}")
        self.counts[self.unit] = min(counted.get(fate, 0) for fate in list_fates(self.plan["key"]))

    def clean_up(self) -> None:
        self.proxy.terminate()
        self.proxy.wait()
        self.counts.update(json.loads(self._read("proxy.json")))
