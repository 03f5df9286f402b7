"""How a stream of messages is put in order, and what of that must not change while its checkpoint is used."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.ordering.added_columns import choose_names_of_added_columns
from antecede.ordering.message_plan import (
    ADDED,
    MessageOptions,
    MessagePlan,
    TableColumns,
    plan_messages,
)
from antecede.ordering.stamp_types import is_text
from antecede.ordering.stream.forms import refuse_unstreamable_plan
from antecede.ordering.stream.give_up import GiveUp
from antecede.streams.marks import Mark

STREAM_ADDED = (*ADDED, "missed", "raw")
"""The columns that the order of a stream adds to those of its input; lines that are no rows stay raw."""
_REMEMBERED = ("stamp", "sender", "receiver", "number", "id", "group", "arrival")
"""The columns on which what is remembered depends, or what the tables have; times only break ties."""
_GROUP_TYPE = "type of the group"
"""Of what type groups are: their texts tell groups apart and spread them, and 1 is another text than 1.0."""
_PARTITION = "batch"
"""What readers of the tables take the folders of micro-batches for."""
_OURS = "antecede "
"""The names of columns that rows have inside a step begin so."""


class StreamPlan(NamedTuple):
    """How rows are read, what columns are added, and when the stream stops waiting."""

    messages: MessagePlan
    options: MessageOptions
    names: dict[str, str]
    """What the columns that are added are called, by what they should be called."""
    give_up: GiveUp
    horizon: int | None
    group_type: str | None
    """The family of types that the column of the groups is of, if there is one."""
    exact_names: bool
    """Whether names that differ only in upper and lower case are two."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What must stay as it is, lest what is remembered should mean something else."""
        columns = self.messages.columns
        members = self.messages.stamps.members
        return {
            "form": self.messages.stamps.form,
            "entries": self.messages.reading.shape,
            "members": None if members is None else list(members),
            **{name: columns.get(name) for name in _REMEMBERED},
            _GROUP_TYPE: self.group_type,
        }


def plan_stream(
    columns: TableColumns,
    options: MessageOptions,
    give_up: GiveUp,
    horizon: int | None,
    *,
    exact_names: bool = False,
) -> StreamPlan:
    """The plan for a stream with these columns; a sentence for the caller if there can be none."""
    _check_column_names_are_free(columns)
    _check_columns_have_arrow_types(columns)
    messages = plan_messages(columns, options)
    refuse_unstreamable_plan(messages, horizon)
    names = choose_names_of_added_columns(columns.names, STREAM_ADDED, exact=exact_names)
    return StreamPlan(
        messages,
        options,
        messages.reuse_arrival_column_name(names),
        give_up.check_action_and_limits(),
        horizon,
        None if messages.group is None else _find_type_family(columns.get_column_type(messages.group)),
        exact_names,
    )


def _find_type_family(kind: pa.DataType) -> str:
    """The types whose values have the same texts, by one name."""
    return "text or integer" if pa.types.is_integer(kind) or is_text(kind) else str(kind)


def _check_column_names_are_free(columns: TableColumns) -> None:
    for name in columns.names:
        if name.lower() == _PARTITION:
            raise CallerError(
                f"column {name!r} is called like the folders of the tables' micro-batches (batch=7), which "
                f"readers take for a column {_PARTITION!r}: rename it before"
            )
        if name.lower().startswith(_OURS):
            raise CallerError(
                f"column {name!r} is called like columns of ours ({_OURS}...): rename it before"
            )


def _check_columns_have_arrow_types(columns: TableColumns) -> None:
    for name in columns.names:
        if pa.types.is_null(columns.get_column_type(name)):
            raise CallerError(f"column {name!r} has a type that Arrow does not have: cast it, or drop it")


def check_plan_unchanged(plan: StreamPlan, mark: Mark, checkpoint: str) -> None:
    """Refuse options under which what is remembered would mean something else.

    What the mark does not tell was not looked at when it was written: older marks tell less.
    """
    before, now = mark.fingerprint, plan.fingerprint
    changed = [name for name in now if name in before and now[name] != before[name]]
    if changed:
        words = ", ".join(f"{name} was {before[name]!r} and is {now[name]!r}" for name in changed)
        raise CallerError(
            f"{checkpoint} remembers the stream under other options: {words}; set them back, or start with a "
            "new checkpoint and a new output folder"
        )


def check_sink_unchanged(asked: str, mark: Mark, checkpoint: str) -> None:
    """Refuse tables of another kind than those that are there."""
    if asked != mark.sink:
        raise CallerError(
            f"{checkpoint} belongs to tables of {mark.sink}, and {asked} is asked for: set sink= back, or "
            "start with a new checkpoint and a new output folder"
        )


def check_bucket_count_unchanged(asked: int | None, mark: Mark, checkpoint: str) -> None:
    """Refuse another number of buckets than that of the checkpoint."""
    if asked is not None and asked != mark.bucket_count:
        raise CallerError(
            f"{checkpoint} has {mark.bucket_count} buckets, and {asked} are asked for: leave out buckets=, "
            "or start with a new checkpoint and a new output folder; partitions= may change"
        )
