"""Which types of columns hold stamps of which form, so that a form need not be told."""

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import types as st

from antecede.core.errors import CallerError
from antecede.spark.ordering import forms
from antecede.spark.ordering.forms import INTEGERS, Read, Table


class Form(NamedTuple):
    """How stamps of a form are read, which types they may have, and these in words."""

    read: Callable[[Table], Read]
    fits: Callable[[st.DataType], bool]
    type: str


def _whole(kind: st.DataType) -> bool:
    return isinstance(kind, INTEGERS)


def _list(kind: st.DataType, *items: Callable[[st.DataType], bool]) -> bool:
    """A list whose items are so, or are structs whose fields are so."""
    if not isinstance(kind, st.ArrayType):
        return False
    item = kind.elementType
    return items[0](item) if len(items) == 1 else _struct(item, *items)


def _struct(kind: st.DataType, *fields: Callable[[st.DataType], bool]) -> bool:
    if not isinstance(kind, st.StructType) or len(kind.fields) != len(fields):
        return False
    return all(fits(field.dataType) for fits, field in zip(fields, kind.fields, strict=True))


def _name(kind: st.DataType) -> bool:
    return isinstance(kind, st.StringType) or _whole(kind)


def _counts(kind: st.DataType) -> bool:
    return _list(kind, _whole) or (
        isinstance(kind, st.MapType) and _name(kind.keyType) and _whole(kind.valueType)
    )


def _last(kind: st.DataType) -> bool:
    named = isinstance(kind, st.MapType) and _name(kind.keyType) and _counts(kind.valueType)
    return named or _list(kind, _name, _counts)


def _log(kind: st.DataType) -> bool:
    return _list(kind, _name, _whole) or _list(kind, _name, _whole, lambda to: _list(to, _name))


_LOG = Form(
    forms.log, _log, "array<struct<sender, number>> or array<struct<sender, number, array<destination>>>"
)
FORMS: dict[str, Form] = {
    "vector": Form(forms.vector, _counts, "map<name, int> or array<int>"),
    "matrix": Form(
        forms.matrix, lambda kind: _list(kind, lambda row: _list(row, _whole)), "array<array<int>>"
    ),
    "triples": Form(
        forms.triples, lambda kind: _list(kind, _name, _name, _whole), "array<struct<from, to, count>>"
    ),
    "pairs": Form(
        forms.pairs,
        lambda kind: _struct(kind, _counts, _last),
        "struct<time vector, array<struct<process, time vector>>>",
    ),
    "log": _LOG,
    "predecessors": _LOG,
    "shared": Form(forms.shared, lambda kind: _list(kind, _whole), "array<int>"),
    "parents": Form(forms.parents, lambda kind: _list(kind, _name), "array<string>"),
    "sequence": Form(forms.sequence, _whole, "int"),
}


def read(table: Table, form: str | None) -> Read:
    """What the kernel is to do and the columns it gets; the form is told, or known by the stamp's type."""
    kind = table.type(table.number if form == "sequence" and table.number else table.stamp)
    if form is None:
        fitting = [name for name, one in FORMS.items() if one.fits(kind)]
        special = [name for name, column in (("shared", table.keys), ("parents", table.id)) if column]
        form = next((name for name in [*special, *fitting] if name in fitting), None)
    if form is None or form not in FORMS:
        raise CallerError(
            f"{form or kind.simpleString()!r} is no form of stamps in column {table.stamp!r}: give form=, "
            f"one of {', '.join(FORMS)}"
        )
    if not FORMS[form].fits(kind):
        raise CallerError(
            f"column {table.stamp!r} is {kind.simpleString()}; stamps of form {form!r} are "
            f"{FORMS[form].type}: name another column or form, or cast it"
        )
    return FORMS[form].read(table)
