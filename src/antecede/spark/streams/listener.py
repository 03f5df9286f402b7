"""What each micro-batch of an ordered stream did, told to whoever listens to Spark's queries.

Spark's own observed metrics cannot tell it: they are collected from the plan of the stream, and what becomes
of a row is known only inside `foreachBatch`. So a listener waits for Spark's progress, and reads our mark.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from antecede.streams.marks import list_marked_batches, read_mark
from antecede.streams.status import read_batch_figures


class OrderListener(StreamingQueryListener):
    """Calls a function with what each micro-batch of a stream did.

        spark.streams.addListener(OrderListener("state", print))

    The facts are those of `antecede status --json`; without `gaps` where very many rows wait, or where the
    stream has gone on before anybody could look. Other queries are passed over.
    """

    def __init__(self, checkpoint: str | Path, tell: Callable[[dict[str, Any]], None]) -> None:
        self._checkpoint = Path(checkpoint)
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing was done yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """A micro-batch of some query is done."""
        batch = event.progress.batchId
        if batch not in list_marked_batches(self._checkpoint):
            return
        if read_mark(self._checkpoint, batch).query == str(event.progress.id):
            self._tell(read_batch_figures(self._checkpoint, batch))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """All was told."""
