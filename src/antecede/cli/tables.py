"""The tables that `antecede simulate` prints."""

from collections.abc import Iterator

from rich.table import Table

from antecede.simulate.campaign import FAULTS, Campaign, Row
from antecede.simulate.costs import Figure
from antecede.simulate.run import Run


def costs_table(runs: dict[str, Run]) -> Table:
    """What runs cost, a column each."""
    table = Table(title="What it cost", title_justify="left", title_style="bold")
    table.add_column("")
    for name in runs:
        table.add_column(name, justify="right")
    rows = [_costs(run) for run in runs.values()]
    for name in rows[0]:
        table.add_row(name, *(row[name] for row in rows))
    return table


def _costs(run: Run) -> dict[str, str]:
    costs, verdict = run.costs, run.verdict
    return {
        "messages, deliveries": f"{costs.messages:,}, {costs.deliveries:,}",
        "packets": f"{costs.packets:,}",
        "control bytes on a message: mean, p99": _figure(costs.control_bytes),
        "control entries on a message: mean, p99": _figure(costs.entries),
        "extra packets per message": f"{costs.extras:.2f}",
        "acks and releases per message": f"{costs.acks:.2f}",
        "bytes in extras and acks per message": f"{costs.control_packet_bytes:.1f}",
        "kept back at the sender, ms: mean, p99": _figure(costs.held_back),
        "waited after arrival, ms: mean, p99": _figure(costs.wait),
        "of that needlessly, ms: mean, p99": _figure(costs.needless),
        "deliveries that waited (needlessly)": f"{costs.waited:,} ({costs.waited_needlessly:,})",
        "from send to delivery, ms: mean, p99": _figure(costs.latency),
        "most held at one process": f"{costs.peak_held:,}",
        "early, late deliveries": _colored(
            f"{verdict.early:,}, {verdict.late:,}", verdict.early + verdict.late
        ),
        "stuck, lost, delivered twice": _colored(
            f"{verdict.stuck:,}, {verdict.lost:,}, {verdict.duplicated:,}",
            verdict.stuck + verdict.lost + verdict.duplicated,
        ),
    }


def _figure(figure: Figure) -> str:
    return f"{figure.mean:,.1f}, {figure.p99:,.1f}"


def _colored(text: str, bad: int) -> str:
    return f"[red]{text}[/]" if bad else f"[green]{text}[/]"


def verdict_lines(run: Run) -> Iterator[str]:
    """What the oracle says, in sentences."""
    facts, verdict = run.plan.facts, run.verdict
    if run.faults:
        yield "faults that happened: " + ", ".join(f"{name} {count:,}" for name, count in run.faults.items())
    if not run.finished:
        yield "[red]the run did not come to an end: too many events for so few messages[/]"
    yield from (f"[red]{example}[/]" for example in verdict.examples)
    for name, alarms in verdict.alarms.items():
        missed = f"{verdict.missed[name]:,} of {verdict.late:,} late ones missed"
        yield f"detector {name}: {alarms:,} alarms, {missed}"
    if run.broken:
        yield f"[red]{facts.name} broke its promise[/] (order: {facts.order})"
    elif facts.exact:
        yield f"[green]{facts.name} kept its promise[/] (order: {facts.order}; nothing lost, stuck or twice)"
    else:
        yield f"{facts.name} promises no causal order (order: {facts.order}); nothing lost, stuck or twice"


def campaign_table(campaign: Campaign) -> Table:
    """A row per protocol: what was done, which faults happened, what went wrong."""
    table = Table(title="Fault campaign", title_justify="left", title_style="bold")
    faults = ("frames\nlost", "frames\nrepeated", "frames\novertaken", "frames\ncut off", "crashes")
    for name in (
        "protocol",
        "runs",
        "messages",
        "delivered",
        *faults,
        "early",
        "late",
        "stuck",
        "lost",
        "twice",
    ):
        table.add_column(name, justify="left" if name == "protocol" else "right")
    for name, row in campaign.rows.items():
        table.add_row(name, *_campaign_row(row))
    table.caption = (
        "Faults that really happened, then what the oracle found. Frames are cut off by partitions."
    )
    table.caption_justify = "left"
    return table


def _campaign_row(row: Row) -> Iterator[str]:
    yield from (f"{number:,}" for number in (row.runs, row.messages, row.deliveries))
    yield from (f"{row.faults[name]:,}" for name in FAULTS[:4])
    yield f"{sum(row.faults[name] for name in FAULTS[4:]):,}"
    for name in ("early", "late", "stuck", "lost", "duplicated"):
        yield _colored(f"{row.wrongs[name]:,}", row.wrongs[name])
