"""Streams on Spark: the tables are those of the step without Spark, after every crash, replay and restart."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from antecede.core.errors import CallerError
from antecede.spark import OrderListener, order_stream, write_ordered
from antecede.spark.streams import ticks
from antecede.streams import ledger as ledger_module
from antecede.streams import marks
from antecede.streams.running import is_running
from tests.message_rows import Row
from tests.spark_session import NOT_THROUGH_CONNECT
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, Tables, check_positions, cut
from tests.streams.test_delta import read as read_delta
from tests.streams.test_step import outcome_of

pytestmark = pytest.mark.spark
FORM = FORMS["vector by name"]
SCHEMA = "group string, sender string, id string, text string, stamp map<string,bigint>"
SHORT = "`group` string, sender string, stamp map<string,bigint>"
AT_ONCE = {"availableNow": True}


def make_batches() -> list[list[Row]]:
    random = Random(11)
    return cut(random, spoil(random, FORM, converse(random, groups=5, count=16)), 5)


def write_files(folder: Path, batches: list[list[Row]]) -> None:
    """A file for each batch, the oldest first."""
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(batches):
        file = folder / f"{number:03}.parquet"
        if not file.exists():
            pq.write_table(pa.Table.from_pylist(rows, FORM.schema), file)
            os.utime(file, (1_000_000 + number, 1_000_000 + number))


def start(spark: Any, folder: Path, files: int = 1, **options: Any) -> Any:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder / "in"))
    places = {"out": folder / "out", "checkpoint": folder / "checkpoint"}
    return order_stream(stream, **{"group": "group", "trigger": AT_ONCE, **places, **options})


def run(spark: Any, folder: Path, **options: Any) -> None:
    """All that there is, in a session whose settings stay what they are."""
    settings = dict(spark.conf.getAll)
    assert start(spark, folder, **options).awaitTermination(120)
    assert dict(spark.conf.getAll) == settings


def read(folder: Path) -> Tables:
    driver = Driver(folder, FORM.schema, group="group")
    return driver.read()


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the step without Spark makes of the same batches."""
    driver = Driver(tmp_path_factory.mktemp("expected"), FORM.schema, group="group")
    tables = driver.run_all(make_batches())
    assert tables.waiting and tables.quarantine and len({row["batch"] for row in tables.ordered}) > 2
    return outcome_of(tables)


def delete_last_commits(folder: Path, count: int) -> None:
    """What Spark wrote behind the last batches is lost."""
    commits = folder / "checkpoint" / "spark" / "commits"
    for number in sorted(int(file.name) for file in commits.iterdir() if file.name.isdigit())[-count:]:
        (commits / str(number)).unlink()
        (commits / f".{number}.crc").unlink(missing_ok=True)


@NOT_THROUGH_CONNECT  # the crash would be another process's
def test_crashes_replays_and_restarts_change_nothing(
    spark: Any, tmp_path: Path, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = make_batches()
    random = Random(3)

    def crash_before(checkpoint: Path, mark: marks.Mark) -> None:
        raise RuntimeError("crash before the mark")

    def crash_after(checkpoint: Path, mark: marks.Mark) -> None:
        marks.write_commit_mark(checkpoint, mark)
        raise RuntimeError("crash behind the mark")

    write_files(tmp_path / "in", batches[:1])
    for crash in (crash_before, crash_after):
        with monkeypatch.context() as patch:
            patch.setattr(ledger_module, "write_commit_mark", crash)
            with pytest.raises(StreamingQueryException, match="crash"):
                run(spark, tmp_path)
    assert marks.list_marked_batches(tmp_path / "checkpoint") == [0]
    # The rows of a batch come in another order when it is tried again.
    write_files(tmp_path / "in", [batches[0], *(random.sample(part, len(part)) for part in batches[1:3])])
    run(spark, tmp_path, partitions=1)
    delete_last_commits(tmp_path, 1)
    run(spark, tmp_path, partitions=5)
    delete_last_commits(tmp_path, 2)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "checkpoint", copy / "checkpoint")
    shutil.copytree(tmp_path / "out", copy / "out")
    write_files(tmp_path / "in", batches)
    run(spark, tmp_path)
    assert outcome_of(read(tmp_path)) == expected
    run(spark, tmp_path, checkpoint=copy / "checkpoint", out=copy / "out")
    assert outcome_of(read(copy)) == expected
    mark = marks.read_newest_mark(tmp_path / "checkpoint")
    assert mark is not None and mark.totals.input == sum(map(len, batches))


def test_other_micro_batches_differ_in_the_order_of_concurrent_rows_at_most(
    spark: Any, tmp_path: Path, expected: dict[str, Any]
) -> None:
    batches = make_batches()
    write_files(tmp_path / "in", batches)
    told: list[dict[str, Any]] = []
    listener = OrderListener(tmp_path / "checkpoint", told.append)
    spark.streams.addListener(listener)
    run(spark, tmp_path, files=3, buckets=3)
    wait_for(lambda: len(told) == 2)
    spark.streams.removeListener(listener)
    tables = read(tmp_path)
    assert [facts["last"]["input"] for facts in told] == [
        sum(map(len, part)) for part in (batches[:3], batches[3:])
    ]
    assert told[1]["held"] == len(tables.waiting) > 0 and told[1]["gaps"] and told[1]["rows_per_second"]
    assert len(tables.every_row()) == sum(map(len, batches))
    messages = converse(Random(11), groups=5, count=16)
    causes = {message.id: message.causes for message in messages}
    for line in check_positions(tables).values():
        place = {row["id"]: row["position"] for row in line}
        assert all(place[cause] < row["position"] for row in line for cause in causes[row["id"]])
    for name, rows in zip(Tables._fields, tables, strict=True):
        ids = Counter(row["id"] for row in rows)
        assert sum(ids.values()) == len(expected[name])

    # Options that would corrupt the state are refused before anything runs; so is a half of a checkpoint.
    with pytest.raises(CallerError, match="group was 'group' and is 'sender'; set them back"):
        start(spark, tmp_path, group="sender")
    with pytest.raises(CallerError, match="has 3 buckets, and 4 are asked for"):
        start(spark, tmp_path, buckets=4)
    shutil.rmtree(tmp_path / "checkpoint" / "spark")
    with pytest.raises(CallerError, match="has our state, but not Spark's offsets"):
        start(spark, tmp_path)


def test_a_batch_in_a_foreach_batch_of_ones_own(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [
            ("g", "b", "b1", "x", {"a": 1, "b": 1}),
            ("h", "a", "a1", "y", {"a": 1}),
            (None, "a", "a1", "z", None),
        ],
        SCHEMA,
    )
    options: dict[str, Any] = {
        "out": tmp_path / "out",
        "checkpoint": f"file:{tmp_path / 'checkpoint'}",
        "group": "group",
        "give_up": "release",
        "after_seconds": 0,
    }
    first = write_ordered(frame, 7, **{**options, "after_seconds": 1000})
    assert first == {
        "input": 3,
        "ordered": 1,
        "late": 0,
        "diverted": 0,
        "quarantined": 1,
        "released": 0,
        "duplicates": 0,
        "held": 1,
    }
    assert write_ordered(frame, 7, **options) is None
    # Nothing comes for the bucket of g, and yet what has waited there for too long comes out.
    second = write_ordered(frame.where("false"), 8, **options)
    assert second is not None and (second["released"], second["held"]) == (1, 0)
    ordered = spark.read.parquet(str(tmp_path / "out" / "ordered"))
    found = {(row["id"], row["position"], str(row["missed"]), row["batch"]) for row in ordered.collect()}
    assert found == {("a1", 0, "None", 7), ("b1", 0, "['message 1 of a']", 8)}
    assert spark.read.parquet(str(tmp_path / "out" / "late")).count() == 0
    assert ordered.where("id = 'b1'").select("stamp").first()[0] == {"a": 1, "b": 1}


@NOT_THROUGH_CONNECT  # there are no ticks
def test_what_waits_too_long_comes_out_though_nothing_comes(spark: Any, tmp_path: Path) -> None:
    rows = [{"group": "g", "sender": "b", "id": "b1", "text": "", "stamp": [("a", 1), ("b", 1)]}]
    write_files(tmp_path / "in", [rows])
    trigger = {"processingTime": "200 milliseconds"}
    options: dict[str, Any] = {"give_up": "release", "after_seconds": 1, "max_held": 1}
    query = start(spark, tmp_path, trigger=trigger, **options)
    try:
        wait_for(lambda: getattr(marks.read_newest_mark(tmp_path / "checkpoint"), "tick", 0) == 1)
    finally:
        query.stop()
    (row,) = read(tmp_path).ordered
    assert row["missed"] == ["message 1 of a"]
    assert marks.list_marked_batches(tmp_path / "checkpoint") == [0]
    run(spark, tmp_path)
    assert len(read(tmp_path).every_row()) == 1


def test_what_cannot_be_given_up_now_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread beside a query goes on when a disk is full for a moment, and ends with the query."""
    monkeypatch.setattr(ticks, "_PAUSE", 0.01)
    looks: list[int] = []

    class Ledger:
        def give_up_expired_rows(self, time_ms: int) -> None:
            looks.append(time_ms)
            if len(looks) == 1:
                raise OSError("no space left on device")

    class Query:
        def __init__(self) -> None:
            self.end = threading.Event()

        def awaitTermination(self, timeout: float) -> bool:  # noqa: N802
            return self.end.wait(timeout)

    query: Any = Query()
    ledger: Any = Ledger()

    def look_twice() -> None:
        ticks.start_lock_and_tick_thread(query, tmp_path, ledger, threading.Lock())
        wait_for(lambda: len(looks) > 1)

    with pytest.warns(RuntimeWarning, match="no space left on device; this is tried again"):
        look_twice()
    assert is_running(tmp_path)
    query.end.set()
    wait_for(lambda: not is_running(tmp_path))


def test_delta_tables(spark: Any, tmp_path: Path, expected: dict[str, Any]) -> None:
    write_files(tmp_path / "in", make_batches())
    run(spark, tmp_path, sink="delta")
    delete_last_commits(tmp_path, 1)
    run(spark, tmp_path, sink="delta")
    driver = Driver(tmp_path, FORM.schema, group="group")
    assert outcome_of(read_delta(driver)) == expected


def test_what_is_no_stream_and_what_is_no_folder_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    places: dict[str, Any] = {"out": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(CallerError, match="is a table and not a stream"):
        order_stream(frame, group="group", **places)
    with pytest.raises(CallerError, match=r"is an address, .*: mount it"):
        order_stream(frame, **{**places, "out": "s3://bucket/place"})
    with pytest.raises(CallerError, match="buckets= must be at least 1"):
        order_stream(frame, **places, buckets=0)
    with pytest.raises(CallerError, match="tables can be of parquet or delta, not 'paper'"):
        order_stream(frame, **places, sink="paper")
    with pytest.raises(CallerError, match="sink='delta' needs query="):
        write_ordered(frame, 0, **places, sink="delta")


def test_groups_and_columns_that_would_corrupt_the_tables_are_refused(spark: Any, tmp_path: Path) -> None:
    def write(batch: int, kind: str, more: str = "more") -> None:
        rows = spark.createDataFrame([("1", "a", {"a": batch + 1}, 1)], f"{SHORT}, `{more}` int")
        rows = rows.withColumn("group", rows["group"].cast(kind))
        write_ordered(rows, batch, out=tmp_path / "out", checkpoint=tmp_path / "checkpoint", group="group")

    write(0, "int")
    write(1, "bigint")
    with pytest.raises(CallerError, match="was 'text or integer' and is 'double'; set them back"):
        write(2, "double")
    with pytest.raises(CallerError, match="column 'Batch' is called like the folders of the tables'"):
        write(2, "int", "Batch")
    with pytest.raises(CallerError, match="column 'antecede bucket' is called like columns of ours"):
        write(2, "int", "antecede bucket")
    write(2, "int")
    positions = spark.read.parquet(str(tmp_path / "out" / "ordered")).select("position").collect()
    assert sorted(row[0] for row in positions) == [0, 1, 2]


def test_a_query_that_starts_anew_is_no_replay(spark: Any, tmp_path: Path) -> None:
    """Its batches have the numbers of those that are done, and other rows."""
    write_files(tmp_path / "in", make_batches()[:1])
    run(spark, tmp_path)
    metadata = tmp_path / "checkpoint" / "spark" / "metadata"
    metadata.write_text(json.dumps({"id": "00000000-0000-0000-0000-000000000000"}))
    (metadata.parent / ".metadata.crc").unlink(missing_ok=True)
    mark_file = tmp_path / "checkpoint" / "commits" / "0.json"
    with pytest.raises(CallerError, match="not Spark's offsets"):
        start(spark, tmp_path)
    assert json.loads(mark_file.read_text())["query"] != json.loads(metadata.read_text())["id"]


STOPS = """
import sys, time
from antecede.spark import order_stream
from pyspark.sql import SparkSession
folder, schema = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
stages = spark.sparkContext.statusTracker().getActiveStageIds
for _ in range(2):
    stream = spark.readStream.schema(schema).parquet(folder + "/in")
    query = order_stream(stream, group="group", out=folder + "/out", checkpoint=folder + "/checkpoint")
    while max(stages(), default=0) < 2:
        time.sleep(0.02)
    query.stop()
    print("stopped", query.exception())
"""


@NOT_THROUGH_CONNECT  # there a batch is not interrupted
def test_a_query_that_is_stopped_in_the_middle_of_a_batch_says_nothing(tmp_path):
    write_files(tmp_path / "in", make_batches())
    words = [sys.executable, "-c", STOPS, str(tmp_path), SCHEMA]
    python = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(words, env=python, capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n") == ["stopped None", "stopped None", ""], done.stderr
    assert "StackOverflowError" not in done.stderr
