"""Tables of messages in causal order: the compiled gate per group, whatever form the stamps have.

Which columns are read, and how, is planned and done by `antecede.ordering`; here Spark brings the rows of a
group together and sends the columns of the plan to the kernel.
"""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.ordering.message_plan import (
    ADDED,
    RECORD_PLACES,
    MessageOptions,
    MessagePlan,
    TableColumns,
    add_packet_protocol_to_plan,
    check_and_list_member_names,
    make_names_not_places_error,
    plan_messages,
)
from antecede.ordering.partition import ANSWER as ANSWER_TYPE
from antecede.ordering.projection import PLACE
from antecede.ordering.stamp_types import is_name
from antecede.ordering.text_tables import FILE, LINE
from antecede.spark.arrow_types import convert_to_arrow_type
from antecede.spark.column_names import quote_column
from antecede.spark.ordering.fingerprint import hash_columns
from antecede.spark.ordering.outcome import (
    ANSWER,
    OutcomePlan,
    OutcomeTables,
    SparkOutcome,
    choose_added_column_names,
)
from antecede.spark.partition_kernel import add_kernel_answers, repartition_by_key

_OWN = "antecede own"
"""Marks the rows that are added for processes' own broadcasts."""


def order(
    messages: DataFrame,
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
    partitions: int | None = None,
) -> SparkOutcome:
    """Each message as soon as everything that caused it is out, with its position.

    `messages` has a row for each copy of a message.

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

    A column of ours whose name the input has is called so with `antecede_` in front. A group is handled in
    the memory of one task, together with the other groups of its partition; there are as many `partitions` as
    a shuffle of the session makes, unless a number is named. Each of the tables is computed when it is used;
    if you use more than one, do so inside a block. A job runs at once where only the rows can tell how they
    are read: for packets, and where texts stand for places in stamps.

        with antecede.spark.order(messages, group="room", stamp="clock") as outcome:
            ordered, held, quarantine = outcome
            ordered.write.parquet("ordered")
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
    return SparkOutcome(plan_message_order(messages, options, partitions))


def plan_message_order(
    messages: DataFrame, options: MessageOptions, partitions: int | None = None
) -> OutcomePlan:
    """The same, as a plan, with the options in one piece."""
    names = choose_added_column_names(messages, *ADDED)
    plan = plan_messages(_list_user_columns(messages), options)
    names = plan.reuse_arrival_column_name(names)
    frame = messages
    if plan.stamps.form == "packets":
        plan = _add_protocol_and_members_to_plan(frame, plan)
    for column in plan.places:
        _check_column_has_entry_numbers(frame, column)
    if plan.shares_entries:
        frame = _add_rows_for_own_broadcasts(frame, str(plan.group))
    columns = _select_kernel_columns(messages, plan)
    if plan.shares_entries:
        columns["unseen"] = sf.col(_OWN)
    if plan.group is None:
        gathered = frame.repartition(1)
    else:
        gathered = repartition_by_key(frame, partitions, columns["group"])
    rows = add_kernel_answers(gathered, columns, plan.order_rows_of_groups, ANSWER_TYPE, ANSWER)
    if plan.shares_entries:
        rows = rows.where(~sf.col(_OWN)).drop(_OWN)
    return _make_outcome_plan(rows, messages.columns, plan, names)


def _list_user_columns(frame: DataFrame) -> TableColumns:
    """The user's columns, with Arrow's types."""
    names = [name for name in frame.columns if name not in (FILE, LINE)]
    return TableColumns(names, lambda name: find_arrow_type(frame, name))


def find_arrow_type(frame: DataFrame, name: str) -> pa.DataType:
    """The type of a column as Arrow has it; types that Arrow does not have are of no use here."""
    try:
        return convert_to_arrow_type(frame.schema[name].dataType)
    except Exception:  # Spark raises errors of several types
        return pa.null()


def _select_kernel_columns(frame: DataFrame, plan: MessagePlan) -> dict[str, Column]:
    """What the kernel gets: the columns of the plan, and a hash of what each row says."""
    columns = {name: quote_column(column) for name, column in plan.columns.items()}
    for name in ("group", "sender", "receiver", "id"):
        if name in columns and not is_name(find_arrow_type(frame, plan.columns[name])):
            columns[name] = columns[name].cast("string")
    if plan.group is None:
        columns["group"] = sf.lit("")
    left_out = plan.unhashed_columns | {FILE, LINE}
    fields = [field for field in frame.schema.fields if field.name not in left_out]
    columns["content"] = hash_columns(fields)
    places = [field for field in frame.schema.fields if field.name in RECORD_PLACES]
    if places:
        columns["record_place"] = hash_columns(places)
    return columns


def _make_outcome_plan(
    rows: DataFrame, user_columns: list[str], plan: MessagePlan, added_names: dict[str, str]
) -> OutcomePlan:
    answer = sf.col(ANSWER)
    own = [quote_column(name) for name in user_columns if name not in (FILE, LINE)]
    place = [quote_column(name) for name in user_columns if name in (FILE, LINE)]
    arrival = answer["arrival"] if plan.arrival is None else quote_column(plan.arrival)
    places = {added_names["position"]: answer["position"]}
    if plan.arrival != "arrival":
        places[added_names["arrival"]] = arrival
    added = places | {added_names[name]: answer[name] for name in ("missing", "reason")}

    def split_into_tables(rows: DataFrame) -> OutcomeTables:
        position = [column.alias(name) for name, column in places.items()]
        ordered = rows.where(answer["position"].isNotNull()).select(*own, *position)
        missing = answer["missing"].alias(added_names["missing"])
        held = rows.where(answer["missing"].isNotNull())
        held = held.select(*own, missing, arrival.alias(added_names["since"]))
        quarantine = rows.where(answer["reason"].isNotNull())
        quarantine = quarantine.select(*own, *place, answer["reason"].alias(added_names["reason"]))
        return OutcomeTables(ordered, held, quarantine)

    def find_gaps(tables: OutcomeTables, rows: DataFrame) -> DataFrame:
        nobody = sf.lit(None).cast("string")
        group = nobody if plan.group is None else quote_column(plan.group)
        receiver = (
            nobody
            if plan.receiver_column_if_it_splits_groups is None
            else quote_column(plan.receiver_column_if_it_splits_groups).cast("string")
        )
        gaps = rows.where(answer["gaps"].isNotNull())
        return gaps.select(group.alias("group"), receiver.alias("receiver"), sf.inline(answer["gaps"]))

    def find_notes(rows: DataFrame) -> list[str]:
        notes = rows.where(answer["note"].isNotNull()).select(answer["note"].alias("note")).distinct()
        return [row["note"] for row in notes.collect()]

    stamp_notes = tuple(plan.notes)
    return OutcomePlan(
        rows, added_names, added, split_into_tables, find_gaps, stamp_notes=stamp_notes, find_notes=find_notes
    )


def _check_column_has_entry_numbers(frame: DataFrame, column: str) -> None:
    """Refuse a column with names of processes where stamps need the numbers of their entries."""
    text = sf.trim(quote_column(column).cast("string"))
    no_place = sf.min(sf.when(~text.rlike(PLACE), text))
    (row,) = frame.select(sf.count(text), no_place).collect()
    texts, example = row
    if not texts or example is not None:
        raise make_names_not_places_error(column, example)


def _add_protocol_and_members_to_plan(frame: DataFrame, plan: MessagePlan) -> MessagePlan:
    """Packets of one protocol; its name and the members are looked up in the table."""
    protocols = frame.select("protocol").where("protocol is not null").distinct().collect()
    arrived_at = quote_column(str(plan.group)).cast("string")
    processes = frame.select(sf.col("sender").alias("name")).union(frame.select(arrived_at))
    members = processes.where("name is not null").distinct().collect()
    return add_packet_protocol_to_plan(
        plan, {row["protocol"] for row in protocols}, [row["name"] for row in members]
    )


def _add_rows_for_own_broadcasts(frame: DataFrame, group_column: str) -> DataFrame:
    """With each process's own broadcasts, which count on entries that others count on too."""
    own = frame.where("kind = 'message'").dropDuplicates(["sender", "number"])
    first = {"arrival": sf.lit(-1).cast("bigint")} if "arrival" in frame.columns else {}
    own = own.withColumns({group_column: sf.col("sender"), **first, _OWN: sf.lit(True)})
    return frame.withColumn(_OWN, sf.lit(False)).unionByName(own)
