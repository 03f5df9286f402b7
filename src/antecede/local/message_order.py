"""Tables of messages in causal order, in this process: the compiled gate over all groups at once."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from antecede.local.arrow import to_arrow_table
from antecede.local.outcome import (
    Outcome,
    add_columns,
    check_each_row_is_in_one_table,
    sort_placed_rows_by_group_and_position,
    take_rows_with_answer,
)
from antecede.ordering.added_columns import choose_names_of_added_columns
from antecede.ordering.kernel_table import make_group_name_column, make_kernel_table
from antecede.ordering.message_plan import (
    ADDED,
    MessageOptions,
    MessagePlan,
    TableColumns,
    add_packet_protocol_to_plan,
    check_and_list_member_names,
    make_names_not_places_error,
    plan_messages,
)
from antecede.ordering.plain_types import to_plain_types, to_text_column
from antecede.ordering.projection import PLACE

_ANSWER = pa.struct(
    {
        "position": pa.int64(),
        "arrival": pa.int64(),
        "missing": pa.list_(pa.string()),
        "reason": pa.string(),
        "note": pa.string(),
        "gaps": pa.list_(pa.struct({"missing": pa.string(), "waiting": pa.int64()})),
    }
)


def order(
    messages: object,
    *,
    group: str | None = None,
    sender: str = "sender",
    stamp: str = "stamp",
    form: str | None = None,
    receiver: str | None = None,
    number: str | None = None,
    keys: str | None = None,
    id: str | None = None,
    arrival: str | None = None,
    time: str | None = None,
    members: Iterable[str | int] | None = None,
) -> Outcome:
    """Each message as soon as everything that caused it is out, with its position.

    `messages` is an Arrow table, or anything that hands itself over as one (`__arrow_c_stream__`: pandas,
    polars, DuckDB), with a row for each copy of a message.

    Arguments name columns:

    - `group`: the ordering domain; without it all rows are one, or the rows of each receiver if stamps are
      made for it;
    - `sender` and `stamp`, in a `form` that docs/forms.md lists, if the type of the column does not tell it;
    - `receiver`: the process that a copy arrived at; `number`: the sender's own count; `keys`: the sender's
      entries (form `shared`); `id`: the name of a message (form `parents`);
    - `arrival`, or else `time`: messages arrive in that order, else in the order of sender and number, and
      never as the rows happen to lie.

    `members` are the processes in the order of the stamps' entries. What comes out:

    - `ordered`: the messages + `position`, from 0 in each group, + `arrival`;
    - `held`: the messages + `missing`, what each waits for, + `since`, its arrival;
    - `quarantine`: the messages + `reason`: duplicates (the first one counts) and malformed stamps;
    - `gaps`: what is missing and not itself held, or a cycle of rows, with how many held rows wait for it,
      directly or through others; and the receiver that lacks it, if stamps are made for one;
    - `notes`: what stamps cannot tell, and what they may have been taken for in error.

    A column of ours whose name the input has is called so with `antecede_` in front.

        ordered, held, quarantine = antecede.order(messages, group="room", stamp="clock")
    """
    options = MessageOptions(
        group,
        sender,
        stamp,
        form,
        receiver,
        number,
        keys,
        id,
        arrival,
        time,
        check_and_list_member_names(members),
    )
    return order_messages(to_arrow_table(messages), options)


def order_messages(table: pa.Table, options: MessageOptions, places: pa.Table | None = None) -> Outcome:
    """The same, with the options in one piece; `places` tells where each row was read, for quarantine."""
    names = choose_names_of_added_columns(table.column_names, ADDED)
    columns = TableColumns(table.column_names, lambda name: to_plain_types(table[name]).type)
    plan = plan_messages(columns, options)
    names = plan.reuse_arrival_column_name(names)
    if plan.stamps.form == "packets":
        plan = _add_packet_protocol_from_table(table, plan)
    for column in plan.places:
        _check_column_holds_places(table[column], column)
    answers = _compute_row_answers(table, plan)
    check_each_row_is_in_one_table(answers)
    return _split_into_outcome(table, answers, plan, names, places)


def _add_packet_protocol_from_table(table: pa.Table, plan: MessagePlan) -> MessagePlan:
    """Packets of one protocol; its name and the members are looked up in the table."""
    protocols = pc.unique(table["protocol"].drop_null())
    receivers = pc.unique(to_text_column(table[plan.columns["group"]]))
    senders = pc.unique(table["sender"])
    members = {*receivers.to_pylist(), *senders.to_pylist()} - {None}
    return add_packet_protocol_to_plan(plan, set(protocols.to_pylist()), members)


def _check_column_holds_places(column: pa.ChunkedArray, column_name: str) -> None:
    """Refuse names of processes where their places in the stamps are expected."""
    text = pc.utf8_trim_whitespace(to_text_column(column)).drop_null()
    is_place = pc.match_substring_regex(text, PLACE)
    if not len(text) or not pc.all(is_place).as_py():
        names = text.filter(pc.invert(is_place))
        raise make_names_not_places_error(column_name, pc.min(names).as_py())


def _compute_row_answers(table: pa.Table, plan: MessagePlan) -> pa.StructArray:
    """What becomes of each row."""
    if not len(table):
        return pa.array([], _ANSWER)
    kernel_table = make_kernel_table(table, plan)
    if plan.shares_entries:
        kernel_table = _add_own_broadcasts(kernel_table)
    answers = plan.order_rows_of_groups(kernel_table)
    return answers.slice(0, len(table))


def _add_own_broadcasts(columns: pa.Table) -> pa.Table:
    """With each process's own broadcasts, which count on entries that others count on too."""
    is_message = pc.equal(columns["kind"], "message")
    rows = pa.array(range(len(columns)), pa.int64())
    numbered = columns.append_column("row", rows).filter(is_message)
    by_number = numbered.group_by(["sender", "number"], use_threads=False)
    firsts = by_number.aggregate([("row", "min")])
    own = columns.take(firsts["row_min"])
    own = own.set_column(own.column_names.index("group"), "group", own["sender"])
    if "arrival" in own.column_names:
        first = pa.array([-1] * len(own), own["arrival"].type)
        own = own.set_column(own.column_names.index("arrival"), "arrival", first)
    seen = columns.append_column("unseen", pa.repeat(False, len(columns)))
    unseen = own.append_column("unseen", pa.repeat(True, len(own)))
    return pa.concat_tables([seen, unseen])


def _split_into_outcome(
    table: pa.Table,
    answers: pa.StructArray,
    plan: MessagePlan,
    names: dict[str, str],
    places: pa.Table | None,
) -> Outcome:
    arrival = answers.field("arrival")
    if plan.arrival is not None:
        arrival = table[plan.arrival]
    groups = make_group_name_column(table, plan)
    rows = pa.array(sort_placed_rows_by_group_and_position(answers, groups))
    added = {names["position"]: answers.field("position").take(rows)}
    if plan.arrival != "arrival":
        added[names["arrival"]] = arrival.take(rows)
    ordered = add_columns(table.take(rows), added)
    held, held_answers = take_rows_with_answer(table, answers, "missing")
    held_rows = pc.indices_nonzero(answers.field("missing").is_valid())
    held = held.append_column(names["missing"], held_answers.field("missing"))
    held = held.append_column(names["since"], arrival.take(held_rows))
    quarantine, refused = take_rows_with_answer(table, answers, "reason")
    if places is not None:
        place, _ = take_rows_with_answer(places, answers, "reason")
        for name in place.column_names:
            quarantine = quarantine.append_column(name, place[name])
    quarantine = quarantine.append_column(names["reason"], refused.field("reason"))
    nobody = pa.nulls(len(table), pa.string())
    named_groups = nobody if plan.group is None else groups
    receivers = (
        nobody
        if plan.receiver_column_if_it_splits_groups is None
        else to_text_column(table[plan.receiver_column_if_it_splits_groups])
    )
    gaps = _list_root_gaps(answers.field("gaps"), named_groups, receivers)
    notes = answers.field("note").drop_null().unique()
    return Outcome(ordered, held, quarantine, gaps, names, plan.notes + notes.to_pylist())


def _list_root_gaps(gaps: pa.ListArray, group: pa.ChunkedArray, receiver: pa.ChunkedArray) -> pa.Table:
    """The root gaps, which stand beside some of the held rows."""
    missing, waiting = pc.list_flatten(gaps).flatten()
    rows = pc.list_parent_indices(gaps)
    places = {"group": group.take(rows), "receiver": receiver.take(rows)}
    return pa.table({**places, "missing": missing, "waiting": waiting})
