"""`antecede order`: the rows of logs or tables in causal order, what waits for what, what is malformed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from antecede.cli import logs as o
from antecede.cli.engine import Master, choose_engine
from antecede.cli.folders import Overwrite, check_output_folder
from antecede.cli.ordered import Ordered, ordered, renamed, tell
from antecede.cli.output import Json
from antecede.cli.steps import show_spark_stages
from antecede.core.errors import CallerError
from antecede.formats import Settings
from antecede.report.text import many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.formats.logs import Logs

Out = Annotated[str, typer.Option(help="Folder for the tables ordered, held and quarantine.")]
Group = Annotated[str | None, typer.Option(help="Messages: column of the ordering domain.")]
Sender = Annotated[str | None, typer.Option(help="Messages: column of the sender; sender if none is named.")]
Stamp = Annotated[str | None, typer.Option(help="Messages: column of the stamp; stamp if none is named.")]
Form = Annotated[
    str | None,
    typer.Option(
        help="Messages: form of the stamp, if its type does not tell: vector, matrix, triples, pairs, log, "
        "predecessors, shared, parents, sequence or packets."
    ),
]
Receiver = Annotated[str | None, typer.Option(help="Messages: column of the process that it arrived at.")]
Number = Annotated[str | None, typer.Option(help="Messages: column of the sender's own count.")]
Keys = Annotated[str | None, typer.Option(help="Messages: column of the sender's entries (form shared).")]
Id = Annotated[str | None, typer.Option(help="Messages: column of the id (form parents).")]
Arrival = Annotated[str | None, typer.Option(help="Messages: column of the order of arrival.")]
Time = Annotated[str | None, typer.Option(help="Messages: column of a time, for ties.")]
Members = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Messages: processes in the order of stamps' entries.")
]
_OPTION = re.compile(r"\b(members|form|receiver|number|keys|id)=(?=,)")
"""An option as the errors of `antecede.spark.order` name it."""


def order_command(
    inputs: o.Inputs, out: Out, overwrite: Overwrite = False, format: o.FormatName = None,
    regex: o.Regex = None, delimiter: o.Delimiter = None, field: o.Fields = None, kind: o.Kinds = None,
    group: Group = None, sender: Sender = None, stamp: Stamp = None, form: Form = None,
    receiver: Receiver = None, number: Number = None, keys: Keys = None, id: Id = None,
    arrival: Arrival = None, time: Time = None, members: Members = None,
    master: Master = None, staging: o.Staging = None, json: Json = False,
) -> None:  # fmt: skip
    """Put the rows of logs, or of a table of messages, into causal order.

    Each row ends in exactly one of three tables (Parquet): ordered, with its position; held, with what it
    waits for; quarantine, with the reason. An option that names a column of messages makes it a table.

    Example: antecede order logs/*.log --out ordered

    Example: antecede order messages.parquet --group topic --stamp clock --out ordered

    Exit code: 0 if all is ordered, 1 if something is held or in quarantine, 2 for wrong usage.
    """
    check_output_folder(out, overwrite)
    columns: dict[str, Any] = {
        "group": group, "sender": sender, "stamp": stamp, "form": form, "receiver": receiver,
        "number": number, "keys": keys, "id": id, "arrival": arrival, "time": time,
        "members": None if members is None else [name.strip() for name in members.split(",")],
    }  # fmt: skip
    columns = {name: column for name, column in columns.items() if column is not None}
    settings = o.make_settings(regex, delimiter, field, kind)
    if columns and settings != Settings():
        raise CallerError("--regex, --delimiter, --field and --kind are for logs, not for tables of messages")
    choose_engine("spark", inputs, master, out)
    with o.open_spark(master) as spark:
        if columns or _are_packets(inputs):
            found = _messages(spark, inputs, format, columns, (out, overwrite))
        else:
            with o.read_on_spark(spark, inputs, format, settings, staging) as read:
                found = _events(read, (out, overwrite))
    tell(found, json)
    raise typer.Exit(0 if found.clean else 1)


def _are_packets(inputs: list[str]) -> bool:
    from antecede.spark.reading.message_tables import is_packets

    return is_packets(inputs)


def _events(read: Logs[DataFrame], target: tuple[str, bool]) -> Ordered:
    from antecede.spark.ordering.event_order import order_events

    rows = sum(file.events + file.quarantined for file in read.files)
    lines = list(o.describe_files(read.files, read.note))
    facts = {"files": o.list_file_facts(read.files), "note": read.note}
    outcome = order_events(read.events)
    quarantine = outcome.quarantine.unionByName(read.quarantine, allowMissingColumns=True)
    return ordered(outcome, quarantine, rows, target, lines, facts)


def _messages(
    spark: SparkSession,
    inputs: list[str],
    format: str | None,
    columns: dict[str, Any],
    target: tuple[str, bool],
) -> Ordered:
    from antecede.spark.ordering.message_order import order
    from antecede.spark.reading.message_tables import messages

    told = {name: columns[name] for name in ("sender", "stamp", "form", "number", "id") if name in columns}
    with show_spark_stages(spark, "reading"):
        table = messages(spark, inputs, format, **told)
        rows = table.rows.count() + table.unreadable.count()
    lines = [f"a table of messages: {table.kind}, {many(rows, 'row')}"]
    facts = {"files": [{"format": table.kind, "files": len(table.files)}], "note": None}
    try:
        outcome = order(table.rows, **columns)
    except CallerError as error:
        raise CallerError(_OPTION.sub(r"--\1", str(error))) from None
    lines += renamed(outcome.names | table.names)
    return ordered(outcome, table.quarantine(outcome), rows, target, lines, facts)
