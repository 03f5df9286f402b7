"""How far Spark's running jobs are: asked of the session now and then, while another waits for them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

EVERY = 0.25
"""Seconds between two looks."""


class Progress(NamedTuple):
    """The stages that run now: the number of the last one, and their tasks and rows together."""

    stage: int
    done: int
    tasks: int
    rows: int


@contextmanager
def watch_jobs(
    spark: SparkSession, on_progress: Callable[[Progress], None], every_seconds: float = EVERY
) -> Iterator[None]:
    """Tell of progress while the block runs. A server of Spark Connect tells it by itself, without rows."""
    context = getattr(spark, "_sc", None)
    if context is None:
        with _report_progress_of_server(spark, on_progress):
            yield
        return
    over = Event()
    thread = Thread(
        target=_report_progress_until_over, args=(context, on_progress, every_seconds, over), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _report_progress_of_server(
    spark: SparkSession, on_progress: Callable[[Progress], None]
) -> Iterator[None]:
    def report_stages(stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        active = [stage for stage in stages or () if not stage.done]
        if active:
            done = sum(stage.num_completed_tasks for stage in active)
            tasks = sum(stage.num_tasks for stage in active)
            on_progress(Progress(max(stage.stage_id for stage in active) + 1, done, tasks, 0))

    handler: Any = report_stages  # to Spark's types it would have to be a class
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


def _report_progress_until_over(
    context: Any, on_progress: Callable[[Progress], None], every_seconds: float, over: Event
) -> None:
    while not over.wait(every_seconds):
        progress = read_progress(context)
        if progress is not None:
            on_progress(progress)


def read_progress(context: Any) -> Progress | None:
    """What runs now; None if nothing does, or the session is gone."""
    try:
        tracker = context.statusTracker()
        stages = sorted(tracker.getActiveStageIds())
        known = [tracker.getStageInfo(stage) for stage in stages]
        rows = sum(_count_rows_read(context, stage) for stage in stages)
    except Exception:  # progress is a courtesy: whatever the JVM says, the work itself goes on
        return None
    infos = [info for info in known if info is not None]
    if not infos:
        return None
    done = sum(info.numCompletedTasks for info in infos)
    tasks = sum(info.numTasks for info in infos)
    return Progress(stages[-1] + 1, done, tasks, rows)


def _count_rows_read(context: Any, stage: int) -> int:
    """Rows that a stage has read, from files or from earlier stages."""
    attempt = context._jsc.sc().statusStore().lastStageAttempt(stage)
    return int(attempt.inputRecords() + attempt.shuffleReadRecords())
