"""The tables that `antecede simulate` prints."""

from collections.abc import Iterator

from rich.table import Table

from antecede.simulate.campaign import FAULTS, Campaign, ProtocolTotals
from antecede.simulate.costs import CostFigure
from antecede.simulate.run import Run


def make_costs_table(runs: dict[str, Run]) -> Table:
    """What runs cost, a column each."""
    title = "What it cost (mean, 99th percentile)"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for name in runs:
        table.add_column(name, justify="right", no_wrap=True)
    rows = [_format_costs(run) for run in runs.values()]
    for name in rows[0]:
        table.add_row(name, *(row[name] for row in rows))
    return table


def _format_costs(run: Run) -> dict[str, str]:
    costs, verdict = run.costs, run.verdict
    order = f"{verdict.early:,}, {verdict.late:,}, {verdict.out_of_turn:,}"
    wrong = f"{verdict.stuck:,}, {verdict.lost:,}, {verdict.duplicated:,}"
    return {
        "messages": f"{costs.messages:,}",
        "deliveries": f"{costs.deliveries:,}",
        "packets": f"{costs.packets:,}",
        "control bytes on a message": _format_mean_and_99th_percentile(costs.control_bytes),
        "control entries on a message": _format_mean_and_99th_percentile(costs.entries),
        "extra packets per message": f"{costs.extras:.2f}",
        "acks, releases per message": f"{costs.acks:.2f}",
        "bytes of these per message": f"{costs.control_packet_bytes:.1f}",
        "application waited to send, ms": _format_mean_and_99th_percentile(costs.blocked),
        "kept back by the sender, ms": _format_mean_and_99th_percentile(costs.held_back),
        "waited after arrival, ms": _format_mean_and_99th_percentile(costs.wait),
        "  of that needlessly, ms": _format_mean_and_99th_percentile(costs.needless),
        "deliveries that waited": f"{costs.waited:,}",
        "  some of it needlessly": f"{costs.waited_needlessly:,}",
        "from send to delivery, ms": _format_mean_and_99th_percentile(costs.latency),
        "whole run, ms": f"{run.time:,.0f}",
        "most held at one receiver": f"{costs.peak_held:,}",
        "early, late, out of turn": _color_red_or_green(
            order, verdict.early + verdict.late + verdict.out_of_turn
        ),
        "stuck, lost, twice": _color_red_or_green(wrong, verdict.stuck + verdict.lost + verdict.duplicated),
    }


def _format_mean_and_99th_percentile(figure: CostFigure) -> str:
    return ", ".join(
        f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" for value in (figure.mean, figure.p99)
    )


def _color_red_or_green(text: str, bad_count: int) -> str:
    return f"[red]{text}[/]" if bad_count else f"[green]{text}[/]"


def describe_run_outcome(run: Run) -> Iterator[str]:
    """What the oracle says, in sentences."""
    facts, verdict = run.plan.facts, run.verdict
    if run.faults:
        yield "faults that happened: " + ", ".join(f"{name} {count:,}" for name, count in run.faults.items())
    yield from (f"[red]{example}[/]" for example in verdict.examples)
    for name, alarms in verdict.alarms.items():
        missed = f"{verdict.missed[name]:,} of {verdict.late:,} late ones missed"
        yield f"detector {name}: {alarms:,} alarms, {missed}"
    if not run.finished:
        yield "[red]the run did not come to an end[/]: too many events for so few messages"
    elif run.unsent:
        yield f"[red]{facts.name} came to a standstill[/]: {run.unsent:,} messages could not be sent"
    elif run.broken:
        yield f"[red]{facts.name} broke its promise[/] (order: {facts.order})"
    elif facts.exact:
        yield f"[green]{facts.name} kept its promise[/] (order: {facts.order}; nothing lost, stuck or twice)"
    else:
        yield f"{facts.name} promises no causal order (order: {facts.order}); nothing lost, stuck or twice"


def make_campaign_table(campaign: Campaign) -> Table:
    """A row per protocol: what was done, which faults happened, what went wrong."""
    table = Table(title="Fault campaign", title_justify="left", title_style="bold")
    faults = ("frames\nlost", "frames\nrepeated", "frames\novertaken", "frames\ncut off", "crashes")
    found = ("early", "late", "out of\nturn", "stuck", "lost", "twice")
    table.add_column("protocol", no_wrap=True)
    for name in ("runs", "messages", "delivered", *faults, *found):
        table.add_column(name, justify="right")
    for name, row in campaign.rows.items():
        table.add_row(name, *_format_campaign_row(row))
    table.caption = (
        "Faults that really happened, then what the oracle found. Frames are cut off by partitions."
    )
    table.caption_justify = "left"
    return table


def _format_campaign_row(row: ProtocolTotals) -> Iterator[str]:
    yield from (f"{number:,}" for number in (row.runs, row.messages, row.deliveries))
    yield from (f"{row.faults[name]:,}" for name in FAULTS[:4])
    yield f"{sum(row.faults[name] for name in FAULTS[4:]):,}"
    for name in ("early", "late", "out_of_turn", "stuck", "lost", "duplicated"):
        yield _color_red_or_green(f"{row.wrongs[name]:,}", row.wrongs[name])
