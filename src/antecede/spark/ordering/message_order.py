"""Tables of messages in causal order: the compiled gate per group, whatever form the stamps have.

| form | column `stamp` | and |
|---|---|---|
| vector | map<name, int>, or array<int> by place | `sender` a place, or `members` |
| matrix | array<array<int>>: row x, column y is what x sent to y before | `receiver`; places as above |
| triples | array<struct<from, to, count>>: the entries of a matrix that are not 0 | `receiver` |
| pairs (SES) | struct<time vector, array<struct<process, time vector>>> | `receiver` |
| log (KS), predecessors (PRS) | array<struct<sender, number[, destinations]>> | `number`, `receiver` |
| shared (R entries, K keys) | array<int> | `keys`: array<int> |
| parents | array<id> | `id` |
| sequence | int, from 1 for each sender | |
| packets | binary, as `antecede simulate --out` writes them | nothing: known by its columns |

With `receiver`, what the receiver itself has sent is taken to be there: a table of what arrived at a process
does not have it. Without, all messages of the group must be in the table.

Stamps of pairs, log and predecessors leave out causes that their sender knows the receiver to have. Where no
column tells in which order rows arrived, the rest of the stamp does: the time of pairs knows all of them, a
log with destinations some, predecessors none: name a column there, `arrival` or `time`.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.core.errors import CallerError
from antecede.ordering.partition import ANSWER as ANSWER_TYPE
from antecede.ordering.partition import order_partition
from antecede.ordering.stamps import Reading
from antecede.protocols.registry import get_protocol, list_protocols
from antecede.spark.ordering.fingerprint import fingerprint
from antecede.spark.ordering.forms import INTEGERS, Table
from antecede.spark.ordering.outcome import ANSWER, FILE, LINE, Outcome, our_names
from antecede.spark.ordering.stamp_types import read
from antecede.spark.partition_kernel import beside
from antecede.tables import MESSAGES

_OWN = "antecede own"
MOMENTS = (
    st.TimestampType, st.TimestampNTZType, st.DateType, st.FloatType, st.DoubleType, st.DecimalType, *INTEGERS
)  # fmt: skip
"""Types of columns that rows can be in order of."""


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
    members: Sequence[str] | None = None,
    partitions: int | None = None,
) -> Outcome:
    """Each message as soon as everything that caused it is out, with its position.

    `group` names the ordering domain (without it all rows are one), `members` the processes in the order of
    the stamps' entries. Messages arrive in the order of `arrival` (or of a column of that name), else of
    `time`, else of sender and number: never as the rows happen to lie.

    - `ordered`: the messages + `position`, from 0 in each group, + `arrival`;
    - `held`: the messages + `missing`, what each waits for, + `since`, its arrival;
    - `quarantine`: the messages + `reason`: duplicates (the first one counts) and malformed stamps;
    - `gaps`: what is missing and not itself held, or a cycle of rows, with how many rows wait for it.

    A column of ours whose name the input has is called so with `antecede_` in front. A group is handled in
    the memory of one task, together with the other groups of its partition. Each of the tables is computed
    when it is used; call `keep()` if you use more than one.
    """
    names = our_names(messages, "position", "arrival", "missing", "since", "reason")
    table = Table(
        messages, sender, stamp, receiver, number, keys, id, None if members is None else tuple(members)
    )
    packets = _are_packets(messages) if form is None else form == "packets"
    if packets:
        group = group or "group"
        messages, (reading, columns) = _packets(table, group)
    else:
        reading, columns = read(table, form)
    where = sf.lit("") if group is None else _key(table, group)
    arrival = arrival or _arrival(table)
    names["arrival"] = "arrival" if arrival == "arrival" else names["arrival"]
    columns = {"group": where, **_with_times(columns, _times(table, arrival, time))}
    shown = {arrival, time, *(("arrived",) if packets else ()), *((stamp,) if reading.whole else ())}
    columns["content"] = _content(table, shown)
    spread = messages.repartition(_parts(messages, group, partitions), *([] if group is None else [where]))
    rows = beside(spread, columns, partial(order_partition, reading=reading), ANSWER_TYPE, ANSWER)
    return _outcome(_without_own(rows), table, group, arrival, names)


def _outcome(
    rows: DataFrame, table: Table, group: str | None, arrival: str | None, names: dict[str, str]
) -> Outcome:
    """The parts of the rows."""
    answer = sf.col(ANSWER)
    own = [table.column(name) for name in table.frame.columns if name not in (FILE, LINE)]
    place = [table.column(name) for name in (FILE, LINE) if name in table.frame.columns]
    came = answer["arrival"] if arrival is None else table.column(arrival)
    added = [answer["position"].alias(names["position"])]
    added += [] if arrival == "arrival" else [came.alias(names["arrival"])]
    ordered = rows.where(answer["position"].isNotNull()).select(*own, *added)
    held = rows.where(answer["missing"].isNotNull())
    held = held.select(*own, answer["missing"].alias(names["missing"]), came.alias(names["since"]))
    quarantine = rows.where(answer["reason"].isNotNull())
    quarantine = quarantine.select(*own, *place, answer["reason"].alias(names["reason"]))
    name = sf.lit(None).cast("string") if group is None else table.column(group)
    gaps = rows.where(answer["gaps"].isNotNull())
    gaps = gaps.select(name.alias("group"), sf.inline(answer["gaps"]))
    return Outcome(ordered, held, quarantine, gaps, rows, names)


def _content(table: Table, left_out: set[str | None]) -> Column:
    """A hash of what a row says, but for its place, its arrival and what the kernel sees anyway."""
    told = {FILE, LINE, *left_out}
    return fingerprint([field for field in table.frame.schema.fields if field.name not in told])


def _key(table: Table, group: str) -> Column:
    plain = isinstance(table.type(group), (st.StringType, *INTEGERS))
    return table.column(group) if plain else table.column(group).cast("string")


def _parts(frame: DataFrame, group: str | None, partitions: int | None) -> int:
    if group is None:
        return 1
    return partitions or int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")))


def _arrival(table: Table) -> str | None:
    """A column called arrival tells when rows arrived, if it can; else it is one of the user's."""
    known = "arrival" in table.frame.columns and isinstance(table.type("arrival"), MOMENTS)
    return "arrival" if known else None


def _times(table: Table, arrival: str | None, time: str | None) -> dict[str, Column]:
    """The columns that tell when a message arrived, as numbers."""
    return {name: _moment(table, column) for name, column in (("arrival", arrival), ("time", time)) if column}


def _with_times(columns: dict[str, Column], times: dict[str, Column]) -> dict[str, Column]:
    """Beside the columns of the stamp; what it knows of the past is of use only where no time is told."""
    return columns if not times else {name: columns[name] for name in columns if name != "past"} | times


def _moment(table: Table, name: str) -> Column:
    kind, column = table.type(name), table.column(name)
    if isinstance(kind, st.TimestampType):
        return sf.unix_micros(column)
    if isinstance(kind, st.TimestampNTZType):
        return sf.unix_micros(column.cast("timestamp"))
    if isinstance(kind, st.DateType):
        return sf.unix_date(column)
    if isinstance(kind, INTEGERS):
        return column.cast("bigint")
    if isinstance(kind, st.FloatType | st.DoubleType | st.DecimalType):
        return column.cast("double")
    raise CallerError(
        f"column {name!r} is {kind.simpleString()}; rows are in order of a number or a timestamp: cast it"
    )


def _are_packets(frame: DataFrame) -> bool:
    needed = {"group", "sender", "protocol", "kind", "number", "stamp"}
    return needed <= set(frame.columns) and isinstance(frame.schema["stamp"].dataType, st.BinaryType)


def _packets(table: Table, group: str) -> tuple[DataFrame, tuple[Reading, dict[str, Column]]]:
    """Packets of one protocol; its name and the members are looked up in the table."""
    frame = table.frame
    if not _are_packets(frame):
        raise CallerError(
            f"form 'packets' needs the columns {', '.join(MESSAGES.names[:6])}, the stamp as binary"
        )
    found = {
        row["protocol"] for row in frame.select("protocol").where("protocol is not null").distinct().collect()
    }
    if len(found) > 1 or not found <= set(list_protocols()):
        raise CallerError(
            f"packets of {', '.join(sorted(found))}: order those of one known protocol at a time, "
            "chosen with where(...)"
        )
    protocol = min(found, default="unordered")  # of no packets at all any will do
    members = table.members or _members(frame, group)
    columns = {
        "needs": sf.col("stamp"), "sender": sf.col("sender"), "receiver": table.column(group).cast("string"),
        "number": sf.col("number").cast("bigint"), "kind": sf.col("kind"),
    }  # fmt: skip
    kind = get_protocol(protocol)
    if kind.shares_entries:
        frame = _with_own(frame, group)
        columns["unseen"] = sf.col(_OWN)
    noun = "time" if kind.gains_time else "message"
    return frame, (Reading("packets", False, kind.dense, noun, tuple(members), protocol), columns)


def _members(frame: DataFrame, group: str) -> list[str]:
    """All processes that sent or received anything, sorted as the protocols count them."""
    names = frame.select(sf.col("sender").alias("name")).union(frame.select(sf.col(group).cast("string")))
    return sorted(row["name"] for row in names.where("name is not null").distinct().collect())


def _with_own(frame: DataFrame, group: str) -> DataFrame:
    """With each process's own broadcasts, which count on entries that others count on too."""
    own = frame.where("kind = 'message'").dropDuplicates(["sender", "number"])
    first = {"arrival": sf.lit(-1).cast("bigint")} if "arrival" in frame.columns else {}
    own = own.withColumns({group: sf.col("sender"), **first, _OWN: sf.lit(True)})
    return frame.withColumn(_OWN, sf.lit(False)).unionByName(own)


def _without_own(rows: DataFrame) -> DataFrame:
    """Without the rows that `_with_own` added."""
    return rows.where(~sf.col(_OWN)).drop(_OWN) if _OWN in rows.columns else rows
