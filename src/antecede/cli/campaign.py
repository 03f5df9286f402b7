"""`antecede simulate --campaign N`: runs it, prints the table, and how to run any failure again."""

import sys
from collections.abc import Iterator

import msgspec
from rich.console import Console

from antecede.cli.options import format_simulate_command
from antecede.cli.tables import make_campaign_table
from antecede.cli.work import WorkProgress
from antecede.core.errors import CallerError
from antecede.protocols.registry import list_protocols
from antecede.simulate.campaign import Campaign, ProtocolTotals, run_executions

SHOWN = 20
"""So many failures are listed."""


def run_and_print_campaign(
    executions: int,
    seed: int,
    protocol: str | None,
    json: bool,
) -> int:
    """Returns the exit code: 1 if a promise was broken."""
    names = list(list_protocols()) if protocol is None else [protocol]
    if executions < 1 or not set(names) <= set(list_protocols()):
        raise CallerError(
            f"--campaign takes a number from 1 on, and --protocol one of {', '.join(list_protocols())}"
        )
    with WorkProgress("executions", executions) as work:
        result = run_executions(executions, seed, names, work.advance)
    if json:
        sys.stdout.write(msgspec.json.encode(_build_campaign_json(result)).decode() + "\n")
    else:
        _print_campaign(result)
    return 0 if result.has_passed else 1


def _build_campaign_json(result: Campaign) -> dict[str, object]:
    failures = [
        {"command": format_simulate_command(f.plan), "reason": f.reason, "seed": f.plan.seed}
        for f in result.failures
    ]
    return {"protocols": result.rows, "failures": failures, "faults_never_seen": result.unseen_faults}


def _print_campaign(result: Campaign) -> None:
    console = Console()
    console.width = max(console.width, 140) if not console.is_terminal else console.width
    console.print(make_campaign_table(result))
    for line in _describe_campaign(result):
        console.print(line, soft_wrap=True, highlight=False)


def _describe_campaign(result: Campaign) -> Iterator[str]:
    for name, row in result.rows.items():
        if list_protocols()[name].order == "probably causal" and row.deliveries:
            yield f"{name}: {_describe_error_rates(row)}"
    for name, fault in result.unseen_faults:
        yield f"[yellow]{name}: '{fault}' never happened: nothing is shown about it; run more[/]"
    for failure in result.failures[:SHOWN]:
        yield f"[red]FAILED[/] seed {failure.plan.seed}: {failure.reason}"
        yield f"  again: {format_simulate_command(failure.plan)}"
    if len(result.failures) > SHOWN:
        yield f"... and {len(result.failures) - SHOWN:,} more failures; --json lists all"
    if not result.failures:
        yield "[green]every protocol kept its promise in every execution[/]"


def _describe_error_rates(row: ProtocolTotals) -> str:
    early, late = row.wrongs["early"] / row.deliveries, row.wrongs["late"] / row.deliveries
    detectors = "; ".join(
        f"{name} {row.alarms[name] / row.deliveries:.2%} alarms, {row.missed[name]:,} missed"
        for name in row.missed
    )
    return f"{early:.2%} of deliveries early, {late:.2%} late; detectors: {detectors}"
