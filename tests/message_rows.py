"""Tables of messages for the tests of order: what real endpoints sent, and how they delivered it."""

from typing import Any

from antecede.simulate.network import Network
from antecede.tables import MESSAGES
from tests.simulate.traced import Traced, plan_of

Row = dict[str, Any]
SLOW = Network(delay="pareto:1.2,10")
"""Messages overtake each other all the time."""


class Sent:
    """A run of a protocol: its packets as they arrived, and what each process delivered, in order."""

    def __init__(self, protocol: str, **more: Any) -> None:
        run = Traced(plan_of(protocol, **{"messages": 60, "network": SLOW, "processes": 4, **more}))
        self.names = run.plan.names
        self.packets = run.messages
        self.table = run.messages_table.cast(MESSAGES)
        self.sends = run.of("send")
        self.delivered: dict[str, list[str]] = {name: [] for name in self.names}
        for event in run.of("deliver"):
            if event["sender"] != event["process"]:
                self.delivered[event["process"]].append(event["message"])

    def place(self, name: str) -> int:
        return self.names.index(name)

    def late(self, line: list[str]) -> list[tuple[str, str]]:
        """Messages of the line that come behind one that depends on them, each with that one."""
        clocks = {send["message"]: (send["process"], dict(send["clock"])) for send in self.sends}
        found = []
        for at, late in enumerate(line):
            process, clock = clocks[late]
            own = clock[process]
            found += [(late, early) for early in line[:at] if clocks[early][1].get(process, 0) >= own]
        return found


def lines(rows: list[Row], group: str = "group", what: str = "message") -> dict[str, list[Any]]:
    """What came out in each group, by position; checks that positions are dense."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(row[group], []).append(row)
    for found in out.values():
        found.sort(key=lambda row: row["position"])
        assert [row["position"] for row in found] == list(range(len(found)))
    return {name: [row[what] for row in found] for name, found in out.items()}
