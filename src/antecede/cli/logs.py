"""What the commands that read logs share: their options, the Spark they run on, and how files are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from antecede.cli.stages import stages
from antecede.core.errors import CallerError, SetupError
from antecede.formats import FORMATS, Settings
from antecede.formats.sources import expand
from antecede.report.text import many

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.formats.logs import FileRead, Logs

Inputs = Annotated[list[str], typer.Argument(metavar="INPUT...", help="Files, folders or globs; gzip too.")]
FormatName = Annotated[
    str | None,
    typer.Option("--format", help=f"Read all files so, and do not guess: {', '.join(FORMATS)}."),
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
Master = Annotated[str | None, typer.Option(help="Spark's master; an embedded Spark if none is named.")]
Staging = Annotated[
    str | None, typer.Option(help="Folder for temporary files; on a cluster one that all machines share.")
]
LISTED = 10
"""So many files are listed."""
MOST_FACTS = 1_000
"""So many are listed for programs."""


def settings_of(
    regex: str | None, delimiter: str | None, field: list[str] | None, kind: list[str] | None
) -> Settings:
    """What the user says about the logs."""
    return Settings(regex, delimiter, _pairs("--field", field), _pairs("--kind", kind))


def _pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts or []]
    if wrong := next((text for text in pairs if not all(text)), None):
        raise CallerError(f"{option} {''.join(wrong)!r}: write it as NAME=VALUE")
    return {name: value for name, _, value in pairs}


def check_inputs(inputs: list[str]) -> None:
    """Say at once, and not when Spark is up, that a file is not there."""
    expand(inputs)


def on_spark(master: str | None) -> AbstractContextManager[SparkSession]:
    """A session for a block."""
    try:
        from antecede.spark.running import running
    except ModuleNotFoundError:
        raise SetupError("PySpark is not installed: run pip install 'antecede[spark]'") from None
    return running(master)


@contextmanager
def logs(
    spark: SparkSession, inputs: list[str], format: str | None, settings: Settings, folder: str | None
) -> Iterator[Logs[DataFrame]]:
    """The logs, read; what was staged for them is gone behind the block."""
    from antecede.spark.reading.logs import read_logs, staging_folder

    with staging_folder(folder) as place:
        with stages(spark, "reading"):
            found = read_logs(spark, inputs, format, settings, place)
        yield found


def file_lines(files: list[FileRead], note: str | None = None) -> Iterator[str]:
    """The guesses: how many files of each format, and the first files; of many, those with faults first."""
    if len(files) > 1:
        formats = Counter(file.format or "unreadable" for file in files)
        yield f"{len(files):,} files: " + ", ".join(
            f"{count:,} {name}" for name, count in formats.most_common()
        )
    for file in _shown(files, LISTED):
        yield f"{'  ' * (len(files) > 1)}{file.name}: {_told(file)}"
    if len(files) > LISTED:
        yield f"  ... and {len(files) - LISTED:,} more"
    if note:
        yield note


def _shown(files: list[FileRead], most: int) -> list[FileRead]:
    return files if len(files) <= most else sorted(files, key=lambda file: not file.quarantined)[:most]


def _told(file: FileRead) -> str:
    if file.error:
        return f"cannot be read: {file.error.removeprefix(file.name + ': ').removeprefix('cannot be read ')}"
    bad = f", {file.quarantined:,} cannot be read" if file.quarantined else ""
    return f"{file.format}, {many(file.events, 'event')}{bad}"


def file_facts(files: list[FileRead]) -> list[dict[str, object]]:
    """The same for programs."""
    return [file._asdict() for file in _shown(files, MOST_FACTS)]
