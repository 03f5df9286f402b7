"""The options of `antecede simulate`, one alias each, and how their texts become a plan."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from antecede.core.errors import CallerError
from antecede.simulate.delays import parse_delay
from antecede.simulate.network import PRESETS, RENAMED_PRESETS, Network
from antecede.simulate.run import Plan

T = TypeVar("T")
RESERVED = ("process", "group", "manual", "program", "protocol", "limit", "fifo")
"""Arguments of ours that an option of a protocol must not shadow."""

Protocol = Annotated[
    str | None,
    typer.Option(help="A protocol by name (antecede protocols lists them); matrix if none is named."),
]
Processes = Annotated[int, typer.Option("--processes", "-n", help="Number of processes.")]
WorkloadName = Annotated[
    str,
    typer.Option(
        help="uniform, client-server, ring, hot-spot, bursty, conversation, broadcast, monitored, or "
        "dependent:CHANCE,DEPTH."
    ),
]
Messages = Annotated[int, typer.Option("--messages", "-m", help="Messages sent in all.")]
Rate = Annotated[float, typer.Option(help="Messages per second that each process sends by itself.")]
Fanout = Annotated[
    int, typer.Option(help="Destinations of a message (uniform, hot-spot, bursty, dependent).")
]
NetworkText = Annotated[
    str,
    typer.Option(
        help="A delay in ms (constant:5, exponential:20, gaussian:100,20, pareto:1.5,10, "
        "two-level:100,20,20), a preset (lan, regions, heavy-tail, mostefaoui17), or a JSON file that has "
        "the options below, delays by region or link, or both."
    ),
]
Fifo = Annotated[bool, typer.Option("--fifo", help="Packets of a pair do not overtake each other.")]
Loss = Annotated[float | None, typer.Option(help="Chance that a frame is lost.")]
Duplicate = Annotated[float | None, typer.Option(help="Chance that a frame arrives twice.")]
Partitions = Annotated[int | None, typer.Option(help="Number of partitions, which heal.")]
PartitionTime = Annotated[float | None, typer.Option(help="Mean length of a partition in ms.")]
Crashes = Annotated[int | None, typer.Option(help="Number of crashes; the process comes back.")]
DownTime = Annotated[float | None, typer.Option(help="Mean time in ms until it is back.")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="Option of the protocol, as in k=16; repeatable."
    ),
]
Seed = Annotated[int, typer.Option(help="Same seed, same run.")]
Out = Annotated[Path | None, typer.Option(help="Folder for events.parquet, messages.parquet and run.json.")]
Show = Annotated[bool, typer.Option("--show", help="Draw a space-time diagram of a small run.")]
CampaignSize = Annotated[
    int | None,
    typer.Option("--campaign", help="Run so many seeded executions of all protocols, or of --protocol."),
]


def parse_protocol_options(texts: list[str]) -> dict[str, Any]:
    """Options of a protocol, such as k=16 or pipelined=true."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or name in RESERVED:
            raise CallerError(
                f"--option {text!r}: write NAME=VALUE with an option of the protocol, as in k=16"
            )
        options[name] = _parse_option_value(value)
    return options


def _parse_option_value(text: str) -> Any:
    """A number or a truth value if it reads as one, else the text."""
    try:
        return msgspec.json.decode(text.lower())
    except (msgspec.DecodeError, UnicodeError):
        return text


def load_network(choice: str, faults: dict[str, Any]) -> Network:
    """The network of a delay, a preset or a JSON file, with the faults that are named on the command line."""
    if choice in RENAMED_PRESETS:
        raise CallerError(f"network {choice!r} is now called {RENAMED_PRESETS[choice]!r}")
    if choice in PRESETS:
        base = msgspec.to_builtins(PRESETS[choice])
    elif choice.endswith(".json"):
        base = _read_network_file(Path(choice))
    else:
        base = {"delay": _check_delay(choice)}
    named = {name: value for name, value in faults.items() if value is not None}
    return _convert_fields_to_struct({**base, **named}, Network, f"network {choice!r}")


def _check_delay(text: str) -> str:
    try:
        parse_delay(text)
    except CallerError as error:
        raise CallerError(f"{error}; or a preset ({', '.join(PRESETS)}); or a file, as in net.json") from None
    return text


def make_simulation_plan(fields: dict[str, Any]) -> Plan:
    """A plan from the texts and numbers of the command line."""
    return _convert_fields_to_struct(fields, Plan, "plan")


def _read_network_file(path: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise CallerError(f"network file {path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CallerError(f"network file {path} is not a JSON object: {error}") from None


def _convert_fields_to_struct(fields: dict[str, Any], kind: type[T], label: str) -> T:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise CallerError(f"{label}: {error}") from None


def format_simulate_command(plan: Plan) -> str:
    """The command that runs a plan of a campaign (these have no delays of their own by region or link)."""
    words = ["antecede simulate", f"--protocol {plan.protocol} -n {plan.processes}"]
    words += [f"--workload {plan.workload} -m {plan.messages} --rate {plan.rate!r} --fanout {plan.fanout}"]
    network, plain = plan.network, Network()
    words += [f"--network {network.delay}", "--fifo" if network.fifo else ""]
    for name in ("loss", "duplicate", "partitions", "partition_time", "crashes", "down_time"):
        value = getattr(network, name)
        if value != getattr(plain, name):
            words.append(f"--{name.replace('_', '-')} {value!r}")
    words += [f"-o '{name}={value}'" for name, value in plan.options.items()]
    return " ".join([*filter(None, words), f"--seed {plan.seed}"])
