"""The table that the kernel of a plan reads, made of the rows of a caller in this process."""

from __future__ import annotations

import pyarrow as pa

from antecede.ordering.contents import hash_rows
from antecede.ordering.message_plan import RECORD_PLACES, MessagePlan
from antecede.ordering.plain_types import to_plain_types, to_text_column
from antecede.ordering.stamp_types import is_name


def make_kernel_table(table: pa.Table, plan: MessagePlan) -> pa.Table:
    """The columns of the plan, the group of each row, and a hash of what each row says."""
    columns = {name: to_plain_types(table[column]) for name, column in plan.columns.items()}
    columns["group"] = make_group_name_column(table, plan)
    contents = table.drop_columns(sorted(plan.unhashed_columns & set(table.column_names)))
    columns["content"] = hash_rows(contents)
    places = [name for name in RECORD_PLACES if name in table.column_names]
    if places:
        columns["record_place"] = hash_rows(table.select(places))
    return pa.table(columns)


def make_group_name_column(table: pa.Table, plan: MessagePlan) -> pa.ChunkedArray:
    """The group of each row, as a name; without groups all rows are in one."""
    if plan.group is None:
        return pa.chunked_array([pa.repeat("", len(table))])
    groups = to_plain_types(table[plan.group])
    return groups if is_name(groups.type) else to_text_column(groups)
