"""What is to be done with a table of messages: which of its columns are read, and how.

Both engines ask `plan_messages`, and so take and refuse the same tables. What only the rows can tell (which
protocol packets are of, whether a column has names or places) the engine looks up and tells here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Set
from numbers import Integral
from typing import NamedTuple

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.ordering.forms import FOR_ONE_RECEIVER, FORMS, OPTION_MEANINGS
from antecede.ordering.notes import describe_left_out_causes, describe_order_weaker_than_causal
from antecede.ordering.partition import order_partition
from antecede.ordering.projection import StampPlan, choose_reading, make_kernel_columns
from antecede.ordering.stamp_types import check_form, choose_form, describe_type, is_list, is_orderable_type
from antecede.ordering.stamps import Reading
from antecede.ordering.whole_numbers import is_number
from antecede.protocols.registry import get_protocol_class, list_protocols
from antecede.tables import MESSAGES

RECORD_PLACES = ("kafka_partition", "kafka_offset", "kafka_timestamp")
"""Where and when a record lies in a topic: one that was sent twice is there twice, and says the same."""
NO_COLUMNS = ("form", "members")
"""Options that name no column."""
ADDED = ("position", "arrival", "missing", "since", "reason")
"""The columns that an order adds to those of its input."""
PACKET_COLUMNS = tuple(MESSAGES.names[:6])
"""Those that packets cannot do without."""


class MessageOptions(NamedTuple):
    """What a caller says of the columns of a table of messages."""

    group: str | None = None
    sender: str = "sender"
    stamp: str = "stamp"
    form: str | None = None
    receiver: str | None = None
    number: str | None = None
    keys: str | None = None
    id: str | None = None
    arrival: str | None = None
    time: str | None = None
    members: Iterable[str | int] | None = None


class TableColumns(NamedTuple):
    """The columns of a table: their names, and their types if they are asked for."""

    names: Collection[str]
    look_up: Callable[[str], pa.DataType]

    def get_column_type(self, name: str) -> pa.DataType:
        """The type of a column; refuses one that is not there."""
        if name not in self.names:
            raise make_missing_column_error(name, self.names)
        return self.look_up(name)


def make_missing_column_error(name: str, names: Collection[str]) -> CallerError:
    """The error of a table that has no such column."""
    if not names:
        return CallerError(
            f"there is no column {name!r}, nor any other: no row can be read; name a table in UTF-8, as JSON "
            "lines, CSV with a header, or Parquet"
        )
    return CallerError(f"there is no column {name!r}; there are: {', '.join(names)}")


class MessagePlan(NamedTuple):
    """How a table of messages is put in order."""

    stamps: StampPlan
    reading: Reading
    columns: dict[str, str]
    """The columns of the table that are read, by what they are to the projection."""
    group: str | None
    arrival: str | None
    places: list[str]
    """Columns of texts that must all be places, since no members are named."""

    @property
    def unhashed_columns(self) -> set[str]:
        """Columns that are no part of what a message says: two copies may differ in them."""
        left_out = {self.columns[name] for name in ("arrival", "time") if name in self.columns}
        left_out.update(RECORD_PLACES)
        if self.stamps.form == "packets":
            left_out.add("arrived")
        if self.reading.whole:  # the kernel compares the stamps themselves
            left_out.add(self.columns["stamp"])
        return left_out

    @property
    def receiver_column_if_it_splits_groups(self) -> str | None:
        """The column of the receivers, if the rows of a group are put in order for each of them."""
        return self.columns.get("receiver") if self.stamps.form in FOR_ONE_RECEIVER else None

    def reuse_arrival_column_name(self, names: dict[str, str]) -> dict[str, str]:
        """The names of added columns; the arrivals in a column of this name need no other one."""
        return names | {"arrival": "arrival"} if self.arrival == "arrival" else names

    @property
    def shares_entries(self) -> bool:
        """Whether senders count on entries of others, so that a process's own broadcasts must be there."""
        protocol = self.stamps.protocol
        return bool(protocol) and get_protocol_class(protocol).shares_entries

    @property
    def notes(self) -> list[str]:
        """What a user must know of the order before any row is seen."""
        return describe_order_weaker_than_causal(self.stamps) + describe_left_out_causes(self.stamps)

    def order_rows_of_groups(self, table: pa.Table) -> pa.StructArray:
        """What becomes of each row of some groups; the table has the columns of the plan."""
        return order_partition(self.project_to_kernel_columns(table), self.reading)

    def project_to_kernel_columns(self, table: pa.Table) -> pa.Table:
        """The columns of the plan as the kernel reads them."""
        batches = [_project_batch(batch, self.stamps) for batch in table.to_batches()]
        return pa.Table.from_batches(batches)


def _project_batch(batch: pa.RecordBatch, stamps: StampPlan) -> pa.RecordBatch:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return pa.RecordBatch.from_pydict(make_kernel_columns(columns, stamps))


def plan_messages(table: TableColumns, options: MessageOptions) -> MessagePlan:
    """The plan for a table; a sentence for the caller if there can be none."""
    members = check_and_list_member_names(options.members)
    arrival = options.arrival or _find_default_arrival_column(table)
    is_timed = arrival is not None or options.time is not None
    form = _choose_stamp_form(table, options)
    group = options.group
    places: list[str] = []
    if form == "packets":
        group = group or "group"
        columns = {"stamp": "stamp", "sender": "sender", "number": "number", "kind": "kind"}
        stamps = StampPlan(form, members, wants_past=not is_timed)
        reading = Reading("packets")
    else:
        stamp = _choose_stamp_column(form, options)
        kind = table.get_column_type(stamp)
        _check_columns_of_form(table, options, form, kind)
        columns = _map_roles_to_columns(form, stamp, options)
        stamps = StampPlan(form, members, wants_past=not is_timed)
        reading = choose_reading(stamps, kind)
        if members is None:
            places = _list_process_columns_that_must_hold_places(table, options, form, kind)
        if group is None and form in FOR_ONE_RECEIVER:
            group = options.receiver
    for name, column in (("arrival", arrival), ("time", options.time)):
        if column is not None:
            _check_time_column(table, column)
            columns[name] = column
    if group is not None:
        columns["group"] = group
    for column in (*columns.values(), *_list_columns_named_by_caller(options)):
        table.get_column_type(column)
    for role in ("sender", "receiver", "group", "id"):
        if role in columns:
            _check_name_column(table, role, columns[role])
    return MessagePlan(stamps, reading, columns, group, arrival, places)


def check_and_list_member_names(members: Iterable[str | int] | None) -> tuple[str, ...] | None:
    """The names of the members, each in its place; refuses what cannot be one name for each entry."""
    if members is None:
        return None
    if isinstance(members, str | bytes):
        raise CallerError(f"members={members!r} is one text: give a list of names, as in ['a', 'b']")
    if isinstance(members, Set) or not isinstance(members, Iterable):
        raise CallerError(
            f"members= is of type {type(members).__name__}, which has no order: give a list of names, in the "
            "order of the entries"
        )
    names = tuple(_to_member_name(member) for member in members)
    if not names:
        raise CallerError(
            "members=, the processes in the order of the entries, names none: give all, or leave it out"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise CallerError(f"members=, the processes in the order of the entries, names {twice[0]!r} twice")
    return names


def _to_member_name(member: object) -> str:
    """A name as text: processes may be called by integers."""
    name = member.as_py() if isinstance(member, pa.Scalar) else member
    if isinstance(name, Integral) and not isinstance(name, bool):
        return str(int(name))
    if isinstance(name, str):
        return str(name)
    raise CallerError(
        f"members=, the processes in the order of the entries, has {name!r} among them: names are texts or "
        "integers"
    )


def _find_default_arrival_column(table: TableColumns) -> str | None:
    """A column called arrival tells when rows arrived, if it can; else it is one of the user's."""
    is_there = "arrival" in table.names and is_orderable_type(table.get_column_type("arrival"))
    return "arrival" if is_there else None


def _choose_stamp_form(table: TableColumns, options: MessageOptions) -> str:
    """The form that is named, or that the columns tell."""
    is_packets = set(PACKET_COLUMNS) <= set(table.names) and pt.is_binary(table.get_column_type("stamp"))
    if options.form == "packets" and not is_packets:
        needed = ", ".join(PACKET_COLUMNS)
        raise CallerError(f"form 'packets' needs the columns {needed}, the stamp as binary")
    if options.form is None and is_packets:
        return "packets"
    kind = table.get_column_type(_choose_stamp_column(options.form, options))
    if options.form is not None:
        check_form(options.form, options.stamp, kind)
        return options.form
    has_keys, has_id = options.keys is not None, options.id is not None
    return choose_form(options.stamp, kind, has_keys=has_keys, has_id=has_id)


def _choose_stamp_column(form: str | None, options: MessageOptions) -> str:
    """The column with the stamp: in a sequence the number is all of it."""
    return options.number if form == "sequence" and options.number else options.stamp


def _check_columns_of_form(
    table: TableColumns, options: MessageOptions, form: str, stamp_type: pa.DataType
) -> None:
    """Refuse a table without a column that its form needs, or with one that cannot be what it should."""
    needed = FORMS[form].needs
    if form in ("log", "predecessors"):  # without destinations, all that is named is for the receiver
        needed = ("number", "receiver") if stamp_type.value_type.num_fields == 3 else ("number",)
    for option in needed:
        if getattr(options, option) is None:
            raise CallerError(f"form {form!r} needs {option}=, the column with {OPTION_MEANINGS[option]}")
    if options.number is not None and form in ("log", "predecessors", "shared", "sequence"):
        _check_number_column(table, options.number)
    if form == "shared":
        keys = table.get_column_type(str(options.keys))
        if not is_list(keys) or not is_number(keys.value_type):
            raise CallerError(
                f"column {options.keys!r} is {describe_type(keys)}; keys are array<int>: cast it"
            )


def _check_number_column(table: TableColumns, column: str) -> None:
    kind = table.get_column_type(column)
    if not is_number(kind):
        raise CallerError(
            f"column {column!r} is {describe_type(kind)}, and the number of a message is an integer: "
            "cast it to bigint"
        )


def _check_name_column(table: TableColumns, role: str, column: str) -> None:
    """Refuse a column with several names in a row, or with what is no name."""
    kind = table.get_column_type(column)
    if is_list(kind):
        raise CallerError(
            f"column {column!r} is {describe_type(kind)}, and a row has one {role}: make a row for each "
            "(explode the list first), or name another column"
        )
    if pt.is_nested(kind):
        raise CallerError(
            f"column {column!r} is {describe_type(kind)}, and a {role} is a name: cast it to text"
        )


def _check_time_column(table: TableColumns, column: str) -> None:
    kind = table.get_column_type(column)
    if not is_orderable_type(kind):
        raise CallerError(
            f"column {column!r} is {describe_type(kind)}; rows are in order of a number or a timestamp: "
            "cast it"
        )


def _map_roles_to_columns(form: str, stamp_column: str, options: MessageOptions) -> dict[str, str]:
    """The columns that a projection reads."""
    columns = {"stamp": stamp_column, "sender": options.sender}
    if form == "parents":
        return {"stamp": stamp_column, "id": str(options.id)}
    if form == "shared":
        columns["keys"] = str(options.keys)
    if form in ("log", "predecessors", "shared") and options.number is not None:
        columns["number"] = options.number
    if form not in ("sequence", "shared") and options.receiver is not None:
        columns["receiver"] = options.receiver
    return columns


def _list_columns_named_by_caller(options: MessageOptions) -> list[str]:
    """The columns that the caller names, whether the form of the stamps has a use for them or not."""
    unnamed = MessageOptions()
    names = [name for name in options._fields if name not in NO_COLUMNS]
    return [getattr(options, name) for name in names if getattr(options, name) != getattr(unnamed, name)]


def _list_process_columns_that_must_hold_places(
    table: TableColumns, options: MessageOptions, form: str, stamp_type: pa.DataType
) -> list[str]:
    """The columns of processes that stamps call by places, and that are no integers."""
    sender, receiver = _find_sender_and_receiver_types_in_stamps(form, stamp_type)
    columns = []
    for column, inside in ((options.sender, sender), (options.receiver, receiver)):
        is_called_by_place = inside is not None and pt.is_integer(inside)
        if column is not None and is_called_by_place and not pt.is_integer(table.get_column_type(column)):
            columns.append(column)
    return columns


def _find_sender_and_receiver_types_in_stamps(
    form: str, stamp_type: pa.DataType
) -> tuple[pa.DataType | None, pa.DataType | None]:
    """How stamps of this type call senders and receivers; None where they do not."""
    if form in ("vector", "clock"):
        named = stamp_type.key_type if pt.is_map(stamp_type) else pa.int64()
        return named, named
    if form == "matrix":
        return pa.int64(), pa.int64()
    if form == "triples":
        return stamp_type.value_type.field(0).type, stamp_type.value_type.field(1).type
    if form == "pairs":
        time, last = stamp_type.field(0).type, stamp_type.field(1).type
        sender = time.key_type if pt.is_map(time) else pa.int64()
        return sender, last.key_type if pt.is_map(last) else last.value_type.field(0).type
    if form in ("log", "predecessors"):
        entry = stamp_type.value_type
        sender = entry.field(0).type
        return sender, entry.field(2).type.value_type if entry.num_fields == 3 else sender
    return None, None


def make_names_not_places_error(column: str, example: str | None) -> CallerError:
    """The error of a column that has names where stamps have places."""
    such = "" if example is None else f", such as {example[:80]!r}"
    return CallerError(
        f"stamps with entries by place, and column {column!r} has names{such}: give members=, "
        "the names in the order of the entries; or form=, if these lists have something else"
    )


def add_packet_protocol_to_plan(
    plan: MessagePlan, named_protocols: set[str], members: Collection[str]
) -> MessagePlan:
    """The plan for packets of one protocol; `members` sent or received any of them."""
    if len(named_protocols) > 1 or not named_protocols <= set(list_protocols()):
        raise CallerError(
            f"packets of {', '.join(sorted(named_protocols))}: order those of one known protocol at a time"
        )
    name = min(named_protocols, default="vector")  # of no packets at all any will do
    protocol = get_protocol_class(name)
    names = plan.stamps.members or tuple(sorted(members))
    reading = Reading(
        "packets",
        stretches=protocol.dense,
        noun="time" if protocol.gains_time else "message",
        members=names,
        protocol=name,
        silent=not protocol.dense and not protocol.gains_time,
    )
    return plan._replace(stamps=plan.stamps._replace(members=names, protocol=name), reading=reading)
