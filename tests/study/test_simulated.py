"""What a run of the simulator costs in all, counted once more packet by packet."""

import pytest

from antecede.simulate.run import Plan, simulate
from antecede.study.simulated import list_run_metrics


@pytest.mark.parametrize("protocol", ["vector", "flood", "probabilistic"])
def test_total_bytes_are_the_stamps_of_all_packets_also_of_those_passed_on(protocol: str) -> None:
    run = simulate(Plan(protocol=protocol, processes=6, workload="broadcast", messages=40, seed=3))
    metrics = list_run_metrics(run)
    assert metrics["acks"] == metrics["extras"] == 0
    assert metrics["total_bytes"] == pytest.approx(metrics["packets"] * metrics["control_bytes"])
