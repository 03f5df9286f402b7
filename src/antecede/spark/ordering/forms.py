"""The forms of stamps in a table of messages: what each turns into before rows are sent to the kernel.

What is not for the receiver of a row is dropped inside Spark: of a matrix only one column leaves it. A struct
is read by the order of its fields, whatever their names are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.core.errors import CallerError
from antecede.ordering.stamps import Reading
from antecede.spark.ordering.outcome import FILE, LINE

INTEGERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
Read = tuple[Reading, dict[str, Column]]


def named(name: str) -> Column:
    """A column, whatever signs are in its name."""
    return sf.col("`" + name.replace("`", "``") + "`")


@dataclass(frozen=True)
class Table:
    """A table of messages and what its columns are said to be."""

    frame: DataFrame
    sender: str
    stamp: str
    receiver: str | None
    number: str | None
    keys: str | None
    id: str | None
    members: tuple[str, ...] | None

    def type(self, name: str) -> st.DataType:
        """The type of a column; refuses one that is not there."""
        if name not in self.frame.columns:
            known = ", ".join(one for one in self.frame.columns if one not in (FILE, LINE))
            raise CallerError(f"there is no column {name!r}; there are: {known}")
        return self.frame.schema[name].dataType

    def column(self, name: str) -> Column:
        """A column, which must be there."""
        self.type(name)
        return named(name)

    def need(self, option: str, form: str, what: str) -> Column:
        """The column that an option names, which this form cannot do without."""
        name: str | None = getattr(self, option)
        if name is None:
            raise CallerError(f"form {form!r} needs {option}=, the column with {what}")
        return self.column(name)

    def whole(self, name: str, what: str) -> Column:
        """A column of integers."""
        if not isinstance(self.type(name), INTEGERS):
            kind = self.type(name).simpleString()
            raise CallerError(f"column {name!r} is {kind}, and {what} is an integer: cast it to bigint")
        return self.column(name)

    def place(self, name: str) -> Column:
        """Which entry of an array belongs to the process in the column: an integer, or one of the members."""
        if isinstance(self.type(name), INTEGERS):
            return self.column(name).cast("int")
        if self.members is None:
            return self._counted(name)
        names = sf.array(*(sf.lit(member) for member in self.members))
        return (sf.array_position(names, self.column(name).cast("string")) - 1).cast("int")

    def _counted(self, name: str) -> Column:
        """Places that stand in a column of another type; refuses names, which are no places."""
        text = sf.trim(self.column(name).cast("string"))
        names = sf.min(sf.when(~text.rlike("^[0-9]{1,9}$"), text))
        found = self.frame.select(sf.count(text), names).first()
        if found and found[0] and found[1] is None:
            return text.cast("int")
        such = f", such as {found[1][:80]!r}" if found and found[1] is not None else ""
        raise CallerError(
            f"stamps with entries by place, and column {name!r} has names{such}: give members=, "
            "the names in the order of the entries"
        )

    def process(self, name: str, like: st.DataType) -> Column:
        """The process in the column, to be compared with those inside stamps; null if it is no member."""
        if isinstance(like, INTEGERS):
            return sf.when(self.place(name) >= 0, self.place(name))
        return self.column(name).cast("string")


def vector(table: Table) -> Read:
    """A count for each sender; the sender's own counts the message."""
    kind, stamp = table.type(table.stamp), table.column(table.stamp)
    found = {"needs": stamp, **_receiver(table, kind)}
    if isinstance(kind, st.MapType):
        key = table.column(table.sender).cast(kind.keyType)
        found |= {
            "sender": table.column(table.sender).cast("string"),
            "number": _long(sf.try_element_at(stamp, key)),
        }
        return Reading("pairs", counted=True, whole=True), found
    place = table.place(table.sender)
    return _by_place(table, Reading("entries", counted=True, whole=True)), {
        **found,
        "sender": place,
        "number": _long(sf.get(stamp, place)),
    }


def matrix(table: Table) -> Read:
    """Row x has what x has sent to each, before this message; only the receiver's column is of use."""
    to = table.need("receiver", "matrix", "the process that the message is for")
    place, sender = table.place(str(table.receiver)), table.place(table.sender)
    stamp = table.column(table.stamp)
    size = sf.size(stamp)
    column = sf.transform(stamp, lambda row: sf.get(row, place))
    number = _long(sf.get(column, sender)) + 1
    odd = sf.exists(stamp, lambda row: row.isNull() | (sf.size(row) != size))
    told = sf.concat(
        sf.lit("the stamp is not square: it has "), size, sf.lit(" rows, and one not as many entries")
    )
    fault = sf.when(to.isNull(), "there is no receiver").when(stamp.isNotNull() & odd, told)
    fault = fault.when(
        (place < 0) | (place >= size), "the receiver is unknown: the stamp has no entry for it"
    )
    found = {"needs": column, "sender": sender, "number": number, "fault": fault}
    return _by_place(table, Reading("entries")), found


def triples(table: Table) -> Read:
    """The entries of a matrix that are not 0: from, to and count."""
    table.need("receiver", "triples", "the process that the message is for")
    sender, to, count = _fields(table.type(table.stamp))
    here, mine = table.process(str(table.receiver), to.dataType), table.process(table.sender, sender.dataType)
    column = sf.filter(table.column(table.stamp), lambda one: one[to.name] == here)
    own = sf.filter(column, lambda one: one[sender.name] == mine)
    number = sf.coalesce(_long(sf.get(own, 0)[count.name]), sf.lit(0)) + 1
    pairs = sf.transform(column, lambda one: _pair(one[sender.name], one[count.name]))
    fault = _nobody(table, here).when(
        _without(table.column(table.stamp), sender, to, count),
        "the stamp has an entry without from, to or count",
    )
    found = {"needs": pairs, "sender": mine.cast("string"), "number": number, "fault": fault}
    return Reading("pairs"), found


def pairs(table: Table) -> Read:
    """The time of the message and, for each process written to, the time of the last message to it."""
    table.need("receiver", "pairs", "the process that the message is for")
    kind, stamp = table.type(table.stamp), table.column(table.stamp)
    time, last = (field for field in kind.fields)  # type: ignore[attr-defined]
    if isinstance(last.dataType, st.MapType):
        here = table.process(str(table.receiver), last.dataType.keyType)
        entry = sf.try_element_at(stamp[last.name], here.cast(last.dataType.keyType))
        odd = sf.exists(sf.map_values(stamp[last.name]), lambda vector: vector.isNull())
    else:
        process, vector = last.dataType.elementType.fields
        here = table.process(str(table.receiver), process.dataType)
        entry = sf.get(sf.filter(stamp[last.name], lambda one: one[process.name] == here), 0)[vector.name]
        odd = _without(stamp[last.name], process, vector)
    fault = _nobody(table, here)
    fault = fault.when(
        stamp.isNotNull() & stamp[last.name].isNull(), "the stamp has no list of last messages"
    )
    fault = fault.when(odd, "the stamp has a last message without a process or a time")
    needs = sf.when(stamp.isNotNull(), sf.coalesce(entry, _empty(time.dataType)))
    found = {"needs": needs, "gains": stamp[time.name], "fault": fault, **_receiver(table, time.dataType)}
    if isinstance(time.dataType, st.MapType):
        key = table.column(table.sender).cast(time.dataType.keyType)
        number = sf.try_element_at(stamp[time.name], key)
        found |= {"sender": table.column(table.sender).cast("string"), "number": _long(number)}
        return Reading("pairs", stretches=False, noun="time"), found
    place = table.place(table.sender)
    found |= {"sender": place, "number": _long(sf.get(stamp[time.name], place))}
    return _by_place(table, Reading("entries", stretches=False, noun="time")), found


def log(table: Table) -> Read:
    """Messages of the past: sender, number and, unless all are for this receiver, destinations."""
    stamp, (sender, number, *others) = table.column(table.stamp), _fields(table.type(table.stamp))
    table.need("number", "log", "the number of the message at its sender, to whomever")
    own = _long(table.whole(str(table.number), "the number of a message"))
    found = {"sender": table.process(table.sender, sender.dataType).cast("string"), "number": own}

    def counts(entries: Column) -> Column:
        return sf.transform(entries, lambda one: _pair(one[sender.name], _long(one[number.name])))

    if others:
        table.need("receiver", "log", "the process that the message is for")
        here = table.process(str(table.receiver), others[0].dataType.elementType)  # type: ignore[attr-defined]
        before = _pair(found["sender"], sf.greatest(own - 1, sf.lit(0)))
        found["past"] = sf.concat(counts(stamp), sf.array(before))
        nameless = sf.exists(stamp, lambda one: sf.exists(one[others[0].name], lambda to: to.isNull()))
        odd = _without(stamp, sender, number, *others) | sf.coalesce(nameless, sf.lit(False))
        found["fault"] = _nobody(table, here).when(
            odd, "the stamp has an entry without a sender, a number or destinations"
        )
        stamp = sf.filter(stamp, lambda one: sf.array_contains(one[others[0].name], here))
    found["needs"] = counts(stamp)
    if table.receiver is not None:
        found["receiver"] = table.process(table.receiver, sender.dataType).cast("string")
    return Reading("pairs", stretches=False), found


def shared(table: Table) -> Read:
    """Entries that several senders share, and the keys of the sender: the places it counts on."""
    keys = table.need("keys", "shared", "the places that the sender counts on")
    found = {
        "needs": table.column(table.stamp),
        "keys": keys,
        "sender": table.column(table.sender).cast("string"),
    }
    if table.number is not None:
        found["number"] = _long(table.whole(table.number, "the number of a message"))
    return Reading("shared", whole=True), found


def parents(table: Table) -> Read:
    """The ids of the messages that came directly before."""
    own = table.need("id", "parents", "the id of the message itself")
    return Reading("parents", whole=True), {
        "needs": table.column(table.stamp).cast("array<string>"),
        "id": own.cast("string"),
    }


def sequence(table: Table) -> Read:
    """The number of the message at its sender, from 1."""
    number = _long(table.whole(table.number or table.stamp, "a sequence number"))
    return Reading("sequence"), {"sender": table.column(table.sender).cast("string"), "number": number}


def _by_place(table: Table, reading: Reading) -> Reading:
    return reading._replace(members=table.members)


def _receiver(table: Table, stamp: st.DataType) -> dict[str, Column]:
    """Who receives, to whom its own messages are no news."""
    if table.receiver is None:
        return {}
    named = isinstance(stamp, st.MapType)
    return {"receiver": table.column(table.receiver).cast("string") if named else table.place(table.receiver)}


def _fields(kind: st.DataType) -> list[st.StructField]:
    return list(kind.elementType.fields)  # type: ignore[attr-defined]


def _nobody(table: Table, here: Column) -> Column:
    """The reason of rows whose receiver is null, or not to be found among those inside stamps."""
    missing = sf.when(table.column(str(table.receiver)).isNull(), "there is no receiver")
    return missing.when(here.isNull(), "the receiver is not one of the members")


def _without(entries: Column, *fields: st.StructField) -> Column:
    """Whether one of the entries is null, or one of its fields; false where there are no entries."""
    missing = sf.exists(entries, lambda one: reduce(or_, (one[field.name].isNull() for field in fields)))
    return sf.coalesce(missing, sf.lit(False))


def _pair(name: Column, count: Column) -> Column:
    return sf.struct(name.cast("string").alias("name"), count.alias("count"))


def _long(column: Column) -> Column:
    return column.cast("bigint")


def _empty(kind: st.DataType) -> Column:
    return (sf.create_map() if isinstance(kind, st.MapType) else sf.array()).cast(kind)
