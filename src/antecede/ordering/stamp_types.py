"""Which types of columns hold stamps of which form, so that a form need not be named."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.ordering.forms import FORMS, join_form_names
from antecede.ordering.whole_numbers import is_number

TypeCheck = Callable[[pa.DataType], bool]

_SQL_NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.null(): "void",
}


def describe_type(kind: pa.DataType) -> str:
    """A type as SQL writes it: both engines say the same of the same column."""
    if pt.is_map(kind):
        return f"map<{describe_type(kind.key_type)},{describe_type(kind.item_type)}>"
    if pt.is_struct(kind):
        fields = (f"{field.name}:{describe_type(field.type)}" for field in kind.fields)
        return f"struct<{','.join(fields)}>"
    if is_list(kind):
        return f"array<{describe_type(kind.value_type)}>"
    if pt.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pt.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _SQL_NAMES.get(kind, str(kind))


def is_name(kind: pa.DataType) -> bool:
    """Processes and messages are called by texts or by integers."""
    return is_text(kind) or pt.is_integer(kind)


def is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    is_view = pt.is_list_view(kind) or pt.is_large_list_view(kind)
    return bool(pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind) or is_view)


def is_orderable_type(kind: pa.DataType) -> bool:
    """Whether rows can be in order of a column of this type."""
    return bool(is_number(kind) or pt.is_decimal(kind) or pt.is_timestamp(kind) or pt.is_date(kind))


def _is_list_of(kind: pa.DataType, item: TypeCheck) -> bool:
    return is_list(kind) and item(kind.value_type)


def _is_struct_of(kind: pa.DataType, *fields: TypeCheck) -> bool:
    if not pt.is_struct(kind) or kind.num_fields != len(fields):
        return False
    return all(check(field.type) for check, field in zip(fields, kind.fields, strict=True))


def _is_vector(kind: pa.DataType) -> bool:
    if pt.is_map(kind):
        return is_name(kind.key_type) and is_number(kind.item_type)
    return _is_list_of(kind, is_number)


def _is_matrix(kind: pa.DataType) -> bool:
    return _is_list_of(kind, lambda row: _is_list_of(row, is_number))


def _is_triples(kind: pa.DataType) -> bool:
    return _is_list_of(kind, lambda entry: _is_struct_of(entry, is_name, is_name, is_number))


def _is_pairs(kind: pa.DataType) -> bool:
    return _is_struct_of(kind, _is_vector, _is_last_messages)


def _is_last_messages(kind: pa.DataType) -> bool:
    if pt.is_map(kind):
        return is_name(kind.key_type) and _is_vector(kind.item_type)
    return _is_list_of(kind, lambda entry: _is_struct_of(entry, is_name, _is_vector))


def _is_log(kind: pa.DataType) -> bool:
    def is_entry(entry: pa.DataType) -> bool:
        is_direct = _is_struct_of(entry, is_name, is_number)
        return is_direct or _is_struct_of(entry, is_name, is_number, is_destinations)

    def is_destinations(field: pa.DataType) -> bool:
        return _is_list_of(field, is_name)

    return _is_list_of(kind, is_entry)


def _is_ids(kind: pa.DataType) -> bool:
    """Lists of names, or lists of nothing, which are all empty."""
    return _is_list_of(kind, lambda item: is_name(item) or bool(pt.is_null(item)))


def _is_parents(kind: pa.DataType) -> bool:
    return _is_ids(kind) or _is_struct_of(kind, _is_ids, _is_ids)


def _is_counts(kind: pa.DataType) -> bool:
    return _is_list_of(kind, is_number)


TYPE_CHECKS: dict[str, TypeCheck] = {
    "vector": _is_vector,
    "clock": _is_vector,
    "matrix": _is_matrix,
    "triples": _is_triples,
    "pairs": _is_pairs,
    "log": _is_log,
    "predecessors": _is_log,
    "shared": _is_counts,
    "parents": _is_parents,
    "sequence": is_number,
    "packets": pt.is_binary,
}
"""For each form, whether stamps can have a type."""


def choose_form(stamp_column: str, kind: pa.DataType, *, has_keys: bool, has_id: bool) -> str:
    """The form of stamps of this type: of several that fit, the one that other columns tell, or the first."""
    fitting = [name for name, fits in TYPE_CHECKS.items() if fits(kind)]
    if has_keys and "shared" in fitting:
        return "shared"
    if has_id and "parents" in fitting:
        return "parents"
    if not fitting:
        raise CallerError(
            f"{describe_type(kind)!r} is no form of stamps in column {stamp_column!r}: give form=, "
            f"one of {join_form_names()}"
        )
    return fitting[0]


def check_form(form: str, stamp_column: str, kind: pa.DataType) -> None:
    """Refuse a form that does not exist, or that stamps of this type cannot have."""
    if form not in FORMS:
        raise CallerError(
            f"{form!r} is no form of stamps in column {stamp_column!r}: give form=, "
            f"one of {join_form_names()}"
        )
    if not TYPE_CHECKS[form](kind):
        raise CallerError(
            f"column {stamp_column!r} is {describe_type(kind)}; stamps of form {form!r} are "
            f"{FORMS[form].type}: name another column or form, or cast it"
        )
