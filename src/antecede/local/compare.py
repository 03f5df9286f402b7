"""What every protocol that fits would have cost on the communication of a table of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES, coerce_events
from antecede.events.graph import build_event_graph
from antecede.local.arrow import to_arrow_table
from antecede.study.advice import Advice, advise_on_all_executions
from antecede.study.compare import ReplayCell, gather_comparisons, list_replay_cells, replay_cell
from antecede.study.compare_preferences import make_preferences
from antecede.study.compare_table import build_comparison_table


@dataclass(frozen=True)
class CostReport:
    """`costs` as in COMPARISON, a row for each execution, protocol with its options, and metric; `advice` on
    each execution: its `sentence`, its `winner` if there is one, and the line to `use` it."""

    costs: pa.Table
    advice: list[Advice]


def compare(
    events: object,
    weights: Mapping[str, float] | None = None,
    limits: Mapping[str, float | str] | None = None,
) -> CostReport:
    """Replay the communication of a table of events through every protocol that fits it.

    `events` is a table as `audit` takes one. `weights` says what matters (`{"bytes": 1, "delay": 2}`; also
    packets), `limits` what nothing may go beyond (`{"delay": "50ms", "early": 0.001}`; also bytes, delay_p99,
    packets, held, late). Replays run one after the other on one core; `antecede.spark.compare` spreads them.
    """
    preferences = make_preferences(weights, limits)
    comparisons = gather_comparisons(map(replay_cell, make_replay_cells(events)))
    advice = advise_on_all_executions(comparisons, preferences)
    return CostReport(build_comparison_table(advice), advice)


def make_replay_cells(events: object) -> list[ReplayCell]:
    """The cells of all executions of a table of events, as `audit` takes one."""
    table = coerce_events(to_arrow_table(events))
    unread = [name for name in SAYS_NOTHING_OF_CAUSES if name in table.column_names]
    return list(list_replay_cells(build_event_graph(table.drop_columns(unread))))
