"""What `antecede compare` says: tables and sentences for people, facts for programs, a page with charts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from antecede.cli.logs import build_files_json, describe_files
from antecede.cli.output import print_lines
from antecede.cli.sentences import format_visible_line_for_rich
from antecede.core.errors import CallerError
from antecede.report.text import pluralize

if TYPE_CHECKING:
    from rich.table import Table

    from antecede.cli.compare_runs import CompareRun
    from antecede.report.charts import Section
    from antecede.study.advice import Advice
    from antecede.study.compare_candidates import Candidate
    from antecede.study.estimates import Estimate

SHOWN_EXECUTIONS = 5
"""Executions with a table on the screen."""
WIDEST_TABLE = 1000
"""Letters: more than any table has."""
SHOWN_OTHERS = 5
"""Other candidates that are compared with the best on the screen."""
HEADINGS = (
    "protocol", "bytes", "a stamp", "extras", "acks", "delay", "p99", "needless", "held",
    "early", "late", "alarms",
)  # fmt: skip
ALWAYS_SHOWN = HEADINGS[:9]
"""Columns that are shown also if nothing is in them."""
KEY = (
    "*: on the Pareto front of bytes, delay, packets, disorder and promised order. "
    "Bytes: all control information per message, the stamps of its copies and whole control packets; "
    "± is half a 95 % interval. A stamp: on one packet, mean and 99th percentile. "
    "Extras, acks: packets per message. "
    "Delay: added to the way of a copy, in {unit}, mean and 99th percentile; "
    "needless: the share of it that {order} does not demand. Held: most at once for one process. "
    "Early, late: of all deliveries{alarms}."
)


def print_comparison(run: CompareRun, advice: list[Advice]) -> None:
    """For people: files, then for each execution its table, its sentence and the line to use."""
    lines = [format_visible_line_for_rich(line) for line in describe_files(run.files, run.note)]
    print_lines([*lines, f"[dim]{format_visible_line_for_rich(str(run.engine))}[/]"])
    compared = [one for one in advice if one.candidates]
    for one in compared[:SHOWN_EXECUTIONS]:
        print_lines(_describe_execution_traffic(one, len(advice) > 1))
        print_table_at_full_width(_make_candidate_table(one))
        print_lines(_describe_advice(one))
    more = len(compared) - SHOWN_EXECUTIONS
    if more > 0:
        print_lines([f"\n... and {pluralize(more, 'more execution')}; --out DIR has them all"])
    if compared:
        print_lines(["", f"[dim]{format_visible_line_for_rich(describe_table_columns(compared[0]))}[/]"])
    silent = len(advice) - len(compared)
    if silent:
        print_lines([f"\n{pluralize(silent, 'execution')} without communication: nothing to compare there"])


def _describe_execution_traffic(advice: Advice, with_name: bool) -> Iterator[str]:
    from antecede.study.compare_sentences import format_figure

    facts = advice.facts
    name = f"{format_visible_line_for_rich(facts.execution)}: " if with_name and facts.execution else ""
    copies = f", {facts.copies:,} copies" if facts.copies != facts.messages else ""
    numbers = f"{pluralize(facts.messages, 'message')}{copies}, {pluralize(facts.processes, 'process')}"
    travel = f"a message travels {format_figure(facts.travel)} {facts.unit} on average"
    yield f"\n[bold]{name}{numbers}; {travel}[/]"
    for note in facts.notes:
        yield f"[dim]{format_visible_line_for_rich(note)}[/]"


def print_table_at_full_width(table: Table) -> None:
    """A table is as wide as it must be: a screen that is too narrow folds its lines."""
    from rich.console import Console

    width = Console(width=WIDEST_TABLE).measure(table).maximum
    Console(width=width, soft_wrap=True).print(table)


class ShownTable(NamedTuple):
    """The rows of protocols; a star comes first where one is on the front."""

    headings: list[str]
    rows: list[list[str]]


def build_table_without_empty_columns(advice: Advice) -> ShownTable:
    """The table without columns in which there is nothing for any protocol."""
    rows = [format_candidate_row(candidate) for candidate in advice.candidates]
    shown = []
    for at, heading in enumerate(HEADINGS):
        if heading in ALWAYS_SHOWN or any(row[at] for row in rows):
            shown.append(at)
    cells = []
    for candidate, row in zip(advice.candidates, rows, strict=True):
        star = "*" if candidate.is_on_front else ""
        cells.append([star, *(row[at] for at in shown)])
    return ShownTable([HEADINGS[at] for at in shown], cells)


def _make_candidate_table(advice: Advice) -> Table:
    from rich import box
    from rich.table import Table

    chosen = build_table_without_empty_columns(advice)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for heading in chosen.headings:
        table.add_column(heading, justify="left" if heading == "protocol" else "right", no_wrap=True)
    for row in chosen.rows:
        table.add_row(*map(format_visible_line_for_rich, row))
    return table


def describe_table_columns(advice: Advice) -> str:
    """What the columns of a table mean."""
    from antecede.protocols.detectors import DETECTORS

    order = "what is declared" if advice.facts.declares else "causal order"
    has_alarms = any(candidate.replay.verdict.alarms for candidate in advice.candidates)
    alarms = f"; alarms of {', '.join(DETECTORS)}: likewise" if has_alarms else ""
    return KEY.format(unit=advice.facts.unit, order=order, alarms=alarms)


def format_candidate_row(candidate: Candidate) -> list[str]:
    """The row of a protocol, as it is shown."""
    from antecede.study.compare_sentences import format_estimate, format_figure

    replay, estimates = candidate.replay, candidate.estimates
    if not replay.finished:
        nothing = [""] * (len(HEADINGS) - 2)
        end = "stopped" if candidate.replay.is_overgrown else "standstill"
        return [candidate.variant.name, end, *nothing]
    copies = max(replay.copies, 1)
    alarms = [_format_rate_unless_zero(number / copies) or "0" for number in replay.verdict.alarms.values()]
    return [
        candidate.variant.name,
        format_estimate(estimates["bytes"]),
        f"{format_figure(replay.control_bytes.mean)}, {format_figure(replay.control_bytes.p99)}",
        format_figure(replay.extras),
        format_figure(replay.acks),
        format_estimate(estimates["delay"]),
        format_figure(replay.delay_p99),
        f"{replay.needless:.0%}" if replay.delay_mean > 0 else "",
        f"{replay.peak_held:,}",
        _format_rate_unless_zero(replay.verdict.early / copies),
        _format_rate_unless_zero(replay.verdict.late / copies),
        ", ".join(alarms),
    ]


def _format_rate_unless_zero(rate: float) -> str:
    if not rate:
        return ""
    return f"{rate:.1%}" if rate >= 0.001 else f"{rate:.1g}"


def _describe_advice(advice: Advice) -> Iterator[str]:
    """The sentence with its reasons, the line to use, and what was not compared."""
    color = "green" if advice.winner else "yellow"
    yield f"[bold {color}]{format_visible_line_for_rich(advice.sentence)}[/]"
    others = advice.others[1:] if advice.winner else advice.others
    for line in others[:SHOWN_OTHERS]:
        yield f"  {format_visible_line_for_rich(line)}"
    if advice.use:
        line_to_copy = format_visible_line_for_rich(advice.use, longest=None)
        yield f"to use it: [bold]{line_to_copy}[/]"
    for name, share in _find_avoided_false_causality(advice).items():
        yield f"{name}: {share:.0%} of the needless waits of causal order are avoided"
    for candidate in advice.candidates:
        if not candidate.replay.finished:
            yield f"[dim]{format_visible_line_for_rich(f'{candidate.variant.name} {candidate.reason}')}[/]"
    if advice.facts.left_out:
        unfit = format_visible_line_for_rich(describe_unfit_protocols(advice.facts.left_out))
        yield f"[dim]not compared: {unfit}[/]"


def _find_avoided_false_causality(advice: Advice) -> dict[str, float]:
    from antecede.study.compare_candidates import compute_shares_of_false_causality_avoided

    return compute_shares_of_false_causality_avoided(advice.candidates) if advice.facts.declares else {}


def describe_unfit_protocols(reason_by_protocol: dict[str, str]) -> str:
    """The protocols that do not fit, those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reason_by_protocol.items():
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in by_reason.items())


def build_comparison_json(run: CompareRun, advice: list[Advice]) -> dict[str, Any]:
    """For programs."""
    return {
        "engine": run.engine.name,
        "executions": [_build_execution_json(one) for one in advice],
        "files": build_files_json(run.files),
        "note": run.note,
    }


def _build_execution_json(advice: Advice) -> dict[str, Any]:
    facts = advice.facts
    return {
        "execution": facts.execution,
        "processes": facts.processes,
        "messages": facts.messages,
        "copies": facts.copies,
        "unit": facts.unit,
        "travel": facts.travel,
        "dependencies_declared": facts.declares,
        "notes": facts.notes,
        "not_compared": facts.left_out,
        "protocols": [_build_candidate_json(one) for one in advice.candidates],
        "winner": advice.winner.variant.name if advice.winner else None,
        "best": [one.variant.name for one in advice.best],
        "sentence": advice.sentence,
        "others": advice.others,
        "use": advice.use or None,
        "false_causality_avoided": _find_avoided_false_causality(advice),
    }


def _build_candidate_json(candidate: Candidate) -> dict[str, Any]:
    from antecede.study.compare_table import list_candidate_metrics

    replay = candidate.replay
    metrics = {name: _build_estimate_json(value) for name, value in list_candidate_metrics(candidate).items()}
    return {
        "name": candidate.variant.name,
        "protocol": candidate.variant.protocol,
        "options": candidate.variant.options,
        "finished": replay.finished,
        "unsent": replay.unsent,
        "pareto": candidate.is_on_front,
        "not_recommended": candidate.reason or None,
        "metrics": metrics if replay.finished else {},
    }


def _build_estimate_json(estimate: Estimate) -> dict[str, float | None]:
    known = not math.isnan(estimate.half)
    return {
        "value": estimate.mean,
        "low": estimate.low if known else None,
        "high": estimate.high if known else None,
    }


def write_comparison_page(file: Path, advice: list[Advice]) -> str:
    """Write the page with tables and charts; where it is."""
    from antecede.report.charts import write_chart_page

    sections = [_make_page_section(one) for one in advice if one.candidates]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_chart_page(file, "Protocols compared on a log", sections)
    except OSError as error:
        raise CallerError(f"--report {file}: {error.strerror}; name a file that can be written") from None
    return str(file)


def _make_page_section(advice: Advice) -> Section:
    from antecede.report.charts import Chart, ChartWithRows, Section, TextTable

    facts = advice.facts
    paragraphs = [advice.sentence, advice.use, *facts.notes, describe_table_columns(advice)]
    if facts.left_out:
        paragraphs.append(f"Not compared: {describe_unfit_protocols(facts.left_out)}.")
    table = build_table_without_empty_columns(advice)
    rows = [_make_chart_row(one) for one in advice.candidates if one.replay.finished]
    delay = f"delay added, {facts.unit}"
    charts = [
        Chart("Bytes and delay", x="bytes", y="delay", mark="point", low="delay_low", high="delay_high",
              series="kind", label="label", x_title="control bytes per message", y_title=delay),
        Chart("Control bytes per message", x="bytes", y="protocol", mark="bar", low="bytes_low",
              high="bytes_high", series="kind", x_title="bytes"),
        Chart("Delay added", x="delay", y="protocol", mark="bar", low="delay_low", high="delay_high",
              series="kind", x_title=delay),
    ]  # fmt: skip
    numbers = f"{pluralize(facts.messages, 'message')}, {pluralize(facts.processes, 'process')}"
    heading = f"{facts.execution}: {numbers}" if facts.execution else numbers
    return Section(
        heading,
        [paragraph for paragraph in paragraphs if paragraph],
        [TextTable(["", *table.headings], table.rows)],
        [ChartWithRows(chart, rows) for chart in charts],
    )


def _make_chart_row(candidate: Candidate) -> dict[str, Any]:
    name = candidate.variant.name
    kind = "not recommended" if candidate.reason else "candidate"
    if candidate.is_on_front:
        kind += ", on the Pareto front"
    # Beside a point on the front stands its name; the others are often too close to each other.
    label = name if candidate.is_on_front else ""
    row: dict[str, Any] = {"protocol": name, "kind": kind, "label": label}
    for name in ("bytes", "delay"):
        facts = _build_estimate_json(candidate.estimates[name])
        row |= {name: facts["value"], f"{name}_low": facts["low"], f"{name}_high": facts["high"]}
    return row
