"""Simulated networks, workloads and faults, and the explorer: drives real endpoints, deterministically.

Owns: the event loop, the network's delays and faults, the applications' traffic, what a run cost, the
traces it leaves, the exhaustive explorer and the fault campaign. Must not know: any protocol's rules (it
sees endpoints and packets only), wall-clock time, sockets, Spark, the terminal.

    from antecede.simulate import Network, Plan, explore, simulate

    run = simulate(Plan(protocol="optimal", processes=5, network=Network(loss=0.1)))
    print(run.costs, run.broken)

What is listed here is for callers, and imported when it is asked for.
"""

from typing import TYPE_CHECKING

from antecede._lazy import make_lazy_importer

if TYPE_CHECKING:
    from antecede.simulate.costs import Costs
    from antecede.simulate.explorer import End, Exploration, explore
    from antecede.simulate.network import Network
    from antecede.simulate.run import Plan, Run, simulate
    from antecede.simulate.watch import Verdict

__all__ = ["Costs", "End", "Exploration", "Network", "Plan", "Run", "Verdict", "explore", "simulate"]

_HOMES = {
    "costs": ("Costs",),
    "explorer": ("End", "Exploration", "explore"),
    "network": ("Network",),
    "run": ("Plan", "Run", "simulate"),
    "watch": ("Verdict",),
}
if not TYPE_CHECKING:  # a checker knows all names, and would take any other for one
    __getattr__ = make_lazy_importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
