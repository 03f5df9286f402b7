"""The protocols of the demo: one triangle of messages, played through five of them, with who waits for what
and why; then a simulated run over a bad network, with what each protocol cost.

P1 sends x to P3, then y to P2; P2 answers y with z to P3; the network is slow with x. This is the program
of Figures 4 to 6 of Mattern and Fünfrocken (1995), and of Figure 2 of Gambhire and Kshemkalyani (2000) where
z does not depend on y. Every line printed is what the endpoints did in this run.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

import antecede
from antecede.cli.tables import describe_run_outcome, make_costs_table
from antecede.simulate.network import PRESETS
from antecede.simulate.oracle import Oracle
from antecede.simulate.run import Plan, simulate

GROUP = ["P1", "P2", "P3"]
RUNS: list[tuple[str, str, dict[str, Any], dict[str, int]]] = [
    ("unordered", "no protocol (Mattern and Fünfrocken 1995, Figure 4)", {}, {}),
    ("matrix", "the receiver holds z back (Mattern and Fünfrocken 1995, Figure 5)", {}, {}),
    ("bounded", "the same with sparse matrices, k = 4 (Sanchez and Alvarez)", {"k": 4}, {}),
    ("buffered", "the sender holds y back (Mattern and Fünfrocken 1995, Figure 6)", {}, {}),
    (
        "semantic",
        "z depends on the delivery of y, and waits (Gambhire and Kshemkalyani 2000, Figure 1)",
        {},
        {"y": 0, "z": 1},
    ),
    (
        "semantic",
        "nothing depends on anything: no false causality (the same, Figure 2)",
        {},
        {"y": 0, "z": 0},
    ),
]
"""Protocol, title, options, and the own event that a message depends on, where one is declared."""

BAD_NETWORK = msgspec.structs.replace(
    PRESETS["regions"], loss=0.2, duplicate=0.2, partitions=2, partition_time=500, crashes=8
)
COMPARED: dict[str, dict[str, Any]] = {
    "unordered": {}, "matrix": {}, "optimal": {}, "bounded": {"k": 16}, "buffered": {},
}  # fmt: skip


@dataclass
class Play:
    """One run: the endpoints, the packets under way, the story so far."""

    protocol: str
    options: dict[str, Any]
    depends: dict[str, int]
    story: list[tuple[str, str, str]] = field(default_factory=list)
    network: list[antecede.Packet] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    control: int = 0
    packets: int = 0

    def __post_init__(self) -> None:
        make = antecede.endpoint
        self.ends = {p: make(self.protocol, process=p, group=GROUP, **self.options) for p in GROUP}
        self.oracle = Oracle(GROUP)
        self.numbers: dict[str, int] = {}

    def play_triangle_with_x_last(self) -> None:
        """Send x and y, then let everything arrive, x last."""
        self.send("P1", "x", "P3")
        self.send("P1", "y", "P2")
        while self.network:
            self.network.sort(key=lambda packet: packet.payload == b"x")
            self.receive_packet(self.network.pop(0))

    def send(self, source: str, message: str, target: str) -> None:
        """One process sends to another."""
        how = {"depends_on": self.depends[message]} if message in self.depends else {}
        self.numbers[message] = self.oracle.record_send(source, [target])
        effects = self.ends[source].send(message.encode(), to=[target], **how)
        on_its_way = any(packet.payload == message.encode() for packet in effects.packets)
        note = "" if on_its_way else self.record_and_explain_wait(source, message)
        self.add_story_line(source, f"sends {message} to {target}", note)
        self.apply_effects(source, effects)

    def receive_packet(self, packet: antecede.Packet) -> None:
        """A packet reaches its target."""
        message = packet.payload.decode()
        effects = self.ends[packet.target].receive(packet)
        if packet.kind == "message":
            delivered = any(delivery.payload == packet.payload for delivery in effects.deliveries)
            note = "" if delivered else self.record_and_explain_wait(packet.target, message)
            self.add_story_line(packet.target, f"{message} arrives", note)
        else:
            self.add_story_line(packet.target, f"{packet.kind} from {packet.source} arrives", "")
        self.apply_effects(packet.target, effects)

    def apply_effects(self, process: str, effects: antecede.Effects) -> None:
        """Put packets on their way and hand deliveries up."""
        self.network += effects.packets
        self.packets += len(effects.packets)
        self.control += sum(packet.control_bytes for packet in effects.packets)
        for packet in effects.packets:
            if packet.kind != "message":
                self.add_story_line(process, f"sends {packet.kind} to {packet.target}", "")
            elif self.waited and packet.payload.decode() == "y":
                self.add_story_line(process, "y leaves the output buffer", "")
        for delivery in effects.deliveries:
            self.deliver_and_answer_y(process, delivery)

    def deliver_and_answer_y(self, process: str, delivery: antecede.Delivery) -> None:
        """The application gets a message; P2 answers y with z."""
        message = delivery.payload.decode()
        late = self.oracle.is_late(process, self.numbers[message])
        causes = self.oracle.record_delivery_and_list_missing_causes(process, self.numbers[message])
        names = [name for name, number in self.numbers.items() if number in causes]
        self.early += [message] if names else []
        self.add_story_line(
            process, f"[bold]delivers {message}[/]", self.describe_delivery_order(names, late)
        )
        if process == "P3":
            self.order.append(message)
        if message == "y":
            self.send("P2", "z", "P3")

    def describe_delivery_order(self, missing_causes: list[str], is_late: bool) -> str:
        """How a delivery stands to causal order."""
        if not missing_causes and not is_late:
            return "[green]in order[/]"
        if self.depends and missing_causes:
            return f"before {', '.join(missing_causes)}: declared independent"
        if self.depends:
            return "after z: independent"
        if missing_causes:
            return f"[red]early: {', '.join(missing_causes)} came first[/]"
        return "[red]late: an effect of it was faster[/]"

    def record_and_explain_wait(self, process: str, message: str) -> str:
        """What a message waits for, in the endpoint's own words."""
        held = next(held for held in self.ends[process].held() if held.payload == message.encode())
        self.waited.append(f"{message} at {process}")
        gaps = ", ".join(map(str, self.ends[process].root_gaps()))
        return f"[yellow]waits for {', '.join(map(str, held.missing))}; root gap: {gaps}[/]"

    def add_story_line(self, process: str, what: str, note: str) -> None:
        """Add a line to the story."""
        self.story.append((process, what, note))


def print_play(console: Console, title: str, play: Play) -> None:
    """Print the story of a run, one column per process."""
    table = Table(title=f"{play.protocol}: {title}", title_justify="left", title_style="bold", expand=False)
    for name in (*GROUP, "why"):
        table.add_column(name)
    for process, what, note in play.story:
        table.add_row(*(what if process == name else "" for name in GROUP), note)
    console.print(table)


def show_protocols_on_triangle_and_bad_network(console: Console) -> None:
    """Play the triangle through the protocols, sum up, and go on to the bad network."""
    console.print(
        "[bold]P1[/] sends x to P3, then y to P2; P2 answers y with z to P3; the network is slow with x.\n"
    )
    summary = Table(title="In short", title_justify="left", title_style="bold")
    for name in ("protocol", "P3 receives", "causal order", "who waited", "packets", "control bytes"):
        summary.add_column(name)
    for protocol, title, options, depends in RUNS:
        play = Play(protocol, options, depends)
        play.play_triangle_with_x_last()
        print_play(console, title, play)
        broken = "z declared independent" if play.depends else "[red]broken[/]"
        kept = broken if play.early else "kept"
        waited = ", ".join(play.waited) or "nobody"
        summary.add_row(protocol, ", ".join(play.order), kept, waited, str(play.packets), str(play.control))
    console.print(summary)
    compare_protocols_on_bad_network(console)


def compare_protocols_on_bad_network(console: Console) -> None:
    """The same traffic over the same bad network, under several protocols."""
    console.print(
        "\n[bold]Six processes in three regions[/], 600 messages to random others, over a network that loses "
        "a fifth of all frames, repeats a fifth, and is cut in two twice; processes crash and come back.\n"
    )
    plan = Plan(protocol="matrix", processes=6, messages=600, rate=10, network=BAD_NETWORK, seed=1)
    runs = {
        name: simulate(msgspec.structs.replace(plan, protocol=name, options=options))
        for name, options in COMPARED.items()
    }
    console.print(make_costs_table(runs))
    for name, run in runs.items():
        faults, *_, last = describe_run_outcome(run)
        console.print(last, highlight=False)
        if name == "matrix":
            console.print(f"  {faults}", highlight=False, soft_wrap=True)
    console.print("\nTry it: .venv/bin/antecede simulate --protocol optimal -n 4 -m 20 --rate 50 --show")
