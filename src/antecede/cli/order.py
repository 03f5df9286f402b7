"""`antecede order`: the rows of logs or tables in causal order, what waits for what, what is malformed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from antecede.cli import logs as o
from antecede.cli.engine import EngineOption, Master, choose_engine
from antecede.cli.folders import Overwrite, open_output_folder
from antecede.cli.follow import FollowRequest, follow_source_and_print_status
from antecede.cli.order_runs import TABLES, OrderRequest, check_order_request, run_order
from antecede.cli.order_words import build_order_json, describe_order
from antecede.cli.output import Json, print_json, print_lines
from antecede.core.errors import CallerError
from antecede.formats import Settings
from antecede.formats.debezium import COLUMNS as CHANGE_COLUMNS
from antecede.formats.debezium import has_change_log
from antecede.formats.sources import list_files
from antecede.kafka_address import is_kafka_address
from antecede.ordering.forms import join_form_names
from antecede.ordering.stream.give_up import GiveUp

Out = Annotated[str, typer.Option(help="Folder for the tables ordered, held and quarantine.")]
Group = Annotated[str | None, typer.Option(help="Messages: column of the ordering domain.")]
Sender = Annotated[str | None, typer.Option(help="Messages: column of the sender; sender if none is named.")]
Stamp = Annotated[str | None, typer.Option(help="Messages: column of the stamp; stamp if none is named.")]
Form = Annotated[
    str | None,
    typer.Option(help=f"Messages: form of the stamp, if its type does not tell: {join_form_names()}."),
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
Follow = Annotated[
    bool,
    typer.Option(
        "--follow",
        help="Messages: go on with files that come into the folder, or with kafka://HOST:PORT/TOPIC,..., "
        "on Spark, for ever.",
    ),
]
Checkpoint = Annotated[
    str | None, typer.Option(help="With --follow: folder that remembers the stream; status reads it.")
]
GiveUpAction = Annotated[
    str,
    typer.Option(
        "--give-up", metavar="ACTION", help="Rows that have waited too long: hold, release or divert them."
    ),
]
AfterSeconds = Annotated[float | None, typer.Option(help="Rows have waited too long after so many seconds.")]
AfterRows = Annotated[int | None, typer.Option(help="The same, while more rows of a group wait.")]
AfterBytes = Annotated[int | None, typer.Option(help="The same, while more bytes of a group wait.")]
Horizon = Annotated[
    int | None, typer.Option(help="Form parents with --follow: remember the ids of so many rows of a group.")
]
Drain = Annotated[
    bool,
    typer.Option("--drain", help="With --follow: take what is there, put aside what waits then, and stop."),
]
MaxHeld = Annotated[
    int | None,
    typer.Option(help="With --follow: while more rows wait, begin micro-batches later, in proportion."),
]
FilesPerBatch = Annotated[
    int, typer.Option(help="With --follow: take at most so many files in a micro-batch.")
]
RecordsPerBatch = Annotated[
    int, typer.Option(help="With --follow: take at most so many records of topics in a micro-batch.")
]
To = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="With --follow: write what comes out to kafka://HOST:PORT/TOPIC, too, at least once, with ids.",
    ),
]
Sink = Annotated[
    str,
    typer.Option(
        metavar="parquet|delta", help="With --follow: what the tables are; delta needs the extra delta."
    ),
]
MetricsPort = Annotated[
    int | None, typer.Option(help="With --follow: serve figures for Prometheus at this port.")
]
MetricsHost = Annotated[str, typer.Option(help="The same: at this address.")]


def order_command(
    inputs: o.Inputs,
    out: Out,
    overwrite: Overwrite = False,
    format: o.FormatName = None,
    regex: o.Regex = None,
    delimiter: o.Delimiter = None,
    field: o.Fields = None,
    kind: o.Kinds = None,
    group: Group = None,
    sender: Sender = None,
    stamp: Stamp = None,
    form: Form = None,
    receiver: Receiver = None,
    number: Number = None,
    keys: Keys = None,
    id: Id = None,
    arrival: Arrival = None,
    time: Time = None,
    members: Members = None,
    engine: EngineOption = "auto",
    master: Master = None,
    staging: o.Staging = None,
    follow: Follow = False,
    checkpoint: Checkpoint = None,
    give_up: GiveUpAction = "hold",
    after_seconds: AfterSeconds = None,
    after_rows: AfterRows = None,
    after_bytes: AfterBytes = None,
    horizon: Horizon = None,
    drain: Drain = False,
    max_held: MaxHeld = None,
    files_per_batch: FilesPerBatch = 1000,
    sink: Sink = "parquet",
    to: To = None,
    records_per_batch: RecordsPerBatch = 1_000_000,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = "127.0.0.1",
    json: Json = False,
) -> None:
    """Put the rows of logs, or of a table of messages, into causal order.

    Each row ends in exactly one of three tables (Parquet): ordered, with its position; held, with what it
    waits for; quarantine, with the reason. An option that names a column of messages makes it a table.

    Example: antecede order logs/*.log --out ordered

    Example: antecede order messages.parquet --group topic --stamp clock --out ordered

    Example: antecede order incoming/ --follow --group topic --out ordered --checkpoint state

    Example: antecede order kafka://localhost:9092/a,b --follow --stamp clock --out ordered --checkpoint state

    Exit code: 0 if all is ordered, 1 if something is held or in quarantine, 2 for wrong usage.
    """
    columns: dict[str, Any] = {
        "group": group,
        "sender": sender,
        "stamp": stamp,
        "form": form,
        "receiver": receiver,
        "number": number,
        "keys": keys,
        "id": id,
        "arrival": arrival,
        "time": time,
        "members": None if members is None else [name.strip() for name in members.split(",")],
    }
    columns = {name: column for name, column in columns.items() if column is not None}
    if not columns and _is_debezium_change_log(inputs, format):
        columns, format = dict(CHANGE_COLUMNS), "debezium"
    settings = o.make_log_settings(regex, delimiter, field, kind)
    if columns and settings != Settings():
        raise CallerError("--regex, --delimiter, --field and --kind are for logs, not for tables of messages")
    if follow:
        policy = GiveUp(give_up, after_seconds, after_rows, after_bytes)
        wish = FollowRequest(
            inputs,
            format,
            columns,
            out,
            checkpoint,
            policy,
            horizon,
            drain,
            master,
            overwrite,
            metrics_port,
            metrics_host,
            max_held,
            files_per_batch,
            sink,
            to,
            records_per_batch,
        )
        raise typer.Exit(follow_source_and_print_status(wish, json))
    stream_options = (checkpoint, after_seconds, after_rows, after_bytes, horizon, metrics_port, max_held)
    if (
        drain
        or give_up != "hold"
        or sink != "parquet"
        or to is not None
        or any(option is not None for option in stream_options)
    ):
        raise CallerError(
            "--checkpoint, --give-up, --after-..., --horizon, --drain, --max-held, --sink, --to and "
            "--metrics-port need --follow"
        )
    if any(map(is_kafka_address, inputs)):
        raise CallerError("topics have no end: give --follow, and --checkpoint DIR; --drain stops at the end")
    files = list_files(inputs)
    chosen = choose_engine(engine, inputs, master, out)
    request = OrderRequest(inputs, format, settings, columns, master, staging)
    check_order_request(request)
    with open_output_folder(out, TABLES.values(), files, overwrite) as output:
        run = run_order(chosen, request, output)
    if json:
        print_json(build_order_json(run))
    else:
        print_lines(describe_order(run))
    raise typer.Exit(0 if run.is_clean else 1)


def _is_debezium_change_log(inputs: list[str], format: str | None) -> bool:
    """Whether these are changes of a database, as Debezium writes them."""
    if format is not None or any(map(is_kafka_address, inputs)):
        return format == "debezium"
    return has_change_log(inputs)
