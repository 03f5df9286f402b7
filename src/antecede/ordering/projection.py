"""From the columns that a user names to the columns that the kernel reads: one projection for each form.

A projection looks at each row by itself, so it works on one batch of rows at a time. Lists are handled flat:
the entries of row i are at `starts[i]:starts[i + 1]` of one array, and `rows` has the row of each entry.
What is not for the receiver of a row is dropped here: of a matrix only one column goes on to the kernel.

The result has `sender` and `number` (who sent the message, and what it counts as there) and `needs` (the
counts that must be there before it); where a form has them also `gains`, `past`, `receiver`, `keys`, `id` or
`present`; `ordered_at`, where rows of a group are ordered apart from each other; and `fault`, the reason of
rows that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.events.columns import Bools, FlatLists, flatten_lists, to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.stamps import Reading
from antecede.ordering.whole_numbers import convert_floats_to_integers_and_mark_fractions, has_floats

Columns = dict[str, pa.Array]
Members = tuple[str, ...] | None
"""The names of processes in the order of the entries of stamps."""

NO_RECEIVER = "there is no receiver"
NO_MEMBER = "the receiver is not one of the members"
UNKNOWN_RECEIVER = "the receiver is unknown: the stamp has no entry for it"
NO_WHOLE_NUMBER = {
    "stamp": "the stamp has a count that is no whole number",
    "keys": "a key is no whole number",
    "number": "the number of the message is no whole number",
}
"""The faults of counts in columns of floats."""
PLACE = "^[0-9]{1,9}$"
"""The place of a process, written as text."""
INTEGER = "0|-?[1-9][0-9]*"
"""The name of a process that is an integer."""


class StampPlan(NamedTuple):
    """How the columns of a table of messages are read."""

    form: str
    members: Members = None
    wants_past: bool = False
    """Whether the order of arrival is to be told by what stamps know of the past: no column tells it."""
    protocol: str = ""
    """Of packets."""


def make_kernel_columns(user_columns: Columns, plan: StampPlan) -> Columns:
    """The columns for the kernel: those of the stamp, and those that are for the kernel as they are."""
    user_columns, odd_count = _convert_float_counts_to_integers(user_columns)
    projected = _PROJECTIONS[plan.form](user_columns, plan)
    if odd_count is not None:
        fault = projected.get("fault")
        projected["fault"] = odd_count if fault is None else pc.coalesce(odd_count, fault)
    if not plan.wants_past:
        projected.pop("past", None)
    for name in ("group", "content", "record_place", "unseen"):
        if name in user_columns:
            projected[name] = user_columns[name]
    for name in ("arrival", "time"):
        if name in user_columns:
            projected[name] = times_to_numbers(user_columns[name])
    return projected


def _convert_float_counts_to_integers(user_columns: Columns) -> tuple[Columns, pa.Array | None]:
    """The columns with integers for floats; and the fault of rows with a count that is no whole number."""
    cases = []
    for name, text in NO_WHOLE_NUMBER.items():
        if name in user_columns and has_floats(user_columns[name].type):
            whole, is_odd = convert_floats_to_integers_and_mark_fractions(user_columns[name])
            user_columns = {**user_columns, name: whole}
            cases.append((is_odd, text))
    return user_columns, _describe_first_fault(*cases) if cases else None


def times_to_numbers(moments: pa.Array) -> pa.Array:
    """Numbers, times or days as numbers in the same order."""
    kind = moments.type
    if pt.is_date(kind):
        moments = moments.cast(pa.date32()).cast(pa.int32())
    elif not pt.is_integer(kind) and not pt.is_timestamp(kind):
        return moments.cast(pa.float64())
    return moments.cast(pa.int64())


def to_text(names: pa.Array) -> pa.Array:
    """Names as texts."""
    if pt.is_binary(names.type):
        return _bytes_to_text(names)
    if not pt.is_nested(names.type):
        return names.cast(pa.string())
    texts = [None if name is None else str(name) for name in names.to_pylist()]
    return pa.array(texts, pa.string())


def _bytes_to_text(names: pa.Array) -> pa.Array:
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        raise CallerError(
            "a column of names is binary, and not all of it is UTF-8: cast it to text, such as hex"
        ) from None


def find_entry_places(names: pa.Array, members: Members) -> pa.Array:
    """Which entry of a list belongs to each process: an integer, or one of the members. -1 if it is none.

    Members that are integers themselves are names: an integer is then looked up among them.
    """
    has_integers = members is not None and all(re.fullmatch(INTEGER, name) for name in members)
    if pt.is_integer(names.type) and not has_integers:
        return names.cast(pa.int64())
    if members is None:
        text = pc.utf8_trim_whitespace(to_text(names))
        is_place = pc.match_substring_regex(text, PLACE)
        return pc.if_else(is_place, text, None).cast(pa.int64())
    text = to_text(names)
    place = pc.index_in(text, value_set=pa.array(members, pa.string()))
    place = place.fill_null(-1).cast(pa.int64())
    return pc.if_else(text.is_valid(), place, None)


def to_names_used_in_stamps(
    names: pa.Array, type_in_stamps: pa.DataType, members: Members, *, stamps_have_places: bool = False
) -> pa.Array:
    """Processes as they are called inside stamps: by texts, or by places, where who is no member is null.

    Integers inside stamps and beside them are of one numbering, unless the stamps are known to have places.
    """
    if not pt.is_integer(type_in_stamps):
        return to_text(names)
    is_same = pt.is_integer(names.type) and not stamps_have_places
    places = names.cast(pa.int64()) if is_same else find_entry_places(names, members)
    return pc.if_else(pc.greater_equal(places, 0), places, None)


def _make_kernel_columns_for_vector(user_columns: Columns, plan: StampPlan) -> Columns:
    """A count for each sender; the sender's own counts the message."""
    stamp = user_columns["stamp"]
    return {"needs": stamp, **_make_sender_number_and_receiver_columns(user_columns, stamp, plan)}


def _make_sender_number_and_receiver_columns(
    user_columns: Columns, vector: pa.Array, plan: StampPlan
) -> Columns:
    """Sender and receiver as a vector of times names them, and the sender's own entry."""
    projected = {}
    if pt.is_map(vector.type):
        sender = to_names_used_in_stamps(user_columns["sender"], vector.type.key_type, plan.members)
        projected["number"] = _take_entry_of_each_map_by_name(vector, sender)
        projected["sender"] = to_text(sender)
        if "receiver" in user_columns:
            projected["receiver"] = to_text(
                to_names_used_in_stamps(user_columns["receiver"], vector.type.key_type, plan.members)
            )
        return projected
    projected["sender"] = find_entry_places(user_columns["sender"], plan.members)
    projected["number"] = _take_entry_of_each_list_at_place(vector, projected["sender"])
    if "receiver" in user_columns:
        projected["receiver"] = find_entry_places(user_columns["receiver"], plan.members)
    return projected


def _make_kernel_columns_for_matrix(user_columns: Columns, plan: StampPlan) -> Columns:
    """Row x has what x has sent to each, before this message; only the receiver's column is of use."""
    receiver = find_entry_places(user_columns["receiver"], plan.members)
    sender = find_entry_places(user_columns["sender"], plan.members)
    column, is_square = _take_matrix_columns_and_mark_squares(user_columns["stamp"], receiver)
    number = pc.add(_take_entry_of_each_list_at_place(column, sender), 1)
    size = pc.list_value_length(column)
    not_square = pc.binary_join_element_wise(
        "the stamp is not square: it has ", size.cast(pa.string()), " rows, and one not as many entries", ""
    )
    is_beyond = pc.greater_equal(receiver, size.cast(pa.int64()))
    is_unknown = pc.or_(pc.less(receiver, 0), is_beyond)
    fault = _describe_first_fault(
        (receiver.is_null(), NO_RECEIVER),
        (~is_square, not_square),
        (is_unknown, UNKNOWN_RECEIVER),
    )
    apart = _make_ordered_at_column_if_receiver(user_columns)
    return {"needs": column, "sender": sender, "number": number, "fault": fault, **apart}


def _make_ordered_at_column_if_receiver(user_columns: Columns) -> Columns:
    """Stamps that are made for their receiver tell nothing elsewhere: each receiver has its own order."""
    return {"ordered_at": to_text(user_columns["receiver"])} if "receiver" in user_columns else {}


def _take_matrix_columns_and_mark_squares(
    matrices: pa.Array, column_places: pa.Array
) -> tuple[pa.Array, Bools]:
    """The entry at its place of every row of each matrix; and which matrices are square."""
    flat = flatten_lists(matrices)
    matrix_rows = flat.items[0]
    rows = flat.row_of_item
    place = to_integers(column_places, -1)[rows]
    column = _take_entry_of_each_list_at_place(matrix_rows, pa.array(place))
    lengths = to_integers(pc.list_value_length(matrix_rows), -1)
    is_odd = lengths != np.diff(flat.starts)[rows]
    is_square = np.bincount(rows[is_odd], minlength=len(matrices)) == 0
    return _make_lists_null_where(flat.starts, column, matrices), is_square


def _make_kernel_columns_for_triples(user_columns: Columns, plan: StampPlan) -> Columns:
    """The entries of a matrix that are not 0: from, to and count."""
    stamp = user_columns["stamp"]
    flat = flatten_lists(stamp)
    rows = flat.row_of_item
    source, to, count = flat.items[0].flatten()
    receiver = to_names_used_in_stamps(user_columns["receiver"], to.type, plan.members)
    sender = to_names_used_in_stamps(user_columns["sender"], source.type, plan.members)
    is_for_receiver = _mark_entries_with_name_of_their_row(to, receiver, rows)
    is_own = is_for_receiver & _mark_entries_with_name_of_their_row(source, sender, rows)
    sent_before = _take_first_chosen_of_each_row(count, is_own, rows, len(stamp))
    number = pc.add(sent_before.fill_null(0), 1)
    is_odd = _mark_rows_with_null_field(flat, source, to, count)
    fault = _describe_first_fault(
        *_list_receiver_faults(user_columns, receiver),
        (is_odd, "the stamp has an entry without from, to or count"),
    )
    needs = _make_lists_of_kept_pairs(flat.starts, is_for_receiver, source, count, stamp)
    apart = _make_ordered_at_column_if_receiver(user_columns)
    return {"needs": needs, "sender": to_text(sender), "number": number, "fault": fault, **apart}


def _make_kernel_columns_for_pairs(user_columns: Columns, plan: StampPlan) -> Columns:
    """The time of the message and, for each process written to, the time of the last message to it."""
    stamp = user_columns["stamp"]
    time, last = stamp.flatten()
    flat = flatten_lists(last)
    rows = flat.row_of_item
    entries = flat.items if pt.is_map(last.type) else flat.items[0].flatten()
    process, times = entries
    stamps_have_places = not pt.is_map(time.type)
    receiver = to_names_used_in_stamps(
        user_columns["receiver"], process.type, plan.members, stamps_have_places=stamps_have_places
    )
    is_for_receiver = _mark_entries_with_name_of_their_row(process, receiver, rows)
    entry = _take_first_chosen_of_each_row(times, is_for_receiver, rows, len(stamp))
    empty, null = pa.scalar([], times.type), pa.scalar(None, times.type)
    needs = pc.if_else(entry.is_valid(), entry, empty)
    needs = pc.if_else(stamp.is_valid(), needs, null)
    times_of_receiver = np.bincount(rows[is_for_receiver], minlength=len(stamp))
    has_no_last = pc.and_(stamp.is_valid(), last.is_null())
    fault = _describe_first_fault(
        *_list_receiver_faults(user_columns, receiver),
        (has_no_last, "the stamp has no list of last messages"),
        (
            _mark_rows_with_null_field(flat, process, times),
            "the stamp has a last message without a process or a time",
        ),
        (times_of_receiver > 1, "the stamp has two last messages to the receiver"),
    )
    projected = _make_sender_number_and_receiver_columns(user_columns, time, plan)
    return {
        "needs": needs,
        "gains": time,
        "fault": fault,
        **projected,
        **_make_ordered_at_column_if_receiver(user_columns),
    }


def _make_kernel_columns_for_log(user_columns: Columns, plan: StampPlan) -> Columns:
    """Messages of the past: sender, number and, unless all are for this receiver, destinations."""
    stamp = user_columns["stamp"]
    flat = flatten_lists(stamp)
    source, count, *destinations = flat.items[0].flatten()
    sender = to_text(to_names_used_in_stamps(user_columns["sender"], source.type, plan.members))
    number = user_columns["number"].cast(pa.int64())
    projected = {"sender": sender, "number": number, **_make_ordered_at_column_if_receiver(user_columns)}
    is_needed = np.ones(len(source), dtype=bool)
    if destinations:
        (to,) = destinations
        receiver = to_names_used_in_stamps(user_columns["receiver"], to.type.value_type, plan.members)
        is_needed = _find_entries_for_receiver(to, receiver, flat.row_of_item)
        past = _make_lists_of_kept_pairs(flat.starts, True, source, count, stamp)
        projected["past"] = _add_previous_message_of_sender(past, sender, number)
        is_odd = _mark_rows_with_null_field(flat, source, count, to)
        is_odd |= _mark_rows_with_null_in_name_lists(flat, to)
        fault = "the stamp has an entry without a sender, a number or destinations"
        projected["fault"] = _describe_first_fault(
            *_list_receiver_faults(user_columns, receiver), (is_odd, fault)
        )
    projected["needs"] = _make_lists_of_kept_pairs(flat.starts, is_needed, source, count, stamp)
    if "receiver" in user_columns:
        receiver = to_names_used_in_stamps(user_columns["receiver"], source.type, plan.members)
        projected["receiver"] = to_text(receiver)
    return projected


def _find_entries_for_receiver(destinations: pa.Array, receiver: pa.Array, row_of_entry: Ints) -> Bools:
    """Which entries have the receiver of their row among their destinations."""
    flat = flatten_lists(destinations)
    entry_of_name = flat.row_of_item
    is_receiver = _mark_entries_with_name_of_their_row(flat.items[0], receiver, row_of_entry[entry_of_name])
    entries = entry_of_name[is_receiver]
    return np.bincount(entries, minlength=len(destinations)) > 0


def _add_previous_message_of_sender(past: pa.Array, sender: pa.Array, number: pa.Array) -> pa.Array:
    """The past with one more entry in each row that has one: the sender's message before this one."""
    flat = flatten_lists(past)
    entries = flat.items[0]
    has_past = past.is_valid().to_numpy(zero_copy_only=False)
    number_before = pc.subtract(number, 1)
    number_before = pc.max_element_wise(number_before, 0, skip_nulls=False)
    own = pa.StructArray.from_arrays([sender, number_before], fields=list(entries.type))
    # Behind the entries of each row comes its own one.
    rows = np.concatenate((flat.row_of_item, np.flatnonzero(has_past)))
    order = np.argsort(rows, kind="stable")
    both = pa.concat_arrays([entries, own.filter(pa.array(has_past))]).take(pa.array(order))
    starts = flat.starts + np.concatenate(([0], np.cumsum(has_past)))
    return _make_lists_null_where(starts, both, past)


def _make_kernel_columns_for_shared_entries(user_columns: Columns, plan: StampPlan) -> Columns:
    """Entries that several senders share, and the keys of the sender: the places it counts on."""
    projected = {
        "needs": user_columns["stamp"],
        "keys": user_columns["keys"],
        "sender": to_text(user_columns["sender"]),
    }
    if "number" in user_columns:
        projected["number"] = user_columns["number"].cast(pa.int64())
    return projected


def _make_kernel_columns_for_parents(user_columns: Columns, plan: StampPlan) -> Columns:
    """The ids of the messages that came directly before; in a struct, also of those that must have come."""
    stamp = user_columns["stamp"]
    lists = stamp.flatten() if pt.is_struct(stamp.type) else [stamp]
    ids = (part.cast(pa.list_(pa.string())) for part in lists)
    return {**dict(zip(("needs", "present"), ids, strict=False)), "id": to_text(user_columns["id"])}


def _make_kernel_columns_for_sequence(user_columns: Columns, plan: StampPlan) -> Columns:
    """The number of the message at its sender, from 1."""
    number = user_columns["number" if "number" in user_columns else "stamp"]
    return {"sender": to_text(user_columns["sender"]), "number": number.cast(pa.int64())}


def _make_kernel_columns_for_packets(user_columns: Columns, plan: StampPlan) -> Columns:
    """Packets of a protocol, which reads its stamps itself; the group is the process they arrived at."""
    return {
        "needs": user_columns["stamp"],
        "sender": to_text(user_columns["sender"]),
        "receiver": to_text(user_columns["group"]),
        "number": user_columns["number"].cast(pa.int64()),
        "kind": user_columns["kind"],
    }


_PROJECTIONS: dict[str, Callable[[Columns, StampPlan], Columns]] = {
    "vector": _make_kernel_columns_for_vector,
    "clock": _make_kernel_columns_for_vector,
    "matrix": _make_kernel_columns_for_matrix,
    "triples": _make_kernel_columns_for_triples,
    "pairs": _make_kernel_columns_for_pairs,
    "log": _make_kernel_columns_for_log,
    "predecessors": _make_kernel_columns_for_log,
    "shared": _make_kernel_columns_for_shared_entries,
    "parents": _make_kernel_columns_for_parents,
    "sequence": _make_kernel_columns_for_sequence,
    "packets": _make_kernel_columns_for_packets,
}


def choose_reading(plan: StampPlan, stamp_type: pa.DataType) -> Reading:
    """What the kernel does with the columns of a projection of stamps of this type."""
    by_place = not pt.is_map(stamp_type)
    if plan.form in ("vector", "clock"):
        shape = "entries" if by_place else "pairs"
        members = plan.members if by_place else None
        reading = Reading(shape, counted=True, whole=True, members=members)
        return reading._replace(ticks=True, stretches=False) if plan.form == "clock" else reading
    if plan.form == "matrix":
        return Reading("entries", members=plan.members)
    if plan.form == "triples":
        return Reading("pairs")
    if plan.form == "pairs":
        by_place = not pt.is_map(stamp_type.field(0).type)
        shape = "entries" if by_place else "pairs"
        members = plan.members if by_place else None
        return Reading(shape, stretches=False, noun="time", members=members)
    if plan.form in ("log", "predecessors"):
        return Reading("pairs", stretches=False, silent=True)
    is_seen_whole = plan.form in ("shared", "parents") and not pt.is_struct(stamp_type)
    return Reading(plan.form, whole=is_seen_whole)


def _take_entry_of_each_list_at_place(lists: pa.Array, places: pa.Array) -> pa.Array:
    """The entry of each list at a place; null where the list has none."""
    flat = flatten_lists(lists)
    place = to_integers(places, -1)
    is_inside = (place >= 0) & (place < np.diff(flat.starts))
    at = np.where(is_inside, flat.starts[:-1] + place, 0)
    entries = flat.items[0].take(pa.array(at, mask=~is_inside))
    return entries.cast(pa.int64())


def _take_entry_of_each_map_by_name(maps: pa.Array, names: pa.Array) -> pa.Array:
    """The entry of each map that has a name; null where the map has none."""
    flat = flatten_lists(maps)
    rows = flat.row_of_item
    keys, values = flat.items
    is_named = _mark_entries_with_name_of_their_row(keys, names, rows)
    entries = _take_first_chosen_of_each_row(values, is_named, rows, len(maps))
    return entries.cast(pa.int64())


def _take_first_chosen_of_each_row(
    values: pa.Array, is_chosen: Bools, rows: Ints, row_count: int
) -> pa.Array:
    """For each row its first entry that is chosen, or null."""
    chosen = np.flatnonzero(is_chosen)[::-1]
    at = np.full(row_count, -1, dtype=np.int64)
    at[rows[chosen]] = chosen
    return values.take(pa.array(at, mask=at < 0))


def _mark_entries_with_name_of_their_row(entries: pa.Array, names: pa.Array, row_of_entry: Ints) -> Bools:
    """Which entries have the name of their row; null is no name."""
    if not pt.is_integer(entries.type):
        encoded = entries.dictionary_encode()
        entries = encoded.indices
        names = pc.index_in(names, value_set=encoded.dictionary)
    name_of_row = to_integers(names, -2)
    return np.asarray(to_integers(entries, -1) == name_of_row[row_of_entry])


def _mark_rows_with_null_field(flat: FlatLists, *fields: pa.Array) -> Bools:
    """Which rows have an entry without one of its fields."""
    is_null = np.zeros(len(fields[0]), dtype=bool)
    for field in fields:
        if field.null_count:
            is_null |= field.is_null().to_numpy(zero_copy_only=False)
    rows = flat.row_of_item[is_null]
    return np.bincount(rows, minlength=len(flat.starts) - 1) > 0


def _mark_rows_with_null_in_name_lists(flat: FlatLists, name_lists: pa.Array) -> Bools:
    """Which rows have an entry with a null in its list of names."""
    inner = flatten_lists(name_lists)
    is_null = inner.items[0].is_null().to_numpy(zero_copy_only=False)
    rows = flat.row_of_item[inner.row_of_item[is_null]]
    return np.bincount(rows, minlength=len(flat.starts) - 1) > 0


def _list_receiver_faults(user_columns: Columns, receiver: pa.Array) -> list[tuple[pa.Array, str]]:
    """Rows whose receiver is null, or not to be found among those inside stamps."""
    is_missing = user_columns["receiver"].is_null()
    return [(is_missing, NO_RECEIVER), (receiver.is_null(), NO_MEMBER)]


def _describe_first_fault(*cases: tuple[pa.Array | Bools, str | pa.Array]) -> pa.Array:
    """The text of the first case that holds for each row, or null; what is unknown does not hold."""
    fault: pa.Array = pa.scalar(None, pa.string())
    for holds, text in reversed(cases):
        is_known = pc.fill_null(pa.array(holds), False)
        fault = pc.if_else(is_known, text, fault)
    return fault


def _make_lists_of_kept_pairs(
    starts: Ints, is_kept: Bools | bool, names: pa.Array, counts: pa.Array, null_where: pa.Array
) -> pa.Array:
    """Lists of (name, count) of the entries that are kept; null where the stamp is."""
    fields = [to_text(names), counts.cast(pa.int64())]
    pairs = pa.StructArray.from_arrays(fields, names=["name", "count"])
    if is_kept is not True:
        before = np.concatenate(([0], np.cumsum(is_kept)))
        starts, pairs = before[starts], pairs.filter(pa.array(is_kept))
    return _make_lists_null_where(starts, pairs, null_where)


def _make_lists_null_where(starts: Ints, items: pa.Array, null_where: pa.Array) -> pa.Array:
    """Lists with these items, null where another column is."""
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), items, mask=null_where.is_null())
