"""monitor: causal delivery at one process, derived step by step (Hoogerwoord).

The final program of section 6: f[q] counts the messages of q to the monitor in this process's past; a
message carries e = f of its sender; the monitor waits until e <= k. The other processes receive in any
order. The programs A to E of the derivation are kept as test oracles and run in step with this one.
A message of the monitor to itself would be counted twice by the printed program and block it
(docs/errata.md); here the copy for oneself is delivered at once and never enters the protocol.
"""

from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.protocols.one_place import OnePlace


class Monitor(OnePlace, kw_only=True):
    """k is the gate's `have` at the monitor; elsewhere the gate lets everything through."""

    facts = Facts(
        name="monitor",
        title="causal delivery at one monitor",
        paper="Hoogerwoord",
        order="causal at one process",
        unicast=True,
        monitor=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
        options={"monitor": "name of the process that receives in causal order"},
    )
    shared = ("monitor",)
    counts_itself = False

    monitor: str

    @property
    def causal_receiver(self) -> str:
        """The monitor."""
        return self.monitor

    @staticmethod
    def find_needs_and_gains(stamp: list[int], source: int, receiver: int) -> tuple[list[int], Pairs]:
        """At the monitor all that e counts comes first."""
        return stamp, [(source, stamp[source] + 1)]
