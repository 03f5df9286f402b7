"""Real processes, killed with SIGKILL at random moments under load, paused, and started again."""

import signal
import time

from tests.live.processes import NAMES, ProcessCampaign


class KillCampaign(ProcessCampaign):
    """Kills one or two processes, or lets one stand still."""

    unit = "killed"

    def disturb(self) -> None:
        time.sleep(self.random.uniform(0.0, 0.4))
        victims = self.random.sample(NAMES, self.random.choice([1, 1, 1, 2]))
        if self.random.random() < 0.2:
            self._pause(victims[0])
            return
        self._check_workers()
        for name in victims:
            self.workers[name].send_signal(signal.SIGKILL)
            self.counts["killed"] += 1
        time.sleep(self.random.choice([0.0, 0.0, 0.5]))
        for name in victims:
            self.workers[name].wait()
            self.start(name)

    def _pause(self, name: str) -> None:
        worker = self.workers[name]
        worker.send_signal(signal.SIGSTOP)
        self.counts["paused"] += 1
        time.sleep(self.random.choice([0.3, 1.5]))  # the second is longer than its peers wait
        worker.send_signal(signal.SIGCONT)
