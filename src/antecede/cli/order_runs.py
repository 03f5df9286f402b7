"""An order for the command line, in this process or on Spark: both say and write the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from antecede.cli import logs as o
from antecede.cli.sentences import SHOWN_SENTENCES
from antecede.cli.steps import show_activity, show_spark_stages
from antecede.core.errors import AntecedeError, CallerError
from antecede.formats.sources import list_files
from antecede.ordering.added_columns import describe_renamed_columns, list_renamed_columns
from antecede.report.text import pluralize

if TYPE_CHECKING:
    import pyarrow as pa

    from antecede.cli.engine import Engine
    from antecede.cli.folders import OutputFolder
    from antecede.formats.settings import Settings
    from antecede.local.logs import Logs
    from antecede.spark.ordering.outcome import OutcomePlan
    from antecede.spark.reading.logs import SparkLogs

LISTED_GAPS = 10
"""So many root gaps are listed."""
TABLES = {"ordered": "ordered", "held": "held", "quarantined": "quarantine"}
"""The parts of the sum, and the tables that hold them."""
READ_OPTIONS = ("sender", "stamp", "form", "number", "id", "group", "receiver", "arrival", "time")
"""Options that matter when a table of messages in text is read."""
_OPTION = re.compile(
    r"\b(members|form|receiver|number|keys|id)=(?=,)"
    r"|\b(give_up|after_seconds|after_rows|after_bytes|horizon|sink)="
)
"""An option as the errors of `antecede.order` name it."""


class OrderRequest(NamedTuple):
    """What the user wants to be put in order."""

    inputs: list[str]
    format: str | None
    settings: Settings
    columns: dict[str, Any]
    """The options of `antecede.order` that are given: then it is a table of messages."""
    master: str | None
    staging: str | None

    @property
    def is_message_table(self) -> bool:
        from antecede.formats.message_files import is_packet_table

        return bool(self.columns) or is_packet_table(self.inputs)

    @property
    def options_for_reading(self) -> dict[str, Any]:
        return {name: self.columns[name] for name in READ_OPTIONS if name in self.columns}


class OrderRun(NamedTuple):
    """How many rows went where, what is missing, and where the tables are."""

    engine: Engine
    counts: dict[str, int]
    gaps: list[dict[str, Any]]
    gap_count: int
    refused: list[dict[str, Any]]
    """The first rows in quarantine, as file, line and reason; none where Spark wrote to an address."""
    places: dict[str, str]
    """Where the tables are, which changes when they are published."""
    lines: list[str]
    facts: dict[str, Any]

    @property
    def is_clean(self) -> bool:
        return not self.counts["held"] and not self.counts["quarantined"]


def check_order_request(request: OrderRequest) -> None:
    """Refuse what no engine can put in order, before one is started."""
    if not request.is_message_table:
        o.check_log_options(request.format, request.settings, request.staging)
        return
    with rewrite_option_names_in_errors():
        check_message_columns(request.inputs, request.format, request.columns)


def check_message_columns(inputs: list[str], format: str | None, options: dict[str, Any]) -> None:
    """Refuse a table without the columns that are named, as far as its files tell that without being read:
    Parquet in its footer, CSV in its header."""
    from antecede.formats.message_files import find_table_kind, list_parquet_columns
    from antecede.formats.text_lines import split_file_into_ranges
    from antecede.ordering.forms import FORMS, join_form_names
    from antecede.ordering.message_plan import NO_COLUMNS, make_missing_column_error
    from antecede.ordering.text_tables import make_text_question_and_read_csv_header

    form = options.get("form")
    if form is not None and form not in FORMS:
        raise CallerError(f"{form!r} is no form of stamps: give form=, one of {join_form_names()}")
    files = list_files(inputs)
    kind = find_table_kind(files, format)
    names = []
    if kind == "parquet":
        names = list_parquet_columns(files)
    elif kind == "csv":
        ranges = [part for number, file in enumerate(files) for part in split_file_into_ranges(number, file)]
        header = make_text_question_and_read_csv_header(kind, files, ranges).header
        names = header.names if header is not None else []
    for option, column in options.items():
        if names and option not in NO_COLUMNS and column not in names:
            raise make_missing_column_error(column, names)


def run_order(engine: Engine, request: OrderRequest, output: OutputFolder) -> OrderRun:
    """Put the rows in order and write the tables; an error if a row is missing or is there twice."""
    run_engine = _order_locally if engine.name == "local" else _order_on_spark
    run = run_engine(engine, request, output)
    rows = run.counts["input"]
    if sum(run.counts[name] for name in TABLES) != rows:
        parts = " + ".join(f"{run.counts[name]:,} {name}" for name in TABLES)
        raise AntecedeError(
            f"internal error: {pluralize(rows, 'row')} in, but {parts} out: such tables cannot be trusted; "
            "please report this with the command and, if you can, the input"
        )
    return run._replace(places=output.publish_tables())


@contextmanager
def rewrite_option_names_in_errors() -> Iterator[None]:
    """Errors of `antecede.order`, with options as the command line has them."""
    try:
        yield
    except CallerError as error:
        raise CallerError(_OPTION.sub(_format_name_as_option, str(error))) from None


def _format_name_as_option(match: re.Match[str]) -> str:
    """A name as the command line has it, apart from a value that follows it."""
    option = "--" + match[0].removesuffix("=").replace("_", "-")
    has_value = re.match(r"[\w'\"-]", match.string[match.end() :])
    return f"{option} " if has_value else option


def _describe_logs_as_row_count_lines_and_facts(
    logs: Logs | SparkLogs,
) -> tuple[int, list[str], dict[str, Any]]:
    """How many rows logs have, and what is said of them to people and to programs."""
    rows = sum(file.events + file.quarantined for file in logs.files)
    lines = list(o.describe_files(logs.files, logs.note))
    facts: dict[str, Any] = {"files": o.build_files_json(logs.files), "note": logs.note, "notes": []}
    facts["renamed"] = {}
    return rows, lines, facts


def _describe_message_table_as_lines_and_facts(
    kind: str, file_count: int, row_count: int, notes: tuple[str, ...]
) -> tuple[list[str], dict[str, Any]]:
    lines = [f"a table of messages: {kind}, {pluralize(row_count, 'row')}"]
    facts: dict[str, Any] = {
        "files": [{"format": kind, "files": file_count}],
        "note": None,
        "notes": [*notes],
    }
    facts["renamed"] = {}
    return lines, facts


def _read_first_quarantined_rows(place: str, added_column_names: dict[str, str]) -> list[dict[str, Any]]:
    """The first rows of a written quarantine by file and line, read piece by piece: it may be large."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if "://" in place:
        return []
    columns = {name: ds.field(added_column_names.get(name, name)) for name in ("file", "line", "reason")}
    by_place = [("file", "ascending"), ("line", "ascending")]
    first = None
    for batch in ds.dataset(place, format="parquet").to_batches(columns=columns):
        piece = pa.Table.from_batches([batch])
        rows = piece if first is None else pa.concat_tables([first, piece])
        first = rows.sort_by(by_place).slice(0, SHOWN_SENTENCES)
    return [] if first is None else first.to_pylist()


def _order_locally(engine: Engine, request: OrderRequest, output: OutputFolder) -> OrderRun:
    if request.is_message_table:
        return _order_message_table_locally(engine, request, output)
    return _order_logs_locally(engine, request, output)


def _order_message_table_locally(engine: Engine, request: OrderRequest, output: OutputFolder) -> OrderRun:
    from antecede.local.message_files import read_message_files
    from antecede.local.message_order import order_messages
    from antecede.ordering.message_plan import MessageOptions

    with show_activity("reading"):
        table = read_message_files(request.inputs, request.format, **request.options_for_reading)
    rows = len(table.rows) + len(table.unreadable)
    lines, facts = _describe_message_table_as_lines_and_facts(table.kind, len(table.files), rows, table.notes)
    with show_activity("ordering"), rewrite_option_names_in_errors():
        outcome = order_messages(table.rows, MessageOptions(**request.columns), table.row_origins)
    names = outcome.names | table.quarantine_column_names
    lines += describe_renamed_columns(names)
    facts["renamed"] = list_renamed_columns(names)
    facts["notes"] += outcome.notes
    tables = {
        "ordered": outcome.ordered,
        "held": outcome.held,
        "quarantine": table.add_unreadable_rows(outcome.quarantine),
    }
    return _write_tables_locally(engine, output, tables, outcome.gaps, rows, names, lines, facts)


def _order_logs_locally(engine: Engine, request: OrderRequest, output: OutputFolder) -> OrderRun:
    import pyarrow as pa

    from antecede.local.event_order import order_events
    from antecede.local.logs import read_logs

    with show_activity("reading"):
        logs = read_logs(request.inputs, request.format, request.settings)
        rows, lines, facts = _describe_logs_as_row_count_lines_and_facts(logs)
    with show_activity("ordering"):
        outcome = order_events(logs.events)
        quarantine = pa.concat_tables([outcome.quarantine, logs.quarantine], promote_options="default")
    tables = {"ordered": outcome.ordered, "held": outcome.held, "quarantine": quarantine}
    return _write_tables_locally(engine, output, tables, outcome.gaps, rows, outcome.names, lines, facts)


def _write_tables_locally(
    engine: Engine,
    output: OutputFolder,
    tables: dict[str, pa.Table],
    gaps: pa.Table,
    input_rows: int,
    added_column_names: dict[str, str],
    lines: list[str],
    facts: dict[str, Any],
) -> OrderRun:
    from antecede.ordering.root_gaps import list_gap_sort_keys

    places = {name: output.write_arrow_table(table, name) for name, table in tables.items()}
    counts = {part: tables[name].num_rows for part, name in TABLES.items()}
    sorted_gaps = gaps.sort_by(list_gap_sort_keys(gaps.column_names))
    first = sorted_gaps.slice(0, LISTED_GAPS).to_pylist()
    refused = _read_first_quarantined_rows(places["quarantine"], added_column_names)
    return OrderRun(engine, {"input": input_rows, **counts}, first, len(gaps), refused, places, lines, facts)


def _order_on_spark(engine: Engine, request: OrderRequest, output: OutputFolder) -> OrderRun:
    with o.open_spark(request.master) as spark:
        if request.is_message_table:
            return _order_message_table_on_spark(engine, spark, request, output)
        return _order_logs_on_spark(engine, spark, request, output)


def _order_logs_on_spark(engine: Engine, spark: Any, request: OrderRequest, output: OutputFolder) -> OrderRun:
    from antecede.spark.ordering.event_order import plan_event_order

    inputs, format, settings = request.inputs, request.format, request.settings
    with o.read_logs_on_spark(spark, inputs, format, settings, request.staging) as logs:
        rows, lines, facts = _describe_logs_as_row_count_lines_and_facts(logs)
        outcome = plan_event_order(logs.events)

        def add_unreadable_rows(quarantine: Any) -> Any:
            return quarantine.unionByName(logs.quarantine, allowMissingColumns=True)

        events = sum(file.events for file in logs.files)
        return _execute_plan_and_write_tables(
            engine, output, outcome, (rows, events), add_unreadable_rows, outcome.names, lines, facts
        )


def _order_message_table_on_spark(
    engine: Engine, spark: Any, request: OrderRequest, output: OutputFolder
) -> OrderRun:
    from antecede.ordering.message_plan import MessageOptions
    from antecede.spark.ordering.message_order import plan_message_order
    from antecede.spark.reading.message_tables import read_message_files

    with show_spark_stages(spark, "reading"):
        table = read_message_files(spark, request.inputs, request.format, **request.options_for_reading)
        good, bad = table.count_readable_and_unreadable_rows()
    lines, facts = _describe_message_table_as_lines_and_facts(
        table.kind, len(table.files), good + bad, table.notes
    )
    with rewrite_option_names_in_errors():
        outcome = plan_message_order(table.rows, MessageOptions(**request.columns))
    names = outcome.names | table.quarantine_column_names
    lines += describe_renamed_columns(names)
    facts["renamed"] = list_renamed_columns(names)
    return _execute_plan_and_write_tables(
        engine, output, outcome, (good + bad, good), table.add_unreadable_rows, names, lines, facts
    )


def _execute_plan_and_write_tables(
    engine: Engine,
    output: OutputFolder,
    plan: OutcomePlan,
    total_and_readable_rows: tuple[int, int],
    add_unreadable_rows: Any,
    added_column_names: dict[str, str],
    lines: list[str],
    facts: dict[str, Any],
) -> OrderRun:
    from antecede.spark.ordering.write_outcome import write_outcome

    total, readable = total_and_readable_rows
    with show_spark_stages(plan.rows.sparkSession, "ordering"):
        written = write_outcome(
            plan, readable, total - readable, add_unreadable_rows, output.write_spark_table, LISTED_GAPS
        )
    counts = {"input": total, **written.counts}
    facts["notes"] += written.notes
    places = written.places
    refused = _read_first_quarantined_rows(places["quarantine"], added_column_names)
    return OrderRun(engine, counts, written.gaps, written.gap_count, refused, places, lines, facts)
