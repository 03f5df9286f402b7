"""`antecede order --follow`: a folder that files come into, or topics, put in order while rows come."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.markup import escape

from antecede.cli import logs as o
from antecede.cli.folders import check_folder_writable
from antecede.cli.order_runs import READ_OPTIONS, check_message_columns, rewrite_option_names_in_errors
from antecede.cli.output import print_json, print_lines
from antecede.cli.signals import silence_spark_libraries, silence_tracebacks
from antecede.cli.status import describe_gaps, describe_status
from antecede.cli.stream_line import show_stream_progress
from antecede.core.errors import CallerError
from antecede.formats.message_files import list_followed_files_and_kind
from antecede.formats.sources import is_empty_folder
from antecede.kafka_address import KafkaTopics, is_kafka_address, parse_kafka_address
from antecede.ordering.message_plan import MessageOptions
from antecede.ordering.stream.forms import refuse_unstreamable_form
from antecede.ordering.stream.give_up import GiveUp
from antecede.report.text import pluralize
from antecede.streams.marks import list_marked_batches, write_file_atomically
from antecede.streams.running import hold_running_lock, is_running
from antecede.streams.status import build_empty_status, read_status

if TYPE_CHECKING:
    from antecede.spark.streams.batch import StreamSettings
    from antecede.spark.streams.stream import PrepareBatch

SOURCE_FILE = "source.txt"
"""In the checkpoint: what the stream reads."""
INTERVAL = "1 second"
"""Files are looked for so often."""
_LOOK_PAUSE = 1.0
"""The same before Spark is there, in seconds."""
_LETTING_GO = 3.0
"""Seconds in which a stream lets go of its checkpoint: it looks once a second whether its query runs."""


class FollowRequest(NamedTuple):
    """What the user wants to be followed."""

    inputs: list[str]
    format: str | None
    columns: dict[str, Any]
    out: str
    checkpoint: str | None
    give_up: GiveUp
    horizon: int | None
    is_drain: bool
    master: str | None
    overwrite: bool
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    max_held: int | None = None
    files_per_batch: int = 1000
    sink: str = "parquet"
    to: str | None = None
    records_per_batch: int = 1_000_000

    @property
    def is_change_log(self) -> bool:
        """Whether these are changes of a database."""
        return self.format == "debezium"

    @property
    def folders(self) -> list[str]:
        """What is not topics."""
        return [text for text in self.inputs if not is_kafka_address(text)]

    @property
    def source_of_checkpoint(self) -> str:
        """The folder that a checkpoint belongs to; topics may be added, so they are one."""
        return "topics" if self.topics is not None else str(Path(self.inputs[0]).resolve())

    @property
    def topics(self) -> KafkaTopics | None:
        """Topics of Kafka, if these are to be followed."""
        addresses = [text for text in self.inputs if is_kafka_address(text)]
        if len(addresses) > 1:
            raise CallerError("--follow reads one cluster: name all topics in one address, kafka://h:p/a,b")
        return parse_kafka_address(addresses[0]) if addresses else None


def follow_source_and_print_status(request: FollowRequest, json: bool) -> int:
    """Follow a source until someone stops it, or drain it; the exit code."""
    if request.checkpoint is None:
        raise CallerError("--follow needs --checkpoint, a folder that remembers the stream")
    if request.overwrite:
        raise CallerError("--follow goes on where it stopped: leave out --overwrite, or name new folders")
    if not request.columns:
        raise CallerError(
            "--follow puts tables of messages in order: name their columns, as in --stamp clock"
        )
    with rewrite_option_names_in_errors():
        request.give_up.check_action_and_limits()
        refuse_unstreamable_form(request.columns.get("form"))
    for option, count in (
        ("max-held", request.max_held),
        ("files-per-batch", request.files_per_batch),
        ("records-per-batch", request.records_per_batch),
    ):
        if count is not None and count < 1:
            raise CallerError(f"--{option} must be at least 1, and is {count}")
    checkpoint = Path(request.checkpoint)
    _check_folders(request, checkpoint)
    _wait_for_first_file(request)
    _check_sources(request)
    o.check_pyspark_installed()
    with rewrite_option_names_in_errors():
        settings = _make_stream_settings(request)
    with hold_running_lock(checkpoint):
        drained = _run_stream_until_drained_or_stopped(request, settings, checkpoint)
    facts = _read_final_status(checkpoint)
    if drained is not None:
        facts["drained"] = {name: drained[name] for name in ("held", "gaps", "gap_count")}
    if json:
        print_json(facts)
    else:
        print_lines(_describe_final_status(facts))
    totals = facts["totals"]
    return 1 if facts["held"] or totals["quarantined"] or totals["diverted"] or totals["late"] else 0


def _wait_for_first_file(request: FollowRequest) -> None:
    """A folder may be empty when its stream begins, or behind a restart; its files tell the columns."""
    is_waiting = False
    while not request.is_drain and len(request.inputs) == 1 and is_empty_folder(request.inputs[0]):
        if not is_waiting:
            _print_note_to_stderr(
                f"{request.inputs[0]}: is empty; waiting for a first file, which tells the columns"
            )
        is_waiting = True
        time.sleep(_LOOK_PAUSE)


def _print_note_to_stderr(line: str) -> None:
    Console(stderr=True).print(escape(line), soft_wrap=True, highlight=False)


def _read_final_status(checkpoint: Path) -> dict[str, Any]:
    """What is so behind the last micro-batch; a stream may also end before its first one."""
    return read_status(checkpoint) if list_marked_batches(checkpoint) else build_empty_status()


def _describe_final_status(facts: dict[str, Any]) -> Iterator[str]:
    """What was done, and what a drain has put aside."""
    if facts["batch"] is None:
        yield "no micro-batch was done: no row was read yet; the same command goes on"
        return
    yield from describe_status(facts)
    drained = facts.get("drained")
    if drained and drained["held"]:
        yield f"[bold]drained[/]: {pluralize(drained['held'], 'row')} put aside, with what each lacks"
        yield from describe_gaps(drained)


def _check_sources(request: FollowRequest) -> None:
    """Refuse sources that cannot be followed together."""
    if request.is_change_log and (request.topics is None or request.folders):
        raise CallerError(
            "--format debezium follows topics, and topics alone: name them as kafka://HOST:PORT/TOPIC,..., "
            "or leave out --follow for files"
        )
    if request.topics is not None and len(request.folders) > 1:
        raise CallerError("--follow reads topics behind one folder of history: name one")
    if request.topics is None:
        list_followed_files_and_kind(request.inputs, request.format)
        with rewrite_option_names_in_errors():
            check_message_columns(request.inputs, request.format, request.columns)


def _check_folders(request: FollowRequest, checkpoint: Path) -> None:
    """Refuse folders that are none, that would be read as input, or that are not of one stream."""
    out = Path(request.out)
    for option, folder in (("out", out), ("checkpoint", checkpoint)):
        check_folder_writable(folder, f"--{option} {folder}")
        for source in request.folders:
            if folder.resolve().is_relative_to(Path(source).resolve()):
                raise CallerError(
                    f"--{option} {folder}: is inside of {source}, so what is written there would be read as "
                    "input; name a folder elsewhere"
                )
    # A run that was killed in its first micro-batch has written tables, but no mark.
    has_begun = bool(list_marked_batches(checkpoint)) or (checkpoint / "spark" / "metadata").exists()
    if not has_begun:  # one that began so goes on: neither has names of the other
        _check_separate_folders(out, checkpoint)
    if not has_begun and out.is_dir() and any(out.iterdir()):
        raise CallerError(
            f"--out {request.out}: is not empty, and the checkpoint knows nothing of it; name a new folder"
        )
    if _is_running_after_grace_time(checkpoint):
        raise CallerError(
            f"--checkpoint {checkpoint}: its stream is running; stop that first, or name a new checkpoint "
            "and a new output folder"
        )
    source_file = checkpoint / SOURCE_FILE
    kept = source_file.read_text() if has_begun and source_file.exists() else request.source_of_checkpoint
    if kept != request.source_of_checkpoint:
        raise CallerError(
            f"the stream of --checkpoint {checkpoint} began with {kept}, not with "
            f"{request.source_of_checkpoint}: name that, or a new checkpoint and a new output folder"
        )


def _is_running_after_grace_time(checkpoint: Path) -> bool:
    """Whether the stream runs; one that has just ended may take a moment to let go of its checkpoint."""
    end = time.monotonic() + _LETTING_GO
    while is_running(checkpoint):
        if time.monotonic() > end:
            return True
        time.sleep(0.1)
    return False


def _check_separate_folders(out: Path, checkpoint: Path) -> None:
    """Refuse tables among the files of the checkpoint, and the other way round."""
    tables, state = out.resolve(), checkpoint.resolve()
    if tables == state:
        raise CallerError(f"--out and --checkpoint are both {out}: name two folders")
    if tables.is_relative_to(state):
        raise CallerError(f"--out {out}: is inside of --checkpoint {checkpoint}; name a folder elsewhere")
    if state.is_relative_to(tables):
        raise CallerError(f"--checkpoint {checkpoint}: is inside of --out {out}; name a folder elsewhere")


def _run_stream_until_drained_or_stopped(
    request: FollowRequest, settings: StreamSettings, checkpoint: Path
) -> dict[str, Any] | None:
    """Run until all is drained, or until a signal; the micro-batch that is on its way is finished.

    Tells what waited before it was put aside.
    """
    _print_note_to_stderr(
        f"{'draining' if request.is_drain else 'following'} {' and '.join(request.inputs)} on Spark, which "
        f"starts now; antecede status {checkpoint} tells how far it is"
    )
    with (
        ExitStack() as restore_at_end,
        _check_brokers_and_open_spark(request) as spark,
        rewrite_option_names_in_errors(),
        _explain_source_errors(request),
    ):
        restore_at_end.callback(silence_spark_libraries())
        from antecede.spark.streams.follow import run_stream_until_stopped

        trigger = {"availableNow": True} if request.is_drain else {"processingTime": INTERVAL}
        prepare = _choose_batch_preparation(request, settings.checkpoint)
        with (
            _turn_stop_signals_into_event(restore_at_end) as is_stopping,
            _serve_metrics(request),
            show_stream_progress(checkpoint) as tell,
        ):
            stream = run_stream_until_stopped(
                lambda: _record_source_and_open_stream(spark, request, settings),
                settings,
                trigger,
                is_stopping.is_set,
                tell,
                prepare,
            )
        if stream is None or not request.is_drain or is_stopping.is_set():
            return None
        waiting = _read_final_status(checkpoint)
        settings.make_ledger(stream).put_aside_all_waiting_rows(int(time.time() * 1000))
        return waiting


def _check_brokers_and_open_spark(request: FollowRequest) -> AbstractContextManager[Any]:
    """A session that can read the source; a broker that is not there is told before Spark starts."""
    from antecede.spark.streams.kafka_sink import parse_sink_topic

    used = [] if request.topics is None else [request.topics]
    if request.to is not None:
        used.append(parse_sink_topic(request.to))
    if not used:
        return o.open_spark(request.master)
    if len(used) > 1 and set(used[0].topics) & set(used[1].topics):
        raise CallerError(f"--to {request.to}: is read by this stream, too; name another topic")
    from antecede.spark.kafka_connector import fetch_connector_and_make_settings
    from antecede.spark.streams.kafka import check_some_broker_reachable

    for topics in used:
        check_some_broker_reachable(topics)
    return o.open_spark(request.master, **fetch_connector_and_make_settings())


def _record_source_and_open_stream(spark: Any, request: FollowRequest, settings: StreamSettings) -> Any:
    """The rows of the source, which the checkpoint belongs to from now on."""
    write_file_atomically(settings.checkpoint / SOURCE_FILE, request.source_of_checkpoint.encode())
    if request.topics is not None and request.is_change_log:
        from antecede.spark.streams.change_stream import open_change_stream

        return open_change_stream(spark, request.topics, request.records_per_batch)
    if request.topics is not None:
        from antecede.spark.streams.kafka import open_message_stream

        history = next(iter(request.folders), None)
        place = (settings.options, settings.checkpoint, history)
        most = (request.files_per_batch, request.records_per_batch)
        return open_message_stream(spark, request.topics, *place, *most)
    from antecede.spark.streams.follow import open_folder_stream

    read_options = {name: request.columns[name] for name in READ_OPTIONS if name in request.columns}
    return open_folder_stream(spark, request.inputs, request.format, read_options, request.files_per_batch)


def _choose_horizon(request: FollowRequest) -> int | None:
    if request.horizon is not None or not request.is_change_log:
        return request.horizon
    from antecede.spark.streams.change_stream import HORIZON

    return HORIZON


def _choose_batch_preparation(request: FollowRequest, checkpoint: Path) -> PrepareBatch | None:
    """What is done with each micro-batch before it is put in order."""
    if request.is_change_log:
        from antecede.spark.streams.change_stream import link_and_remember_transactions

        return lambda batch, number: link_and_remember_transactions(batch, number, checkpoint)
    if request.topics is not None:
        return None
    from antecede.spark.streams.source_files import check_files_of_batch

    return lambda batch, number: check_files_of_batch(batch, number, checkpoint / "spark")


def _explain_source_errors(request: FollowRequest) -> AbstractContextManager[None]:
    """What goes wrong with the source, in words of ours."""
    if request.topics is None:
        return nullcontext()
    from antecede.spark.streams.kafka import explain_kafka_errors

    return explain_kafka_errors(request.topics)


def _make_stream_settings(request: FollowRequest) -> StreamSettings:
    from antecede.spark.streams.batch import StreamSettings, check_sink_is_known_and_installed
    from antecede.spark.streams.kafka_sink import parse_sink_topic

    return StreamSettings(
        Path(request.out).absolute(),
        Path(str(request.checkpoint)).absolute(),
        MessageOptions(**request.columns),
        request.give_up,
        _choose_horizon(request),
        buckets=None,
        partitions=None,
        max_held=request.max_held,
        sink=check_sink_is_known_and_installed(request.sink),
        to=None if request.to is None else parse_sink_topic(request.to),
    )


@contextmanager
def _serve_metrics(request: FollowRequest) -> Iterator[None]:
    """Serve what the checkpoint tells, if that is wanted."""
    if request.metrics_port is None:
        yield
        return
    from antecede.streams.metrics import StreamMetricsServer

    server = StreamMetricsServer(Path(str(request.checkpoint)), request.metrics_host, request.metrics_port)
    try:
        yield
    finally:
        server.close()


@contextmanager
def _turn_stop_signals_into_event(restore_at_end: ExitStack) -> Iterator[threading.Event]:
    """SIGTERM and Ctrl-C ask to stop, and do not interrupt; whoever asks again does not want to wait.

    Behind a signal, libraries may complain of a Spark that has heard it, too: that is kept quiet.
    """
    is_stopping = threading.Event()
    before: dict[int, Any] = {}

    def restore_handlers() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask_to_stop(number: int, frame: object) -> None:
        if not is_stopping.is_set():
            restore_at_end.callback(silence_tracebacks())
        is_stopping.set()
        restore_handlers()

    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.signal(number, ask_to_stop)
    try:
        yield is_stopping
    finally:
        restore_handlers()
