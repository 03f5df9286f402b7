"""Runs with their trace in memory, for the tests of this package."""

from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from antecede import Packet
from antecede.simulate.network import Network
from antecede.simulate.queue import Queue
from antecede.simulate.run import Plan, Run, Simulation
from antecede.simulate.trace import RunTrace, TableCollector
from antecede.tables import EVENTS, MESSAGES

Row = dict[str, Any]
FAULTY = Network(
    delay="exponential:20", loss=0.1, duplicate=0.1, partitions=2, partition_time=100, crashes=8, down_time=50
)
"""All faults at once."""


def plan_of(protocol: str, **more: Any) -> Plan:
    """A small plan; `sync` in the form that does not deadlock."""
    options = {"form": "site"} if protocol == "sync" else {}
    small = {"protocol": protocol, "messages": 200, "rate": 20.0, "options": options}
    return Plan(**{**small, **more})


class Traced:
    """A run with its tables."""

    def __init__(self, plan: Plan, before: Callable[[Simulation], None] | None = None) -> None:
        self.plan = plan
        self.sinks = TableCollector(EVENTS), TableCollector(MESSAGES)
        self.simulation = Simulation(plan, self._tracing)
        if before:
            before(self.simulation)
        self.run: Run = self.simulation.run()
        self.events_table, self.messages_table = (sink.build_table() for sink in self.sinks)
        self.events: list[Row] = self.events_table.to_pylist()
        self.messages: list[Row] = self.messages_table.to_pylist()

    def _tracing(self, queue: Queue, names: list[str]) -> RunTrace:
        return RunTrace(queue, "run", names, *self.sinks)

    def of(self, kind: str) -> list[Row]:
        """The events of a kind, in the order in which they happened."""
        return [row for row in self.events if row["kind"] == kind]

    def times(self, kind: str) -> dict[tuple[str, str], float]:
        """When each message met such an event at each process."""
        return {(row["process"], row["message"]): row["time"] for row in self.of(kind)}


def outcome(run: Run) -> bytes:
    """A run as bytes."""
    return msgspec.json.encode(run)


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables are equal."""
    return bool(one.equals(other))


def packet(row: Row, tag: int) -> Packet:
    """The packet that a row of the messages table is about."""
    number = b"" if row["message"] is None else int(row["message"][1:]).to_bytes(8, "little")
    return Packet(
        row["protocol"], tag, row["kind"], row["sender"], row["group"], row["number"], row["stamp"], number
    )


def talk(protocol: str, **more: Any) -> tuple[Traced, list[int | None]]:
    """A conversation, unless another workload is named; and what each message was declared to depend on."""
    declared: list[int | None] = []

    def spy(simulation: Simulation) -> None:
        record = simulation.watch.record_send_and_make_payload

        def listening(process: int, targets: list[int], depends_on: int | None) -> bytes:
            declared.append(depends_on)
            return record(process, targets, depends_on)

        simulation.watch.record_send_and_make_payload = listening  # type: ignore[method-assign]

    plan = plan_of(protocol, **{"workload": "conversation", "rate": 50.0, **more})
    return Traced(plan, spy), declared
