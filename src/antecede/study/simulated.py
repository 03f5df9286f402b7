"""What a run of the simulator measures, under the names of the costs table."""

from __future__ import annotations

from antecede.simulate.run import Plan, Run, simulate
from antecede.study.experiment import Metrics

EXCHANGE = 20.0
"""The mean delay of a packet in these studies, in milliseconds."""
EXPONENTIAL = f"exponential:{EXCHANGE:g}"


def find_rate_for_load(in_flight: float) -> float:
    """Messages per second of each process, so that this many of its messages are under way on average."""
    return 1000 * in_flight / EXCHANGE


def measure_plan(plan: Plan) -> Metrics:
    """Run a plan and list everything that it cost."""
    return list_run_metrics(simulate(plan))


def list_run_metrics(run: Run) -> Metrics:
    """Per message unless the name says otherwise; times in milliseconds, sizes in bytes."""
    costs, verdict = run.costs, run.verdict
    deliveries = max(costs.deliveries, 1)
    return {
        "control_bytes": costs.control_bytes.mean,
        "control_bytes_p99": costs.control_bytes.p99,
        "entries": costs.entries.mean,
        "packets": costs.packets / max(costs.messages, 1),
        "extras": costs.extras,
        "acks": costs.acks,
        "control_packet_bytes": costs.control_packet_bytes,
        "total_bytes": costs.total_bytes,
        "wait": costs.wait.mean,
        "wait_p99": costs.wait.p99,
        "needless": costs.needless.mean,
        "waited_rate": costs.waited / deliveries,
        "needless_rate": costs.waited_needlessly / deliveries,
        "blocked": costs.blocked.mean,
        "held_back": costs.held_back.mean,
        "latency": costs.latency.mean,
        "latency_p99": costs.latency.p99,
        "peak_held": costs.peak_held,
        "early_rate": verdict.early / deliveries,
        "late_rate": verdict.late / deliveries,
        "stuck": verdict.stuck + verdict.lost,
        "unsent": run.unsent,
        "time": run.time,
    }
