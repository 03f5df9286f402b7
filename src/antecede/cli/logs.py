"""What the commands that read logs share: their options, the Spark they run on, and how files are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from antecede.cli.folders import check_folder_writable
from antecede.cli.steps import show_spark_stages
from antecede.core.errors import CallerError, SetupError
from antecede.formats import Settings
from antecede.formats.logs import check_format_and_settings
from antecede.formats.registry import join_format_names
from antecede.report.text import pluralize
from antecede.scratch import make_scratch_folder
from antecede.spark_address import check_spark_answers, find_spark_address

if TYPE_CHECKING:
    from antecede.formats.logs import FileRead

Inputs = Annotated[list[str], typer.Argument(metavar="INPUT", help="Files, folders or globs; gzip too.")]
FormatName = Annotated[
    str | None,
    typer.Option("--format", help=f"Read all files so, and do not guess: {join_format_names()}."),
]
Regex = Annotated[
    str | None, typer.Option(help="ShiViz's parser expression, with the groups host, clock and event.")
]
Delimiter = Annotated[str | None, typer.Option(help="ShiViz's expression for the line before an execution.")]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=KEY", help="Our name for a key of the log: process=host.name."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="WORD=KIND", help="What a word of the log means: publish=send."),
]
Staging = Annotated[
    str | None,
    typer.Option(help="Folder for Spark's temporary files; on a cluster one that all machines share."),
]
LISTED_FILES = 10
"""Files that are listed for people."""
LISTED_FILES_JSON = 1_000
"""Files that are listed for programs."""


def make_log_settings(
    regex: str | None, delimiter: str | None, field: list[str] | None, kind: list[str] | None
) -> Settings:
    """What the user says about the logs."""
    return Settings(
        regex, delimiter, _parse_name_value_pairs("--field", field), _parse_name_value_pairs("--kind", kind)
    )


def check_log_options(format: str | None, settings: Settings, staging: str | None) -> None:
    """Refuse what no engine can work with, before one is started."""
    check_format_and_settings(format, settings)
    if staging is not None:
        check_folder_writable(Path(staging).absolute(), f"--staging {staging}")


def _parse_name_value_pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts or []]
    if wrong := next((text for text in pairs if not all(text)), None):
        raise CallerError(f"{option} {''.join(wrong)!r}: write it as NAME=VALUE")
    return {name: value for name, _, value in pairs}


def check_pyspark_installed() -> None:
    """A sentence if there is no PySpark."""
    if find_spec("pyspark") is None:
        raise SetupError("PySpark is not installed: run pip install 'antecede[spark]'")


@contextmanager
def open_spark(master: str | None, **settings: str) -> Iterator[Any]:
    """A Spark session for a block. Kernels are compiled before, since workers get what is compiled here; the
    temporary files of an embedded Spark are in a folder that goes with it.

    The settings are those of `get_session`.
    """
    check_pyspark_installed()
    from antecede.cli.compile_kernels import compile_missing_kernels_for_workers
    from antecede.spark.running import open_session

    address = find_spark_address(master)
    check_spark_answers(address)
    if address.kind != "embedded":
        _print_worker_needs(address.text)
    compile_missing_kernels_for_workers()
    if address.kind != "embedded":
        with open_session(master, **settings) as spark:
            yield spark
        return
    with (
        make_scratch_folder() as scratch,
        open_session(master, spark_local_dir=scratch, **settings) as spark,
    ):
        yield spark


def _print_worker_needs(master: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from antecede.spark.shipping import describe_worker_needs

    line = f"{master}: its workers get antecede from here; they need {describe_worker_needs()}"
    Console(stderr=True).print(escape(line), soft_wrap=True, highlight=False)


@contextmanager
def read_logs_on_spark(
    spark: Any, inputs: list[str], format: str | None, settings: Settings, staging: str | None
) -> Iterator[Any]:
    """The logs, read; what was staged for them is gone behind the block."""
    from antecede.spark.reading.logs import read_logs

    with show_spark_stages(spark, "reading"):
        logs = read_logs(spark, inputs, format, settings, staging)
    with logs:
        yield logs


def describe_files(files: list[FileRead], note: str | None = None) -> Iterator[str]:
    """How many files there are of each format, and the first files; of many, those with faults first."""
    if len(files) > 1:
        formats = Counter(file.format or "unreadable" for file in files)
        counts = ", ".join(f"{count:,} {name}" for name, count in formats.most_common())
        yield f"{len(files):,} files: {counts}"
    for file in _limit_files_faulty_first(files, LISTED_FILES):
        yield f"{'  ' * (len(files) > 1)}{file.name}: {_describe_file(file)}"
    if len(files) > LISTED_FILES:
        yield f"  ... and {len(files) - LISTED_FILES:,} more"
    if note:
        yield note


def _limit_files_faulty_first(files: list[FileRead], limit: int) -> list[FileRead]:
    if len(files) <= limit:
        return files
    faulty_first = sorted(files, key=lambda file: not file.quarantined)
    return faulty_first[:limit]


def _describe_file(file: FileRead) -> str:
    if file.error:
        return f"cannot be read: {file.error.removeprefix(file.name + ': ').removeprefix('cannot be read ')}"
    bad = f", {file.quarantined:,} cannot be read" if file.quarantined else ""
    return f"{file.format}, {pluralize(file.events, 'event')}{bad}"


def build_files_json(files: list[FileRead]) -> list[dict[str, object]]:
    """The same for programs."""
    return [file._asdict() for file in _limit_files_faulty_first(files, LISTED_FILES_JSON)]
