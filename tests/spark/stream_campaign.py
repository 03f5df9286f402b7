"""The campaign of streams: a job on Spark that is killed, all of it, at random moments under load.

    python -m tests.spark.stream_campaign                  30 kills
    python -m tests.spark.stream_campaign --kills 5 --seed 7

Exit code 1 unless the tables equal those of a run without Spark that nothing disturbed. What the kills struck
is printed, because a campaign in which nothing was disturbed proves nothing.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.ordering.stream.give_up import GiveUp
from antecede.streams.marks import list_marked_batches
from tests.message_rows import Row
from tests.spark_session import SHORT_LIVED
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, check_positions, cut
from tests.streams.test_step import outcome_of

ROOT = Path(__file__).parents[2]
FORM = FORMS["vector by name"]
SCHEMA = "group string, sender string, id string, text string, stamp map<string,bigint>"
MOST_WAITING = 40
"""Rows of a group that may wait: of what waits longer something is given up, and may be late."""
FIRST_BATCHES = 3
"""The first kill comes when so many are done."""


def make_batches(seed: int, batches: int) -> list[list[Row]]:
    """Rows that arrive more or less as they were sent, some much later."""
    random = Random(seed)
    rows = spoil(random, FORM, converse(random, groups=12, count=30 * batches))

    def draw_arrival(row: Row) -> float:
        sent: int = sum(count for _, count in row["stamp"])
        return sent + random.expovariate(0.1)

    return cut(random, sorted(rows, key=draw_arrival), batches)


def write_files(folder: Path, batches: list[list[Row]]) -> None:
    """A file for each batch; Spark takes the oldest first."""
    folder.mkdir()
    for number, rows in enumerate(batches):
        file = folder / f"{number:04}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, FORM.schema), file)
        os.utime(file, (1_000_000 + number, 1_000_000 + number))


def run_job(folder: str) -> None:
    """Put all files in order, one in each micro-batch; this is what is killed."""
    from antecede.spark import order_stream
    from antecede.spark.session import get_session

    settings = {"spark_driver_memory": "1g", "spark_sql_shuffle_partitions": "2"}
    spark = get_session("local[2]", spark_driver_extraJavaOptions=SHORT_LIVED, **settings)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    query = order_stream(
        stream,
        out=f"{folder}/out",
        checkpoint=f"{folder}/checkpoint",
        group="group",
        give_up="release",
        after_rows=MOST_WAITING,
        buckets=4,
        trigger={"availableNow": True},
    )
    print("started", flush=True)
    query.awaitTermination()
    spark.stop()


class Job:
    """The job in a process group of its own: driver, Java and workers."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.spark.stream_campaign", "--job", str(folder)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def wait_until_started(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n", "the job does not start"

    def kill(self) -> bool:
        """Kill all of it; whether there was something left to kill."""
        is_running = self.process.poll() is None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return is_running

    def finish(self) -> int:
        return self.process.wait()


def describe_moment(checkpoint: Path) -> str:
    """What a kill struck."""
    spark = checkpoint / "spark"
    offsets = [int(file.name) for file in (spark / "offsets").glob("*") if file.name.isdigit()]
    commits = [int(file.name) for file in (spark / "commits").glob("*") if file.name.isdigit()]
    done = list_marked_batches(checkpoint)
    if max(offsets, default=-1) == max(commits, default=-1):
        return "between batches"
    return "behind the mark" if max(done, default=-1) == max(offsets) else "before the mark"


def wait_for_marks(checkpoint: Path, job: Job) -> float:
    """How long the first batches of a job take here and now: later kills come at random within that time."""
    start = time.monotonic()
    while len(list_marked_batches(checkpoint)) < FIRST_BATCHES and job.process.poll() is None:
        time.sleep(0.05)
    return time.monotonic() - start


def run_campaign(folder: Path, kills: int, batches: int, seed: int) -> tuple[list[str], Counter[str]]:
    """What is wrong, and what was struck."""
    random = Random(seed)
    parts = make_batches(seed, batches)
    write_files(folder / "in", parts)
    struck: Counter[str] = Counter()
    span = 0.0
    for _ in range(kills):
        job = Job(folder)
        job.wait_until_started()
        if span:
            time.sleep(random.uniform(0, span))
        else:
            span = wait_for_marks(folder / "checkpoint", job)
        struck["finished before" if not job.kill() else describe_moment(folder / "checkpoint")] += 1
    last = Job(folder)
    last.wait_until_started()
    if last.finish():
        return ["the last run fails"], struck
    return _compare(folder, parts), struck


def cut_as_spark_did(parts: list[list[Row]], spark: Path) -> list[list[Row]]:
    """The rows of each micro-batch, by Spark's checkpoint.

    Mostly it is one file. But Spark notes a file before it begins a batch with it: where it is killed in
    between, the batch has the next file, too.
    """
    offsets = sorted(int(file.name) for file in (spark / "offsets").iterdir() if file.name.isdigit())
    last_lines = [(spark / "offsets" / str(number)).read_text().splitlines()[-1] for number in offsets]
    ends = [json.loads(line)["logOffset"] for line in last_lines]
    noted: dict[int, int] = {}
    for log in (spark / "sources" / "0").glob("[0-9]*"):
        for entry in map(json.loads, log.read_text().splitlines()[1:]):
            noted[int(Path(entry["path"]).stem)] = entry["batchId"]
    batches: list[list[Row]] = [[] for _ in offsets]
    for number, rows in enumerate(parts):
        batches[bisect_left(ends, noted[number])] += rows
    return batches


def _compare(folder: Path, parts: list[list[Row]]) -> list[str]:
    """Whether the tables are those of a run over the same batches, without Spark, that nothing disturbed."""
    policy = GiveUp("release", rows=MOST_WAITING)
    undisturbed = Driver(folder / "undisturbed", FORM.schema, group="group", give_up=policy)
    batches = cut_as_spark_did(parts, folder / "checkpoint" / "spark")
    expected = undisturbed.run_all(batches)
    found = Driver(folder, FORM.schema, group="group", give_up=policy).read()
    check_positions(found)
    rows = {name: len(table) for name, table in zip(found._fields, found, strict=True)}
    print(f"{sum(map(len, parts)):,} rows in {len(batches)} batches: {rows}")
    problems = []
    if len(found.every_row()) != sum(map(len, parts)):
        problems.append("a row is lost or there twice")
    there, wanted = outcome_of(found), outcome_of(expected)
    problems += [f"the table {name} differs" for name in wanted if there[name] != wanted[name]]
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        run_job(asked.job)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        problems, struck = run_campaign(Path(folder), asked.kills, asked.batches, asked.seed)
    print(f"{asked.kills} kills: " + ", ".join(f"{count} {moment}" for moment, count in struck.items()))
    print(*(problems or ["the tables equal those of an undisturbed run"]), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
