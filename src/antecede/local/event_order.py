"""Event logs in causal order, in this process."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.coercion import coerce_events
from antecede.local.arrow import to_arrow_table
from antecede.local.outcome import (
    Outcome,
    check_each_row_is_in_one_table,
    sort_placed_rows_by_group_and_position,
    take_rows_with_answer,
)
from antecede.ordering.added_columns import choose_names_of_added_columns
from antecede.ordering.events import order_event_partition

_GAPS = pa.schema(
    {
        "execution": pa.string(),
        "missing": pa.string(),
        "waiting": pa.int64(),
    }
)


def order_events(events: object) -> Outcome:
    """The events of each execution in one causal order, the same for the same set of events.

    `events` is an Arrow table, or anything that hands itself over as one (`__arrow_c_stream__`: pandas,
    polars, DuckDB). It has columns of EVENTS; those that are not there are unknown.

    - `ordered`: the events + `position`, from 0 in each execution, + `ghosts`: the parents of the event that
      are not in the log, null if none;
    - `quarantine`: the events that no order can keep, on a cycle or their own parent, + `reason`;
    - `held` has no rows here: an event whose parent is missing still comes out;
    - `gaps`: the ghosts of each execution, and how many events name each.

        logs = antecede.read_logs("logs/")
        ordered = antecede.order_events(logs.events).ordered
    """
    table = to_arrow_table(events)
    names = choose_names_of_added_columns(
        table.column_names, ("position", "ghosts", "missing", "since", "reason")
    )
    causes = coerce_events(table)
    answers = order_event_partition(causes)
    check_each_row_is_in_one_table(answers)
    rows = pa.array(sort_placed_rows_by_group_and_position(answers, causes["execution"]))
    placed = answers.take(rows)
    ghosts = placed.field("ghosts")
    ordered = table.take(rows)
    ordered = ordered.append_column(names["position"], placed.field("position"))
    ordered = ordered.append_column(names["ghosts"], ghosts)
    held, waiting = take_rows_with_answer(table, answers, "missing")
    held = held.append_column(names["missing"], waiting.field("missing"))
    held = held.append_column(names["since"], pa.nulls(len(held), pa.int64()))
    quarantine, refused = take_rows_with_answer(table, answers, "reason")
    quarantine = quarantine.append_column(names["reason"], refused.field("reason"))
    gaps = _list_ghosts_with_counts(causes["execution"].take(rows), ghosts)
    return Outcome(ordered, held, quarantine, gaps, names, notes=[])


def _list_ghosts_with_counts(execution: pa.ChunkedArray, ghosts: pa.ListArray) -> pa.Table:
    """Each ghost of an execution, with how many events name it."""
    named_by = pa.table(
        {
            "execution": execution.take(pc.list_parent_indices(ghosts)),
            "missing": pc.list_flatten(ghosts),
        }
    )
    by_ghost = named_by.group_by(["execution", "missing"])
    counted = by_ghost.aggregate([([], "count_all")])
    counted = counted.rename_columns({"count_all": "waiting"})
    return counted.select(_GAPS.names).cast(_GAPS)
