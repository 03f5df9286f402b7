"""`antecede simulate`: one run over a simulated network, or a campaign of many."""

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.console import Console

from antecede.cli import options as o
from antecede.cli.campaign import run_and_print_campaign
from antecede.cli.folders import PART_PREFIX, claim_folder, explain_write_errors
from antecede.cli.output import Json
from antecede.cli.tables import describe_run_outcome, make_costs_table
from antecede.cli.work import WorkProgress
from antecede.core.errors import CallerError
from antecede.report.spacetime import render_diagram
from antecede.scratch import make_scratch_folder
from antecede.simulate.run import Plan, Run, simulate
from antecede.simulate.trace import ParquetSink, RunTrace, Sink, TableCollector
from antecede.tables import EVENTS, MESSAGES

FILES = ("events.parquet", "messages.parquet", "run.json")
DRAWN = 200
"""A run of more messages is not drawn."""


def simulate_command(
    context: typer.Context,
    protocol: o.Protocol = None,
    processes: o.Processes = 4,
    workload: o.WorkloadName = "uniform",
    messages: o.Messages = 1000,
    rate: o.Rate = 10.0,
    fanout: o.Fanout = 1,
    network: o.NetworkText = "exponential:20",
    fifo: o.Fifo = False,
    loss: o.Loss = None,
    duplicate: o.Duplicate = None,
    partitions: o.Partitions = None,
    partition_time: o.PartitionTime = None,
    crashes: o.Crashes = None,
    down_time: o.DownTime = None,
    option: o.Options = None,
    seed: o.Seed = 0,
    out: o.Out = None,
    show: o.Show = False,
    campaign: o.CampaignSize = None,
    json: Json = False,
) -> None:
    """Run a protocol's real endpoints over a simulated network: what it costs, what an oracle finds.

    The same seed gives the same run. Exit code 1: the protocol broke its promise.

    Example: antecede simulate --protocol optimal -n 6 --network regions --loss 0.2 --crashes 4 --out run

    Example: antecede simulate --protocol buffered -n 3 -m 8 --rate 50 --show

    Example: antecede simulate --campaign 1000
    """
    if json and show:
        raise CallerError("--json is for programs and --show for people: give one of them")
    if campaign is not None:
        _refuse_options_beside_campaign(context)
        raise typer.Exit(run_and_print_campaign(campaign, seed, protocol, json))
    faults = {
        "fifo": fifo or None, "loss": loss, "duplicate": duplicate, "partitions": partitions,
        "partition_time": partition_time, "crashes": crashes, "down_time": down_time,
    }  # fmt: skip
    plan = o.make_simulation_plan(
        {
            "protocol": protocol or "matrix", "processes": processes, "workload": workload, "rate": rate,
            "messages": messages, "fanout": fanout, "network": o.load_network(network, faults), "seed": seed,
            "options": o.parse_protocol_options(option or []),
        }
    )  # fmt: skip
    if show and plan.messages > DRAWN:
        raise CallerError(f"--show draws at most {DRAWN} messages: add --messages 20")
    run, events = _simulate_and_collect_shown_events(plan, out, show)
    if json:
        sys.stdout.write(msgspec.json.encode(run).decode() + "\n")
    else:
        _print_run(run, events, out)
    raise typer.Exit(1 if run.broken else 0)


def _simulate_and_collect_shown_events(
    plan: Plan,
    out: Path | None,
    show: bool,
) -> tuple[Run, list[dict[str, Any]]]:
    """The run, and its events if they are to be shown."""
    kept = TableCollector(EVENTS)
    with WorkProgress("messages", plan.messages) as work:
        if out is None and not show:
            return simulate(plan, progress=work.show_done_count), []
        if out is None:
            run = _simulate_with_trace(plan, kept, TableCollector(MESSAGES), work)
        else:
            run = _simulate_into_folder(plan, out, kept if show else None, work)
        return run, kept.build_table().to_pylist()


def _simulate_with_trace(
    plan: Plan,
    event_sink: Sink,
    message_sink: Sink,
    work: WorkProgress,
) -> Run:
    execution = f"{plan.protocol}-{plan.workload}-{plan.seed}"
    return simulate(
        plan,
        lambda queue, names: RunTrace(queue, execution, names, event_sink, message_sink),
        progress=work.show_done_count,
    )


def _simulate_into_folder(
    plan: Plan,
    out: Path,
    event_collector: TableCollector | None,
    work: WorkProgress,
) -> Run:
    """The run with its files, which take the place of older ones when all is done and not before."""
    option = f"--out {out}"
    with claim_folder(out.absolute(), option), explain_write_errors(option):
        if taken := [name for name in FILES if (out / name).is_dir()]:
            raise CallerError(f"{option}: there is a folder {taken[0]}; name another folder")
        with make_scratch_folder(str(out), PART_PREFIX) as part:
            run = _simulate_and_write_files(plan, Path(part), event_collector, work)
            for name in FILES:
                os.replace(Path(part) / name, out / name)
    return run


def _simulate_and_write_files(
    plan: Plan,
    folder: Path,
    event_collector: TableCollector | None,
    work: WorkProgress,
) -> Run:
    events, messages = ParquetSink(EVENTS, folder / FILES[0]), ParquetSink(MESSAGES, folder / FILES[1])

    def write_to_file_and_collector(event_block: Any) -> None:
        events(event_block)
        if event_collector is not None:
            event_collector(event_block)

    run = _simulate_with_trace(plan, write_to_file_and_collector, messages, work)
    events.close()
    messages.close()
    (folder / FILES[2]).write_bytes(msgspec.json.format(msgspec.json.encode(run)) + b"\n")
    return run


def _refuse_options_beside_campaign(context: typer.Context) -> None:
    """A campaign makes its own plans: refuse what would describe one beside --campaign."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    if other := sorted(given - {"campaign", "protocol", "seed", "json"}):
        names = ", ".join("--" + name.replace("_", "-") for name in other)
        raise CallerError(f"--campaign makes its own plans: leave out {names}")


def _print_run(
    run: Run,
    events: list[dict[str, Any]],
    out: Path | None,
) -> None:
    console = Console()
    for line in render_diagram(events, console.width) if events else ():
        console.print(line, soft_wrap=True, highlight=False)
    console.print(make_costs_table({run.plan.protocol: run}))
    for line in describe_run_outcome(run):
        console.print(line, soft_wrap=True, highlight=False)
    if out is not None:
        console.print(f"written to {out}: {', '.join(FILES)}", highlight=False)
